//! Reading: one member of the consumer group of a topic.
//!
//! An assigned partition is read from the committed offset, and from where [`Consumer::start_at`] says once that is
//! called. Offsets are committed only when [`Consumer::commit_offsets`] says so. The tables refuse what is read
//! twice, so nothing waits for a commit. While the group rebalances, the broker refuses commits; other
//! processes wait for these commits, even if no more record arrives. So the last commit is repeated for
//! a while.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _, ConsumerContext, Rebalance, StreamConsumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::{Headers as _, Message};
use rdkafka::{Offset, TopicPartitionList};
use tokio::time::{Instant, timeout, timeout_at};

use crate::adapters::kafka::client::KafkaClient;
use crate::adapters::kafka::log_offsets::LogOffsets;
use crate::adapters::kafka::{client, driver_partition, run_blocking, unavailable};
use crate::ports::broker::{BrokerError, Consumer, Record, Topic};
use crate::ports::failure::Failure;
use crate::telemetry::CallTimer;
use crate::telemetry::trace::TRACE_PARENT;

/// How long [`Consumer::poll_batch`] waits for a first record.
const FIRST_RECORD_TIMEOUT: Duration = Duration::from_secs(1);
/// How often the last commit is repeated, and for how long: longer than a rebalance takes.
const COMMIT_REPEAT_INTERVAL: Duration = Duration::from_secs(1);
const COMMIT_REPEAT_WINDOW: Duration = Duration::from_secs(60);
/// How long it may take until a partition is read from another offset.
const SEEK_TIMEOUT: Duration = Duration::from_millis(500);
/// How long it may take to leave the group. After that the broker finds out by the session timeout.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(3);

type GroupMember = StreamConsumer<AssignmentListener>;

/// One member of a group.
pub(super) struct KafkaConsumer {
    topic: Topic,
    topic_name: String,
    offsets: Arc<LogOffsets>,
    /// `None` after it was closed.
    member: Option<Arc<GroupMember>>,
    /// Records that were received and not returned yet, and when the first of them came.
    buffered: VecDeque<Record>,
    buffering_since: Instant,
    paused: BTreeSet<u32>,
    /// Partitions of which no record came since no broker could be reached: the log may be another one.
    doubted: BTreeSet<u32>,
    /// Where the reading of partitions was begun.
    starts: BTreeMap<u32, u64>,
    /// The last offset to commit of each partition.
    commits: BTreeMap<u32, u64>,
    /// When `commits` changed last, and when they were sent last.
    commits_changed_at: Instant,
    commits_sent_at: Instant,
}

impl KafkaConsumer {
    /// Joins the group of a topic.
    pub(super) fn join(client: &KafkaClient, topic: Topic, offsets: Arc<LogOffsets>) -> Result<Self, BrokerError> {
        let topic_name = client.topic_name(topic);
        let config = client.consumer_config(&client.group_name(topic));
        let listener = AssignmentListener {
            topic: topic_name.clone(),
            assignment: Mutex::default(),
            commit_timer: Mutex::default(),
        };
        let member: GroupMember = config.create_with_context(listener).map_err(unavailable)?;
        member.subscribe(&[&topic_name]).map_err(unavailable)?;
        Ok(Self {
            topic,
            topic_name,
            offsets,
            member: Some(Arc::new(member)),
            buffered: VecDeque::new(),
            buffering_since: Instant::now(),
            paused: BTreeSet::new(),
            doubted: BTreeSet::new(),
            starts: BTreeMap::new(),
            commits: BTreeMap::new(),
            commits_changed_at: Instant::now(),
            commits_sent_at: Instant::now(),
        })
    }

