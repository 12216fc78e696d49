//! What the layers stand on, in memory: tables that may be slow or down, counters and a shelf of
//! pending comments that say what they are told to.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::rank::Sort;
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::{Author, CommentState, Reaction, Visibility};

use crate::clock::Clock;
use crate::cluster::cached_store::CachedStore;
use crate::cluster::counter_recovery::CounterRecovery;
use crate::domain::operation::{LoggedOperation, PersistedBatch, TouchedComment};
use crate::domain::positions::OperationStream;
use crate::domain::reaction_state::ReactionState;
use crate::domain::row::{CommentList, CommentRow, RememberedRequest, SubjectRow};
use crate::ports::counters::{Base, Counters, CountersError, Fold, Folded, PersistedReaction, Recovery};
use crate::ports::pending::{Pending, PendingError, Reserved};
use crate::ports::store::{
    CommentReader, IdempotencyReader, MemberReader, ReactionStateReader, Result, SlotPositions, StoreError,
    ThreadReader,
};
use crate::testing::memory_broker::MemoryLog;
use crate::testing::memory_cache::Memory;

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Unix milliseconds when every test begins.
pub(crate) const BEGIN: u64 = 1_700_000_000_000;

pub(crate) fn member(number: u64) -> MemberId {
    MemberId::new(number).unwrap()
}

#[derive(Debug, Default)]
struct Held {
    rows: BTreeMap<CommentId, CommentRow>,
    subjects: HashMap<SubjectKey, SubjectRow>,
    floors: HashMap<Option<CommentId>, u64>,
    aliases: HashMap<CommentId, CommentId>,
    snapshots: HashMap<SnapshotId, Snapshot>,
}

/// Tables in memory.
#[derive(Debug, Default)]
pub(crate) struct FakeTables {
    held: Mutex<Held>,
    /// How long the next answer takes, after it was read.
    pub(crate) pause: Mutex<Duration>,
    pub(crate) down: AtomicBool,
    pub(crate) calls: AtomicUsize,
}

impl FakeTables {
    /// One statement: it is read, and then takes its time.
    async fn read<T>(&self, read: impl FnOnce(&Held) -> T) -> Result<T> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if self.down.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("down".into()));
        }
        let answer = read(&lock(&self.held));
        let pause = std::mem::take(&mut *lock(&self.pause));
        tokio::time::sleep(pause).await;
        Ok(answer)
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    pub(crate) fn alias(&self, second: CommentId, first: CommentId) {
        lock(&self.held).aliases.insert(second, first);
    }

    pub(crate) fn keep(&self, snapshot: Snapshot) {
        lock(&self.held).snapshots.insert(snapshot.id(), snapshot);
    }

    /// Changes a comment, and its subject's version.
    pub(crate) fn change(&self, id: CommentId, change: impl FnOnce(&mut CommentRow)) -> PersistedBatch {
        let mut held = lock(&self.held);
        let row = held.rows.get_mut(&id).unwrap();
        let before = row.clone();
        change(row);
        let after = row.clone();
        commit(&mut held, Some(&before), &after)
    }

    /// Publishes a comment with this number, under another.
    pub(crate) fn publish(
        &self,
        subject: &SubjectKey,
        number: u64,
        under: Option<CommentId>,
    ) -> (CommentId, PersistedBatch) {
        let id = CommentId::from_parts(BEGIN - 60_000 + number, subject.slot(), 0, 0);
        let mut held = lock(&self.held);
        let path = under.map_or(Path::root(id), |parent| held.rows[&parent].path.child(id).unwrap());
        let list = under.map(|_| path.root_id());
        let floor = held.floors.entry(list).or_default();
        *floor += 1;
        let row = CommentRow { floor: Some(*floor), parent_id: under, ..row(subject, path, "new") };
        held.subjects.entry(subject.clone()).or_insert_with(|| SubjectRow::empty(subject.clone())).comments += 1;
        let persisted = commit(&mut held, None, &row);
        held.rows.insert(id, row);
        (id, persisted)
    }

    /// Gives the subject a title.
    pub(crate) fn name(&self, subject: &SubjectKey, title: &str) -> PersistedBatch {
        let mut held = lock(&self.held);
        let row = held.subjects.entry(subject.clone()).or_insert_with(|| SubjectRow::empty(subject.clone()));
        (row.title, row.version) = (Some(title.into()), row.version + 1);
        PersistedBatch { changed: vec![(subject.clone(), row.version)], ..PersistedBatch::default() }
    }
}

