# shellcheck shell=bash
# Shared functions of the scripts: paths, steps that print one line each, and children that are always
# stopped. The other scripts source this file; setup.sh installs tools, and test.sh runs the tests.
#
# Every child runs in its own process group. One signal reaches everything that the child has started,
# and the script handles a signal at once instead of after the child's end.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
TOOLS=$ROOT/.tools
LOGS=$TOOLS/log
# shellcheck disable=SC2034 # read by the scripts that source this
TARGET=${CARGO_TARGET_DIR:-$ROOT/target}
cd "$ROOT" || exit 1
mkdir -p "$LOGS"

# The order: the pinned tools, the Node programs of the project (with Node itself, if setup.sh has
# installed it), the user's PATH, then the folders of rustup and of the servers, which PATH may lack.
PATH=$TOOLS/bin:$ROOT/node_modules/.bin:$PATH:$HOME/.cargo/bin:/usr/sbin
export PATH CARGO_TERM_COLOR=never CARGO_TERM_PROGRESS_WHEN=never

# The prefix of a command that ends together with this script, even after a kill -9 of the script.
END_WITH_SCRIPT=()
if command -v setpriv >/dev/null; then END_WITH_SCRIPT=(setpriv --pdeathsig TERM --); fi

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

# report STATUS SECONDS NAME: prints the line of a finished step.
report() {
  clear_line
  printf '  %-6s %12s  %s\n' "$1" "$(duration "$2")" "$3"
}

# failed_tests FILE: prints what cargo and Node say of the tests that failed, without backtraces.
failed_tests() {
  sed -n -e '/^given up: /p' -e '/^failures:$/,/^test result: FAILED/p' -e '/^[^ ]* failing tests:$/,/^----/p' "$1" |
    grep -vE '^ +([0-9]+: |at )|^again: (✔|ℹ)' | head -n 80
}

# log_tail FILE...: prints the tests that failed in a log, or the last lines of a log without any.
log_tail() {
  local file failures
  for file in "$@"; do
    [ -s "$file" ] || continue
    failures=$(failed_tests "$file")
    if [ -n "$failures" ]; then
      printf -- '---- failed in %s\n%s\n' "${file#"$ROOT"/}" "$failures"
    else
      printf -- '---- the end of %s\n' "${file#"$ROOT"/}"
      tail -n 40 "$file"
    fi
    printf -- '----\n'
  done >&2
}