    /// Buffers one more record. False if none arrives until then.
    async fn buffer_record(&mut self, until: Instant) -> Result<bool, BrokerError> {
        let Some(member) = self.member.clone() else { return Ok(false) };
        loop {
            match timeout_at(until, member.recv()).await {
                Err(_) => return Ok(false),
                Ok(Ok(message)) => {
                    self.drop_revoked();
                    let partition = u32::try_from(message.partition()).unwrap_or_default();
                    let offset = u64::try_from(message.offset()).unwrap_or_default();
                    let offset = self.offsets.position(self.topic, partition, offset);
                    // The driver may still return prefetched records of a revoked partition, or from before the
                    // partition's start.
                    if !self.with_assignment(|assignment| assignment.partitions.contains(&partition))
                        || self.starts.get(&partition).is_some_and(|start| offset < *start)
                    {
                        continue;
                    }
                    if self.doubted.remove(&partition) {
                        // It is read again, from where the partition then begins.
                        self.with_assignment(|assignment| assignment.assigned.push(partition));
                        continue;
                    }
                    if self.buffered.is_empty() {
                        self.buffering_since = Instant::now();
                    }
                    self.buffered.push_back(Record {
                        topic: self.topic,
                        partition,
                        offset,
                        payload: message.payload().unwrap_or_default().to_vec(),
                        trace_parent: trace_parent(&message),
                    });
                    return Ok(true);
                }
                Ok(Err(error)) if is_fatal(&error) => return Err(BrokerError::Damaged(Failure::of_driver(error))),
                Ok(Err(error)) if error.rdkafka_error_code() == Some(RDKafkaErrorCode::AllBrokersDown) => {
                    self.doubted = self.with_assignment(|assignment| assignment.partitions.clone());
                }
                // The driver has logged it, and retries by itself.
                Ok(Err(_)) => {}
            }
        }
    }

    /// Drops the buffered records of revoked partitions.
    fn drop_revoked(&mut self) {
        let revoked = self.with_assignment(|assignment| std::mem::take(&mut assignment.to_drop));
        if !revoked.is_empty() {
            self.buffered.retain(|record| !revoked.contains(&record.partition));
            self.starts.retain(|partition, _| !revoked.contains(partition));
        }
    }

    /// The offsets to commit of the assigned partitions.
    fn commit_list(&self) -> Result<TopicPartitionList, BrokerError> {
        let assigned = self.with_assignment(|assignment| assignment.partitions.clone());
        let mut list = TopicPartitionList::with_capacity(self.commits.len());
        for (partition, offset) in self.commits.iter().filter(|(partition, _)| assigned.contains(partition)) {
            let offset = self.offsets.offset(self.topic, *partition, *offset).unwrap_or(0);
            let offset = Offset::Offset(i64::try_from(offset).unwrap_or(i64::MAX));
            list.add_partition_offset(&self.topic_name, driver_partition(*partition), offset).map_err(unavailable)?;
        }
        Ok(list)
    }

    /// Sends the commit, without waiting for its answer.
    fn send_commit(&mut self) -> Result<(), BrokerError> {
        self.commits_sent_at = Instant::now();
        let list = self.commit_list()?;
        let Some(member) = self.member.as_ref().filter(|_| list.count() > 0) else { return Ok(()) };
        member.context().commit_timer().get_or_insert_with(|| CallTimer::start("kafka", "commit_offsets"));
        member.commit(&list, CommitMode::Async).map_err(unavailable)
    }

    fn partition_list(&self, partitions: &BTreeSet<u32>) -> TopicPartitionList {
        let mut list = TopicPartitionList::with_capacity(partitions.len());
        for partition in partitions {
            list.add_partition(&self.topic_name, driver_partition(*partition));
        }
        list
    }

    /// Reads or changes the current assignment.
    fn with_assignment<T: Default>(&self, access: impl FnOnce(&mut Assignment) -> T) -> T {
        self.member.as_ref().map(|member| access(&mut member.context().assignment())).unwrap_or_default()
    }
}

/// The trace that a record belongs to, as its header says.
fn trace_parent(message: &impl Message) -> Option<String> {
    let headers = message.headers()?;
    let header = headers.iter().find(|header| header.key == TRACE_PARENT)?;
    String::from_utf8(header.value?.to_vec()).ok()
}

