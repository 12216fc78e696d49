#!/usr/bin/env bash
# Starts a private cluster, kills, freezes, disconnects and sets back each part of it under load, and checks
# that every acknowledged write is stored once and counted once, and never 404.
#
#   CHAOS_SECONDS (60)    the length of the load in each round
#   CHAOS_ROUNDS (1)      how many rounds each fault gets
#   CHAOS_FAULTS (all)    the faults to run, for example kill-redis,freeze-serve,rewind-kafka

# When make dies, even by SIGKILL, the kernel sends SIGTERM to this script.
if [ -n "${MAKELEVEL:-}" ] && command -v setpriv >/dev/null; then
  exec env -u MAKELEVEL setpriv --pdeathsig TERM -- "$0" "$@"
fi

# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

export CI=true CHAOS_SECONDS=${CHAOS_SECONDS:-60} CHAOS_ROUNDS=${CHAOS_ROUNDS:-1}
suite=(cargo test --locked --release --workspace --features gailou-tests/cluster --test chaos --test cluster)

setup_rust && setup_services || exit 1
step "build the suite (release)" build-chaos "${suite[@]}" --no-run || exit 1
# The suite runs in its own process group, like every child, and prints its table to the terminal.
set -m
"${suite[@]}" --quiet -- --ignored </dev/null &
set +m
children+=($!)
finish $!
