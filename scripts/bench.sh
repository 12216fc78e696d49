#!/usr/bin/env bash
# Runs the benchmarks one after the other; what they measure is on the screen and in .tools/log.

# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

setup bench || exit 1
build_web || exit 1
build_edge || exit 1

# figures NAME COMMAND...: a step, and then what it printed.
figures() {
  step "$1" "bench-$1" "${@:2}" || exit 1
  grep -vE '^ *(Compiling|Finished|Running|Downloaded|Locking|Fresh|Blocking) ' "$LOGS/bench-$1.log"
}

figures filter cargo bench --locked --package gailou-shared --bench word_filter
figures origin cargo bench --locked --package gailou --bench figures
figures cluster cargo bench --locked --package gailou-tests --features cluster --bench cluster
figures edge node tests/edge/bench/run.mjs
