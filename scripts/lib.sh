# shellcheck shell=bash
# What the scripts share: where things are, steps that say what they do, programs that are stopped.
# To be sourced. Not here: what gets installed (setup.sh), what gets tested (test.sh).
#
# Every child runs in a process group of its own, so that one signal reaches all it has started,
# and a signal to the script is acted upon at once, not after the child has ended.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TOOLS=$ROOT/.tools
LOGS=$TOOLS/log
# shellcheck disable=SC2034 # read by the scripts that source this
TARGET=${CARGO_TARGET_DIR:-$ROOT/target}
cd "$ROOT" || exit 1
mkdir -p "$LOGS"

# The pinned tools first, then the project's own Node programs (and Node itself, where setup.sh put
# one), then what rustup installed without telling the shell, and servers where only root looks.
PATH=$TOOLS/bin:$ROOT/node_modules/.bin:$PATH:$HOME/.cargo/bin:/usr/sbin
export PATH CARGO_TERM_COLOR=never CARGO_TERM_PROGRESS_WHEN=never

# Puts a program's end on this script's end, even when the script is killed outright.
TIED=()
if command -v setpriv >/dev/null; then TIED=(setpriv --pdeathsig TERM --); fi

STOP_SECONDS=10
children=()
live_line=
if [ -t 1 ] && [ -z "${CI:-}" ]; then live_line=1; fi

say() { printf '%s\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; return 1; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# 75 -> "1 min 15 s"
duration() {
  if [ "$1" -ge 60 ]; then printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); else printf '%d s' "$1"; fi
}

clear_line() { if [ -n "$live_line" ]; then printf '\r\033[K'; fi; }

# report STATUS SECONDS NAME: the one line of a finished step.
report() {
  clear_line
  printf '  %-6s %12s  %s\n' "$1" "$(duration "$2")" "$3"
}

# log_tail FILE...: the end of what a failed program said.
log_tail() {
  local file
  for file in "$@"; do
    [ -s "$file" ] || continue
    printf -- '---- the end of %s\n' "${file#"$ROOT"/}"
    tail -n 40 "$file"
    printf -- '----\n'
  done >&2
}

# Runs a command or function in the background, in its own process group; its number is in $child.
spawn() {
  local out=$1 err=$2
  shift 2
  # Here and now: what an earlier run said must not be read as this one's word.
  : >"$out"
  : >"$err"
  set -m
  if [ "$out" = "$err" ]; then
    "$@" >"$out" 2>&1 </dev/null &
  else
    "$@" >"$out" 2>"$err" </dev/null &
  fi
  child=$!
  set +m
  children+=("$child")
}

# start NAME COMMAND...: a program that stays: .tools/log/NAME.out is what it says, NAME.log its log.
start() {
  local name=$1
  shift
  spawn "$LOGS/$name.out" "$LOGS/$name.log" "${TIED[@]}" "$@"
}

alive() { kill -0 "$1" 2>/dev/null; }
group_alive() { kill -0 -- "-$1" 2>/dev/null; }

# stop PID...: ends these process groups, kindly first, all at the same time.
stop() {
  local pid left tries=0
  for pid in "$@"; do kill -TERM -- "-$pid" 2>/dev/null; done
  while [ $tries -lt $((STOP_SECONDS * 10)) ] && [ -z "${hurry:-}" ]; do
    left=
    for pid in "$@"; do if group_alive "$pid"; then left=1; fi; done
    [ -n "$left" ] || break
    sleep 0.1
    tries=$((tries + 1))
  done
  for pid in "$@"; do kill -KILL -- "-$pid" 2>/dev/null; done
  for pid in "$@"; do wait "$pid" 2>/dev/null; done
  return 0
}

