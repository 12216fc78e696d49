//! The settings of the servers, as far as they decide what a failover or a power cut loses.
//!
//! Reads them and changes nothing. Promise: each problem names the setting, its value and what to set.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use sqlx::Row as _;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::pool::{MAX_CONNECTIONS, MysqlPool, parse_address};
use crate::adapters::mysql::rows::count_at;
use crate::adapters::mysql::statement::sql;
use crate::clock::Clock;
use crate::ports::dependencies::{ServerSettings, SettingProblem};
use crate::ports::store::Result;

/// The settings by name, in lower case, and with them the state of semi-synchronous replication.
type Variables = BTreeMap<String, String>;

/// The variables whose values decide; each server has those that it knows.
const VARIABLES_SQL: &str = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', \
     'log_bin', 'sync_binlog', 'binlog_format', 'read_only', 'super_read_only', 'max_connections', \
     'rpl_semi_sync_master_enabled', 'rpl_semi_sync_master_wait_point', \
     'rpl_semi_sync_source_enabled', 'rpl_semi_sync_source_wait_point')";
const STATUS_SQL: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Rpl_semi_sync_master_status', \
     'Rpl_semi_sync_source_status')";
/// The node numbers that are leased: each is a process that answers requests.
const LEASED_SQL: &str = "SELECT COUNT(*) FROM node WHERE holder <> '' AND expires_at > UNIX_TIMESTAMP(NOW(3)) * 1000";
/// The clock of the server, in Unix milliseconds.
const CLOCK_SQL: &str = "SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)";
/// How far it may be from the clock of this machine. Both are set by NTP, which keeps them within milliseconds.
const MAX_CLOCK_DIFFERENCE_MS: u64 = 5_000;
/// Connections of a server that are left to people and their tools.
const SPARE_CONNECTIONS: usize = 10;

impl MysqlStore {
    /// What is wrong with the settings of each database's server. The databases may be empty.
    ///
    /// # Errors
    /// For an address that is none.
    pub async fn check_server_settings(urls: &[String]) -> Result<Vec<ServerSettings>> {
        let pools = urls.iter().map(|url| parse_address(url).map(MysqlPool::new)).collect::<Result<Vec<_>>>()?;
        let found = join_all(pools.iter().map(read_variables)).await;
        let leased: u64 = found.iter().flatten().map(|found| found.leased).sum();
        // Those that answer requests, and a job.
        let processes = usize::try_from(leased).unwrap_or(usize::MAX).saturating_add(1);
        let check = |(database, found): (usize, Result<FoundServer>)| {
            let same_server = pools.iter().filter(|pool| pool.server() == pools[database].server()).count();
            let problems = match found {
                Ok(found) => {
                    let mut problems = find_problems(&found.variables, processes, same_server);
                    problems.extend(check_clock(found.now_ms, found.database_now_ms));
                    problems
                }
                Err(error) => vec![SettingProblem::warning(format!("the settings cannot be read: {error}"))],
            };
            ServerSettings { name: format!("mysql/{database}"), problems }
        };
        Ok(found.into_iter().enumerate().map(check).collect())
    }
}

/// What a server says of itself.
struct FoundServer {
    variables: Variables,
    /// Node numbers that are leased in the database.
    leased: u64,
    /// When its clock was read by ours, and by its own.
    now_ms: u64,
    database_now_ms: u64,
}

async fn read_variables(pool: &MysqlPool) -> Result<FoundServer> {
    let mut session = pool.session("check_server_settings").await?;
    let mut variables = Variables::new();
    for text in [VARIABLES_SQL, STATUS_SQL] {
        for row in session.fetch_text(text).await? {
            let (name, value): (String, String) = (row.try_get(0)?, row.try_get(1)?);
            variables.insert(name.to_lowercase(), value);
        }
    }
    // Before the first `gailou migrate` there is no such table.
    let leased = session.fetch_first(sql(LEASED_SQL)).await.unwrap_or_default();
    let leased = leased.map(|row| count_at(&row, 0)).transpose()?.unwrap_or_default();
    let clock = session.fetch_first(sql(CLOCK_SQL)).await?;
    let now_ms = Clock::system().now();
    let database_now_ms = clock.map(|row| count_at(&row, 0)).transpose()?.unwrap_or(now_ms);
    Ok(FoundServer { variables, leased, now_ms, database_now_ms })
}

