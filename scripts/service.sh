#!/bin/sh
# Runs one private server on loopback, for the tests and `make services`. The script replaces itself
# by the server, so its process id is the server's. It keeps the data that the directory has.
#
#   scripts/service.sh mariadb DIR PORT
#   scripts/service.sh mysql   DIR PORT
#   scripts/service.sh redis   DIR PORT
#   scripts/service.sh kafka   DIR PORT CONTROLLER_PORT [ADVERTISED_PORT]
#   scripts/service.sh kafka_user DIR PORT
#   scripts/service.sh opensearch DIR PORT
#   scripts/service.sh s3 DIR PORT
#
# ADVERTISED_PORT is the port that the broker names to its clients: the port of a proxy in front of it.
# With the variables TLS_DIR (ca.pem, server.pem, server.key, and the last two in server-both.pem) and TLS_PORT,
# the server accepts TLS, too: MariaDB and MySQL on the same port, the others on TLS_PORT. There Kafka wants a
# login by PLAIN or SCRAM-SHA-512, of KAFKA_USER with KAFKA_PASSWORD.
# With the variable BINLOG, MariaDB and MySQL write a binary log, as for a replica.
# KAFKA_SESSION_MS is how long Kafka's controller waits for a broker that is silent; 9 s without it.
# `scripts/setup.sh services` installs the programs. The servers have no passwords, and not all of them
# survive a power cut: do not use them in production.
set -eu

PATH=$PATH:/usr/sbin
root=$(cd "$(dirname "$0")/.." && pwd)
kind=$1 dir=$2 port=$3
mkdir -p "$dir"
tls_dir=${TLS_DIR:-} tls_port=${TLS_PORT:-}
binlog=--skip-log-bin
if [ -n "${BINLOG:-}" ]; then binlog="--log-bin=$dir/binlog --server-id=$port"; fi

# Temporary files are in its own directory: in a shared one, a MariaDB that starts deletes those of another.
mariadb() {
    mkdir -p "$dir/tmp"
    if [ ! -d "$dir/data/mysql" ]; then
        mariadb-install-db --no-defaults --datadir="$dir/data" --tmpdir="$dir/tmp" --auth-root-authentication-method=normal \
            --skip-test-db --user="$(id -un)" >"$dir/install.log"
    fi
    set --
    if [ -n "$tls_dir" ]; then
        set -- --ssl-ca="$tls_dir/ca.pem" --ssl-cert="$tls_dir/server.pem" --ssl-key="$tls_dir/server.key"
    fi
    # shellcheck disable=SC2086 # two arguments
    exec mariadbd --no-defaults --user="$(id -un)" --datadir="$dir/data" --tmpdir="$dir/tmp" --socket="$dir/my.sock" \
        --pid-file="$dir/my.pid" --bind-address=127.0.0.1 --port="$port" $binlog --skip-name-resolve \
        --innodb-flush-log-at-trx-commit=1 --innodb-buffer-pool-size=256M --max-connections=500 \
        --character-set-server=utf8mb4 --collation-server=utf8mb4_unicode_ci "$@"
}

mysql() {
    mkdir -p "$dir/tmp"
    if [ ! -d "$dir/data" ]; then
        cp -r "$root/.tools/mysql/template" "$dir/data.new"
        mv "$dir/data.new" "$dir/data"
    fi
    set -- --auto-generate-certs=OFF
    if [ -n "$tls_dir" ]; then
        set -- --ssl-ca="$tls_dir/ca.pem" --ssl-cert="$tls_dir/server.pem" --ssl-key="$tls_dir/server.key"
    fi
    # shellcheck disable=SC2086 # two arguments
    # The performance schema takes 200 MB and half of the time of a start.
    exec "$root/.tools/mysql/mysqld" --no-defaults --user="$(id -un)" --datadir="$dir/data" --tmpdir="$dir/tmp" \
        --socket="$dir/my.sock" --pid-file="$dir/my.pid" --bind-address=127.0.0.1 --port="$port" --mysqlx=OFF \
        $binlog --skip-name-resolve --performance-schema=OFF --caching-sha2-password-auto-generate-rsa-keys=OFF \
        --innodb-flush-log-at-trx-commit=1 --innodb-buffer-pool-size=256M --max-connections=500 \
        --character-set-server=utf8mb4 --collation-server=utf8mb4_unicode_ci "$@"
}

