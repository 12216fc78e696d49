//! The store in MySQL or MariaDB databases: 1,024 slots spread over them, and in each database over
//! numbered tables.
//!
//! A slot's rows lie together, so a write to it is one transaction; which database holds it says a
//! map that is read again every second. Reads take no locks and are bounded in time. What is not
//! here: the fold of a batch (`crate::domain::fold`) and any cache of rows.

mod dirty_rows;
mod lists;
mod log_positions;
mod migrate;
mod pool;
mod reaction_state;
mod read;
mod reconcile;
pub mod reshard;
mod rows;
mod settings;
mod slot_map;
#[cfg(test)]
mod tests;
mod write;

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, SLOT_COUNT, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::rank::{HotWeights, Sort};
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::Reaction;
use pool::{Pool, Session};
use sha2::{Digest, Sha256};

use crate::domain::operation::{ChangeRow, LoggedOperation, PersistedBatch};
use crate::domain::positions::OperationStream;
use crate::domain::reaction_state::ReactionState;
use crate::domain::row::{
    CommentList, CommentRow, ExportCursor, ExportedComment, RememberedRequest, StoredDictionary, SubjectRow,
    WeightsByType,
};
use crate::ports::store::*;

/// How often the map of slots is read.
const MAP: Duration = Duration::from_secs(1);

/// The store in MySQL databases.
pub struct MysqlStore {
    pools: Vec<Pool>,
    tables: u16,
    weights: WeightsByType,
    map: slot_map::Current,
}

impl std::fmt::Debug for MysqlStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mysql").field("databases", &self.pools).field("tables", &self.tables).finish_non_exhaustive()
    }
}

impl MysqlStore {
    /// The store in the databases at these addresses, whose tables are numbered from 0 to
    /// `tables` - 1.
    ///
    /// # Errors
    /// When one cannot be reached, or its tables are not those of this version ([`Mysql::migrate`])
    /// or of another number.
    pub async fn open(urls: &[String], tables: u16, weights: WeightsByType) -> Result<Self> {
        let pools = urls.iter().map(|url| Ok(Pool::new(pool::options(url)?))).collect::<Result<Vec<_>>>()?;
        let first = pools.first().ok_or_else(|| StoreError::Database("no database is configured".into()))?;
        migrate::check(&pools, tables).await?;
        let map = slot_map::Current::read(first, pools.len()).await?;
        Ok(Self { pools, tables, weights, map })
    }

    /// Makes the databases' tables and brings them up to date; may be run again, by several at once.
    ///
    /// # Errors
    /// When one cannot be reached, or was made with another number of tables or in another order.
    pub async fn migrate(urls: &[String], tables: u16) -> Result<()> {
        let databases = urls.iter().map(|url| pool::options(url)).collect::<Result<Vec<_>>>()?;
        migrate::run(&databases, tables).await
    }

    /// Reads the map of slots again: to be called every second, and after [`StoreError::Moved`].
    ///
    /// # Errors
    /// When the first database does not answer; the map that was read before stays in force.
    pub async fn refresh(&self) -> Result<()> {
        self.map.refresh(self.first(), self.pools.len()).await
    }

    /// Keeps the map of slots young, for as long as this is polled.
    pub async fn keep_map(&self) {
        loop {
            tokio::time::sleep(MAP).await;
            if let Err(error) = self.refresh().await {
                tracing::warn!(%error, "the map of slots");
            }
        }
    }

    fn first(&self) -> &Pool {
        &self.pools[0]
    }

    /// The connections to a database.
    fn pool(&self, shard: usize) -> &Pool {
        &self.pools[shard.min(self.pools.len() - 1)]
    }

    /// A connection to a database, for one call or one transaction.
    async fn session(&self, shard: usize) -> Result<Session> {
        self.pool(shard).session().await
    }

    /// The database that holds a slot, as far as is known here.
    fn shard(&self, slot: Slot) -> usize {
        self.map.get().shard(slot)
    }

    /// The number of a slot's tables.
    fn table(&self, slot: Slot) -> u16 {
        slot.get() % self.tables
    }

    fn weights(&self, kind: &str) -> HotWeights {
        self.weights.get(kind).copied().unwrap_or_default()
    }

    /// The slot of a member's history and name: a hash, so that members spread as subjects do.
    fn member_slot(member: MemberId) -> Slot {
        slot_of(hash(&[b"gailou member slot\0", &member.get().to_be_bytes()]))
    }

    /// The number of a subject's row: negative, so that it never meets a comment's id; its highest
    /// bits are the slot, so that a slot's subjects are one range; the rest is a hash of type and
    /// key. The key in the row must be compared: another may have the same number.
    fn subject_id(key: &SubjectKey) -> i64 {
        let hash = hash(&[b"gailou subject row\0", key.kind().as_bytes(), b"\0", key.key().as_bytes()]);
        first_subject(key.slot()) | (hash >> 11) as i64
    }
}

/// Bits of a subject's number below those of its slot.
const SUBJECT_BITS: u32 = 53;

/// The smallest number a subject of this slot can have; the largest is below the next slot's.
const fn first_subject(slot: Slot) -> i64 {
    i64::MIN | ((slot.get() as i64) << SUBJECT_BITS)
}

/// The slot of a subject's number.
fn subject_slot(id: i64) -> Slot {
    slot_of((id >> SUBJECT_BITS) as u64)
}

fn slot_of(number: u64) -> Slot {
    Slot::new((number % u64::from(SLOT_COUNT)) as u16).unwrap_or(Slot::FIRST)
}

