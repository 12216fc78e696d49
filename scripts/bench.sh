#!/usr/bin/env bash
# Runs the benchmarks one after the other. Each result is printed and stored in .tools/log.

# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

setup bench || exit 1
build_web || exit 1
build_edge || exit 1

# run_benchmark NAME COMMAND...: runs a benchmark as a step, then prints its output without the lines
# of cargo.
run_benchmark() {
  step "$1" "bench-$1" "${@:2}" || exit 1
  grep -vE '^ *(Compiling|Finished|Running|Downloaded|Locking|Fresh|Blocking) ' "$LOGS/bench-$1.log"
}

run_benchmark filter cargo bench --locked --package gailou-shared --bench word_filter
run_benchmark origin cargo bench --locked --package gailou --bench figures
run_benchmark search cargo test --locked --release --package gailou --lib search_of_a_million -- --ignored --nocapture
run_benchmark cluster cargo bench --locked --package gailou-tests --features cluster --bench cluster
run_benchmark edge node tests/edge/bench/run.mjs
