#!/usr/bin/env bash
# Tests the page in headless Chromium against a private origin and a private edge, on free ports and
# with temporary data.
#
#   scripts/web-test.sh           an embedded origin: both of the following
#   scripts/web-test.sh thread    what a reader does in a thread; then once more with the origin stopped
#   scripts/web-test.sh site      the moderators' page, and the pages that have the elements
#   scripts/web-test.sh cluster   the moderators' page, on an origin that is a whole cluster, and an erasure at its edge
#   scripts/web-test.sh screenshots   the screenshots alone; with UPDATE_SCREENSHOTS=1 those that have changed are accepted
#
# It needs the tools of `scripts/setup.sh test`, target/debug/gailou (or E2E_GAILOU) and edge/build. With `cluster`,
# E2E_MYSQL_SERVERS (mysql://root@… of two servers, separated by a comma), E2E_REDIS, E2E_KAFKA and E2E_OPENSEARCH name
# running servers, on which it leaves databases, topics and an index of its own.

# shellcheck source=scripts/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

mode=${1:-all}
case $mode in
  all | thread | site | cluster | screenshots) ;;
  *) die "usage: scripts/web-test.sh [thread|site|cluster|screenshots]" ;;
esac

# Each half has an origin, a Worker and a browser of its own, and waits for them as often as it works.
if [ "$mode" = all ]; then
  status=0
  spawn "$LOGS/web-site.log" "$LOGS/web-site.log" "$ROOT/scripts/web-test.sh" site
  site=$child
  "$ROOT/scripts/web-test.sh" thread || status=1
  finish "$site" || status=1
  cat "$LOGS/web-site.log"
  exit $status
fi

# A folder of its own: another script may write to .tools/log at the same time.
LOGS=$LOGS/web-$mode
mkdir -p "$LOGS"
work=$(mktemp -d)
# shellcheck disable=SC2317,SC2329 # lib.sh calls it
at_exit() { rm -rf "$work"; }

gailou=${E2E_GAILOU:-$TARGET/debug/gailou}
word=zzblockedzz
category=abuse

quietly() { "$@" >"$LOGS/seed.log" 2>&1 || { log_tail "$LOGS/seed.log"; die "failed: $*"; }; }

# page [--OPTION...] FILE: runs one file of browser tests; the options go to Node.
page() {
  (
    export E2E_BASE=$edge_url E2E_ORIGIN=$origin_url E2E_BLOCKED_WORD=$word E2E_BLOCKED_CATEGORY=$category
    export E2E_TOKEN_SECRET=$secret E2E_GAILOU=$gailou
    node_tests "$@"
  )
}

# use_cluster: makes an empty database on each of the two servers, and a cluster of them for the program.
use_cluster() {
  local server urls=() name=web$$
  for server in ${E2E_MYSQL_SERVERS//,/ }; do
    quietly mariadb --no-defaults --user=root --protocol=tcp --host=127.0.0.1 --port="${server##*:}" \
      --execute="CREATE DATABASE $name"
    urls+=("$server/$name")
  done
  export GAILOU_MYSQL_URLS=${urls[0]},${urls[1]} GAILOU_REDIS_URLS=$E2E_REDIS GAILOU_KAFKA_BROKERS=$E2E_KAFKA
  export GAILOU_SEARCH__URL=$E2E_OPENSEARCH GAILOU_SEARCH__INDEX=$name
  export GAILOU_CLUSTER__NAME=$name GAILOU_CLUSTER__TABLES=2 GAILOU_CLUSTER__PARTITIONS=4
  export GAILOU_CURSOR_SECRET=another-secret-of-this-test-of-32-bytes
}

E2E_CHROMIUM=$(find_chromium)
export E2E_CHROMIUM
[ -x "$gailou" ] || die "$gailou is missing: build it, or set E2E_GAILOU to its path"
for variable in "${!GAILOU_@}"; do unset "$variable"; done
secret=a-secret-of-this-test-of-32-bytes
export GAILOU_DATA=$work/data GAILOU_LIMITS=off GAILOU_TOKEN_SECRET=$secret
if [ "$mode" = cluster ]; then use_cluster; fi

start_origin "$gailou" --bind 127.0.0.1:0 || exit 1
quietly "$gailou" import edge/web/demo-threads.jsonl
printf '%s\t%s\tblock\n' $word $category >"$work/words.tsv"
quietly "$gailou" words load "$work/words.tsv"
start_edge 0 "$work/edge" "$origin_url" --var "TOKEN_SECRET:$secret" || exit 1

status=0
if [ "$mode" = cluster ]; then
  # How the pages look does not depend on where comments are stored: that is tested embedded.
  page --test-skip-pattern=accessible tests/web/console.mjs || status=1
  page tests/edge/erasure.test.mjs || status=1
elif [ "$mode" = screenshots ]; then
  page tests/web/screenshots.test.mjs || status=1
elif [ "$mode" = site ]; then
  page tests/web/site.mjs || status=1
else
  page tests/web/thread.mjs || status=1
  stop "$origin"
  export E2E_OFFLINE=1
  page tests/web/offline.test.mjs || status=1
fi
if [ $status != 0 ]; then log_tail "$LOGS/origin.log" "$LOGS/edge.out" "$LOGS/edge.log"; fi
exit $status