pub(crate) fn row(subject: &SubjectKey, path: Path, content: &str) -> CommentRow {
    CommentRow {
        subject: subject.clone(),
        version: 0,
        mode: None,
        path,
        parent_id: None,
        reply_to: None,
        parent_gone: false,
        floor: None,
        state: CommentState::Published,
        visibility: Visibility::Everyone,
        flags: vec![],
        author: Author { id: member(1), name: "a".into(), avatar: None, level: 0 },
        likes: 0,
        dislikes: 0,
        reacted: 0,
        replies: 0,
        created_at: BEGIN,
        edited_at: None,
        content: content.into(),
        html: String::new(),
        mentions: vec![],
    }
}

fn commit(held: &mut Held, before: Option<&CommentRow>, after: &CommentRow) -> PersistedBatch {
    let subject = held.subjects.get_mut(&after.subject).unwrap();
    subject.version += 1;
    let touched = TouchedComment {
        id: after.id(),
        subject: after.subject.clone(),
        version: subject.version,
        root: after.path.root_id(),
        parent: after.parent_id,
        floor: after.floor,
        was_listed: before.is_some_and(CommentRow::listed),
        listed: after.listed(),
        visible: after.visible(),
        takedown: before.is_some_and(|b| (&b.content, b.state) != (&after.content, after.state)),
        likes: after.likes,
        dislikes: after.dislikes,
        reacted: after.reacted,
    };
    PersistedBatch { outcomes: vec![], changed: vec![(after.subject.clone(), subject.version)], touched: vec![touched] }
}

impl Held {
    fn row(&self, id: CommentId) -> Option<CommentRow> {
        let row = self.rows.get(self.aliases.get(&id).unwrap_or(&id))?;
        let parent = row.parent_id.and_then(|id| self.rows.get(&id));
        let version = self.subjects[&row.subject].version;
        Some(CommentRow {
            parent_gone: parent.is_some_and(|p| p.state != CommentState::Published),
            version,
            ..row.clone()
        })
    }

    fn list(&self, list: &CommentList) -> Vec<(u64, CommentId)> {
        let within = |row: &&CommentRow| match list {
            CommentList::Roots(subject) => row.path.depth() == 1 && row.subject == *subject,
            CommentList::Under(path) => path.is_ancestor_of(&row.path),
        };
        let mut floors: Vec<_> =
            self.rows.values().filter(within).filter(|r| r.listed()).filter_map(|r| Some((r.floor?, r.id()))).collect();
        floors.sort_unstable();
        floors
    }
}

#[async_trait]
impl CommentReader for FakeTables {
    async fn read_subjects(&self, keys: &[SubjectKey]) -> Result<Vec<Option<SubjectRow>>> {
        self.read(|held| keys.iter().map(|key| held.subjects.get(key).cloned()).collect()).await
    }

    async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        self.read(|held| ids.iter().filter_map(|id| Some((*id, held.row(*id)?))).collect()).await
    }
}

#[async_trait]
impl ThreadReader for FakeTables {
    async fn list_floors(
        &self,
        list: &CommentList,
        ascending: bool,
        beyond: Option<u64>,
        count: usize,
    ) -> Result<Vec<(u64, CommentId)>> {
        self.read(|held| {
            let mut floors = held.list(list);
            if !ascending {
                floors.reverse();
            }
            floors.retain(|(f, _)| beyond.is_none_or(|b| if ascending { *f > b } else { *f < b }));
            floors.truncate(count);
            floors
        })
        .await
    }

    async fn list_ranked(&self, list: &CommentList, _: Sort) -> Result<Vec<(i64, CommentId)>> {
        self.read(|held| held.list(list).into_iter().map(|(_, id)| (held.rows[&id].likes as i64, id)).collect()).await
    }

    async fn list_top_replies(&self, roots: &[CommentId], each: usize) -> Result<HashMap<CommentId, Vec<CommentId>>> {
        self.read(|held| {
            let top = |root: &CommentId| {
                let mut ids: Vec<_> =
                    held.list(&CommentList::Under(Path::root(*root))).into_iter().map(|(_, id)| id).collect();
                ids.sort_by_key(|id| std::cmp::Reverse((held.rows[id].likes, *id)));
                ids.truncate(each);
                (*root, ids)
            };
            roots.iter().map(top).filter(|(_, ids)| !ids.is_empty()).collect()
        })
        .await
    }

