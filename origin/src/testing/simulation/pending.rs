//! Reservations and pending comments in Redis, by the rules of `adapters/redis/pending/lua`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::walk::Snapshot;
use tokio::time::Instant;

use crate::domain::operation::{LoggedOperation, Operation};
use crate::domain::row::NewCommentRow;
use crate::ports::pending::{
    AppendedKey, KeyHolder, MAX_PENDING_TIME, Pending, PendingComment, PendingEnd, PendingError, Reservation,
    STORED_COMMENT_TIME,
};
use crate::testing::simulation::redis_double::{RedisData, SimulatedRedis};
use crate::testing::simulation::world::Unanswered;

/// How long a reservation lives.
const RESERVATION_TTL: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, Clone, Default)]
pub(super) struct PendingData {
    /// By member and key.
    reservations: BTreeMap<(MemberId, String), KeyHolder>,
    /// The server that has kept every reservation, and since when.
    kept_since: Option<(u64, Instant)>,
    comments: BTreeMap<CommentId, KeptComment>,
    /// By member.
    own: BTreeMap<MemberId, Vec<CommentId>>,
}

#[derive(Debug, Clone)]
struct KeptComment {
    accepted_by: u64,
    operation: LoggedOperation,
    until: Instant,
}

impl From<Unanswered> for PendingError {
    fn from(_: Unanswered) -> Self {
        Self("no answer".into())
    }
}

fn row_of(logged: &LoggedOperation) -> Option<&NewCommentRow> {
    match &logged.operation {
        Operation::Publish(row) => Some(row),
        _ => None,
    }
}

fn key_of(logged: &LoggedOperation) -> Option<(MemberId, String)> {
    let row = row_of(logged)?;
    row.idempotency.as_ref().map(|idempotency| (row.author.id, idempotency.key.clone()))
}

/// Whether a key is held by this operation.
fn is_held_by(holder: &KeyHolder, operation: &LoggedOperation) -> bool {
    let same = |appended: AppendedKey| (appended.at, appended.request.id);
    holder.appended().map(same) == AppendedKey::of(operation).map(same)
}

impl PendingData {
    fn reserve(&mut self, server: u64, operation: &LoggedOperation) -> Option<Reservation> {
        let key = key_of(operation)?;
        if let Some(holder) = self.reservations.get(&key) {
            return Some(Reservation::Existing(holder.clone()));
        }
        self.reservations.insert(key, KeyHolder::Reserved(Box::new(operation.clone())));
        let since = self.kept_since.filter(|(of, _)| *of == server).map(|(_, since)| since);
        if since.is_none() {
            self.kept_since = Some((server, Instant::now()));
        }
        Some(Reservation::New { is_certain: since.is_some_and(|since| since.elapsed() >= RESERVATION_TTL) })
    }

    fn put(&mut self, server: u64, operation: &LoggedOperation) {
        let Some(row) = row_of(operation) else { return };
        let (id, until) = (row.path.id(), Instant::now() + MAX_PENDING_TIME);
        let stored = LoggedOperation { position: None, ..operation.clone() };
        self.comments.insert(id, KeptComment { accepted_by: server, operation: stored, until });
        let own = self.own.entry(row.author.id).or_default();
        if !own.contains(&id) {
            own.push(id);
        }
        if let (Some(key), Some(appended)) = (key_of(operation), AppendedKey::of(operation))
            && self.reservations.get(&key).is_none_or(|holder| is_held_by(holder, operation))
        {
            self.reservations.insert(key, KeyHolder::Appended(appended));
        }
    }

    fn end(&mut self, id: CommentId, end: PendingEnd) {
        match end {
            PendingEnd::Changed => _ = self.comments.remove(&id),
            PendingEnd::Stored(member) => {
                if let Some(kept) = self.comments.get_mut(&id) {
                    kept.until = Instant::now() + STORED_COMMENT_TIME;
                }
                self.own.entry(member).or_default().retain(|own| *own != id);
            }
        }
    }
}

/// Pending comments as one process reaches them.
#[derive(Debug, Clone)]
pub(super) struct SimulatedPending(pub(super) Arc<SimulatedRedis>);

#[async_trait]
impl Pending for SimulatedPending {
    async fn reserve_key(&self, operation: &LoggedOperation) -> Result<Reservation, PendingError> {
        let reserve = |data: &mut RedisData| data.pending.reserve(data.server, operation);
        self.0.run("reserve_key", reserve).await?.ok_or_else(|| PendingError("no idempotency key".into()))
    }

    async fn find_reservation(&self, member: MemberId, key: &str) -> Result<Option<KeyHolder>, PendingError> {
        let key = (member, key.to_owned());
        let find = |data: &mut RedisData| data.pending.reservations.get(&key).cloned();
        Ok(self.0.run("find_reservation", find).await?)
    }

    async fn release_key(&self, operation: &LoggedOperation) -> Result<(), PendingError> {
        let release = |data: &mut RedisData| {
            let held = key_of(operation).and_then(|key| Some((data.pending.reservations.get(&key)?.clone(), key)));
            if let Some((holder @ KeyHolder::Reserved(_), key)) = held
                && is_held_by(&holder, operation)
            {
                data.pending.reservations.remove(&key);
            }
        };
        Ok(self.0.run("release_key", release).await?)
    }

    async fn put_comment(&self, operation: &LoggedOperation) -> Result<(), PendingError> {
        Ok(self.0.run("put_comment", |data| data.pending.put(data.server, operation)).await?)
    }

    async fn end_comments(&self, comments: &[(CommentId, PendingEnd)]) -> Result<(), PendingError> {
        let end = |data: &mut RedisData| comments.iter().for_each(|(id, end)| data.pending.end(*id, *end));
        Ok(self.0.run("end_comments", end).await?)
    }

    async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, PendingComment>, PendingError> {
        let read = |data: &mut RedisData| {
            let find = |id: &CommentId| {
                let kept = data.pending.comments.get(id).filter(|kept| kept.until > Instant::now())?;
                let is_of_this_server = kept.accepted_by == data.server;
                Some((*id, PendingComment { operation: kept.operation.clone(), is_of_this_server }))
            };
            ids.iter().filter_map(find).collect()
        };
        Ok(self.0.run("read_pending", read).await?)
    }

    async fn put_snapshot(&self, _: Slot, _: &Snapshot) -> Result<(), PendingError> {
        Err(PendingError("no step of the simulation makes a ranking".into()))
    }

    async fn read_snapshot(&self, _: Slot, _: SnapshotId) -> Result<Option<Snapshot>, PendingError> {
        Err(PendingError("no step of the simulation reads a ranking".into()))
    }

    async fn list_member_comments(&self, member: MemberId) -> Result<Vec<CommentId>, PendingError> {
        let list = |data: &mut RedisData| data.pending.own.get(&member).cloned().unwrap_or_default();
        Ok(self.0.run("list_member_comments", list).await?.into_iter().rev().collect())
    }
}