fn is_fatal(error: &KafkaError) -> bool {
    matches!(error, KafkaError::MessageConsumptionFatal(_))
        || error.rdkafka_error_code() == Some(RDKafkaErrorCode::Fatal)
}

#[async_trait]
impl Consumer for KafkaConsumer {
    async fn poll_batch(&mut self, max: usize, linger: Duration) -> Result<Vec<Record>, BrokerError> {
        if self.commits_sent_at.elapsed() > COMMIT_REPEAT_INTERVAL
            && self.commits_changed_at.elapsed() < COMMIT_REPEAT_WINDOW
            && let Err(error) = self.send_commit()
        {
            tracing::debug!(topic = self.topic_name, %error, "Could not repeat the commit of {}", self.topic_name);
        }
        if self.buffered.is_empty() && !self.buffer_record(Instant::now() + FIRST_RECORD_TIMEOUT).await? {
            return Ok(Vec::new());
        }
        let until = self.buffering_since + linger;
        while self.buffered.len() < max && self.buffer_record(until).await? {}
        self.drop_revoked();
        let count = max.min(self.buffered.len());
        let batch = self.buffered.drain(..count).collect();
        self.buffering_since = Instant::now();
        Ok(batch)
    }

    async fn start_at(&mut self, partition: u32, offset: u64) -> Result<(), BrokerError> {
        self.drop_revoked();
        self.buffered.retain(|record| record.partition != partition);
        self.starts.remove(&partition);
        self.doubted.remove(&partition);
        let Some(member) = self.member.clone() else { return Ok(()) };
        let mut list = TopicPartitionList::with_capacity(1);
        let raw = self.offsets.offset(self.topic, partition, offset).unwrap_or(0);
        let from = Offset::Offset(i64::try_from(raw).unwrap_or(i64::MAX));
        list.add_partition_offset(&self.topic_name, driver_partition(partition), from).map_err(unavailable)?;
        let sought = run_blocking("seek", move || member.seek_partitions(list, SEEK_TIMEOUT)).await?;
        for element in sought.elements() {
            element.error().map_err(unavailable)?;
        }
        self.starts.insert(partition, offset);
        Ok(())
    }

    async fn commit_offsets(&mut self, offsets: &[(u32, u64)]) -> Result<(), BrokerError> {
        self.commits.extend(offsets.iter().copied());
        self.commits_changed_at = Instant::now();
        self.send_commit()
    }

    fn take_assigned(&mut self) -> Vec<u32> {
        let assigned = self.with_assignment(|assignment| std::mem::take(&mut assignment.assigned));
        // The driver may remember that a partition was paused when it was assigned before.
        if let Some(member) = self.member.as_ref().filter(|_| !assigned.is_empty())
            && let Err(error) = member.resume(&self.partition_list(&assigned.iter().copied().collect()))
        {
            let topic = &self.topic_name;
            tracing::warn!(topic, partitions = ?assigned, %error, "Could not resume {topic}{assigned:?} after their assignment");
        }
        assigned
    }

    fn take_revoked(&mut self) -> Vec<u32> {
        let revoked = self.with_assignment(|assignment| std::mem::take(&mut assignment.revoked));
        self.paused.retain(|partition| !revoked.contains(partition));
        self.commits.retain(|partition, _| !revoked.contains(partition));
        self.drop_revoked();
        revoked
    }

    fn set_paused(&mut self, partitions: &BTreeSet<u32>) {
        let (to_resume, to_pause) = (&self.paused - partitions, partitions - &self.paused);
        let Some(member) = &self.member else { return };
        // A partition that was revoked meanwhile cannot be paused; it comes back unpaused.
        let paused = if to_pause.is_empty() { Ok(()) } else { member.pause(&self.partition_list(&to_pause)) };
        let resumed = if to_resume.is_empty() { Ok(()) } else { member.resume(&self.partition_list(&to_resume)) };
        if let Err(error) = paused.and(resumed) {
            let topic = &self.topic_name;
            tracing::warn!(topic, ?partitions, %error, "Could not pause exactly {topic}{partitions:?}");
        }
        self.paused.clone_from(partitions);
    }

