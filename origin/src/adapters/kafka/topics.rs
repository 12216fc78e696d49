//! Making topics and saying what is wrong with them.
//!
//! Events are kept for a week at least: so long the tables may stand still before anything that was
//! acknowledged is lost. Nothing is ever changed at a topic that is there.

use std::time::Duration;

use rdkafka::admin::{AdminOptions, ConfigResource, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::error::RDKafkaErrorCode;
use tokio::time::{Instant, sleep};

use crate::adapters::kafka::client::{Admin, Client};
use crate::adapters::kafka::{blocking, unavailable};
use crate::ports::broker::{BrokerError, Topic};

/// How long a question may take here: nobody waits for an answer but an operator.
const ASK: Duration = Duration::from_secs(5);
/// How long a new topic may take to be known to every broker.
const KNOWN: Duration = Duration::from_secs(15);
/// How long events are kept at least.
const RETENTION_MS: i64 = 7 * 86_400_000;
/// How long it is worth while to put a list into the cache.
const REBUILD_RETENTION_MS: i64 = 3_600_000;
/// Replicas from which a write waits for two of them.
const REPLICAS: usize = 3;

/// A topic as the brokers describe it.
struct Described {
    partitions: u32,
    /// Of the partition that has the fewest.
    replicas: usize,
    /// Partitions that have no leader now.
    leaderless: usize,
}

/// A topic to be: its name, partitions and settings.
struct Planned {
    name: String,
    partitions: u32,
    retention_ms: i64,
}

fn planned(client: &Client, partitions: u32) -> Vec<Planned> {
    let of = |topic: Topic| {
        let retention_ms = if topic == Topic::Rebuild { REBUILD_RETENTION_MS } else { RETENTION_MS };
        [
            Planned { name: client.topic(topic), partitions, retention_ms },
            // A letter waits for as long as nobody reads it.
            Planned { name: client.dead(topic), partitions: 1, retention_ms: -1 },
        ]
    };
    Topic::ALL.into_iter().flat_map(of).collect()
}

/// How many partitions the topics have.
pub(super) async fn partitions(client: &Client) -> Result<u32, BrokerError> {
    let mut found: Option<(String, u32)> = None;
    for topic in Topic::ALL {
        let name = client.topic(topic);
        let described = describe(client, &name).await?;
        let described = described.ok_or_else(|| BrokerError::Damaged(format!("the topic {name} is missing")))?;
        match &found {
            None => found = Some((name, described.partitions)),
            Some((_, partitions)) if *partitions == described.partitions => {}
            Some((first, partitions)) => {
                let text = format!("{first} has {partitions} partitions, {name} has {}", described.partitions);
                return Err(BrokerError::Damaged(text));
            }
        }
    }
    found.map(|(_, partitions)| partitions).ok_or_else(|| BrokerError::Damaged("no topics".into()))
}

/// See [`crate::adapters::kafka::Kafka::migrate`].
pub(super) async fn migrate(client: &Client, partitions: u32, replication: u16) -> Result<(), BrokerError> {
    let planned = planned(client, partitions);
    let mut missing = Vec::new();
    for plan in &planned {
        match describe(client, &plan.name).await? {
            Some(is) if is.partitions != plan.partitions => {
                return Err(BrokerError::Damaged(format!(
                    "{} has {} partitions and can never have {}: offsets are versions",
                    plan.name, is.partitions, plan.partitions
                )));
            }
            Some(_) => {}
            None => missing.push(plan),
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let in_sync = if usize::from(replication) >= REPLICAS { "2" } else { "1" };
    let retentions: Vec<String> = missing.iter().map(|plan| plan.retention_ms.to_string()).collect();
    let topics: Vec<NewTopic<'_>> = missing
        .iter()
        .zip(&retentions)
        .map(|(plan, retention)| {
            let count = i32::try_from(plan.partitions).unwrap_or(i32::MAX);
            NewTopic::new(&plan.name, count, TopicReplication::Fixed(replication.into()))
                .set("min.insync.replicas", in_sync)
                .set("retention.ms", retention)
                .set("retention.bytes", "-1")
                .set("cleanup.policy", "delete")
                .set("unclean.leader.election.enable", "false")
        })
        .collect();
    let made = client.admin()?.create_topics(&topics, &options()).await.map_err(unavailable)?;
    for result in made {
        match result {
            // Another process was faster.
            Ok(_) | Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
            Err((name, code)) => return Err(BrokerError::Damaged(format!("the topic {name} cannot be made: {code}"))),
        }
    }
    let until = Instant::now() + KNOWN;
    for plan in &planned {
        loop {
            match describe(client, &plan.name).await? {
                Some(is) if is.partitions == plan.partitions && is.leaderless == 0 => break,
                _ if Instant::now() > until => {
                    return Err(BrokerError::Unavailable(format!("the topic {} has no leaders yet", plan.name)));
                }
                _ => sleep(Duration::from_millis(100)).await,
            }
        }
    }
    Ok(())
}

/// See [`crate::ports::broker::Log::check`].
pub(super) async fn check(client: &Client) -> Result<Vec<String>, BrokerError> {
    let admin = client.admin()?;
    let (mut wrong, mut counts) = (Vec::new(), Vec::new());
    for plan in planned(client, 0) {
        let Some(is) = describe(client, &plan.name).await? else {
            wrong.push(format!("the topic {} is missing", plan.name));
            continue;
        };
        let is_dead = plan.retention_ms < 0;
        if !is_dead {
            counts.push((plan.name.clone(), is.partitions));
        }
        let settings = settings(&admin, &plan.name).await?;
        wrong.extend(judge(&plan, &is, |key| settings.get(key)?.value.as_deref()));
    }
    if let Some((first, partitions)) = counts.first() {
        let others = counts.iter().filter(|(_, count)| count != partitions);
        wrong.extend(others.map(|(name, count)| format!("{name} has {count} partitions, {first} has {partitions}")));
    }
    Ok(wrong)
}

/// What is wrong with one topic.
fn judge<'s>(plan: &Planned, is: &Described, setting: impl Fn(&str) -> Option<&'s str>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut say = |what: String| wrong.push(format!("{}: {what}", plan.name));
    let number = |key| setting(key).and_then(|value| value.parse::<i64>().ok());
    if is.leaderless > 0 {
        say(format!("{} partitions have no leader", is.leaderless));
    }
    if is.replicas < REPLICAS {
        say(format!("{} replicas; from {REPLICAS} on a lost disk loses nothing", is.replicas));
    } else if number("min.insync.replicas").is_some_and(|least| least < 2) {
        say("min.insync.replicas is 1: what one broker has alone is taken for safe".into());
    }
    if number("min.insync.replicas").is_some_and(|least| least > 1 && least as usize >= is.replicas) {
        say("min.insync.replicas needs every replica: one broker that is away stops all writes".into());
    }
    let is_short = |kept: i64| kept >= 0 && (plan.retention_ms < 0 || kept < plan.retention_ms);
    if let Some(kept) = number("retention.ms").filter(|kept| is_short(*kept)) {
        say(format!("retention.ms is {kept}, must be {} or more", plan.retention_ms));
    }
    if let Some(kept) = number("retention.bytes").filter(|kept| *kept >= 0) {
        say(format!("retention.bytes is {kept}: a busy hour may push out what is not stored yet; must be -1"));
    }
    if setting("cleanup.policy").is_some_and(|policy| policy != "delete") {
        say("cleanup.policy must be delete".into());
    }
    if setting("unclean.leader.election.enable") == Some("true") {
        say("unclean.leader.election.enable loses what was acknowledged; must be false".into());
    }
    wrong
}

fn options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(ASK)).operation_timeout(Some(ASK))
}

