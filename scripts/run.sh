#!/usr/bin/env bash
# Builds and starts the origin with its embedded store and the demo threads, then the Worker in front
# of it. The origin serves the page by itself while the Worker is built.
# The script runs until Ctrl-C or SIGTERM, or until one of the two programs ends; then it stops both.
#
# PORT (8787) is the Worker's port, ORIGIN_PORT (8080) the origin's. The script passes GAILOU_*
# variables to the origin.

# When make dies, even by SIGKILL, the kernel sends SIGTERM to this script.
if [ -n "${MAKELEVEL:-}" ] && command -v setpriv >/dev/null; then
  exec env -u MAKELEVEL setpriv --pdeathsig TERM -- "$0" "$@"
fi

# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

PORT=${PORT:-8787}
ORIGIN_PORT=${ORIGIN_PORT:-8080}
GAILOU=$TARGET/quick/gailou

# check_port NAME NUMBER: ends the script when the number is not a port.
check_port() {
  if ! [[ $2 =~ ^[1-9][0-9]{0,4}$ ]] || [ "$2" -gt 65535 ]; then die "$1=$2 is not a port from 1 to 65535"; fi
}

# check_port_is_free NAME NUMBER: fails when a program listens on the port.
check_port_is_free() {
  if answers "$2"; then
    fail "port $2 is in use: stop the program that listens there, or choose another port: make run $1=$(($2 < 65000 ? $2 + 10 : $2 - 10))"
  fi
}

# write_worker_secrets FILE: writes the Worker's secrets to a file, because every user of the machine
# can read a command line. Without a configured token secret, the origin's own is in its data directory.
write_worker_secrets() {
  (
    umask 077
    local own=${GAILOU_DATA:-data}/token_secret
    if [ -z "${GAILOU_TOKEN_SECRET:-}${GAILOU_AUTH__TOKEN_PUBLIC_KEY:-}" ] && [ -r "$own" ]; then
      GAILOU_TOKEN_SECRET=$(cat "$own")
    fi
    for name in EDGE_SECRET TOKEN_SECRET; do
      variable=GAILOU_$name
      if [ -n "${!variable:-}" ]; then printf "%s='%s'\n" $name "${!variable}"; fi
    done >"$1"
  )
}

run_origin() {
  # The drivers of a cluster take minutes to build, and the embedded store does not use them.
  local features=() began
  if [ -n "${GAILOU_MYSQL_URLS:-}" ]; then features=(--features cluster); fi
  build_origin quick "${features[@]}" || return
  check_port_is_free ORIGIN_PORT "$ORIGIN_PORT" || return
  began=$SECONDS
  start_origin "$GAILOU" --bind "127.0.0.1:$ORIGIN_PORT" || return
  report ok $((SECONDS - began)) "start the origin"
  step "import the demo threads" import "$GAILOU" import edge/web/demo-threads.jsonl
}

run_worker() {
  setup_edge && build_edge || return
  check_port_is_free PORT "$PORT" || return
  # The Worker stores copies of the origin's pages, and the copies of an earlier run may be outdated.
  rm -rf .wrangler/run
  mkdir -p .wrangler/run
  local secrets=.wrangler/run/secrets.env arguments=() began=$SECONDS
  write_worker_secrets $secrets
  # wrangler reads .dev.vars only without this argument.
  if [ -s $secrets ]; then arguments=(--env-file "$secrets"); fi
  start_edge "$PORT" .wrangler/run "$origin_url" "${arguments[@]}" || return
  report ok $((SECONDS - began)) "start the Worker"
}

check_port PORT "$PORT"
check_port ORIGIN_PORT "$ORIGIN_PORT"
[ "$PORT" != "$ORIGIN_PORT" ] || die "PORT and ORIGIN_PORT are both $PORT"
check_port_is_free PORT "$PORT" && check_port_is_free ORIGIN_PORT "$ORIGIN_PORT" || exit 1

say "Setting up and building. The first time takes some minutes; logs are in .tools/log."
setup_rust && setup_node && build_web && run_origin || exit 1

# From here on a signal is the normal end, with status 0.
trap 'clear_line; say "Stopping."; exit 0' INT TERM HUP

say ""
say "Open $origin_url"
say ""
say "The page is complete there. The Worker in front of it starts next."
edge=
if run_worker; then
  say ""
  say "Open http://127.0.0.1:$PORT for the same page through the Worker."
else
  if [ -n "$edge" ]; then stop "$edge"; fi
  edge=
  fail "the Worker does not run; $origin_url keeps running without it"
fi
say ""
say "Ctrl-C stops everything. Logs: .tools/log/origin.log, .tools/log/edge.out"

while alive "$origin" && { [ -z "$edge" ] || alive "$edge"; }; do sleep 0.3; done 2>/dev/null
if alive "$origin"; then
  wait "$edge"
  status=$?
  log_tail "$LOGS/edge.out" "$LOGS/edge.log"
  die "the Worker ended by itself (status $status)"
fi
wait "$origin"
status=$?
log_tail "$LOGS/origin.log"
die "the origin ended by itself (status $status)"