fn check_clock(now_ms: u64, database_now_ms: u64) -> Option<SettingProblem> {
    let difference = now_ms.abs_diff(database_now_ms);
    let seconds = difference / 1_000;
    let direction = if now_ms > database_now_ms { "ahead of" } else { "behind" };
    (difference > MAX_CLOCK_DIFFERENCE_MS).then(|| {
        SettingProblem::warning(format!(
            "the clock of this machine is {seconds} s {direction} that of the database: comments have wrong times, and \
             tokens end too early or too late; set both by NTP"
        ))
    })
}

/// What is wrong with a server that `processes` processes use for `databases` databases.
fn find_problems(variables: &Variables, processes: usize, databases: usize) -> Vec<SettingProblem> {
    let value = |name: &str| variables.get(name).map(String::as_str);
    let is_on = |name: &str| value(name).is_some_and(|value| !matches!(value, "OFF" | "0"));
    let mut problems = Vec::new();
    let mut warn = |text: String| problems.push(SettingProblem::warning(text));
    // MariaDB's 3 flushes as often as 1.
    if let Some(other) = value("innodb_flush_log_at_trx_commit").filter(|value| !matches!(*value, "1" | "3")) {
        warn(format!(
            "innodb_flush_log_at_trx_commit is {other}: a power cut loses the last second, also of what was \
             acknowledged; set it to 1"
        ));
    }
    if is_on("log_bin") {
        if let Some(other) = value("sync_binlog").filter(|value| *value != "1") {
            warn(format!(
                "sync_binlog is {other}: after a power cut the replicas may have less than this server, or more; \
                 set it to 1"
            ));
        }
        check_semi_sync(variables, &mut warn);
    } else {
        warn(
            "log_bin is OFF: no replica can take over, and no backup can be brought up to a moment; set log-bin and \
             server-id, and start the server again"
                .into(),
        );
    }
    let needed = processes.saturating_mul(databases).saturating_mul(MAX_CONNECTIONS).saturating_add(SPARE_CONNECTIONS);
    let max_connections = value("max_connections").and_then(|value| value.parse::<usize>().ok());
    if let Some(max_connections) = max_connections.filter(|max| *max < needed) {
        warn(format!(
            "max_connections is {max_connections}: {processes} processes may open {MAX_CONNECTIONS} connections each to \
             {databases} databases of this server; set it to {needed} or more"
        ));
    }
    let read_only = ["super_read_only", "read_only"].into_iter().find(|name| is_on(name));
    if let Some(name) = read_only {
        problems.push(SettingProblem::broken(format!(
            "{name} is {}: this is a replica, or a server that is set to take no writes; name the one that takes \
             them, or SET GLOBAL read_only = OFF",
            value(name).unwrap_or_default()
        )));
    }
    if is_on("log_bin") && value("binlog_format").is_some_and(|format| format == "STATEMENT") {
        problems.push(SettingProblem::broken(
            "binlog_format is STATEMENT: the server refuses every write of READ COMMITTED transactions; set it to ROW"
                .into(),
        ));
    }
    problems
}