async fn settings(admin: &Admin, name: &str) -> Result<ConfigResource, BrokerError> {
    let asked = [ResourceSpecifier::Topic(name)];
    let mut answers = admin.describe_configs(&asked, &options()).await.map_err(unavailable)?;
    match answers.pop() {
        Some(Ok(resource)) => Ok(resource),
        Some(Err(code)) => Err(BrokerError::Unavailable(format!("the settings of {name}: {code}"))),
        None => Err(BrokerError::Unavailable(format!("the settings of {name}: no answer"))),
    }
}

/// What the brokers say of a topic; `None` when there is none.
async fn describe(client: &Client, name: &str) -> Result<Option<Described>, BrokerError> {
    let (admin, asked) = (client.admin()?, name.to_owned());
    let metadata = blocking(move || admin.inner().fetch_metadata(Some(&asked), ASK)).await?;
    let Some(topic) = metadata.topics().iter().find(|topic| topic.name() == name) else { return Ok(None) };
    if let Some(error) = topic.error() {
        return match RDKafkaErrorCode::from(error) {
            RDKafkaErrorCode::UnknownTopicOrPartition | RDKafkaErrorCode::UnknownTopic => Ok(None),
            code => Err(BrokerError::Unavailable(format!("the topic {name}: {code}"))),
        };
    }
    let partitions = topic.partitions();
    Ok(Some(Described {
        partitions: u32::try_from(partitions.len()).unwrap_or(u32::MAX),
        replicas: partitions.iter().map(|partition| partition.replicas().len()).min().unwrap_or(0),
        leaderless: partitions.iter().filter(|partition| partition.leader() < 0).count(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(is: &Described, settings: &[(&str, &'static str)], expected: &[&str]) {
        let plan = Planned { name: "g.comments".into(), partitions: 4, retention_ms: RETENTION_MS };
        let setting = |key: &str| settings.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        let wrong = judge(&plan, is, setting);
        assert_eq!(wrong.len(), expected.len(), "{wrong:?}");
        for (wrong, expected) in wrong.iter().zip(expected) {
            assert!(wrong.contains(expected), "{wrong:?} has {expected:?}");
        }
    }

    #[test]
    fn what_can_lose_events_is_said() {
        let topic = |replicas| Described { partitions: 4, replicas, leaderless: 0 };
        let good = [("min.insync.replicas", "2"), ("retention.ms", "-1"), ("cleanup.policy", "delete")];
        check(&topic(3), &good, &[]);
        check(&topic(1), &[("min.insync.replicas", "1")], &["1 replicas"]);
        check(&topic(3), &[("min.insync.replicas", "1")], &["min.insync.replicas is 1"]);
        check(&topic(3), &[("min.insync.replicas", "3")], &["needs every replica"]);
        check(&topic(3), &[("retention.ms", "3600000")], &["retention.ms"]);
        check(&topic(3), &[("retention.bytes", "1000")], &["retention.bytes"]);
        check(&topic(3), &[("unclean.leader.election.enable", "true")], &["unclean"]);
        check(&Described { leaderless: 2, ..topic(3) }, &[("cleanup.policy", "compact")], &["no leader", "cleanup"]);
    }
}
