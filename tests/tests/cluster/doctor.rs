//! `gailou doctor` on a cluster: it names each setting of a server that loses what was acknowledged.

use std::process::{Command, Stdio};

use gailou_tests::backing_servers::{BackingServer, BackingServers, available, free_port};
use gailou_tests::{ChildProcess, CommandOutput, poll_until, run_command};
use tokio::net::TcpStream;

use crate::test_bed::{ClusterTestBed, redis};

/// Checks that a row of the table begins and goes on like this.
#[track_caller]
fn check(found: &CommandOutput, health: &str, server: &str, part: &str) {
    let is_row = |line: &&str| line.split_whitespace().take(2).eq([health, server]) && line.contains(part);
    assert!(
        found.stdout.lines().any(|line| is_row(&line)),
        "{health} {server} {part:?} is missing in\n{}",
        found.stdout
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_lose_acknowledged_writes_are_named() {
    if !available() {
        return;
    }
    let servers = BackingServers::start_with(BackingServer::enable_binlog).await;
    let bed = ClusterTestBed::create(&servers.addresses(), &[]).await;
    // MySQL has semi-synchronous replication in a plugin, and both have it off by default.
    let found = bed.run(&["doctor"]).await;
    assert_eq!(found.code, Some(0), "{}{}", found.stdout, found.stderr);
    check(&found, "warning", "mysql/0", "semi-synchronous replication is off");
    check(&found, "warning", "mysql/1", "semi-synchronous replication is off");
    check(&found, "warning", "redis", "appendonly is no");
    bed.sql(0, "SET GLOBAL rpl_semi_sync_master_enabled = ON, GLOBAL sync_binlog = 1");
    bed.sql(
        1,
        "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'; SET GLOBAL rpl_semi_sync_source_enabled = ON",
    );
    redis(&bed.servers, &["CONFIG", "SET", "appendonly", "yes"]).await;
    let found = bed.run(&["doctor"]).await;
    // MariaDB's default shows a commit before the replica has it; without a replica MySQL has waited for none yet.
    check(&found, "warning", "mysql/0", "rpl_semi_sync_master_wait_point is AFTER_COMMIT");
    check(&found, "ok", "mysql/1", "its settings keep what was acknowledged");
    check(&found, "ok", "redis", "its settings keep what was acknowledged");
    bed.sql(
        0,
        "SET GLOBAL rpl_semi_sync_master_enabled = OFF, GLOBAL innodb_flush_log_at_trx_commit = 2, GLOBAL sync_binlog = 0, \
         GLOBAL max_connections = 30, GLOBAL binlog_format = 'STATEMENT'",
    );
    redis(&bed.servers, &["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]).await;
    bed.sql(1, "SET GLOBAL super_read_only = ON, GLOBAL sync_binlog = 0");
    let found = bed.run(&["doctor"]).await;
    assert_eq!(found.code, Some(1), "{}{}", found.stdout, found.stderr);
    check(&found, "warning", "mysql/0", "innodb_flush_log_at_trx_commit is 2");
    check(&found, "warning", "mysql/0", "sync_binlog is 0");
    check(&found, "warning", "mysql/0", "max_connections is 30");
    check(&found, "BROKEN", "mysql/0", "binlog_format is STATEMENT");
    check(&found, "warning", "mysql/1", "sync_binlog is 0");
    check(&found, "BROKEN", "mysql/1", "super_read_only is ON");
    check(&found, "BROKEN", "redis", "maxmemory-policy is allkeys-lru");
    bed.sql(1, "SET GLOBAL read_only = OFF");
    // One address of a Redis Cluster. Its nodes talk to each other at a port that is 10,000 higher if none is named.
    let (port, cluster_port) = (free_port(), free_port());
    let mut node = Command::new("redis-server");
    node.args(["--cluster-enabled", "yes", "--bind", "127.0.0.1", "--save", "", "--port", &port.to_string()]);
    node.args(["--cluster-port", &cluster_port.to_string()]);
    let directory = tempfile::tempdir().expect("a directory");
    node.arg("--dir").arg(directory.path());
    let _node = ChildProcess::spawn(&node, Stdio::null(), Stdio::null());
    let connect = || TcpStream::connect(("127.0.0.1", port));
    poll_until(connect, Result::is_ok).await.expect("Redis accepts connections");
    let mut doctor = bed.command(&["doctor"]);
    doctor.env("GAILOU_REDIS_URLS", format!("redis://127.0.0.1:{port}"));
    let found = run_command(doctor).await;
    assert_eq!(found.code, Some(1), "{}{}", found.stdout, found.stderr);
    check(&found, "BROKEN", "redis", "cluster_enabled is yes");
}
