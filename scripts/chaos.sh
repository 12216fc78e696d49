#!/usr/bin/env bash
# Kills, freezes and cuts off every part of a cluster under load, on servers of its own, and checks
# that everything that was acknowledged is there, once, and counted right.
#
#   CHAOS_SECONDS (60) of load in each round, CHAOS_ROUNDS (1) rounds for each fault;
#   CHAOS_FAULTS: only these: kill-redis,freeze-serve,cut-kafka

# Run by make, it does not outlive it, however make ends.
if [ -n "${MAKELEVEL:-}" ] && command -v setpriv >/dev/null; then
  exec env -u MAKELEVEL setpriv --pdeathsig TERM -- "$0" "$@"
fi

# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

export CI=true CHAOS_SECONDS=${CHAOS_SECONDS:-60} CHAOS_ROUNDS=${CHAOS_ROUNDS:-1}
suite=(cargo test --locked --release --workspace --features gailou-tests/cluster --test chaos)

setup_rust && setup_services || exit 1
step "build the suite (release)" build-chaos "${suite[@]}" --no-run || exit 1
# In a group of its own, as every child; its table goes to the terminal.
set -m
"${suite[@]}" --quiet -- --ignored </dev/null &
set +m
children+=($!)
finish $!
