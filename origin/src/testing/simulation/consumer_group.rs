//! Consumer groups: who may read which partition, and a member as its process has it.
//!
//! A member that is not heard of for the session timeout is put out of the group and does not know it until it
//! polls again: until then it works on with what it has fetched. Partitions are taken from a member only when it
//! has polled or is out, and are then given to another. A commit of a member that does not have the partition is
//! refused.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, timeout_at};

use crate::ports::broker::{BrokerError, Consumer, Record, Topic};
use crate::testing::simulation::broker_log::{BrokerServer, Logs, SimulatedBroker};
use crate::testing::simulation::world::{Node, Server};

/// How long the group waits for a member.
const SESSION_TIMEOUT: Duration = Duration::from_secs(6);
/// How often the group looks for members that are silent.
pub(super) const GROUP_CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// How long [`Consumer::poll_batch`] waits for a first record.
const FIRST_RECORD_TIMEOUT: Duration = Duration::from_secs(1);
/// Records that one fetch brings at most.
const MAX_FETCHED: usize = 40;

/// The group of one topic.
#[derive(Debug)]
pub(super) struct ConsumerGroup {
    partitions: u32,
    next_member: u64,
    /// The members, and when each was heard of.
    members: BTreeMap<u64, Instant>,
    /// Who has each partition.
    owners: BTreeMap<u32, u64>,
}