# spawn OUT ERR COMMAND...: runs a command or function in the background, in its own process group.
# Sets $child to its process id.
spawn() {
  local out=$1 err=$2
  shift 2
  # The files are emptied first: a caller must not read the output of an earlier run.
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

# start NAME COMMAND...: starts a server with its standard output in .tools/log/NAME.out and its
# standard error in .tools/log/NAME.log.
start() {
  local name=$1
  shift
  spawn "$LOGS/$name.out" "$LOGS/$name.log" "${END_WITH_SCRIPT[@]}" "$@"
}

alive() { kill -0 "$1" 2>/dev/null; }
group_alive() { kill -0 -- "-$1" 2>/dev/null; }

# stop PID...: sends SIGTERM to these process groups, and SIGKILL after STOP_SECONDS.
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

# stop_children: stops every child; a second Ctrl-C skips the wait.
stop_children() {
  trap 'hurry=1' INT TERM HUP
  trap - EXIT
  if [ ${#children[@]} -gt 0 ]; then stop "${children[@]}"; fi
  children=()
}

# The hook that runs after the children have ended; a script that has more to clean up redefines it.
at_exit() { :; }

trap 'status=$?; clear_line; stop_children; at_exit; exit $status' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# finish PID: waits for a child, removes it from $children, and returns its status.
finish() {
  local pid status=0 rest=()
  wait "$1" 2>/dev/null || status=$?
  for pid in "${children[@]}"; do if [ "$pid" != "$1" ]; then rest+=("$pid"); fi; done
  children=("${rest[@]}")
  return $status
}

# hanging_tests FILE: prints the tests of cargo that were slow and have not ended.
hanging_tests() {
  comm -23 <(sed -nE 's/^test (.*) has been running for over .*/\1/p' "$1" | sort -u) \
    <(sed -nE 's/^test (.*) \.\.\. .*/\1/p' "$1" | sort -u)
}

# Tests of cargo that have printed nothing for so long hang.
TEST_SILENCE_SECONDS=300

# print_stacks GROUP: prints what the threads of the tests in this process group are at, as far as gdb is installed.
print_stacks() {
  local pid
  pgrep -g "$1" -a
  for pid in $(pgrep -g "$1" -f '^[^ ]*/deps/'); do
    timeout 60 gdb -p "$pid" -batch -ex 'thread apply all backtrace 25' 2>/dev/null
  done
}

# step NAME LOG COMMAND...: runs a command with its output in .tools/log/LOG.log and prints one line
# when the command ends. Meanwhile a terminal shows the last line of its output; without a terminal the
# step prints a line every minute. One that prints nothing for SILENCE_SECONDS is stopped, and has failed; without this
# variable a build may take as long as the machine needs.
step() {
  local name=$1 log=$LOGS/$2.log began=$SECONDS printed=0 pid status=0 spent last size=0 grown=$SECONDS
  shift 2
  spawn "$log" "$log" "$@"
  pid=$child
  sleep 0.05
  while alive "$pid"; do
    spent=$((SECONDS - began))
    if [ "$(stat -c %s "$log")" != "$size" ]; then
      size=$(stat -c %s "$log") grown=$SECONDS
    elif [ -n "${SILENCE_SECONDS:-}" ] && [ $((SECONDS - grown)) -ge "$SILENCE_SECONDS" ]; then
      {
        print_stacks "$pid"
        printf 'given up: nothing was printed for %s s\n' "$SILENCE_SECONDS"
        hanging_tests "$log" | sed 's/^/given up: /'
      } >>"$log" 2>&1
      stop "$pid"
      break
    fi
    if [ -n "$live_line" ]; then
      last=$(printf '  %-6s %12s  %s: %s' ... "$(duration $spent)" "$name" "$(tail -n 1 "$log" | tr -d '\r' | sed 's/^ *//')")
      printf '\r\033[K%s' "${last:0:${COLUMNS:-80} - 1}"
    elif [ $spent -ge $((printed * 60 + 2)) ]; then
      if [ $printed = 0 ]; then say "  ...                  $name"; else say "  ...    $(printf '%12s' "$(duration $spent)")  $name"; fi
      printed=$((printed + 1))
    fi
    sleep 0.2
  done
  finish "$pid" || status=$?
  # The command may have left processes running.
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

# More tests than these are not flaky: something is broken, and it is not run again.
FLAKY_MAX=10

# again COUNT LOG COMMAND...: runs tests once more, and succeeds when so many have passed. The prefix keeps their summary
# out of the counts.
again() {
  local count=$1 log=$2 status
  shift 2
  printf 'again: %s\n' "$*"
  "$@" 2>&1 | tee "$log" | sed 's/^/again: /'
  status=${PIPESTATUS[0]}
  [ "$status" = 0 ] && [ $(($(sum '^test result: ok\. N passed.*' "$log") + $(sum '^[^ ]+ pass N$' "$log"))) -ge "$count" ]
}

# sum REGEX FILE: prints the sum of the numbers at the place of `N` in the lines that match.
sum() {
  sed -nE "s/${1/N/([0-9]+)}/\\1/p" "$2" | awk '{ n += $1 } END { print n + 0 }'
}

# stop_hanging LOG: once a log has not grown for TEST_SILENCE_SECONDS, prints what the tests of this process group are at,
# writes the names of those that have not ended into LOG.hanging, and stops their program.
stop_hanging() {
  local log=$1 size=0 grown=$SECONDS group stacks
  group=$(ps -o pgid= -p "$BASHPID" | tr -d ' ')
  while sleep 2; do
    if [ "$(stat -c %s "$log")" != "$size" ]; then
      size=$(stat -c %s "$log") grown=$SECONDS
    elif [ $((SECONDS - grown)) -ge "$TEST_SILENCE_SECONDS" ]; then
      hanging_tests "$log" >"$log.hanging"
      stacks=$(print_stacks "$group")
      printf '%s\n' "$stacks"
      # What of that leads further, among what failed_tests prints.
      grep -E '^Thread |gailou|tantivy|kafka|sqlite|moka' <<<"$stacks" | cut -c 1-200 | head -n 60 | sed 's/^/given up: /'
      pkill -KILL -g "$group" -f '^[^ ]*/deps/'
      grown=$SECONDS
    fi
  done
}

# cargo_tests COMMAND...: runs tests of cargo. Those that failed run once more, one after the other: what passes then is
# flaky, and scripts/test.sh names it. A test that hung has failed. Nothing runs again where a program did not come to its
# end for another reason, or where something else than the named tests failed.
cargo_tests() {
  local log names argument command=() status watcher test
  log=$(mktemp)
  stop_hanging "$log" &
  watcher=$!
  "$@" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  kill "$watcher" 2>/dev/null
  wait "$watcher" 2>/dev/null
  if [ -s "$log.hanging" ]; then
    # As libtest says it, of a program that could not.
    while IFS= read -r test; do printf 'given up: %s hung\ntest %s ... FAILED\n' "$test" "$test"; done <"$log.hanging" | tee -a "$log"
    printf 'test result: FAILED. %s passed; %s failed; %s ignored; stopped\n' \
      $(($(grep -cE '^test .* \.\.\. ok' "$log") - $(sum '^test result: .* N passed;.*' "$log"))) \
      $(($(grep -cE '^test .* \.\.\. FAILED' "$log") - $(sum '^test result: .* N failed;.*' "$log"))) \
      $(($(grep -cE '^test .* \.\.\. ignored' "$log") - $(sum '^test result: .* N ignored;.*' "$log"))) | tee -a "$log"
  fi
  mapfile -t names < <(sed -nE 's/^test (.*) \.\.\. FAILED$/\1/p' "$log" | sed 's/ - should panic$//')
  if { [ "$status" = 101 ] || [ -s "$log.hanging" ]; } && [ ${#names[@]} -gt 0 ] && [ ${#names[@]} -le $FLAKY_MAX ] &&
    [ ${#names[@]} = "$(sum '^test result: FAILED\. .* N failed.*' "$log")" ] && has_every_result "$log"; then
    # libtest takes each option once.
    for argument; do [[ $argument == --test-threads=* ]] || command+=("$argument"); done
    if again ${#names[@]} "$log" "${command[@]}" --exact --test-threads=1 "${names[@]}"; then status=0; fi
  fi
  rm -f "$log" "$log.hanging"
  return "$status"
}

# has_every_result FILE: whether each program of tests has come to its end, and each of its tests.
has_every_result() {
  [ "$(grep -cE '^running [0-9]+ tests?$' "$1")" = "$(grep -c '^test result: ' "$1")" ] &&
    [ "$(sum '^running N tests?$' "$1")" = $(($(sum '^test result: .* N passed;.*' "$1") +
      $(sum '^test result: .* N failed;.*' "$1") + $(sum '^test result: .* N ignored;.*' "$1"))) ]
}

# node_tests [--OPTION...] FILE...: runs Node's tests, and the files of those that failed once more, as cargo_tests does. A
# glob without a file is a failure.
node_tests() {
  local log options=() files status failed
  while [[ $1 == --* ]]; do
    options+=("$1")
    shift
  done
  log=$(mktemp)
  node --test --test-reporter=spec "${options[@]}" "$@" 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  mapfile -t files < <(sed -nE 's/^test at (.+):[0-9]+:[0-9]+$/\1/p' "$log" | sort | uniq)
  failed=$(($(sum '^[^ ]+ fail N$' "$log") + $(sum '^[^ ]+ cancelled N$' "$log")))
  if [ "$status" = 1 ] && [ $failed -gt 0 ] && [ $failed -le $FLAKY_MAX ] && [ "$(grep -c '^test at ' "$log")" = $failed ]; then
    if again $failed "$log" node --test --test-reporter=spec "${options[@]}" "${files[@]}"; then status=0; fi
  fi
  rm -f "$log"
  return "$status"
}

# answers PORT: succeeds when a program listens on this port.
answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# http_ok PORT: succeeds when GET / returns 200.
http_ok() {
  local status
  status=$(
    exec 3<>"/dev/tcp/127.0.0.1/$1" || exit
    printf 'GET / HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nAccept: text/html\r\nConnection: close\r\n\r\n' "$1" >&3
    read -r -t 10 line <&3 && printf '%s' "$line"
  ) 2>/dev/null
  [[ $status == HTTP/1.?\ 200* ]]
}

# wait_line PID FILE REGEX SECONDS: waits until a running program has printed a line that matches. Sets
# $found to the first group of the expression.
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

# start_origin PROGRAM ARGUMENT...: starts an origin. Sets $origin to its process id and $origin_url to
# its address.
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

# start_edge PORT DIR ORIGIN_URL ARGUMENT...: runs wrangler dev with its state in DIR; port 0 takes any
# free port. Sets $edge to its process id and $edge_url to its address.
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
  fail "the Worker did not start"
}

# find_chromium: prints the path of the browser for the tests; E2E_CHROMIUM names another one. The one without windows is
# the first: it takes two thirds of the processor time.
find_chromium() {
  if [ -n "${E2E_CHROMIUM:-}" ]; then printf '%s' "$E2E_CHROMIUM"; return; fi
  type -P chromium-headless-shell || type -P chromium || type -P chromium-browser || type -P google-chrome
}

# edge_is_fresh: succeeds when edge/build is newer than all of its sources.
edge_is_fresh() {
  [ -s edge/build/index.js ] || return 1
  local newer
  newer=$(find edge/src edge/Cargo.toml shared/src shared/Cargo.toml Cargo.toml Cargo.lock scripts/build-edge.sh \
    -newer edge/build/index.js -print -quit)
  [ -z "$newer" ]
}

# build_web: builds the page in edge/web/dist, which the origin embeds and the Worker serves. It takes
# less than a second. An unchanged file keeps its time, so cargo does not build the origin again.
build_web() {
  step "build the page" build-web npm run --silent build
}

# build_edge: builds the Worker, unless its build is fresh.
build_edge() {
  if edge_is_fresh; then return 0; fi
  step "build the Worker" build-edge sh scripts/build-edge.sh
}

# build_origin PROFILE ARGUMENT...: builds the origin; the arguments go to cargo. Call build_web first.
build_origin() {
  step "build the origin ($1)" "build-origin-$1" cargo build --locked --profile "$1" --package gailou --bin gailou "${@:2}"
}
