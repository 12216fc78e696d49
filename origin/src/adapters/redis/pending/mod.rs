//! What is pending, in Redis.
//!
//! Comments lie under their slot's hash tag, `{name:slot}:p:<id>`. What belongs to a member lies under
//! one of `BUCKETS` tags, `{name:m:<bucket>}`: idempotency keys (`:k:<member>:<key>`, a letter that
//! says whether the event is appended, then the event), the member's own comments (`:own:<member>`),
//! and a marker that says since when this tag's server remembers. In a Redis Cluster a node that was
//! lost is so known by its own tags. A server that evicts reservations (`volatile-*`, out of memory)
//! is not noticed; the unique key beside the rows is for that.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;
use std::time::Duration;

use ::redis::FromRedisValue;
use async_trait::async_trait;
use futures_util::future::{try_join, try_join_all};
use gailou_shared::id::{CommentId, MemberId, Slot};

use crate::adapters::redis::{Call, Connection, Script};
use crate::clock::Clock;
use crate::domain::codec::operation::{decode, encode};
use crate::domain::operation::{LoggedOperation, Operation};
use crate::domain::row::NewCommentRow;
use crate::ports::pending::{Pending, PendingError, Reserved};

/// Tags that members share: few enough for each to have its marker, enough for the nodes of a cluster.
const BUCKETS: u64 = 1_024;
/// How long a comment is shown from here: the tables have it long before.
const SHOWN: Duration = Duration::from_secs(60);
/// How long a reservation lives.
const RESERVED: Duration = Duration::from_secs(24 * 60 * 60);
/// A member's comments that are kept: more than the limits let anybody write in [`SHOWN`].
const OWN: usize = 50;
/// The letter in front of an event that is known to be appended.
const APPENDED: u8 = b'1';

static RESERVE: LazyLock<Script> =
    LazyLock::new(|| Script::new(concat!(include_str!("../run_id.lua"), include_str!("lua/reserve.lua"))));
static RELEASE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("lua/release.lua")));
static NOTE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("lua/appended.lua")));

/// See the module.
#[derive(Debug)]
pub struct RedisPending {
    connection: Connection,
    name: String,
    clock: Clock,
}

impl RedisPending {
    /// What is pending in the cluster called `name`.
    pub fn new(connection: Connection, name: &str, clock: Clock) -> Self {
        Self { connection, name: name.to_owned(), clock }
    }

    fn comment_key(&self, id: CommentId) -> String {
        format!("{{{}:{}}}:p:{id}", self.name, id.slot().get())
    }

    fn tag(&self, member: MemberId) -> String {
        format!("{{{}:m:{}}}", self.name, member.get() % BUCKETS)
    }

    fn own_key(&self, member: MemberId) -> String {
        format!("{}:own:{member}", self.tag(member))
    }

    fn reservation_key(&self, member: MemberId, key: &str) -> String {
        format!("{}:k:{member}:{key}", self.tag(member))
    }

    async fn run<T: FromRedisValue>(&self, call: &Call<'_>) -> Result<T, PendingError> {
        self.connection.run(call).await.map_err(unavailable)
    }
}

#[async_trait]
impl Pending for RedisPending {
    async fn reserve(&self, event: &LoggedOperation) -> Result<Reserved, PendingError> {
        let (row, bytes) = publish(event)?;
        let (member, key) = reservation(row)?;
        let keys = [self.reservation_key(member, key), format!("{}:since", self.tag(member))];
        let mut call = RESERVE.call(&keys);
        call.arg(bytes).arg(self.clock.now()).arg(RESERVED.as_millis() as u64);
        let (before, sure): (Option<Vec<u8>>, bool) = self.run(&call).await?;
        Ok(match before {
            None => Reserved::Now { sure },
            Some(before) => {
                let (event, appended) = held(&before)?;
                Reserved::Before { event: Box::new(event), appended }
            }
        })
    }

