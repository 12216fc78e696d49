#!/usr/bin/env bash
# Fuzzes the parsers of the edge: each target of edge/fuzz, or only the named ones, for SECONDS (60).
# The fuzzer writes an input that fails to edge/fuzz/artifacts; commit it to edge/fuzz/seeds with the fix.
#
#   scripts/fuzz.sh [SECONDS] [TARGET...]

# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

seconds=${1:-60}
shift
setup fuzz || exit 1
cd edge || exit 1
if [ $# = 0 ]; then mapfile -t targets < <(cd fuzz/fuzz_targets && printf '%s\n' *.rs | sed 's/\.rs$//'); else targets=("$@"); fi

step "build the targets" fuzz-build cargo +nightly fuzz build || exit 1
status=0
for target in "${targets[@]}"; do
  mkdir -p "fuzz/corpus/$target"
  step "$target, $seconds s" "fuzz-$target" cargo +nightly fuzz run "$target" "fuzz/corpus/$target" "fuzz/seeds/$target" -- \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 || status=1
  sed -n 's/^\(Done .*\)/                       \1/p' "$LOGS/fuzz-$target.log"
done
exit $status
