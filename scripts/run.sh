#!/usr/bin/env bash
# Builds and starts everything on the embedded default: the origin, its demo threads, the edge.
# Stays until Ctrl-C, SIGTERM, or until one of the two ends; stops both.
#
#   PORT (8787) is the page's, ORIGIN_PORT (8080) the origin's; GAILOU_* goes to the origin as it is.

# Run by make, it does not outlive it, however make ends.
if [ -n "${MAKELEVEL:-}" ] && command -v setpriv >/dev/null; then
  exec env -u MAKELEVEL setpriv --pdeathsig TERM -- "$0" "$@"
fi

# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

PORT=${PORT:-8787}
ORIGIN_PORT=${ORIGIN_PORT:-8080}
GAILOU=$TARGET/release/gailou

# need_port NAME NUMBER
need_port() {
  if ! [[ $2 =~ ^[1-9][0-9]{0,4}$ ]] || [ "$2" -gt 65535 ]; then die "$1=$2 is not a port from 1 to 65535"; fi
}

# need_free NAME NUMBER
need_free() {
  if answers "$2"; then
    die "port $2 is in use: stop what listens there, or choose another one: make run $1=$(($2 < 65000 ? $2 + 10 : $2 - 10))"
  fi
}

need_free_ports() {
  need_free PORT "$PORT"
  need_free ORIGIN_PORT "$ORIGIN_PORT"
}

need_port PORT "$PORT"
need_port ORIGIN_PORT "$ORIGIN_PORT"
[ "$PORT" != "$ORIGIN_PORT" ] || die "PORT and ORIGIN_PORT are both $PORT"
need_free_ports

say "Setting up and building. The first time takes some minutes; logs are in .tools/log."
setup run || exit 1
# The drivers of a cluster take minutes to build; embedded, nobody needs them.
features=()
# A program that can be part of a cluster (make build) stays one.
if [ -n "${GAILOU_MYSQL_URLS:-}" ] || grep -qs librdkafka "$GAILOU"; then features=(--features cluster); fi
build_origin release "${features[@]}" || exit 1
build_edge || exit 1

need_free_ports
began=$SECONDS
start_origin "$GAILOU" --bind "127.0.0.1:$ORIGIN_PORT" || exit 1
report ok $((SECONDS - began)) "start the origin at $origin_url"

step "import the demo threads" import "$GAILOU" import edge/web/demo-threads.jsonl || exit 1

# What the edge keeps are copies of this origin's pages: those of an earlier run may be of other data.
rm -rf .wrangler/run
mkdir -p .wrangler/run
# In a file, because every user of the machine can read a command line.
secrets=.wrangler/run/secrets.env
(
  umask 077
  for name in EDGE_SECRET TOKEN_SECRET; do
    variable=GAILOU_$name
    if [ -n "${!variable:-}" ]; then printf "%s='%s'\n" $name "${!variable}"; fi
  done >$secrets
)
# Wrangler then leaves .dev.vars unread.
from_file=()
if [ -s $secrets ]; then from_file=(--env-file "$secrets"); fi
began=$SECONDS
start_edge "$PORT" .wrangler/run "$origin_url" "${from_file[@]}" || exit 1
report ok $((SECONDS - began)) "start the edge at $edge_url"

say ""
say "Open http://127.0.0.1:$PORT"
say ""
say "Ctrl-C stops it. Logs: .tools/log/origin.log, .tools/log/edge.out"

# Asked to stop, it has done what it should.
trap 'say "Stopping."; exit 0' INT TERM HUP

while alive "$origin" && alive "$edge"; do sleep 0.3; done 2>/dev/null
if alive "$origin"; then
  wait "$edge"
  status=$?
  log_tail "$LOGS/edge.out" "$LOGS/edge.log"
  die "the edge ended by itself (status $status)"
fi
wait "$origin"
status=$?
log_tail "$LOGS/origin.log"
die "the origin ended by itself (status $status)"
