// What operators take from examples/deploy: the rules by promtool and by a Prometheus that scrapes a real gailou, the
// dashboard against what that program exports, the objects of Kubernetes by the schemas of its interface.
// E2E_GAILOU names the origin's program. What a machine lacks is skipped, but never in CI.

import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { buildDocs } from '../edge/web/docs.mjs';
import { startGailou } from '../tests/edge/gailou.mjs';
import { freePort } from '../tests/edge/worker.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MONITORING = join(ROOT, 'examples/deploy/monitoring');
const KUBERNETES = join(ROOT, 'examples/deploy/kubernetes');
/** What scripts/setup.sh installs for this file. */
const TOOLS = join(ROOT, '.tools/kubernetes');
const PYTHON = join(TOOLS, 'bin/python');
/** Versions of Kubernetes that are supported, and the newest one whose schemas are there. */
const KUBERNETES_VERSIONS = ['1.34', '1.37'];
const run = promisify(execFile);

/** The reason to skip a test that needs these programs, or false. */
function missing(...programs) {
  const absent = programs.find((name) => spawnSync('which', [name]).status !== 0);
  if (absent && process.env.CI) throw new Error(`${absent} is not installed`);
  return absent ? `${absent} is not installed` : false;
}

const noGailou = process.env.E2E_GAILOU ? false : 'E2E_GAILOU is not set';
if (noGailou && process.env.CI) throw new Error(noGailou);

/** Calls `look` until it returns something, for at most 60 s. */
async function eventually(look, describe) {
  let error;
  for (const until = Date.now() + 60_000; ; await sleep(200)) {
    const found = await look().catch((failure) => {
      error = failure;
    });
    if (found) return found;
    assert.ok(Date.now() < until, `nothing in 60 s: ${error} ${describe()}`);
  }
}

/** The documents of a YAML file. */
async function readYaml(file) {
  const program =
    'import json, sys, yaml; json.dump(list(yaml.safe_load_all(open(sys.argv[1]))), sys.stdout)';
  const { stdout } = await run(PYTHON, ['-c', program, file]);
  return JSON.parse(stdout).filter(Boolean);
}