    async fn list_subtree(&self, top: &Path, _: Option<&[u8]>, _: usize, count: usize) -> Result<Vec<CommentRow>> {
        let within = |row: &&CommentRow| top.is_ancestor_of(&row.path);
        self.read(|held| held.rows.values().filter(within).take(count).cloned().collect()).await
    }

    async fn list_siblings(&self, _: &Path, _: usize) -> Result<Vec<CommentId>> {
        self.read(|_| vec![]).await
    }

    async fn read_snapshot(&self, _: Slot, id: SnapshotId) -> Result<Option<Snapshot>> {
        self.read(|held| held.snapshots.get(&id).cloned()).await
    }
}

#[async_trait]
impl MemberReader for FakeTables {
    async fn list_history(&self, _: MemberId, _: Option<CommentId>, _: usize) -> Result<Vec<CommentId>> {
        self.read(|_| vec![]).await
    }

    async fn list_pending(&self, member: MemberId, count: usize) -> Result<Vec<CommentId>> {
        let held_back = |row: &&CommentRow| row.author.id == member && row.state == CommentState::Review;
        self.read(|held| held.rows.values().rev().filter(held_back).map(CommentRow::id).take(count).collect()).await
    }

    async fn read_reactions(&self, _: MemberId, ids: &[CommentId]) -> Result<HashMap<CommentId, Reaction>> {
        self.read(|held| {
            ids.iter()
                .filter(|id| held.rows.get(id).is_some_and(|r| r.likes > 0))
                .map(|id| (*id, Reaction::Like))
                .collect()
        })
        .await
    }

    async fn read_names(&self, _: &[MemberId]) -> Result<HashMap<MemberId, String>> {
        self.read(|_| HashMap::new()).await
    }
}

#[async_trait]
impl IdempotencyReader for FakeTables {
    async fn find_remembered(&self, _: &SubjectKey, _: MemberId, _: &str, _: u64) -> Result<Option<RememberedRequest>> {
        self.read(|_| None).await
    }

    async fn read_first_text(&self, _: CommentId) -> Result<Option<String>> {
        self.read(|_| None).await
    }
}

#[async_trait]
impl SlotPositions for FakeTables {
    async fn read_positions(&self, _: OperationStream, slots: &[Slot]) -> Result<HashMap<Slot, u64>> {
        self.read(|_| slots.iter().map(|slot| (*slot, 0)).collect()).await
    }

    async fn skip_position(&self, _: OperationStream, _: Slot, _: u64) -> Result<()> {
        self.read(|_| ()).await
    }
}

#[async_trait]
impl ReactionStateReader for FakeTables {
    async fn read_reaction_states(&self, _: &[(CommentId, MemberId)]) -> Result<Vec<ReactionState>> {
        self.read(|_| vec![]).await
    }
}

/// Counters that say what they are told to.
#[derive(Debug, Default)]
pub(crate) struct Likes {
    pub(crate) counts: Mutex<HashMap<CommentId, (u64, u64)>>,
    pub(crate) own: Mutex<HashMap<CommentId, Option<Reaction>>>,
    pub(crate) lost: AtomicBool,
    /// Whether they can be opened again.
    pub(crate) shut: AtomicBool,
    pub(crate) begun: AtomicUsize,
    pub(crate) calls: AtomicUsize,
}

impl Likes {
    fn open(&self) -> std::result::Result<(), CountersError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if self.lost.load(Ordering::SeqCst) { Err(CountersError::Lost) } else { Ok(()) }
    }
}

#[async_trait]
impl Counters for Likes {
    async fn fold(&self, _: Fold) -> std::result::Result<Folded, CountersError> {
        Err(CountersError::Unavailable("only read here".into()))
    }

    async fn counts(&self, _: &[Base]) -> std::result::Result<HashMap<CommentId, (u64, u64)>, CountersError> {
        self.open()?;
        Ok(lock(&self.counts).clone())
    }

    async fn reactions(
        &self,
        _: MemberId,
        _: &[CommentId],
    ) -> std::result::Result<HashMap<CommentId, Option<Reaction>>, CountersError> {
        self.open()?;
        Ok(lock(&self.own).clone())
    }

    async fn persisted(&self, _: &[PersistedReaction]) -> std::result::Result<Vec<CommentId>, CountersError> {
        self.open()?;
        Ok(vec![])
    }

