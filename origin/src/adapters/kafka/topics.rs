//! Creates topics and checks them.
//!
//! Records are kept for a week at least: for so long the tables may be unavailable before anything that
//! was acknowledged is lost. An existing topic is never changed.

use std::time::Duration;

use rdkafka::admin::{AdminOptions, ConfigResource, NewTopic, ResourceSpecifier, TopicReplication};
use rdkafka::error::RDKafkaErrorCode;
use tokio::time::{Instant, sleep};

use crate::adapters::kafka::client::{KafkaAdmin, KafkaClient};
use crate::adapters::kafka::{run_blocking, unavailable};
use crate::ports::broker::{BrokerError, RECORD_RETENTION, Topic};

/// How long a query may take. Only an operator and a start wait for the answer.
pub(super) const ADMIN_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a new topic may take until every broker knows it.
const TOPIC_CREATION_TIMEOUT: Duration = Duration::from_secs(15);
/// How long records must be kept at least, in milliseconds.
const RETENTION_MS: i64 = RECORD_RETENTION.as_millis() as i64;
/// A segment is kept until its newest record has expired, so its oldest stays longer by what the segment spans.
const SEGMENT_MS: i64 = 86_400_000;
/// How long the texts of erased members may stay, in milliseconds.
const MAX_RETENTION_MS: i64 = RETENTION_MS + SEGMENT_MS;
/// How long requests to load a list into the cache are kept, in milliseconds: later ones are of no use.
const REBUILD_RETENTION_MS: i64 = 3_600_000;
/// Partitions of a new topic: as many jobs can share its records.
const DEFAULT_PARTITIONS: u32 = 16;
/// Replicas from which a write needs two in-sync ones.
const SAFE_REPLICAS: usize = 3;

/// A topic as the brokers describe it.
pub(super) struct TopicState {
    partitions: u32,
    /// Replicas of the partition that has the fewest.
    replicas: usize,
    /// Partitions without a leader.
    pub(super) leaderless: usize,
}

/// A topic as it should be.
pub(super) struct PlannedTopic {
    name: String,
    partitions: u32,
    retention_ms: i64,
}

fn planned_topics(client: &KafkaClient, partitions: u32) -> Vec<PlannedTopic> {
    let of = |topic: Topic| {
        let retention_ms = if topic == Topic::Rebuild { REBUILD_RETENTION_MS } else { RETENTION_MS };
        [
            PlannedTopic { name: client.topic_name(topic), partitions, retention_ms },
            // A dead letter is kept until an operator retries it.
            PlannedTopic { name: client.dead_topic_name(topic), partitions: 1, retention_ms: -1 },
        ]
    };
    Topic::ALL.iter().copied().flat_map(of).collect()
}

/// The topic whose first record names the owner. It is kept for ever.
pub(super) fn owner_topic(client: &KafkaClient) -> PlannedTopic {
    PlannedTopic { name: client.owner_topic_name(), partitions: 1, retention_ms: -1 }
}

/// The id of the cluster that answers; `None` when it has none.
pub(super) async fn read_cluster_id(client: &KafkaClient) -> Result<Option<String>, BrokerError> {
    let (admin, name) = (client.admin()?, client.topic_name(Topic::Comments));
    run_blocking("read_cluster_id", move || {
        admin.inner().fetch_metadata(Some(&name), ADMIN_TIMEOUT)?;
        // The driver knows it from that answer. It never frees what it returns here: 30 bytes a call.
        Ok(admin.inner().fetch_cluster_id(Duration::ZERO))
    })
    .await
}

/// The number of partitions of the topics.
pub(super) async fn read_partition_count(client: &KafkaClient) -> Result<u32, BrokerError> {
    let mut found: Option<(String, u32)> = None;
    for &topic in Topic::ALL {
        let name = client.topic_name(topic);
        let described = describe(client, &name).await?;
        let described = described.ok_or_else(|| BrokerError::Damaged(format!("the topic {name} is missing").into()))?;
        match &found {
            None => found = Some((name, described.partitions)),
            Some((_, partitions)) if *partitions == described.partitions => {}
            Some((first, partitions)) => {
                let text = format!("{first} has {partitions} partitions, {name} has {}", described.partitions);
                return Err(BrokerError::Damaged(text.into()));
            }
        }
    }
    found.map(|(_, partitions)| partitions).ok_or_else(|| BrokerError::Damaged("no topics".into()))
}

/// See `crate::adapters::kafka::Kafka::migrate`.
pub(super) async fn create_missing(
    client: &KafkaClient,
    partitions: Option<u32>,
    replication: u16,
) -> Result<(), BrokerError> {
    let mut found = partitions;
    for topic in Topic::ALL {
        if found.is_none() {
            found = describe(client, &client.topic_name(*topic)).await?.map(|state| state.partitions);
        }
    }
    let partitions = found.unwrap_or(DEFAULT_PARTITIONS);
    let planned = planned_topics(client, partitions);
    let mut missing = Vec::new();
    for plan in &planned {
        match describe(client, &plan.name).await? {
            Some(state) if state.partitions != plan.partitions => {
                let text = format!(
                    "{} has {} partitions and can never have {}: offsets are versions",
                    plan.name, state.partitions, plan.partitions
                );
                return Err(BrokerError::Damaged(text.into()));
            }
            Some(_) => {}
            None => missing.push(plan),
        }
    }
    create(client, &missing, replication).await
}

