#!/usr/bin/env bash
# Runs the checks and the tests and prints one line for each stage. After a stage that fails the others
# still run.
#
#   scripts/test.sh          everything (make test)
#   scripts/test.sh check    format, lints and unit tests (make check)
#
# The last line counts tests; a stage that reports no tests counts as one. A test that failed and then passed, alone, is
# flaky: it is named, and does not fail the run.

# shellcheck source=scripts/services.sh
. "$(dirname "${BASH_SOURCE[0]}")/services.sh"

# print_table: prints a line for each stage that has ended.
print_table() { say ""; printf '%s\n' "${table[@]}"; say ""; }

# shellcheck disable=SC2317 # lib.sh calls it
at_exit() {
  if [ -n "$running" ]; then
    print_table
    log_tail "$running"
  fi
  remove_services
  if [ -n "${memory_dir:-}" ]; then rm -rf "$memory_dir"; fi
}

# use_memory: puts the temporary files of the tests, which are the data of their servers, in memory where it has 8 GiB of
# room: a disk would take each of their small commits to its plates. A process that is killed loses nothing there either.
use_memory() {
  local available_kib free_kib
  available_kib=$(sed -nE 's/^MemAvailable: *([0-9]+) kB$/\1/p' /proc/meminfo)
  free_kib=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1)
  if [ "${available_kib:-0}" -lt 12582912 ] || [ "${free_kib:-0}" -lt 8388608 ]; then
    say "  The data of the tests is on the disk, which takes longer: the memory has no 8 GiB of room in /dev/shm."
    return
  fi
  memory_dir=$(mktemp -d /dev/shm/gailou.XXXXXX)
  export TMPDIR=$memory_dir
}

# A stage that has printed nothing for so long hangs.
SILENCE_SECONDS=900

passed=0 failed=0 flaky=0 skipped=0
table=()
# The log of the stage that runs: what ends this script in the midst of one is not the only thing to be seen of it.
running=
began=$SECONDS

# stage NAME LOG COMMAND...: runs a step and counts its tests by the summary lines of cargo and Node.
stage() {
  local name=$1 log=$2 since=$SECONDS status=ok ok bad skip count=
  shift 2
  running=$LOGS/$log.log
  step "$name" "$log" "$@" || status=FAILED
  log=$running running=
  ok=$(($(sum '^test result: .* N passed;.*' "$log") + $(sum '^[^ ]+ pass N$' "$log")))
  bad=$(($(sum '^test result: .* N failed;.*' "$log") + $(sum '^[^ ]+ fail N$' "$log") + $(sum '^[^ ]+ cancelled N$' "$log")))
  skip=$(($(sum '^test result: .* N ignored;.*' "$log") + $(sum '^[^ ]+ skipped N$' "$log")))
  if [ $status = ok ] && [ "$bad" -gt 0 ]; then
    say "---- flaky: failed, and passed when run again"
    failed_tests "$log"
    say "----"
    count=", $bad flaky"
    flaky=$((flaky + bad)) ok=$((ok + bad)) bad=0
  fi
  if [ $((ok + bad)) -gt 0 ]; then count="$ok passed, $bad failed$count"; fi
  if [ "$skip" -gt 0 ]; then count="${count:-0 passed, 0 failed}, $skip skipped"; fi
  if [ $status = ok ] && [ "$ok" = 0 ]; then ok=1; fi
  if [ $status = FAILED ] && [ "$bad" = 0 ]; then bad=1; fi
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
  table+=("$(printf '  %-6s %12s  %-42s %s' "$status" "$(duration $((SECONDS - since)))" "$name" "$count")")
}

web_tests() { scripts/web-test.sh; }

# web_cluster_tests: needs the servers of start_services.
web_cluster_tests() {
  E2E_MYSQL_SERVERS=$mariadb,$mysql E2E_REDIS=$redis E2E_KAFKA=$kafka E2E_OPENSEARCH=$opensearch scripts/web-test.sh cluster
}

# documents_tests: needs the servers of start_services, and what `builds` leaves.
documents_tests() { with_services node_tests 'tests/documents/*.test.mjs'; }

edge_tests() { EDGE_BUILT=1 node_tests 'tests/edge/**/*.test.mjs' 'examples/*.test.mjs'; }

# With the drivers of a cluster, and TLS by the OpenSSL of this machine. Without them the program builds in a
# fraction of the time.
CLUSTER=(--features gailou-tests/kafka-tls)

# cargo-machete looks for manifests in every folder that it is given, and that of the builds is large.
CRATES=(edge origin packages/rust shared tests)

# unused_dependencies: also of the fuzz targets, whose lock files must fit: cargo-machete would write them anew.
unused_dependencies() {
  local crate
  for crate in edge origin; do
    cargo metadata --locked --format-version 1 --manifest-path "$crate/fuzz/Cargo.toml" >/dev/null || return
  done
  cargo-machete --with-metadata "${CRATES[@]}"
}

# builds: the page, the Worker, the tests, and with them the program, whose dependencies would otherwise be built once
# more, because some tests ask for more of their features.
builds() {
  npm run --silent build &&
    cargo test --locked --workspace "${CLUSTER[@]}" --no-run &&
    [ -x "$E2E_GAILOU" ] &&
    if ! edge_is_fresh; then sh scripts/build-edge.sh; fi
}

# with_services COMMAND...: runs a command with the addresses of the servers that all tests share.
with_services() {
  (
    export GAILOU_TEST_SERVICES="$mariadb;$mysql;$redis;$kafka" GAILOU_TEST_KAFKA_BROKERS=$kafka
    export GAILOU_TEST_MYSQL_URL=${GAILOU_TEST_MYSQL_URL:-$mariadb/,$mysql/}
    export GAILOU_TEST_OPENSEARCH=$opensearch GAILOU_TEST_S3=$s3
    "$@"
  )
}