    async fn reserved(&self, member: MemberId, key: &str) -> Result<Option<LoggedOperation>, PendingError> {
        let key = self.reservation_key(member, key);
        let before: Option<Vec<u8>> =
            self.connection.query(&key, ::redis::cmd("GET").arg(&key)).await.map_err(unavailable)?;
        before.map(|before| Ok(held(&before)?.0)).transpose()
    }

    async fn release(&self, event: &LoggedOperation) -> Result<(), PendingError> {
        let (row, bytes) = publish(event)?;
        let (member, key) = reservation(row)?;
        self.run(RELEASE.call(&[self.reservation_key(member, key)]).arg(bytes)).await
    }

    async fn put(&self, event: &LoggedOperation) -> Result<(), PendingError> {
        let (row, bytes) = publish(event)?;
        let (id, member) = (row.path.id(), row.author.id);
        let key = self.comment_key(id);
        let mut shown = ::redis::cmd("SET");
        shown.arg(&key).arg(&bytes).arg("PX").arg(SHOWN.as_millis() as u64);
        let shown = async { self.connection.query::<()>(&key, &shown).await.map_err(unavailable) };

        let reserved = row.idempotency.as_ref().map(|(key, _)| self.reservation_key(member, key));
        let keys: Vec<_> = [self.own_key(member)].into_iter().chain(reserved).collect();
        let mut note = NOTE.call(&keys);
        note.arg(id.get()).arg(event.at).arg(SHOWN.as_millis() as u64).arg(OWN);
        note.arg(&bytes).arg(RESERVED.as_millis() as u64);
        try_join(shown, self.run::<()>(&note)).await?;
        Ok(())
    }

    async fn comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, LoggedOperation>, PendingError> {
        let mut slots = BTreeMap::<Slot, Vec<CommentId>>::new();
        for id in ids {
            slots.entry(id.slot()).or_default().push(*id);
        }
        let found = slots.into_values().map(|ids| async move {
            let keys: Vec<_> = ids.iter().map(|id| self.comment_key(*id)).collect();
            let mut command = ::redis::cmd("MGET");
            command.arg(&keys);
            let bytes: Vec<Option<Vec<u8>>> = self.connection.query(&keys[0], &command).await.map_err(unavailable)?;
            let found = ids.into_iter().zip(bytes).filter_map(|(id, bytes)| Some((id, bytes?)));
            found.map(|(id, bytes)| Ok((id, decode(&bytes).map_err(unavailable)?))).collect::<Result<Vec<_>, _>>()
        });
        Ok(try_join_all(found).await?.into_iter().flatten().collect())
    }

    async fn of(&self, member: MemberId) -> Result<Vec<CommentId>, PendingError> {
        let key = self.own_key(member);
        let since = self.clock.now().saturating_sub(SHOWN.as_millis() as u64);
        let mut command = ::redis::cmd("ZREVRANGEBYSCORE");
        command.arg(&key).arg("+inf").arg(since);
        let ids: Vec<String> = self.connection.query(&key, &command).await.map_err(unavailable)?;
        Ok(ids.iter().filter_map(|id| id.parse().ok()).collect())
    }
}

/// The new row and the bytes of an event that is a comment.
fn publish(event: &LoggedOperation) -> Result<(&NewCommentRow, Vec<u8>), PendingError> {
    match (&event.operation, encode(event)) {
        (Operation::Publish(row), Some(bytes)) => Ok((row, bytes)),
        _ => Err(PendingError("only new comments can be pending".into())),
    }
}

/// Whose key an event's row carries.
fn reservation(row: &NewCommentRow) -> Result<(MemberId, &str), PendingError> {
    let (key, _) = row.idempotency.as_ref().ok_or_else(|| PendingError("the comment has no key".into()))?;
    Ok((row.author.id, key))
}

/// The event that holds a key, and whether it is known to be appended.
fn held(value: &[u8]) -> Result<(LoggedOperation, bool), PendingError> {
    let (letter, bytes) = value.split_first().ok_or_else(|| PendingError("a reservation is empty".into()))?;
    Ok((decode(bytes).map_err(unavailable)?, *letter == APPENDED))
}

fn unavailable(error: impl std::fmt::Display) -> PendingError {
    PendingError(error.to_string())
}