impl ConsumerGroup {
    pub(super) fn new(partitions: u32) -> Self {
        Self { partitions, next_member: 0, members: BTreeMap::new(), owners: BTreeMap::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Puts out who was not heard of for too long.
    pub(super) fn expire(&mut self) {
        self.members.retain(|_, heard_at| heard_at.elapsed() < SESSION_TIMEOUT);
        self.owners.retain(|_, owner| self.members.contains_key(owner));
    }

    fn join(&mut self) -> u64 {
        self.next_member += 1;
        self.members.insert(self.next_member, Instant::now());
        self.next_member
    }

    fn leave(&mut self, member: u64) {
        self.members.remove(&member);
        self.owners.retain(|_, owner| *owner != member);
    }

    /// Who shall have a partition.
    fn target(&self, partition: u32) -> Option<u64> {
        self.members.keys().nth(partition as usize % self.members.len().max(1)).copied()
    }

    /// Gives a member what it shall have and takes what it shall not; `None` when it is out.
    fn sync(&mut self, member: u64) -> Option<BTreeSet<u32>> {
        *self.members.get_mut(&member)? = Instant::now();
        for partition in 0..self.partitions {
            let owner = self.owners.get(&partition).copied();
            let target = self.target(partition);
            if owner == Some(member) && target != owner {
                self.owners.remove(&partition);
            } else if owner.is_none() && target == Some(member) {
                self.owners.insert(partition, member);
            }
        }
        Some(self.owners.iter().filter(|(_, owner)| **owner == member).map(|(partition, _)| *partition).collect())
    }
}

/// Looks for silent members, without end.
pub(super) async fn watch_groups(server: &BrokerServer) {
    loop {
        tokio::time::sleep(GROUP_CHECK_INTERVAL).await;
        server.logs().groups.values_mut().for_each(ConsumerGroup::expire);
    }
}

/// A member of a group.
pub(super) struct SimulatedConsumer {
    broker: SimulatedBroker,
    topic: Topic,
    member: u64,
    /// As far as it knows: its partitions, and which are new or gone since they were asked for.
    partitions: BTreeSet<u32>,
    assigned: Vec<u32>,
    revoked: Vec<u32>,
    paused: BTreeSet<u32>,
    /// The next raw offset of each partition, and how often its log was cut until then.
    next: BTreeMap<u32, (u64, usize)>,
    buffered: VecDeque<Record>,
    buffering_since: Instant,
}

impl SimulatedConsumer {
    pub(super) fn new(broker: SimulatedBroker, topic: Topic) -> Self {
        let member = broker.server.logs().groups.get_mut(&topic).map_or(0, ConsumerGroup::join);
        Self {
            broker,
            topic,
            member,
            partitions: BTreeSet::new(),
            assigned: vec![],
            revoked: vec![],
            paused: BTreeSet::new(),
            next: BTreeMap::new(),
            buffered: VecDeque::new(),
            buffering_since: Instant::now(),
        }
    }

    fn node(&self) -> &Node {
        &self.broker.node
    }

    /// Learns what the group has decided. A member that is out joins again.
    fn sync(&mut self, logs: &mut Logs) {
        let Some(group) = logs.groups.get_mut(&self.topic) else { return };
        let partitions = group.sync(self.member).unwrap_or_else(|| {
            self.member = group.join();
            BTreeSet::new()
        });
        let gone: Vec<u32> = self.partitions.difference(&partitions).copied().collect();
        let new: Vec<u32> = partitions.difference(&self.partitions).copied().collect();
        for partition in &gone {
            self.next.remove(partition);
        }
        self.assigned.retain(|partition| !gone.contains(partition));
        self.buffered.retain(|record| !gone.contains(&record.partition));
        for partition in &new {
            let log = &logs.partitions[&(self.topic, *partition)];
            self.next.insert(*partition, (log.committed, log.cuts.len()));
        }
        self.revoked.extend(gone);
        self.assigned.extend(new);
        self.partitions = partitions;
    }

    /// Fetches what its partitions have. A log that was cut before what was read is read from its beginning.
    fn fetch(&mut self, logs: &Logs, max: usize) {
        for (partition, (next, epoch)) in &mut self.next {
            if self.paused.contains(partition) {
                continue;
            }
            let log = &logs.partitions[&(self.topic, *partition)];
            if log.cuts[*epoch..].iter().any(|cut| *next > *cut) {
                *next = 0;
            }
            *epoch = log.cuts.len();
            while self.buffered.len() < max
                && let Some(payload) = log.records.get(*next as usize)
            {
                let offset = self.broker.offsets.position(self.topic, *partition, *next);
                let (topic, partition, payload) = (self.topic, *partition, payload.clone());
                self.buffered.push_back(Record { topic, partition, offset, payload, trace_parent: None });
                *next += 1;
            }
        }
    }

    /// One round: learn, and fetch; whether its partitions have changed. Nothing happens while the broker is not
    /// reached.
    fn exchange(&mut self, max: usize) -> bool {
        if !self.node().sends_heartbeats() {
            return false;
        }
        let changes = (self.assigned.len(), self.revoked.len());
        let broker = self.broker.clone();
        let mut logs = broker.server.logs();
        self.sync(&mut logs);
        self.fetch(&logs, max);
        changes != (self.assigned.len(), self.revoked.len())
    }
}

#[async_trait]
impl Consumer for SimulatedConsumer {
    async fn poll_batch(&mut self, max: usize, linger: Duration) -> Result<Vec<Record>, BrokerError> {
        let max = max.min(MAX_FETCHED);
        let first_until = Instant::now() + FIRST_RECORD_TIMEOUT;
        loop {
            self.broker.node.clone().run().await;
            let was_empty = self.buffered.is_empty();
            let has_changed = self.exchange(max);
            if was_empty && !self.buffered.is_empty() {
                self.buffering_since = Instant::now();
            }
            if has_changed {
                break;
            }
            let until = if self.buffered.is_empty() { first_until } else { self.buffering_since + linger };
            if self.buffered.len() >= max || Instant::now() >= until {
                break;
            }
            let server = self.broker.server.clone();
            let _ = timeout_at(until, server.appended.notified()).await;
        }
        let delay = Duration::from_millis(1 + self.node().world.below(3));
        tokio::time::sleep(delay).await;
        self.broker.node.clone().run().await;
        self.broker.node.world.note("poll", [self.member, self.buffered.len() as u64, self.topic as u64]);
        Ok(self.buffered.drain(..).collect())
    }

    async fn start_at(&mut self, partition: u32, offset: u64) -> Result<(), BrokerError> {
        self.buffered.retain(|record| record.partition != partition);
        let raw = self.broker.offsets.offset(self.topic, partition, offset).unwrap_or(0);
        let (broker, topic) = (self.broker.clone(), self.topic);
        let server = broker.server.clone();
        let read = || server.logs().partitions[&(topic, partition)].cuts.len();
        let epoch = broker.node.call(Server::Broker, "seek", read).await?;
        match self.next.get_mut(&partition) {
            Some(next) => *next = (raw, epoch),
            None => return Err(BrokerError::Unavailable("the partition is not assigned".into())),
        }
        Ok(())
    }

    async fn commit_offsets(&mut self, offsets: &[(u32, u64)]) -> Result<(), BrokerError> {
        if !self.node().sends_heartbeats() {
            return Ok(());
        }
        let mut logs = self.broker.server.logs();
        for (partition, offset) in offsets {
            let owner = logs.groups.get(&self.topic).and_then(|group| group.owners.get(partition));
            let raw = self.broker.offsets.offset(self.topic, *partition, *offset).unwrap_or(0);
            if owner == Some(&self.member)
                && let Some(log) = logs.partitions.get_mut(&(self.topic, *partition))
            {
                log.committed = raw;
            }
        }
        Ok(())
    }

    fn take_assigned(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.assigned)
    }

    fn take_revoked(&mut self) -> Vec<u32> {
        let revoked = std::mem::take(&mut self.revoked);
        self.paused.retain(|partition| !revoked.contains(partition));
        revoked
    }

    fn set_paused(&mut self, partitions: &BTreeSet<u32>) {
        self.paused.clone_from(partitions);
    }

    async fn close(self: Box<Self>) {
        if self.node().sends_heartbeats()
            && let Some(group) = self.broker.server.logs().groups.get_mut(&self.topic)
        {
            group.leave(self.member);
        }
    }
}
