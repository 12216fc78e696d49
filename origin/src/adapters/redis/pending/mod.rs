//! The pending comments in Redis.
//!
//! | key | type | content |
//! |---|---|---|
//! | `{name:slot}:a:<comment>` | string | an appended comment: the run id of the server that accepted it, then the bytes of its operation |
//! | `{name:slot}:r:<snapshot>` | string | a ranking that could not be stored |
//! | `{name:m:<bucket>}:k:<member>:<key>` | string | a reservation: the operation, or what is kept of it once it is appended (`reservation.rs`) |
//! | `{name:m:<bucket>}:own:<member>` | sorted set | the comments of a member by time |
//! | `{name:m:<bucket>}:since` | string | the server's run id, and since when it has kept every reservation |
//!
//! Members share `MEMBER_BUCKETS` hash tags. In a Redis Cluster the loss of a node is so noticed by
//! the tags of that node. Not noticed is a server that evicts reservations (`volatile-*`, out of
//! memory); the unique key of the rows is the protection against that.

mod reservation;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;
use std::time::Duration;

use ::redis::FromRedisValue;
use async_trait::async_trait;
use futures_util::future::try_join_all;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::walk::Snapshot;

use crate::adapters::redis::pending::reservation::{decode_holder, encode_appended};
use crate::adapters::redis::{RedisCallError, RedisConnection, RedisScript, ScriptCall};
use crate::clock::Clock;
use crate::domain::codec::operation::{decode, encode};
use crate::domain::operation::{LoggedOperation, Operation};
use crate::domain::row::NewCommentRow;
use crate::ports::failure::Failure;
use crate::ports::pending::{
    AppendedKey, KeyHolder, MAX_PENDING_TIME, MAX_SNAPSHOT_TIME, Pending, PendingComment, PendingEnd, PendingError,
    Reservation, STORED_COMMENT_TIME,
};

/// Hash tags that members share: few enough for each to have its marker, enough for the nodes of a
/// cluster.
const MEMBER_BUCKETS: u64 = 1_024;
/// How long a reservation lives.
const RESERVATION_TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// Comments of a member that are listed, the newest: those of 10 minutes at the highest rate that is allowed by default.
const MAX_MEMBER_COMMENTS: usize = 50;
/// The bytes of a server's run id, in front of a comment's operation.
const RUN_ID_BYTES: usize = 40;

static RESERVE_KEY: LazyLock<RedisScript> = LazyLock::new(|| {
    RedisScript::new("pending.reserve_key", concat!(include_str!("../run_id.lua"), include_str!("lua/reserve_key.lua")))
});
static RELEASE_KEY: LazyLock<RedisScript> =
    LazyLock::new(|| RedisScript::new("pending.release_key", include_str!("lua/release_key.lua")));
static PUT_COMMENT: LazyLock<RedisScript> = LazyLock::new(|| {
    RedisScript::new("pending.put_comment", concat!(include_str!("../run_id.lua"), include_str!("lua/put_comment.lua")))
});
static READ_COMMENTS: LazyLock<RedisScript> = LazyLock::new(|| {
    RedisScript::new(
        "pending.read_comments",
        concat!(include_str!("../run_id.lua"), include_str!("lua/read_comments.lua")),
    )
});
static MARK_APPENDED: LazyLock<RedisScript> =
    LazyLock::new(|| RedisScript::new("pending.mark_appended", include_str!("lua/mark_appended.lua")));

/// The pending comments of one cluster.
#[derive(Debug)]
pub struct RedisPending {
    connection: RedisConnection,
    name: String,
    clock: Clock,
}

impl RedisPending {
    /// The pending comments of the cluster called `name`.
    pub fn new(connection: RedisConnection, name: &str, clock: Clock) -> Self {
        Self { connection, name: name.to_owned(), clock }
    }

    fn slot_tag(&self, slot: Slot) -> String {
        format!("{{{}:{}}}", self.name, slot.get())
    }

    fn comment_key(&self, id: CommentId) -> String {
        format!("{}:a:{id}", self.slot_tag(id.slot()))
    }

    fn snapshot_key(&self, slot: Slot, id: SnapshotId) -> String {
        format!("{}:r:{}", self.slot_tag(slot), hex::encode(id))
    }

    fn member_tag(&self, member: MemberId) -> String {
        format!("{{{}:m:{}}}", self.name, member.get() % MEMBER_BUCKETS)
    }

