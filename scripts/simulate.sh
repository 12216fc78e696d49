#!/usr/bin/env bash
# Simulates a cluster, seed by seed: crashes, rewinds, partitions, delays and clock jumps over doubles of the
# servers, and compares what was acknowledged with what is stored.
#
#   SIMULATE_SECONDS (60)  how long it runs
#   SIMULATE_SEEDS         how many seeds it runs instead
#   SIMULATE_FROM          the first seed; by default one that no run had
#   SIMULATE_SEED          the one seed to repeat, with everything that happens in it

# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

for name in SECONDS SEEDS FROM SEED; do
  name=SIMULATE_$name
  if [ -n "${!name:-}" ]; then export "${name?}"; else unset "$name"; fi
done
export SIMULATE_FROM=${SIMULATE_FROM:-$(date +%s)000}
suite=(cargo test --locked --release --package gailou --features cluster --lib)

setup_rust || exit 1
step "build the simulation" build-simulation "${suite[@]}" --no-run || exit 1
set -m
"${suite[@]}" --quiet -- simulation::tests::seeds_are_clean --ignored --nocapture </dev/null &
set +m
children+=($!)
finish $!
