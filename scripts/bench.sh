#!/usr/bin/env bash
# Runs the benchmarks; what they measure is on the screen and in .tools/log/bench.log.

# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

setup bench || exit 1
step "run the benchmarks" bench cargo bench --locked --workspace --benches || exit 1
cat "$LOGS/bench.log"