    fn member_comments_key(&self, member: MemberId) -> String {
        format!("{}:own:{member}", self.member_tag(member))
    }

    fn reservation_key(&self, member: MemberId, key: &str) -> String {
        format!("{}:k:{member}:{key}", self.member_tag(member))
    }

    /// The server's run id and the values of these keys of one slot.
    async fn read_values(&self, keys: &[String]) -> Result<(Vec<u8>, Vec<Option<Vec<u8>>>), PendingError> {
        let answer: Vec<Option<Vec<u8>>> = self.run(&READ_COMMENTS.call(keys)).await?;
        let mut answer = answer.into_iter();
        let run_id = answer.next().flatten().unwrap_or_default();
        Ok((run_id, answer.collect()))
    }

    async fn run<T: FromRedisValue>(&self, call: &ScriptCall<'_>) -> Result<T, PendingError> {
        Ok(self.connection.run_script(call).await?)
    }
}

impl From<RedisCallError> for PendingError {
    fn from(error: RedisCallError) -> Self {
        Self(Failure::of_driver(error))
    }
}

#[async_trait]
impl Pending for RedisPending {
    async fn reserve_key(&self, operation: &LoggedOperation) -> Result<Reservation, PendingError> {
        let (row, bytes) = encode_publish(operation)?;
        let (member, key) = reserved_key(row)?;
        let keys = [self.reservation_key(member, key), format!("{}:since", self.member_tag(member))];
        let mut call = RESERVE_KEY.call(&keys);
        call.arg(bytes).arg(self.clock.now()).arg(RESERVATION_TTL.as_millis() as u64);
        let (before, is_certain): (Option<Vec<u8>>, bool) = self.run(&call).await?;
        Ok(match before {
            None => Reservation::New { is_certain },
            Some(before) => Reservation::Existing(decode_holder(&before)?),
        })
    }

    async fn find_reservation(&self, member: MemberId, key: &str) -> Result<Option<KeyHolder>, PendingError> {
        let key = self.reservation_key(member, key);
        let value: Option<Vec<u8>> =
            self.connection.query("pending.find_reservation", &key, ::redis::cmd("GET").arg(&key)).await?;
        value.map(|value| decode_holder(&value)).transpose()
    }

    async fn release_key(&self, operation: &LoggedOperation) -> Result<(), PendingError> {
        let (row, bytes) = encode_publish(operation)?;
        let (member, key) = reserved_key(row)?;
        self.run(RELEASE_KEY.call(&[self.reservation_key(member, key)]).arg(bytes)).await
    }

    async fn put_comment(&self, operation: &LoggedOperation) -> Result<(), PendingError> {
        let (row, bytes) = encode_publish(operation)?;
        let (id, member) = (row.path.id(), row.author.id);
        let comment_key = [self.comment_key(id)];
        let mut put = PUT_COMMENT.call(&comment_key);
        put.arg(&bytes).arg(MAX_PENDING_TIME.as_millis() as u64);

        self.run::<()>(&put).await?;

        // Last: what is marked as appended is shown.
        let reservation = row.idempotency.as_ref().map(|idempotency| self.reservation_key(member, &idempotency.key));
        let keys: Vec<_> = [self.member_comments_key(member)].into_iter().chain(reservation).collect();
        let mut mark = MARK_APPENDED.call(&keys);
        mark.arg(id.get()).arg(operation.at).arg(MAX_PENDING_TIME.as_millis() as u64).arg(MAX_MEMBER_COMMENTS);
        if let Some(appended) = AppendedKey::of(operation) {
            mark.arg(&bytes).arg(encode_appended(&appended)).arg(RESERVATION_TTL.as_millis() as u64);
        }
        self.run(&mark).await
    }