/// 64 bits of SHA-256 over the parts.
fn hash(parts: &[&[u8]]) -> u64 {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().iter().take(8).fold(0, |n, b| n << 8 | u64::from(*b))
}

#[async_trait]
impl CommentReader for MysqlStore {
    async fn read_subjects(&self, keys: &[SubjectKey]) -> Result<Vec<Option<SubjectRow>>> {
        self.read_subjects(keys).await
    }

    async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        self.read_comments(ids).await
    }
}

#[async_trait]
impl ThreadReader for MysqlStore {
    async fn list_floors(
        &self,
        list: &CommentList,
        ascending: bool,
        beyond: Option<u64>,
        count: usize,
    ) -> Result<Vec<(u64, CommentId)>> {
        self.read_floors(list, ascending, beyond, count).await
    }

    async fn list_ranked(&self, list: &CommentList, sort: Sort) -> Result<Vec<(i64, CommentId)>> {
        self.read_ranked(list, sort).await
    }

    async fn list_top_replies(&self, roots: &[CommentId], each: usize) -> Result<HashMap<CommentId, Vec<CommentId>>> {
        self.read_top_replies(roots, each).await
    }

    async fn list_subtree(
        &self,
        top: &Path,
        after: Option<&[u8]>,
        max_depth: usize,
        count: usize,
    ) -> Result<Vec<CommentRow>> {
        self.read_subtree(top, after, max_depth, count).await
    }

    async fn list_siblings(&self, path: &Path, count: usize) -> Result<Vec<CommentId>> {
        self.read_siblings(path, count).await
    }

    async fn read_snapshot(&self, slot: Slot, id: SnapshotId) -> Result<Option<Snapshot>> {
        self.read_snapshot(slot, id).await
    }
}

#[async_trait]
impl MemberReader for MysqlStore {
    async fn list_history(&self, member: MemberId, below: Option<CommentId>, count: usize) -> Result<Vec<CommentId>> {
        self.read_history(member, below, count).await
    }

    async fn list_pending(&self, member: MemberId, count: usize) -> Result<Vec<CommentId>> {
        self.read_pending(member, count).await
    }

    async fn read_reactions(&self, member: MemberId, ids: &[CommentId]) -> Result<HashMap<CommentId, Reaction>> {
        self.read_reactions(member, ids).await
    }

    async fn read_names(&self, members: &[MemberId]) -> Result<HashMap<MemberId, String>> {
        self.read_names(members).await
    }
}

#[async_trait]
impl IdempotencyReader for MysqlStore {
    async fn find_remembered(
        &self,
        subject: &SubjectKey,
        member: MemberId,
        key: &str,
        since: u64,
    ) -> Result<Option<RememberedRequest>> {
        self.read_remembered(subject, member, key, since).await
    }

    async fn read_first_text(&self, id: CommentId) -> Result<Option<String>> {
        self.read_first_text(id).await
    }
}

#[async_trait]
impl StoredSettings for MysqlStore {
    async fn read_dictionary(&self) -> Result<StoredDictionary> {
        self.read_words().await
    }

    async fn read_dictionary_version(&self) -> Result<u64> {
        self.read_words_version().await
    }

    async fn read_secret(&self, name: &'static str, fresh: [u8; 32]) -> Result<Vec<u8>> {
        self.read_secret(name, fresh).await
    }
}

#[async_trait]
impl Transfer for MysqlStore {
    async fn export_comments(
        &self,
        subject: Option<&SubjectKey>,
        after: Option<&ExportCursor>,
        count: usize,
    ) -> Result<Vec<ExportedComment>> {
        self.read_export(subject, after, count).await
    }

    async fn find_sources(&self, subject: &SubjectKey, ids: &[String]) -> Result<HashMap<String, CommentId>> {
        self.read_sources(subject, ids).await
    }
}

#[async_trait]
impl ChangeFeedReader for MysqlStore {
    async fn read_changes(&self, shard: usize, after: u64, count: usize) -> Result<Vec<ChangeRow>> {
        self.read_feed(shard, after, count).await
    }
}

#[async_trait]
impl HealthCheck for MysqlStore {
    async fn read_last_id(&self) -> Result<Option<CommentId>> {
        self.read_last_id().await
    }

    async fn find_damage(&self) -> Result<Vec<String>> {
        self.read_check().await
    }
}

#[async_trait]
impl BatchWriter for MysqlStore {
    async fn persist(&self, batch: &[LoggedOperation]) -> Result<PersistedBatch> {
        write::persist(self, batch).await
    }
}

impl Sharding for MysqlStore {
    fn count_databases(&self) -> usize {
        self.pools.len()
    }

    fn database_of(&self, slot: Slot) -> usize {
        Self::shard(self, slot)
    }
}

#[async_trait]
impl SlotPositions for MysqlStore {
    async fn read_positions(&self, stream: OperationStream, slots: &[Slot]) -> Result<HashMap<Slot, u64>> {
        self.read_positions(stream, slots).await
    }

    async fn skip_position(&self, stream: OperationStream, slot: Slot, position: u64) -> Result<()> {
        write::skip(self, stream, slot, position).await
    }
}

#[async_trait]
impl ReactionStateReader for MysqlStore {
    async fn read_reaction_states(&self, pairs: &[(CommentId, MemberId)]) -> Result<Vec<ReactionState>> {
        self.read_standing(pairs).await
    }
}

#[async_trait]
impl NodeLeases for MysqlStore {
    async fn lease_node(&self, holder: &str, ttl_ms: u64) -> Result<Option<u64>> {
        self.take_lease(holder, ttl_ms).await
    }

    async fn release_node(&self, holder: &str) -> Result<()> {
        self.give_back(holder).await
    }
}
