#!/usr/bin/env bash
# Fuzzes what strangers send: each target of edge/fuzz and origin/fuzz, or only the named ones, for SECONDS (60).
# The fuzzer writes an input that fails to fuzz/artifacts there; commit it to fuzz/seeds with the fix.
#
#   scripts/fuzz.sh [SECONDS] [TARGET...]

# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

seconds=${1:-60}
shift
setup fuzz || exit 1
status=0

# fuzz_crate FOLDER [TARGET...]: fuzzes the targets of a crate, or those of them that are named.
fuzz_crate() {
  local folder=$1 all targets=() target
  shift
  mapfile -t all < <(cd "$folder/fuzz/fuzz_targets" && printf '%s\n' *.rs | sed 's/\.rs$//')
  for target in "${all[@]}"; do
    if [ $# = 0 ] || [[ " $* " == *" $target "* ]]; then targets+=("$target"); fi
  done
  [ ${#targets[@]} -gt 0 ] || return 0
  cd "$folder" || return 1
  step "build the targets of $folder" "fuzz-build-$folder" cargo +nightly fuzz build || exit 1
  for target in "${targets[@]}"; do
    mkdir -p "fuzz/corpus/$target"
    step "$target, $seconds s" "fuzz-$target" cargo +nightly fuzz run "$target" "fuzz/corpus/$target" "fuzz/seeds/$target" -- \
      -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 || status=1
    sed -n 's/^\(Done .*\)/                       \1/p' "$LOGS/fuzz-$target.log"
  done
  cd .. || return 1
}

fuzz_crate edge "$@"
fuzz_crate origin "$@"
exit $status