async function temporary(t, name) {
  const dir = await mkdtemp(join(tmpdir(), `gailou-${name}-`));
  t.after(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

const dashboard = JSON.parse(await readFile(join(MONITORING, 'dashboard.json'), 'utf8'));
const panels = dashboard.panels.filter((panel) => panel.type !== 'row');
const operations = await readFile(join(ROOT, 'docs/operations.md'), 'utf8');

/** The metrics of docs/operations.md with their labels; a test in Rust compares the names with the code. */
const documented = new Map(
  [...operations.matchAll(/^\| `((?:gailou|process)_[a-z_]+)(?:\{([a-z,]+)\})?`/gm)].map(
    ([, name, labels = '']) => [name, labels.split(',')],
  ),
);

/** The metrics that a query reads, with the labels that it selects by; what rules compute is left out. */
function metricsOf(query) {
  return [...query.matchAll(/(?<![a-z:_])((?:gailou|process)_[a-z_]+)(?:\{([^}]*)\})?/g)].map(
    ([, name, selector = '']) => {
      const base = name.replace(/_(bucket|sum|count)$/, '');
      const labels = selector.replaceAll(/"[^"]*"/g, '').matchAll(/[a-z_]+(?==|!)/g);
      return {
        name: documented.has(name) ? name : base,
        labels: [...labels].map(([label]) => label),
      };
    },
  );
}

/** What rules compute, in a query. */
const recordsOf = (query) =>
  [...query.matchAll(/job:gailou_[a-z_0-9]+:[a-z]+[0-9]+[mhd]/g)].map(([name]) => name);

const withoutTools = missing('promtool', 'prometheus', PYTHON);

let groups = [];
let alerts = [];
before(async () => {
  if (withoutTools) return;
  [{ groups }] = await readYaml(join(MONITORING, 'rules.yml'));
  alerts = groups.flatMap((group) => group.rules).filter((rule) => rule.alert);
});

const queries = () => [
  ...groups.flatMap((group) => group.rules).map((rule) => rule.expr),
  ...panels.flatMap((panel) => panel.targets.map((target) => target.expr)),
  ...dashboard.templating.list.flatMap((variable) => variable.query.query ?? []),
];

test('promtool accepts the rules and the configuration', { skip: withoutTools }, async () => {
  await run('promtool', ['check', 'config', join(MONITORING, 'prometheus.yml')]);
  const { stdout, stderr } = await run('promtool', [
    'check',
    'rules',
    '--lint-fatal',
    join(MONITORING, 'rules.yml'),
  ]);
  assert.match(stdout + stderr, /SUCCESS/);
});

for (const file of ['objectives.test.yml', 'causes.test.yml']) {
  test(`alerts fire when they should, and only then: ${file}`, { skip: withoutTools }, async () => {
    await run('promtool', ['test', 'rules', join(MONITORING, file)]);
  });
}

test('promtool finds an alert that does not fire as it should', {
  skip: withoutTools,
}, async (t) => {
  const dir = await temporary(t, 'rules');
  const [causes] = await readYaml(join(MONITORING, 'causes.test.yml'));
  const tests = causes.tests.filter(({ name }) => name === 'the outbox is behind');
  assert.equal(tests.length, 1);
  const file = join(dir, 'causes.test.yml');
  await writeFile(file, JSON.stringify({ ...causes, tests }));
  const rules = await readFile(join(MONITORING, 'rules.yml'), 'utf8');
  await writeFile(join(dir, 'rules.yml'), rules);
  await run('promtool', ['test', 'rules', file]);
  const wrong = rules.replace(
    'gailou_outbox_age_seconds) > 60',
    'gailou_outbox_age_seconds) > 6000',
  );
  assert.notEqual(wrong, rules);
  await writeFile(join(dir, 'rules.yml'), wrong);
  await assert.rejects(run('promtool', ['test', 'rules', file]), { code: 1 });
});

test('each alert is tried, and has a section that says what to do', {
  skip: withoutTools,
}, async () => {
  const tried = new Set();
  for (const file of ['objectives.test.yml', 'causes.test.yml']) {
    const [{ tests }] = await readYaml(join(MONITORING, file));
    for (const { labels } of tests.flatMap((each) =>
      (each.promql_expr_test ?? []).flatMap((check) => check.exp_samples),
    )) {
      tried.add(labels);
    }
  }
  const page = (await buildDocs()).get('docs/alerts.html').toString();
  const linked = new Set();
  for (const { alert, labels, annotations } of alerts) {
    assert.ok(['page', 'ticket'].includes(labels.severity), alert);
    assert.ok(
      tried.has(`{alertname="${alert}",severity="${labels.severity}"}`),
      `${alert}, ${labels.severity}, fires in no test`,
    );
    assert.ok(annotations.summary && annotations.description, alert);
    const [address, anchor] = annotations.runbook_url.split('#');
    assert.equal(address, 'https://comments.example/docs/alerts.html', alert);
    assert.ok(
      page.includes(`id="${anchor}"`),
      `${alert}: docs/alerts.md has no section #${anchor}`,
    );
    assert.ok(page.includes(`<code>${alert}</code>`), `docs/alerts.md does not name ${alert}`);
    linked.add(anchor);
  }
  const source = await readFile(join(ROOT, 'docs/alerts.md'), 'utf8');
  const named = [...source.matchAll(/`(Gailou[A-Za-z]+)`/g)].map(([, name]) => name);
  const names = new Set(alerts.map(({ alert }) => alert));
  assert.deepEqual(
    named.filter((name) => !names.has(name)),
    [],
    'docs/alerts.md names other alerts',
  );
});

test('commands of the runbook are commands of the program', { skip: noGailou }, async () => {
  const source = await readFile(join(ROOT, 'docs/alerts.md'), 'utf8');
  const commands = [...source.matchAll(/`gailou ([a-z]+)(?: ([a-z]+))?((?: --[a-z]+)*)[^`]*`/g)];
  assert.ok(commands.length > 5);
  for (const [line, command, second, options] of commands) {
    const { stdout } = await run(process.env.E2E_GAILOU, [command, '--help']);
    if (stdout.includes('Commands:') && second)
      assert.match(stdout, new RegExp(`^  ${second}\\b`, 'm'), line);
    for (const option of options.split(' ').filter(Boolean))
      assert.ok(stdout.includes(option), line);
  }
});

test('rules and dashboard read metrics and labels that are documented', {
  skip: withoutTools,
}, () => {
  assert.ok(documented.size > 40, `${documented.size}`);
  const records = new Set(groups.flatMap((group) => group.rules).map((rule) => rule.record));
  const seen = new Set();
  for (const query of queries()) {
    for (const { name, labels } of metricsOf(query)) {
      assert.ok(documented.has(name), `${name} is no metric: ${query}`);
      const known = ['job', 'instance', 'namespace', 'le', ...documented.get(name)];
      for (const label of labels)
        assert.ok(known.includes(label), `${name} has no ${label}: ${query}`);
      seen.add(name);
    }
    for (const record of recordsOf(query)) assert.ok(records.has(record), `${record}: no rule`);
  }
  const shown = new Set(
    panels
      .flatMap((panel) => panel.targets)
      .flatMap((target) => metricsOf(target.expr))
      .map((metric) => metric.name),
  );
  assert.deepEqual(
    [...documented.keys()].filter((name) => !shown.has(name)),
    [],
    'the dashboard shows all',
  );
});

test('panels have units and descriptions, and none covers another one', () => {
  const taken = new Set();
  const ids = new Set(dashboard.panels.map((panel) => panel.id));
  assert.equal(ids.size, dashboard.panels.length);
  for (const panel of dashboard.panels) {
    const { x, y, w, h } = panel.gridPos;
    assert.ok(x + w <= 24, panel.title);
    for (let column = x; column < x + w; column++) {
      for (let line = y; line < y + h; line++) {
        assert.ok(!taken.has(`${column} ${line}`), `${panel.title} covers another panel`);
        taken.add(`${column} ${line}`);
      }
    }
    if (panel.type === 'row') continue;
    assert.ok(panel.fieldConfig.defaults.unit, `${panel.title} has no unit`);
    assert.match(panel.description, /\.$/, `${panel.title} has no description`);
    for (const { datasource, expr } of panel.targets) {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's variable
      assert.equal(datasource.uid, '${datasource}');
      if (!expr.startsWith('count by (alertname')) assert.match(expr, /job=~"\$job"/, panel.title);
    }
  }
});

/** Metrics that a program alone on a machine does not have: those of a cluster, and of what has not happened. */
const NOT_EXPORTED = [
  'gailou_accounts_total',
  'gailou_backup_age_seconds',
  'gailou_broker_lag_records',
  'gailou_broker_stopped',
  'gailou_cache_keys_total',
  'gailou_challenges_total',
  'gailou_classified_total',
  'gailou_database_rewinds_total',
  'gailou_dead_letters_total',
  'gailou_mails_total',
  'gailou_node_held',
  'gailou_node_numbers',
  'gailou_notifications_total',
  'gailou_outbox_age_seconds',
  'gailou_persist_batches_total',
  'gailou_persist_replayed_total',
  'gailou_persist_retries_total',
  'gailou_persist_stored_total',
  'gailou_persist_waiting_records',
  'gailou_rate_limits_unshared_total',
  'gailou_refused_texts_total',
  'gailou_webhook_dropped_total',
  'gailou_webhook_tries_total',
];

/** Panels without data there. */
const EMPTY_PANELS = [
  'Accounts of your site',
  'Age of the outboxes',
  'Alerts',
  'Appends to Kafka',
  'Batches and retries',
  'Calls to services',
  'Challenges of guests',
  'Classified and rejected texts',
  'Dead letters',
  'Failed requests',
  'Keys by level',
  'Mails',
  'Node numbers',
  'Operations stored',
  'Records that wait',
  'Records that wait, by partition',
];

/** Starts a Prometheus with the configuration of the example, whose target is this address. */
async function startPrometheus(t, target) {
  const dir = await temporary(t, 'prometheus');
  await cp(MONITORING, dir, { recursive: true });
  const file = join(dir, 'prometheus.yml');
  for (const [name, from, to] of [
    ['prometheus.yml', '127.0.0.1:8080', target],
    ['prometheus.yml', 'scrape_interval: 15s', 'scrape_interval: 1s'],
    ['prometheus.yml', 'evaluation_interval: 30s', 'evaluation_interval: 1s'],
    ['rules.yml', 'interval: 2m', 'interval: 1s'],
  ]) {
    const text = await readFile(join(dir, name), 'utf8');
    assert.ok(text.includes(from), from);
    await writeFile(join(dir, name), text.replace(from, to));
  }
  const address = `127.0.0.1:${await freePort()}`;
  const options = {
    'config.file': file,
    'storage.tsdb.path': join(dir, 'data'),
    'web.listen-address': address,
  };
  const child = spawn(
    'prometheus',
    Object.entries(options).map(([name, value]) => `--${name}=${value}`),
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let log = '';
  child.stderr.on('data', (chunk) => {
    log = (log + chunk).slice(-5_000);
  });
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill();
    await ended;
  });
  const ask = async (path) => {
    const answer = await (await fetch(`http://${address}/api/v1/${path}`)).json();
    assert.equal(answer.status, 'success', `${decodeURIComponent(path)}: ${answer.error}`);
    return answer.data;
  };
  return { ask, log: () => log };
}

/** Names of the metrics of a running gailou after a guest has read and written. */
async function exercise(url) {
  const json = { 'content-type': 'application/json' };
  const post = async (path, body, headers = {}) => {
    const answer = await fetch(url + path, {
      method: 'POST',
      headers: { ...json, ...headers },
      body: JSON.stringify(body),
    });
    assert.equal(answer.status, 201, path);
    return answer.json();
  };
  const { token } = await post('/v1/guests', { name: 'Reader' });
  const comments = '/v1/subjects/article/watched/comments';
  await post(comments, { content: 'Hello' }, { authorization: `Bearer ${token}` });
  for (let i = 0; i < 5; i++) assert.equal((await fetch(url + comments)).status, 200);
  await fetch(`${url}/v1/comments/1`);
  await fetch(`${url}/v1/edge/changes`);
  const text = await (await fetch(`${url}/metrics`)).text();
  return new Set(text.match(/^(gailou|process)_[a-z_]+/gm).map((name) => metricsOf(name)[0].name));
}

const fillVariables = (query) =>
  query
    .replaceAll('$job', '.+')
    .replaceAll('$instance', '.+')
    .replaceAll('$__rate_interval', '30s');

test('a Prometheus scrapes a real gailou, computes the rules, and has data for the dashboard', {
  skip: noGailou || withoutTools,
}, async (t) => {
  const dir = await temporary(t, 'watched');
  const gailou = await startGailou(dir, {
    GAILOU_EDGE__REQUIRE_EDGE: 'false',
    // No program listens there: the program pushes, and counts that it could not.
    GAILOU_EDGE__URL: 'http://127.0.0.1:9',
    GAILOU_DEGRADE__NO_PREVIEW: 'true',
  });
  t.after(gailou.stop);
  const exported = await exercise(gailou.url);
  for (const name of exported)
    assert.ok(documented.has(name) || name.startsWith('process_'), `${name} has no row`);
  const absent = [...documented.keys()].filter((name) => !exported.has(name));
  assert.deepEqual(absent.sort(), NOT_EXPORTED);

  const prometheus = await startPrometheus(t, new URL(gailou.url).host);
  await eventually(async () => {
    const { activeTargets } = await prometheus.ask('targets');
    return activeTargets.length === 1 && activeTargets[0].health === 'up';
  }, prometheus.log);
  const rules = await eventually(async () => {
    const found = (await prometheus.ask('rules')).groups.flatMap((group) => group.rules);
    return found.every((rule) => rule.health === 'ok') && found;
  }, prometheus.log);
  assert.equal(rules.length, groups.flatMap((group) => group.rules).length);
  await eventually(async () => {
    await exercise(gailou.url).catch(() => null);
    const { result } = await prometheus.ask('query?query=job:gailou_writes_slow:ratio1h');
    return result.length === 1 && Number.isFinite(Number(result[0].value[1]));
  }, prometheus.log);

  const filled = async (query) => {
    const { result } = await prometheus.ask(
      `query?query=${encodeURIComponent(fillVariables(query))}`,
    );
    return result.some(({ value }) => value[1] !== 'NaN');
  };
  const empty = [];
  for (const { title, targets } of panels) {
    const found = await Promise.all(targets.map((target) => filled(target.expr)));
    if (!found.includes(true)) empty.push(title);
  }
  assert.deepEqual(
    empty.filter((title) => !EMPTY_PANELS.includes(title)),
    [],
  );
  // An alert of Prometheus itself: the switch that is on is pending, and nothing is wrong otherwise.
  const pending = (await prometheus.ask('alerts')).alerts.map((alert) => alert.labels.alertname);
  assert.ok(pending.includes('GailouDegraded'), `${pending}`);
  await prometheus.ask(
    `label/job/values?match[]=${encodeURIComponent('gailou_dictionary_version')}`,
  );
});

const withoutSchemas = missing(PYTHON, join(TOOLS, 'bin/kubernetes-validate'));
const manifests = async () => {
  const [kustomization] = await readYaml(join(KUBERNETES, 'kustomization.yaml'));
  const files = [...kustomization.resources, 'migrate.yaml'];
  const objects = [];
  for (const file of files) objects.push(...(await readYaml(join(KUBERNETES, file))));
  return { kustomization, files, objects };
};

test('objects of Kubernetes have the shapes of its interface', {
  skip: withoutSchemas,
}, async (t) => {
  const { files, kustomization } = await manifests();
  const there = (await readdir(KUBERNETES)).filter((name) => name.endsWith('.yaml'));
  assert.deepEqual([...files, 'kustomization.yaml'].sort(), there.sort(), 'every file is listed');
  assert.equal(kustomization.namespace, 'gailou');
  const validate = (version, ...paths) =>
    run(join(TOOLS, 'bin/kubernetes-validate'), ['--strict', '-k', version, ...paths]);
  for (const version of KUBERNETES_VERSIONS) {
    await validate(version, ...files.map((file) => join(KUBERNETES, file)));
  }
  const dir = await temporary(t, 'kubernetes');
  const wrong = join(dir, 'serve.yaml');
  const serve = await readFile(join(KUBERNETES, 'serve.yaml'), 'utf8');
  await writeFile(wrong, serve.replace('maxUnavailable: 0', 'maxUnavailabel: 0'));
  await assert.rejects(validate(KUBERNETES_VERSIONS[0], wrong));
});

test('objects of operators have the shapes that these give them', {
  skip: withoutSchemas,
}, async () => {
  // Installed beside the project's own packages.
  const model = async (path, kind) =>
    (await import(pathToFileURL(join(TOOLS, 'node_modules', path, 'index.js'))))[kind];
  const monitoring = '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
  const ServiceMonitor = await model(monitoring, 'ServiceMonitor');
  const PrometheusRule = await model(monitoring, 'PrometheusRule');
  const ScaledObject = await model('@kubernetes-models/keda/keda.sh/v1alpha1', 'ScaledObject');
  const [monitor] = await readYaml(join(KUBERNETES, 'optional/service-monitor.yaml'));
  new ServiceMonitor(monitor).validate();
  const [scaled] = await readYaml(join(KUBERNETES, 'optional/keda.yaml'));
  new ScaledObject(scaled).validate();
  const [trigger] = scaled.spec.triggers;
  assert.deepEqual(
    metricsOf(trigger.metadata.query).map(({ name }) => documented.has(name)),
    [true],
  );
  assert.throws(() => new ScaledObject({ ...scaled, spec: { triggers: [] } }).validate());
  new PrometheusRule({ metadata: { name: 'gailou' }, spec: { groups } }).validate();
  const { objects } = await manifests();
  assert.ok(
    objects.some(
      ({ kind, metadata }) =>
        kind === 'Deployment' && metadata.name === scaled.spec.scaleTargetRef.name,
    ),
  );
  // The alerts of docs/alerts.md ask for jobs whose names begin with `gailou`: they are those of the Services.
  for (const { kind, metadata } of objects)
    if (kind === 'Service') assert.match(metadata.name, /^gailou/);
});

test('pods run without root and rights, and their settings exist', {
  skip: withoutSchemas || noGailou,
}, async () => {
  const { objects } = await manifests();
  const { stdout: settings } = await run(process.env.E2E_GAILOU, ['settings']);
  const isSetting = (name) => settings.includes(`\`${name}\``);
  const pods = objects
    .filter(({ spec }) => spec?.template)
    .map(({ kind, spec }) => ({
      kind,
      spec: spec.template.spec,
      labels: spec.template.metadata.labels,
    }));
  assert.equal(pods.length, 3);
  for (const { kind, spec } of pods) {
    assert.equal(spec.enableServiceLinks, false);
    assert.equal(spec.automountServiceAccountToken, false);
    assert.equal(spec.securityContext.runAsNonRoot, true);
    assert.equal(spec.securityContext.seccompProfile.type, 'RuntimeDefault');
    for (const container of spec.containers) {
      const { securityContext, resources, args, env, envFrom } = container;
      assert.equal(securityContext.allowPrivilegeEscalation, false);
      assert.equal(securityContext.readOnlyRootFilesystem, true);
      assert.deepEqual(securityContext.capabilities, { drop: ['ALL'] });
      assert.ok(resources.requests.cpu && resources.limits.memory);
      // Values are in the map of settings, and secrets in a Secret that no file has.
      assert.equal(env, undefined);
      assert.deepEqual(envFrom, [
        { configMapRef: { name: 'gailou' } },
        { secretRef: { name: 'gailou' } },
      ]);
      if (kind === 'Deployment') {
        assert.equal(container.readinessProbe.httpGet.path, '/readyz');
        assert.equal(container.livenessProbe.httpGet.path, '/healthz');
      }
      await run(process.env.E2E_GAILOU, [...args, '--help']);
    }
  }
  assert.ok(!objects.some(({ kind }) => kind === 'Secret'));
  const [map] = objects.filter(({ kind }) => kind === 'ConfigMap');
  for (const name of Object.keys(map.data)) assert.ok(isSetting(name), `${name} is no setting`);
  const text = await readFile(join(KUBERNETES, 'settings.yaml'), 'utf8');
  for (const [name] of text.matchAll(/GAILOU_[A-Z_]+/g))
    assert.ok(isSetting(name), `${name} is no setting`);
  // What selects pods selects some.
  const selectors = objects.flatMap(({ kind, spec }) =>
    kind === 'Service'
      ? [spec.selector]
      : spec?.selector
        ? [spec.selector.matchLabels]
        : spec?.podSelector
          ? [spec.podSelector.matchLabels]
          : [],
  );
  assert.ok(selectors.length > 6);
  for (const selector of selectors.filter(Boolean)) {
    const isSelected = ({ labels }) =>
      Object.entries(selector).every(([name, value]) => labels[name] === value);
    assert.ok(pods.some(isSelected), JSON.stringify(selector));
  }
});
