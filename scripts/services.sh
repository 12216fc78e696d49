#!/usr/bin/env bash
# Starts a private MariaDB, MySQL, Redis, Kafka, OpenSearch and a server that speaks S3 on loopback, with an
# empty database on each of the first two, prints the variables that gailou needs to find them, and runs until
# Ctrl-C. Then it deletes their data; compose.yaml starts a cluster that keeps it.
#
# Another script can source this file for start_services and stop_services.

# When make dies, even by SIGKILL, the kernel sends SIGTERM to this script.
if [ "${BASH_SOURCE[0]}" = "$0" ] && [ -n "${MAKELEVEL:-}" ] && command -v setpriv >/dev/null; then
  exec env -u MAKELEVEL setpriv --pdeathsig TERM -- "$0" "$@"
fi

# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# free_port FIRST: prints the first free port from FIRST on. FIRST must be below the range of ephemeral
# ports: a client that retries a port of that range can connect to itself while its server is down.
free_port() {
  local port=$1
  while answers "$port"; do port=$((port + 1)); done
  printf '%s' "$port"
}

# start_service KIND PORT ARGUMENT...: starts a server and adds it to $started.
start_service() {
  local kind=$1 port=$2
  start "$kind" scripts/service.sh "$kind" "$services_dir/$kind" "${@:2}"
  started+=("$child:$kind:$port")
}

# start_services: starts the six servers and waits until they answer. Sets $services_dir to their
# directory, and $mariadb, $mysql, $redis, $kafka, $opensearch and $s3 to their addresses;
# that of the S3 server has a key and its secret behind it.
start_services() {
  local began=$SECONDS until=$((SECONDS + 60)) started=() entry pid kind port
  local mariadb_port mysql_port redis_port kafka_port opensearch_port s3_port s3_user
  services_dir=$(mktemp -d) services_pids=()
  mariadb_port=$(free_port 13306)
  mysql_port=$(free_port $((mariadb_port + 1))) redis_port=$(free_port 16379) kafka_port=$(free_port 19092)
  opensearch_port=$(free_port 19200) s3_port=$(free_port 15055)
  start_service mariadb "$mariadb_port"
  start_service mysql "$mysql_port"
  start_service redis "$redis_port"
  start_service kafka "$kafka_port" "$(free_port $((kafka_port + 1)))"
  start_service opensearch "$opensearch_port"
  start_service s3 "$s3_port"
  for entry in "${started[@]}"; do
    IFS=: read -r pid kind port <<<"$entry"
    services_pids+=("$pid")
    until answers "$port"; do
      if ! alive "$pid" || [ $SECONDS -ge $until ]; then
        log_tail "$LOGS/$kind.out" "$LOGS/$kind.log"
        fail "$kind did not start"
        return
      fi
      sleep 0.05
    done
  done
  mariadb=mysql://root@127.0.0.1:$mariadb_port mysql=mysql://root@127.0.0.1:$mysql_port
  # shellcheck disable=SC2034 # read by the scripts that source this
  redis=redis://127.0.0.1:$redis_port kafka=127.0.0.1:$kafka_port opensearch=http://127.0.0.1:$opensearch_port
  if ! s3_user=$("$TOOLS/s3/bin/python" tests/s3/user.py "$s3_port"); then
    fail "the S3 server has no user"
    return
  fi
  # shellcheck disable=SC2034
  s3="http://127.0.0.1:$s3_port;$s3_user"
  report ok $((SECONDS - began)) "start MariaDB, MySQL, Redis, Kafka, OpenSearch and an S3 server"
}

# stop_services: stops the servers and deletes their data.
stop_services() {
  local pid
  stop "${services_pids[@]}"
  for pid in "${services_pids[@]}"; do finish "$pid"; done
  remove_services
}

# remove_services: deletes the data of servers that have ended.
remove_services() { if [ -n "${services_dir:-}" ]; then rm -rf "$services_dir"; fi; }

if [ "${BASH_SOURCE[0]}" != "$0" ]; then return; fi

# shellcheck disable=SC2317 # lib.sh calls it
at_exit() { remove_services; }

setup services && start_services || exit 1
for address in "$mariadb" "$mysql"; do
  mariadb --no-defaults --user=root --protocol=tcp --host=127.0.0.1 --port="${address##*:}" \
    --execute='CREATE DATABASE gailou' || exit 1
done

say ""
say "export GAILOU_MYSQL_URLS=$mariadb/gailou,$mysql/gailou"
say "export GAILOU_REDIS_URLS=$redis"
say "export GAILOU_KAFKA_BROKERS=$kafka"
say "export GAILOU_SEARCH__URL=$opensearch"
say "export GAILOU_TEST_S3='$s3'"
say ""
say "With these variables, target/release/gailou (make build) is a whole cluster in one process, and"
say "\`gailou migrate\`, \`gailou serve\` and \`gailou job\` are its parts."
say "Ctrl-C stops the servers and deletes their data. Logs: .tools/log/{mariadb,mysql,redis,kafka,opensearch,s3}.*"

trap 'say "Stopping."; exit 0' INT TERM HUP
while sleep 0.3; do
  for pid in "${children[@]}"; do
    alive "$pid" || { log_tail "$LOGS"/{mariadb,mysql,redis,kafka,opensearch,s3}.{out,log}; die "a server ended by itself"; }
  done
done