/// Whether a commit waits until a replica has it. MariaDB has the former names.
fn check_semi_sync(variables: &Variables, warn: &mut impl FnMut(String)) {
    let value = |name: String| variables.get(&name).map(String::as_str);
    let is_on = |side: &str| value(format!("rpl_semi_sync_{side}_enabled")) == Some("ON");
    let Some(side) = ["source", "master"].into_iter().find(|side| is_on(side)) else {
        warn(
            "semi-synchronous replication is off (rpl_semi_sync_source_enabled, in MariaDB \
             rpl_semi_sync_master_enabled): a failover loses what the replica does not have yet; set it to ON"
                .into(),
        );
        return;
    };
    if value(format!("rpl_semi_sync_{side}_wait_point")).is_some_and(|point| point != "AFTER_SYNC") {
        warn(format!(
            "rpl_semi_sync_{side}_wait_point is AFTER_COMMIT: readers see what a failover then takes back; set it to \
             AFTER_SYNC"
        ));
    }
    if value(format!("rpl_semi_sync_{side}_status")) == Some("OFF") {
        warn(format!(
            "Rpl_semi_sync_{side}_status is OFF: no replica confirms, and commits do not wait for one; connect a \
             replica that has semi-synchronous replication on"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAFE: [(&str, &str); 8] = [
        ("innodb_flush_log_at_trx_commit", "1"),
        ("log_bin", "ON"),
        ("sync_binlog", "1"),
        ("binlog_format", "ROW"),
        ("read_only", "OFF"),
        ("max_connections", "500"),
        ("rpl_semi_sync_master_enabled", "ON"),
        ("rpl_semi_sync_master_status", "ON"),
    ];

    #[track_caller]
    fn check(changes: &[(&str, &str)], processes: usize, databases: usize, expected: &[(bool, &str)]) {
        let variables = SAFE.iter().chain(changes).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let found = find_problems(&variables.collect(), processes, databases);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, (is_broken, part)) in found.iter().zip(expected) {
            assert!(found.is_broken == *is_broken && found.text.contains(part), "{found:?} has {part:?}");
        }
    }

    #[test]
    fn clocks_that_differ_are_named() {
        for (now, database, expected) in [
            (1_000_000, 1_000_000, None),
            (1_005_000, 1_000_000, None),
            (1_005_001, 1_000_000, Some("is 5 s ahead of")),
            (1_000_000, 1_060_000, Some("is 60 s behind")),
        ] {
            let found = check_clock(now, database).map(|problem| problem.text);
            let is_named = found.as_deref().map(|text| text.contains(expected.unwrap_or("nothing")));
            assert_eq!(is_named, expected.map(|_| true), "{found:?}");
        }
    }

    #[test]
    fn each_setting_that_loses_or_refuses_writes_is_named() {
        check(&[], 20, 1, &[]);
        check(&[("innodb_flush_log_at_trx_commit", "3")], 1, 1, &[]);
        check(&[("innodb_flush_log_at_trx_commit", "2")], 1, 1, &[(false, "innodb_flush_log_at_trx_commit is 2")]);
        check(&[("sync_binlog", "0")], 1, 1, &[(false, "sync_binlog is 0")]);
        check(&[("log_bin", "OFF"), ("sync_binlog", "0"), ("binlog_format", "STATEMENT")], 1, 1, &[(false, "log_bin")]);
        check(&[("binlog_format", "MIXED")], 1, 1, &[]);
        check(&[("binlog_format", "STATEMENT")], 1, 1, &[(true, "set it to ROW")]);
        check(&[("rpl_semi_sync_master_enabled", "OFF")], 1, 1, &[(false, "semi-synchronous replication is off")]);
        check(&[("rpl_semi_sync_master_status", "OFF")], 1, 1, &[(false, "Rpl_semi_sync_master_status is OFF")]);
        check(&[("rpl_semi_sync_master_wait_point", "AFTER_COMMIT")], 1, 1, &[(false, "set it to AFTER_SYNC")]);
        check(&[("read_only", "ON")], 1, 1, &[(true, "read_only is ON")]);
        check(&[("super_read_only", "ON"), ("read_only", "ON")], 1, 1, &[(true, "super_read_only is ON")]);
        // 21 processes · 24 + 10 connections; 11 processes · 2 databases · 24 + 10.
        check(&[], 21, 1, &[(false, "set it to 514 or more")]);
        check(&[], 11, 2, &[(false, "set it to 538 or more")]);
    }
}
