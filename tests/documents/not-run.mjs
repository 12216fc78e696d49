// The commands of documents that no test can run, each with the reason. `instead` is what runs in its
// place. A row that fits no command of its document fails the tests; a command that is in no row is run.

const WHOLE = 'it builds, tests or measures everything, this test too; its target is looked up';
const STAGE = 'it runs tests that are a stage of their own; what it names is looked up';
const DOCKER = 'it needs Docker, and an image that takes minutes';
const ROOT = 'it needs root, and changes the machine';
const CLOUDFLARE = 'it needs an account at Cloudflare';
const KUBERNETES =
  'it needs a cluster of Kubernetes; its files, and the objects it names, are looked up';
const REGISTRY = 'it needs a registry of packages; scripts/setup.sh fetches the same';
const WRITES = 'it writes into the sources; tests/web compares what it would write';

export const NOT_RUN = [
  ['README.md', /^make /, WHOLE, 'make -n '],
  ['README.md', /^docker (build|run) /, DOCKER],
  ['README.md', /^sudo install /, ROOT],
  ['CONTRIBUTING.md', /^make /, WHOLE, 'make -n '],
  ['docs/testing.md', /^make /, WHOLE, 'make -n '],
  ['docs/testing.md', /^(GAILOU_TEST_STORE=cluster )?cargo test /, STAGE, 'look-up cargo '],
  ['docs/testing.md', /^npm test/, STAGE, 'look-up npm'],
  ['docs/testing.md', /^E2E_GAILOU=\S+ node --test /, STAGE, 'look-up node '],
  ['examples/README.md', /^make /, WHOLE, 'make -n '],
  ['docs/alerts.md', /kubectl /, KUBERNETES, 'look-up kubectl '],
  ['docs/cluster.md', /kubectl /g, KUBERNETES, 'look-up kubectl '],
  ['docs/edge.md', /^npx wrangler secret put /, CLOUDFLARE],
  ['docs/edge.md', /^npx wrangler deploy --env production$/, CLOUDFLARE],
  ['docs/importing.md', /^sudo cp /, ROOT, 'cp '],
  ['docs/importing.md', /^docker exec gailou /, DOCKER, ''],
  ['docs/operations.md', /^sudo (install|chown) /, ROOT],
  ['docs/operations.md', /^docker exec gailou /, DOCKER, ''],
  [
    'docs/operations.md',
    /^docker run .* gailou (?=restore)/,
    DOCKER,
    'GAILOU_DATA=restored gailou ',
  ],
  ['docs/operations.md', /^docker compose --profile (embedded|cluster) (exec|up|down)\b/, DOCKER],
  [
    'docs/operations.md',
    /^docker compose .* run --rm gailou (?=restore)/,
    DOCKER,
    'GAILOU_DATA=again gailou ',
  ],
  ['docs/operations.md', /^docker volume rm /, DOCKER],
  ['packages/README.md', /(?<=^node packages\/client\/generate\.mjs) /, WRITES, ' --check '],
  ['packages/README.md', /^python packages\/python\/generate\.py/, WRITES],
  ['packages/README.md', /^pip install /, REGISTRY],
  ['packages/python/README.md', /^pip install /, REGISTRY],
].map(([document, command, reason, instead]) => ({ document, command, reason, instead }));