# The chaos test has a stage of its own. Many of the others wait more than they work.
rust_tests() {
  with_services cargo_tests cargo test --locked --workspace "${CLUSTER[@]}" --no-fail-fast -- \
    --skip acknowledged_writes_survive_every_fault --test-threads=3
}

# test_program FOLDER NAME ARGUMENT...: runs one of the programs that rust_tests has built. `cargo test --test NAME` would
# build half of the crates again, because it leaves out what other tests alone depend on.
test_program() {
  local folder=$1 name=$2 program
  shift 2
  program=$(cargo test --locked --workspace "${CLUSTER[@]}" --no-run --color never 2>&1 |
    sed -nE "s#^ *Executable (unittests src/lib.rs|tests/[^ ]*) \\((.*/$name-[0-9a-f]+)\\)\$#\\2#p")
  if [ -z "$program" ]; then
    echo "cargo has built no tests named $name"
    return 1
  fi
  program=$(realpath "$program") || return
  # As cargo and rustup run it: tests run cargo.
  (
    cd "$folder" || exit
    RUSTUP_TOOLCHAIN=$(rustup show active-toolchain | cut -d ' ' -f 1)
    export RUSTUP_TOOLCHAIN CARGO_MANIFEST_DIR=$PWD
    "$program" "$@"
  )
}

# The tests of the contract run twice: embedded in rust_tests, and here in a cluster. So do those of the
# databases: in rust_tests the first database of each test is on MariaDB, and here on MySQL.
cluster_tests() {
  GAILOU_TEST_STORE=cluster with_services cargo_tests test_program tests contract --test-threads=3 &&
    GAILOU_TEST_MYSQL_URL="$mysql/,$mariadb/" with_services cargo_tests test_program origin gailou adapters::mysql
}

# This test starts its own servers, because it kills them. It waits more than it works, so other stages run meanwhile.
start_chaos_tests() {
  spawn "$LOGS/chaos-tests.log" "$LOGS/chaos-tests.log" test_program tests chaos --ignored
  chaos=$child
}

chaos_tests() {
  wait_for "$chaos"
  cat "$LOGS/chaos-tests.log"
  grep -q '^test result: ok' "$LOGS/chaos-tests.log"
}

# The checks of the element: the scripts of package.json.
page_checks() {
  stage "types (page)" types-web npm run --silent types
  stage "format and lints (page)" lint-web npm run --silent lint
  stage "unit tests (page)" test-web npm run --silent test
}

lints() {
  stage "format" fmt cargo fmt --all --check -- --color never
  # The tests are linted once, with the cluster; what is left is the program without it.
  stage "lints (host)" clippy cargo clippy --locked --workspace --lib --bins -- -D warnings
  stage "lints (cluster)" clippy-cluster cargo clippy --locked --workspace "${CLUSTER[@]}" --all-targets -- -D warnings
  stage "lints (Worker)" clippy-wasm \
    cargo clippy --locked --package gailou-edge --target wasm32-unknown-unknown -- -D warnings
  # Its own, because the others would have the feature too.
  stage "lints (client with TLS)" clippy-client \
    cargo clippy --locked --package gailou-client --features tls --all-targets -- -D warnings
}

# The same seeds each time, as many as a minute holds without optimisation; `make simulate` takes new ones, and thousands
# a minute.
simulation() {
  SIMULATE_FROM=0 SIMULATE_SECONDS=60 test_program origin gailou simulation::tests::seeds_are_clean --ignored --nocapture
}

check() {
  page_checks
  lints
  stage "unit tests" unit cargo test --locked --workspace --lib --bins
}

all() {
  export E2E_GAILOU=$TARGET/debug/gailou
  page_checks
  lints
  stage "documentation" doc env RUSTDOCFLAGS="${RUSTDOCFLAGS:-} -D warnings" \
    cargo doc --locked --workspace "${CLUSTER[@]}" --no-deps --document-private-items
  stage "unused dependencies" machete unused_dependencies
  stage "dependencies: licences, bans, sources" deny cargo-deny --locked check licenses bans sources
  stage "build page, tests, program and Worker" builds builds
  use_memory
  start_services || exit 1
  stage "tests (Rust)" cargo-test rust_tests
  stage "the contract in a cluster" cargo-test-cluster cluster_tests
  stage "the console on a cluster, in Chromium" web-cluster web_cluster_tests
  stage "the blocks of the documents" documents documents_tests
  stop_services
  start_chaos_tests
  stage "simulation: a minute of seeds" simulation simulation
  stage "golden vectors in wasm" golden scripts/golden-wasm.sh
  stage "edge and examples, end to end" edge-test edge_tests
  stage "chaos: a short round of each fault" chaos chaos_tests
  stage "the page in Chromium" web-test web_tests
}

# In CI a changed snapshot is only a failure; elsewhere insta also writes the new one for a review.
if [ -n "${CI:-}" ]; then export INSTA_UPDATE=no; fi

mode=${1:-all}
case $mode in
  all) setup test || exit 1 ;;
  check) setup check || exit 1 ;;
  *) die "usage: scripts/test.sh [check]" ;;
esac
E2E_CHROMIUM=$(find_chromium)
export E2E_CHROMIUM

"$mode"

print_table
say "$(duration $((SECONDS - began))) in all; logs are in .tools/log"
say "$passed passed, $failed failed, $flaky flaky, $skipped skipped"
[ $failed = 0 ]
