//! The settings of a single Redis server, as far as they decide what a restart or a full memory loses.
//!
//! Reads them and changes nothing; the nodes of a Redis Cluster are not looked at.

use crate::adapters::redis::connection::RedisConnection;
use crate::ports::dependencies::{ServerSettings, SettingProblem};

impl RedisConnection {
    /// What is wrong with the settings of the server; `None` for a Redis Cluster.
    pub async fn check_server_settings(&self) -> Option<ServerSettings> {
        if !self.is_single_server() {
            return None;
        }
        let info = self.query::<String>("check_server_settings", "", &::redis::cmd("INFO")).await;
        let problems = match info {
            Ok(info) => find_problems(&info),
            Err(error) => vec![SettingProblem::warning(format!("the settings cannot be read: {error}"))],
        };
        Some(ServerSettings { name: "redis".into(), problems })
    }
}

/// What is wrong with a server that answers INFO like this.
fn find_problems(info: &str) -> Vec<SettingProblem> {
    let value = |name: &str| {
        info.lines().find_map(|line| line.trim_end().strip_prefix(name)?.strip_prefix(':')).unwrap_or_default()
    };
    let mut problems = Vec::new();
    if value("cluster_enabled") == "1" {
        problems.push(SettingProblem::broken(
            "cluster_enabled is yes: one address of a Redis Cluster is taken for one server, and most scripts fail; \
             name at least two of its nodes in GAILOU_REDIS_URLS"
                .into(),
        ));
    }
    if value("role") == "slave" {
        problems.push(SettingProblem::broken(
            "replicaof is set: this is a replica, which takes no writes; name the master in GAILOU_REDIS_URLS".into(),
        ));
    }
    let policy = value("maxmemory_policy");
    if policy.starts_with("allkeys") {
        problems.push(SettingProblem::broken(format!(
            "maxmemory-policy is {policy}: reactions that are not in the tables yet may be evicted; set it to \
             noeviction or volatile-lru"
        )));
    }
    if value("aof_enabled") == "0" {
        problems.push(SettingProblem::warning(
            "appendonly is no: a restart goes back to the last snapshot or to nothing, which forgets rate limits and \
             comments that are no rows yet; set it to yes"
                .into(),
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAFE: &str =
        "# Server\r\nrole:master\r\ncluster_enabled:0\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n";

    #[track_caller]
    fn check(from: &str, to: &str, expected: &[(bool, &str)]) {
        let found = find_problems(&SAFE.replace(from, to));
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, (is_broken, part)) in found.iter().zip(expected) {
            assert!(found.is_broken == *is_broken && found.text.contains(part), "{found:?} has {part:?}");
        }
    }

    #[test]
    fn each_setting_that_loses_keys_is_named() {
        check("noeviction", "volatile-lru", &[]);
        check("noeviction", "allkeys-lru", &[(true, "maxmemory-policy is allkeys-lru")]);
        check("cluster_enabled:0", "cluster_enabled:1", &[(true, "name at least two of its nodes")]);
        check("role:master", "role:slave", &[(true, "replicaof is set")]);
        check("aof_enabled:1", "aof_enabled:0", &[(false, "appendonly is no")]);
    }
}