    async fn lost(&self, slots: &[Slot]) -> std::result::Result<Vec<Slot>, CountersError> {
        Ok(if self.lost.load(Ordering::SeqCst) { slots.to_vec() } else { vec![] })
    }

    async fn begin(&self, slots: &[Slot]) -> std::result::Result<Recovery, CountersError> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        if self.shut.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        Ok(Recovery { slots: slots.to_vec(), token: String::new() })
    }

    async fn reopen(&self, _: &Recovery, _: &HashMap<Slot, u64>) -> std::result::Result<(), CountersError> {
        self.lost.store(false, Ordering::SeqCst);
        Ok(())
    }

    async fn view(&self, _: CommentId) -> std::result::Result<Option<(Base, (u64, u64))>, CountersError> {
        Ok(None)
    }

    async fn forget(&self, _: CommentId) -> std::result::Result<(), CountersError> {
        Ok(())
    }
}

/// Comments that are no rows yet.
#[derive(Debug, Default)]
pub(crate) struct Shelf(pub(crate) Mutex<BTreeMap<CommentId, LoggedOperation>>);

#[async_trait]
impl Pending for Shelf {
    async fn reserve(&self, _: &LoggedOperation) -> std::result::Result<Reserved, PendingError> {
        Ok(Reserved::Now { sure: true })
    }

    async fn reserved(&self, _: MemberId, key: &str) -> std::result::Result<Option<LoggedOperation>, PendingError> {
        let mine = |stamped: &&LoggedOperation| match &stamped.operation {
            crate::domain::operation::Operation::Publish(row) => {
                row.idempotency.as_ref().is_some_and(|(k, _)| k == key)
            }
            _ => false,
        };
        Ok(lock(&self.0).values().find(mine).cloned())
    }

    async fn release(&self, _: &LoggedOperation) -> std::result::Result<(), PendingError> {
        Ok(())
    }

    async fn put(&self, _: &LoggedOperation) -> std::result::Result<(), PendingError> {
        Ok(())
    }

    async fn comments(
        &self,
        ids: &[CommentId],
    ) -> std::result::Result<HashMap<CommentId, LoggedOperation>, PendingError> {
        let shelf = lock(&self.0);
        Ok(ids.iter().filter_map(|id| Some((*id, shelf.get(id)?.clone()))).collect())
    }

    async fn of(&self, _: MemberId) -> std::result::Result<Vec<CommentId>, PendingError> {
        Ok(lock(&self.0).keys().rev().copied().collect())
    }
}

/// A process and what it stands on.
pub(crate) struct World {
    pub(crate) tables: Arc<FakeTables>,
    pub(crate) cache: Arc<Memory>,
    pub(crate) counters: Arc<Likes>,
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) log: MemoryLog,
    pub(crate) now: Arc<AtomicU64>,
    pub(crate) layered: Arc<CachedStore>,
}

impl World {
    pub(crate) fn new() -> Self {
        let (tables, cache) = (Arc::new(FakeTables::default()), Arc::new(Memory::new()));
        let (counters, shelf, log) = (Arc::new(Likes::default()), Arc::new(Shelf::default()), MemoryLog::new(1));
        let now = Arc::new(AtomicU64::new(BEGIN));
        let layered = layered(&tables, &cache, &counters, &shelf, &log, &now);
        Self { tables, cache, counters, shelf, log, now, layered }
    }

    /// Another process over the same.
    pub(crate) fn other(&self) -> Arc<CachedStore> {
        layered(&self.tables, &self.cache, &self.counters, &self.shelf, &self.log, &self.now)
    }
}

fn layered(
    tables: &Arc<FakeTables>,
    cache: &Arc<Memory>,
    counters: &Arc<Likes>,
    shelf: &Arc<Shelf>,
    log: &MemoryLog,
    now: &Arc<AtomicU64>,
) -> Arc<CachedStore> {
    let now = now.clone();
    let log = Arc::new(log.clone());
    let opener = CounterRecovery::new(log.clone(), tables.clone(), counters.clone());
    let clock = Clock::from_fn(move || now.load(Ordering::SeqCst));
    Arc::new(CachedStore::new(
        tables.clone(),
        cache.clone(),
        counters.clone(),
        shelf.clone(),
        Arc::new(opener),
        log,
        clock,
    ))
}