# Redis stores nothing on disk: after a restart it is empty. It never evicts a key without a time to live.
redis() {
    set --
    if [ -n "$tls_dir" ]; then
        set -- --tls-port "$tls_port" --tls-auth-clients no --tls-ca-cert-file "$tls_dir/ca.pem" \
            --tls-cert-file "$tls_dir/server.pem" --tls-key-file "$tls_dir/server.key"
    fi
    exec redis-server --bind 127.0.0.1 --port "$port" --dir "$dir" --save '' --appendonly no \
        --maxmemory 256mb --maxmemory-policy volatile-lru "$@"
}

kafka() {
    controller=$1 advertised=${2:-$port} session=${KAFKA_SESSION_MS:-9000}
    listeners=PLAINTEXT://127.0.0.1:$port advertised_listeners=PLAINTEXT://127.0.0.1:$advertised
    if [ -n "$tls_dir" ]; then
        listeners=$listeners,SASL_SSL://127.0.0.1:$tls_port
        advertised_listeners=$advertised_listeners,SASL_SSL://127.0.0.1:$tls_port
    fi
    cat >"$dir/server.properties" <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
listeners=$listeners,CONTROLLER://127.0.0.1:$controller
advertised.listeners=$advertised_listeners
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL
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
# A controller that thinks its broker dead takes all partitions from it: on a busy machine a short time is no evidence.
broker.session.timeout.ms=$session
broker.heartbeat.interval.ms=500
PROPERTIES
    if [ -n "$tls_dir" ]; then
        modules=org.apache.kafka.common.security
        cat >>"$dir/server.properties" <<PROPERTIES
ssl.keystore.type=PEM
ssl.keystore.location=$tls_dir/server-both.pem
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
listener.name.sasl_ssl.plain.sasl.jaas.config=$modules.plain.PlainLoginModule required user_$KAFKA_USER="$KAFKA_PASSWORD";
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=$modules.scram.ScramLoginModule required;
PROPERTIES
    fi
    if [ ! -d "$dir/data" ]; then
        cp -r "$root/.tools/kafka/template" "$dir/data.new"
        # Each is a cluster of its own.
        cluster=$({ printf '\1' && head -c 15 /dev/urandom; } | base64 | tr '+/' '-_' | tr -d '=')
        sed -i "s/^cluster\.id=.*/cluster.id=$cluster/" "$dir/data.new/meta.properties"
        mv "$dir/data.new" "$dir/data"
    fi
    exec java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$root/.tools/kafka/lib/*" \
        "-Dlog4j2.configurationFile=$root/tests/kafka/log4j2.yaml" kafka.Kafka "$dir/server.properties"
}

# Lets KAFKA_USER log in by SCRAM-SHA-512, at the broker that runs on the port without TLS.
kafka_user() {
    exec java -XX:TieredStopAtLevel=1 -cp "$root/.tools/kafka/lib/*" \
        "-Dlog4j2.configurationFile=$root/tests/kafka/log4j2.yaml" kafka.admin.ConfigCommand \
        --bootstrap-server "127.0.0.1:$port" --alter --entity-type users --entity-name "$KAFKA_USER" \
        --add-config "SCRAM-SHA-512=[password=$KAFKA_PASSWORD]"
}

opensearch() {
    exec java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
        -cp "$root/.tools/opensearch/classes:$root/.tools/opensearch/lib/*" OpenSearchServer "$dir" "$port"
}

# It has its data in memory. The three requests that make its user (tests/s3/user.py) are the last that need no
# signature.
s3() {
    INITIAL_NO_AUTH_ACTION_COUNT=3 exec "$root/.tools/s3/bin/moto_server" -H 127.0.0.1 -p "$port"
}

shift 3
case $kind in
    mariadb | mysql | redis | kafka | kafka_user | opensearch | s3) "$kind" "$@" ;;
    *)
        echo "error: unknown server $kind: use mariadb, mysql, redis, kafka, opensearch or s3" >&2
        exit 2
        ;;
esac