/// Creates topics, and waits until they have leaders.
pub(super) async fn create(
    client: &KafkaClient,
    missing: &[&PlannedTopic],
    replication: u16,
) -> Result<(), BrokerError> {
    if missing.is_empty() {
        return Ok(());
    }
    let in_sync = if usize::from(replication) >= SAFE_REPLICAS { "2" } else { "1" };
    let retentions: Vec<String> = missing.iter().map(|plan| plan.retention_ms.to_string()).collect();
    let segment = SEGMENT_MS.to_string();
    let topics: Vec<NewTopic<'_>> = missing
        .iter()
        .zip(&retentions)
        .map(|(plan, retention)| {
            let count = i32::try_from(plan.partitions).unwrap_or(i32::MAX);
            NewTopic::new(&plan.name, count, TopicReplication::Fixed(replication.into()))
                .set("min.insync.replicas", in_sync)
                .set("retention.ms", retention)
                .set("retention.bytes", "-1")
                .set("segment.ms", &segment)
                .set("cleanup.policy", "delete")
                .set("unclean.leader.election.enable", "false")
        })
        .collect();
    let made = client.admin()?.create_topics(&topics, &options()).await.map_err(unavailable)?;
    for result in made {
        match result {
            // Another process may have created it meanwhile.
            Ok(_) | Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
            Err((name, code)) => {
                return Err(BrokerError::Damaged(format!("the topic {name} cannot be created: {code}").into()));
            }
        }
    }
    let until = Instant::now() + TOPIC_CREATION_TIMEOUT;
    for plan in missing {
        loop {
            match describe(client, &plan.name).await? {
                Some(state) if state.partitions == plan.partitions && state.leaderless == 0 => break,
                _ if Instant::now() > until => {
                    return Err(BrokerError::Unavailable(format!("the topic {} has no leaders yet", plan.name).into()));
                }
                _ => sleep(Duration::from_millis(100)).await,
            }
        }
    }
    Ok(())
}

/// See [`crate::ports::broker::Broker::check_topics`].
pub(super) async fn check(client: &KafkaClient) -> Result<Vec<String>, BrokerError> {
    let admin = client.admin()?;
    let (mut problems, mut counts) = (Vec::new(), Vec::new());
    for plan in planned_topics(client, 0).into_iter().chain([owner_topic(client)]) {
        let Some(state) = describe(client, &plan.name).await? else {
            problems.push(format!("the topic {} is missing", plan.name));
            continue;
        };
        let is_partitioned = plan.retention_ms >= 0;
        if is_partitioned {
            counts.push((plan.name.clone(), state.partitions));
        }
        let settings = read_settings(&admin, &plan.name).await?;
        problems.extend(find_problems(&plan, &state, |key| settings.get(key)?.value.as_deref()));
    }
    if let Some((first, partitions)) = counts.first() {
        let others = counts.iter().filter(|(_, count)| count != partitions);
        problems.extend(others.map(|(name, count)| format!("{name} has {count} partitions, {first} has {partitions}")));
    }
    Ok(problems)
}

/// The problems of one topic.
fn find_problems<'s>(
    plan: &PlannedTopic,
    state: &TopicState,
    setting: impl Fn(&str) -> Option<&'s str>,
) -> Vec<String> {
    let mut problems = Vec::new();
    let mut add = |what: String| problems.push(format!("{}: {what}", plan.name));
    let number = |key| setting(key).and_then(|value| value.parse::<i64>().ok());
    if state.leaderless > 0 {
        add(format!("{} partitions have no leader", state.leaderless));
    }
    if state.replicas < SAFE_REPLICAS {
        add(format!("{} replicas; with {SAFE_REPLICAS} or more, a lost disk loses nothing", state.replicas));
    } else if number("min.insync.replicas").is_some_and(|least| least < 2) {
        add("min.insync.replicas is 1: a record on one broker alone is acknowledged; must be 2".into());
    }
    if number("min.insync.replicas").is_some_and(|least| least > 1 && least as usize >= state.replicas) {
        add("min.insync.replicas needs every replica: one broker that is away stops all writes".into());
    }
    let is_too_short = |kept: i64| kept >= 0 && (plan.retention_ms < 0 || kept < plan.retention_ms);
    if let Some(kept) = number("retention.ms").filter(|kept| is_too_short(*kept)) {
        add(format!("retention.ms is {kept}, must be {} or more", plan.retention_ms));
    }
    let is_too_long = |kept: i64, spans: i64| kept < 0 || kept.saturating_add(spans) > MAX_RETENTION_MS;
    if let (Some(kept), Some(spans)) = (number("retention.ms"), number("segment.ms"))
        && plan.retention_ms == RETENTION_MS
        && is_too_long(kept, spans)
    {
        add(format!(
            "retention.ms is {kept} and segment.ms {spans}: texts of erased members stay for longer than 7 days; \
             must be {RETENTION_MS} and {SEGMENT_MS}"
        ));
    }
    if let Some(kept) = number("retention.bytes").filter(|kept| *kept >= 0) {
        add(format!("retention.bytes is {kept}: a busy hour may delete records that are not stored yet; must be -1"));
    }
    if setting("cleanup.policy").is_some_and(|policy| policy != "delete") {
        add("cleanup.policy must be delete".into());
    }
    if setting("unclean.leader.election.enable") == Some("true") {
        add("unclean.leader.election.enable loses acknowledged records; must be false".into());
    }
    problems
}

