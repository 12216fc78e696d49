#!/bin/sh
# Runs one private server on loopback, for the tests and `make services`. The script replaces itself
# by the server, so its process id is the server's. It keeps the data that the directory has.
#
#   scripts/service.sh mariadb DIR PORT
#   scripts/service.sh redis   DIR PORT
#   scripts/service.sh kafka   DIR PORT CONTROLLER_PORT [ADVERTISED_PORT]
#
# ADVERTISED_PORT is the port that the broker names to its clients: the port of a proxy in front of it.
# `scripts/setup.sh services` installs the programs. The servers have no passwords, and not all of them
# survive a power cut: do not use them in production.
set -eu

PATH=$PATH:/usr/sbin
root=$(cd "$(dirname "$0")/.." && pwd)
kind=$1 dir=$2 port=$3
mkdir -p "$dir"

# Temporary files are in its own directory: in a shared one, a MariaDB that starts deletes those of another.
mariadb() {
    mkdir -p "$dir/tmp"
    if [ ! -d "$dir/data/mysql" ]; then
        mariadb-install-db --no-defaults --datadir="$dir/data" --tmpdir="$dir/tmp" --auth-root-authentication-method=normal \
            --skip-test-db --user="$(id -un)" >"$dir/install.log"
    fi
    exec mariadbd --no-defaults --user="$(id -un)" --datadir="$dir/data" --tmpdir="$dir/tmp" --socket="$dir/my.sock" \
        --pid-file="$dir/my.pid" --bind-address=127.0.0.1 --port="$port" --skip-log-bin --skip-name-resolve \
        --innodb-flush-log-at-trx-commit=1 --innodb-buffer-pool-size=256M --max-connections=500 \
        --character-set-server=utf8mb4 --collation-server=utf8mb4_unicode_ci
}

# Redis stores nothing on disk: after a restart it is empty. It never evicts a key without a time to live.
redis() {
    exec redis-server --bind 127.0.0.1 --port "$port" --dir "$dir" --save '' --appendonly no \
        --maxmemory 256mb --maxmemory-policy volatile-lru
}

kafka() {
    controller=$1 advertised=${2:-$port}
    cat >"$dir/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
advertised.listeners=PLAINTEXT://127.0.0.1:$advertised
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs=$dir/data
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
# A consumer group starts at once, and the broker removes a killed member after 1 s.
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
# A killed broker is back after 3.5 s instead of 11 s.
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
PROPERTIES
    if [ ! -d "$dir/data" ]; then
        cp -r "$root/.tools/kafka/template" "$dir/data.new"
        mv "$dir/data.new" "$dir/data"
    fi
    exec java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$root/.tools/kafka/lib/*" \
        "-Dlog4j2.configurationFile=$root/tests/kafka/log4j2.yaml" kafka.Kafka "$dir/server.properties"
}

shift 3
case $kind in
    mariadb | redis | kafka) "$kind" "$@" ;;
    *)
        echo "error: unknown server $kind: use mariadb, redis or kafka" >&2
        exit 2
        ;;
esac