    async fn end_comments(&self, comments: &[(CommentId, PendingEnd)]) -> Result<(), PendingError> {
        // By hash tag: a pipeline goes to one node.
        let mut tags = HashMap::<String, (String, ::redis::Pipeline)>::new();
        for (id, end) in comments {
            let key = self.comment_key(*id);
            let (_, pipeline) = tags.entry(self.slot_tag(id.slot())).or_insert_with(|| (key.clone(), <_>::default()));
            match end {
                PendingEnd::Changed => pipeline.cmd("UNLINK").arg(key).ignore(),
                PendingEnd::Stored(_) => {
                    pipeline.cmd("PEXPIRE").arg(key).arg(STORED_COMMENT_TIME.as_millis() as u64).ignore()
                }
            };
            if let PendingEnd::Stored(member) = end {
                let list = self.member_comments_key(*member);
                let (_, pipeline) =
                    tags.entry(self.member_tag(*member)).or_insert_with(|| (list.clone(), <_>::default()));
                pipeline.cmd("ZREM").arg(list).arg(id.get()).ignore();
            }
        }
        let ended = tags.into_values().map(|(key, pipeline)| async move {
            self.connection.query_pipeline::<()>("pending.end_comments", &key, &pipeline).await
        });
        try_join_all(ended).await?;
        Ok(())
    }

    async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, PendingComment>, PendingError> {
        let mut slots = BTreeMap::<Slot, Vec<CommentId>>::new();
        for id in ids {
            slots.entry(id.slot()).or_default().push(*id);
        }
        let found = slots.into_values().map(|ids| async move {
            let keys: Vec<_> = ids.iter().map(|id| self.comment_key(*id)).collect();
            let (run_id, values) = self.read_values(&keys).await?;
            let found = ids.into_iter().zip(values).filter_map(|(id, value)| Some((id, value?)));
            found
                .map(|(id, value)| Ok((id, decode_comment(&value, &run_id)?)))
                .collect::<Result<Vec<_>, PendingError>>()
        });
        Ok(try_join_all(found).await?.into_iter().flatten().collect())
    }

    async fn put_snapshot(&self, slot: Slot, snapshot: &Snapshot) -> Result<(), PendingError> {
        let key = self.snapshot_key(slot, snapshot.id());
        let mut command = ::redis::cmd("SET");
        command.arg(&key).arg(snapshot.to_bytes()).arg("PX").arg(MAX_SNAPSHOT_TIME.as_millis() as u64);
        Ok(self.connection.query("pending.put_snapshot", &key, &command).await?)
    }

    async fn read_snapshot(&self, slot: Slot, id: SnapshotId) -> Result<Option<Snapshot>, PendingError> {
        let key = self.snapshot_key(slot, id);
        let value: Option<Vec<u8>> =
            self.connection.query("pending.read_snapshot", &key, ::redis::cmd("GET").arg(&key)).await?;
        Ok(value.and_then(|bytes| Snapshot::from_bytes(&bytes)).filter(|snapshot| snapshot.id() == id))
    }

    async fn list_member_comments(&self, member: MemberId) -> Result<Vec<CommentId>, PendingError> {
        let key = self.member_comments_key(member);
        let since = self.clock.now().saturating_sub(MAX_PENDING_TIME.as_millis() as u64);
        let mut command = ::redis::cmd("ZREVRANGEBYSCORE");
        command.arg(&key).arg("+inf").arg(since);
        let ids: Vec<String> = self.connection.query("pending.list_member_comments", &key, &command).await?;
        Ok(ids.iter().filter_map(|id| id.parse().ok()).collect())
    }
}

/// The new row of an operation, and the operation's bytes.
fn encode_publish(operation: &LoggedOperation) -> Result<(&NewCommentRow, Vec<u8>), PendingError> {
    match (&operation.operation, encode(operation)) {
        (Operation::Publish(row), Some(bytes)) => Ok((row, bytes)),
        _ => Err(PendingError("only new comments can be pending".into())),
    }
}

/// The member and the idempotency key of a new row.
fn reserved_key(row: &NewCommentRow) -> Result<(MemberId, &str), PendingError> {
    let idempotency =
        row.idempotency.as_ref().ok_or_else(|| PendingError("the comment has no idempotency key".into()))?;
    Ok((row.author.id, &idempotency.key))
}

/// A comment in its value, at the server with this run id.
fn decode_comment(value: &[u8], run_id: &[u8]) -> Result<PendingComment, PendingError> {
    let (accepted_by, bytes) =
        value.split_at_checked(RUN_ID_BYTES).ok_or_else(|| PendingError("a pending comment is cut".into()))?;
    Ok(PendingComment { operation: decode(bytes).map_err(damaged)?, is_of_this_server: accepted_by == run_id })
}

fn damaged(error: impl std::error::Error + Send + Sync + 'static) -> PendingError {
    PendingError(Failure::of_driver(error))
}