fn options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(ADMIN_TIMEOUT)).operation_timeout(Some(ADMIN_TIMEOUT))
}

async fn read_settings(admin: &KafkaAdmin, name: &str) -> Result<ConfigResource, BrokerError> {
    let resources = [ResourceSpecifier::Topic(name)];
    let mut answers = admin.describe_configs(&resources, &options()).await.map_err(unavailable)?;
    match answers.pop() {
        Some(Ok(resource)) => Ok(resource),
        Some(Err(code)) => Err(BrokerError::Unavailable(format!("the settings of {name}: {code}").into())),
        None => Err(BrokerError::Unavailable(format!("the settings of {name}: no answer").into())),
    }
}

/// The state of a topic; `None` if it does not exist.
async fn describe(client: &KafkaClient, name: &str) -> Result<Option<TopicState>, BrokerError> {
    match find_topic(client, name).await? {
        Ok(state) => Ok(Some(state)),
        Err(RDKafkaErrorCode::UnknownTopicOrPartition | RDKafkaErrorCode::UnknownTopic) => Ok(None),
        Err(code) => Err(BrokerError::Unavailable(format!("the topic {name}: {code}").into())),
    }
}

/// The state of a topic, or why the brokers that answer do not say it.
pub(super) async fn find_topic(
    client: &KafkaClient,
    name: &str,
) -> Result<Result<TopicState, RDKafkaErrorCode>, BrokerError> {
    let (admin, topic_name) = (client.admin()?, name.to_owned());
    let metadata =
        run_blocking("describe_topic", move || admin.inner().fetch_metadata(Some(&topic_name), ADMIN_TIMEOUT)).await?;
    let Some(topic) = metadata.topics().iter().find(|topic| topic.name() == name) else {
        return Ok(Err(RDKafkaErrorCode::UnknownTopic));
    };
    if let Some(error) = topic.error() {
        return Ok(Err(error.into()));
    }
    let partitions = topic.partitions();
    Ok(Ok(TopicState {
        partitions: u32::try_from(partitions.len()).unwrap_or(u32::MAX),
        replicas: partitions.iter().map(|partition| partition.replicas().len()).min().unwrap_or(0),
        leaderless: partitions.iter().filter(|partition| partition.leader() < 0).count(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(is: &TopicState, settings: &[(&str, &'static str)], expected: &[&str]) {
        let plan = PlannedTopic { name: "g.comments".into(), partitions: 4, retention_ms: RETENTION_MS };
        let setting = |key: &str| settings.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        let wrong = find_problems(&plan, is, setting);
        assert_eq!(wrong.len(), expected.len(), "{wrong:?}");
        for (wrong, expected) in wrong.iter().zip(expected) {
            assert!(wrong.contains(expected), "{wrong:?} has {expected:?}");
        }
    }

    #[test]
    fn every_setting_that_can_lose_records_or_keep_them_too_long_is_a_problem() {
        let topic = |replicas| TopicState { partitions: 4, replicas, leaderless: 0 };
        let good = [("min.insync.replicas", "2"), ("retention.ms", "-1"), ("cleanup.policy", "delete")];
        check(&topic(3), &good, &[]);
        check(&topic(1), &[("min.insync.replicas", "1")], &["1 replicas"]);
        check(&topic(3), &[("min.insync.replicas", "1")], &["min.insync.replicas is 1"]);
        check(&topic(3), &[("min.insync.replicas", "3")], &["needs every replica"]);
        check(&topic(3), &[("retention.ms", "3600000")], &["retention.ms"]);
        check(&topic(3), &[("retention.ms", "604800000"), ("segment.ms", "604800000")], &["erased members"]);
        check(&topic(3), &[("retention.ms", "-1"), ("segment.ms", "86400000")], &["erased members"]);
        check(&topic(3), &[("retention.ms", "518400000"), ("segment.ms", "86400000")], &[]);
        check(&topic(3), &[("retention.bytes", "1000")], &["retention.bytes"]);
        check(&topic(3), &[("unclean.leader.election.enable", "true")], &["unclean"]);
        check(&TopicState { leaderless: 2, ..topic(3) }, &[("cleanup.policy", "compact")], &["no leader", "cleanup"]);
    }
}