# The second Ctrl-C does not wait.
stop_children() {
  trap 'hurry=1' INT TERM HUP
  trap - EXIT
  if [ ${#children[@]} -gt 0 ]; then stop "${children[@]}"; fi
  children=()
}

# What a script has to undo beyond its children; a script may write its own.
at_exit() { :; }

trap 'status=$?; clear_line; stop_children; at_exit; exit $status' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# finish PID: waits for a child, forgets it, and answers with its status.
finish() {
  local pid status=0 rest=()
  wait "$1" 2>/dev/null || status=$?
  for pid in "${children[@]}"; do if [ "$pid" != "$1" ]; then rest+=("$pid"); fi; done
  children=("${rest[@]}")
  return $status
}

# step NAME LOG COMMAND...: runs it quietly, its output in .tools/log/LOG.log, and prints one line
# when it ends; meanwhile a line that moves on a terminal, or a sign of life each minute elsewhere.
step() {
  local name=$1 log=$LOGS/$2.log began=$SECONDS told=0 pid status=0 spent last
  shift 2
  spawn "$log" "$log" "$@"
  pid=$child
  sleep 0.05
  while alive "$pid"; do
    spent=$((SECONDS - began))
    if [ -n "$live_line" ]; then
      last=$(printf '  %-6s %12s  %s: %s' ... "$(duration $spent)" "$name" "$(tail -n 1 "$log" | tr -d '\r' | sed 's/^ *//')")
      printf '\r\033[K%s' "${last:0:${COLUMNS:-80} - 1}"
    elif [ $spent -ge $((told * 60 + 2)) ]; then
      if [ $told = 0 ]; then say "  ...                  $name"; else say "  ...    $(printf '%12s' "$(duration $spent)")  $name"; fi
      told=$((told + 1))
    fi
    sleep 0.2
  done
  finish "$pid" || status=$?
  # Whatever the step left running goes with it.
  if group_alive "$pid"; then stop "$pid"; fi
  spent=$((SECONDS - began))
  if [ $status = 0 ]; then
    report ok $spent "$name"
  else
    report FAILED $spent "$name"
    log_tail "$log"
  fi
  return $status
}

# answers PORT: whether something listens there.
answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# http_ok PORT: whether GET / is answered with 200.
http_ok() {
  local status
  status=$(
    exec 3<>"/dev/tcp/127.0.0.1/$1" || exit
    printf 'GET / HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nAccept: text/html\r\nConnection: close\r\n\r\n' "$1" >&3
    read -r -t 10 line <&3 && printf '%s' "$line"
  ) 2>/dev/null
  [[ $status == HTTP/1.?\ 200* ]]
}

# wait_line PID FILE REGEX SECONDS: waits for a line of a running program; its first group is in $found.
wait_line() {
  local pid=$1 file=$2 regex=$3 until=$((SECONDS + $4)) line
  while :; do
    while IFS= read -r line; do
      if [[ $line =~ $regex ]]; then found=${BASH_REMATCH[1]}; return 0; fi
    done <"$file"
    alive "$pid" || return 1
    [ $SECONDS -lt "$until" ] || return 1
    sleep 0.1
  done
}

# start_origin PROGRAM ARGUMENT...: its process is in $origin, its address in $origin_url.
# shellcheck disable=SC2034 # read by the scripts that source this
start_origin() {
  start origin "$@"
  origin=$child
  if ! wait_line "$origin" "$LOGS/origin.out" '^gailou listening on (http://[^ ]+)' 60; then
    log_tail "$LOGS/origin.out" "$LOGS/origin.log"
    fail "the origin did not start"
  else
    origin_url=$found
  fi
}

# start_edge PORT DIR ORIGIN_URL ARGUMENT...: wrangler dev with its state in DIR; its process is in
# $edge, its address in $edge_url. Port 0 picks a free one.
start_edge() {
  start edge env CI=1 WRANGLER_SEND_METRICS=false CLOUDFLARE_CF_FETCH_ENABLED=false EDGE_BUILT=1 \
    wrangler dev --ip 127.0.0.1 --port "$1" --inspector-port 0 --persist-to "$2" --var "ORIGIN:$3" "${@:4}"
  edge=$child
  local until=$((SECONDS + 120))
  if wait_line "$edge" "$LOGS/edge.out" 'Ready on (http://[^[:space:]]+)' 120; then
    edge_url=${found%/}
    while alive "$edge" && [ $SECONDS -lt $until ]; do
      if http_ok "${edge_url##*:}"; then return 0; fi
      sleep 0.1
    done
  fi
  log_tail "$LOGS/edge.out" "$LOGS/edge.log"
  fail "the edge did not start"
}

# edge_is_fresh: whether edge/build was made from what lies there now.
edge_is_fresh() {
  [ -s edge/build/index.js ] || return 1
  local newer
  newer=$(find edge/src edge/Cargo.toml shared/src shared/Cargo.toml Cargo.toml Cargo.lock scripts/build-edge.sh \
    -newer edge/build/index.js -print -quit)
  [ -z "$newer" ]
}

build_edge() {
  if edge_is_fresh; then return 0; fi
  step "build the edge (Worker, release)" build-edge sh scripts/build-edge.sh
}

# build_origin release|dev ARGUMENT...: those go to cargo.
build_origin() {
  step "build the origin ($1)" "build-origin-$1" cargo build --locked --profile "$1" --package gailou --bin gailou "${@:2}"
}