    async fn close(mut self: Box<Self>) {
        let commits = self.commit_list().unwrap_or_default();
        let Some(member) = self.member.take() else { return };
        let left = tokio::task::spawn_blocking(move || {
            let answer = if commits.count() > 0 { member.commit(&commits, CommitMode::Sync) } else { Ok(()) };
            drop(member);
            answer
        });
        let topic = &self.topic_name;
        match timeout(LEAVE_TIMEOUT, left).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::info!(topic, %error, "Left the group of {topic} without the last commit"),
            Ok(Err(error)) => tracing::warn!(topic, %error, "Could not leave the group of {topic}"),
            Err(_) => {
                let timeout_ms = LEAVE_TIMEOUT.as_millis();
                tracing::warn!(topic, timeout_ms, "Could not leave the group of {topic} within {timeout_ms} ms");
            }
        }
    }
}

impl Drop for KafkaConsumer {
    fn drop(&mut self) {
        // To leave a group blocks.
        if let Some(member) = self.member.take() {
            std::thread::spawn(move || drop(member));
        }
    }
}

/// The partitions of a member, as the broker assigns and revokes them.
#[derive(Debug, Default)]
struct Assignment {
    partitions: BTreeSet<u32>,
    /// Assigned since [`Consumer::take_assigned`].
    assigned: Vec<u32>,
    /// Revoked since [`Consumer::take_revoked`].
    revoked: Vec<u32>,
    /// Revoked since the last record was buffered.
    to_drop: Vec<u32>,
}

/// Follows the assignment of one member.
#[derive(Debug)]
pub(super) struct AssignmentListener {
    topic: String,
    assignment: Mutex<Assignment>,
    /// Measures the first of the commits that the broker has not answered.
    commit_timer: Mutex<Option<CallTimer>>,
}

impl AssignmentListener {
    /// A mutex that is held for a few pushes, never across an await.
    fn assignment(&self) -> MutexGuard<'_, Assignment> {
        self.assignment.lock()
    }

    /// A mutex that is held for one assignment.
    fn commit_timer(&self) -> MutexGuard<'_, Option<CallTimer>> {
        self.commit_timer.lock()
    }
}

impl ClientContext for AssignmentListener {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        client::log_driver_message(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        client::log_driver_error(&error, reason);
    }
}

impl ConsumerContext for AssignmentListener {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let numbers = |list: &TopicPartitionList| -> Vec<u32> {
            list.elements().iter().filter_map(|element| u32::try_from(element.partition()).ok()).collect()
        };
        let topic = &self.topic;
        let mut assignment = self.assignment();
        match rebalance {
            Rebalance::Assign(list) => {
                let partitions = numbers(list);
                tracing::info!(topic, ?partitions, "Assigned {topic}{partitions:?}");
                assignment.partitions.extend(&partitions);
                assignment.assigned.extend(partitions);
            }
            Rebalance::Revoke(list) => {
                let partitions = numbers(list);
                tracing::info!(topic, ?partitions, "Revoked {topic}{partitions:?}");
                assignment.partitions.retain(|partition| !partitions.contains(partition));
                assignment.assigned.retain(|partition| !partitions.contains(partition));
                assignment.revoked.extend(&partitions);
                assignment.to_drop.extend(partitions);
            }
            Rebalance::Error(error) => tracing::warn!(topic, %error, "Could not rebalance the group of {topic}"),
        }
    }

    fn commit_callback(&self, result: KafkaResult<()>, _: &TopicPartitionList) {
        if let Some(mut timer) = self.commit_timer().take() {
            timer.note(&result);
        }
        if let Err(error) = result {
            tracing::debug!(topic = self.topic, %error, "The broker refused a commit of {}", self.topic);
        }
    }
}
