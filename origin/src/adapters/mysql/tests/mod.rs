//! Tests that need a server: run them with `GAILOU_TEST_MYSQL_URL=mysql://root@127.0.0.1:3306/`, with an
//! account that may create databases. Of several servers, separated by commas, each gets a part of the databases
//! of a test. The contract of the ports is tested elsewhere, on every adapter.

mod activity;
mod checkpoints;
mod databases;
mod dead_reactions;
mod interrupted_moves;
mod node_leases;
mod outbox;
mod rank_again;
mod read;
mod reconcile;
mod reshard;
mod rewinds;
mod write;

use std::time::{Duration, Instant};

use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::dirty_rows::{DirtyRow, record_dirty_rows};
use crate::adapters::mysql::pool::{MysqlPool, parse_address};
use crate::adapters::mysql::row_numbers::subject_number;
use crate::adapters::mysql::slot_state::{SlotState, SlotStatus};
use crate::cluster::reshard::relocate;
use crate::domain::row::WeightsByType;
use crate::ports::store::{Outboxes as _, Result, Sharding as _, StoreError};

const TABLES: u16 = 2;
/// How long databases may take to be created or dropped.
const SET_UP_TIMEOUT: Duration = Duration::from_secs(60);

/// Databases of one test.
pub(crate) struct TestDatabases {
    servers: Vec<String>,
    names: Vec<String>,
}

impl TestDatabases {
    /// `None`, with a line on standard error, without a server.
    pub(crate) fn new(count: usize) -> Option<Self> {
        let Ok(servers) = std::env::var("GAILOU_TEST_MYSQL_URL") else {
            eprintln!("SKIPPED: there is no GAILOU_TEST_MYSQL_URL");
            return None;
        };
        let names = (0..count).map(|n| format!("gailou_test_{:016x}_{n}", rand::random::<u64>())).collect();
        let servers = servers.split(',').map(|server| server.trim_end_matches('/').to_owned()).collect();
        Some(Self { servers, names })
    }

    fn urls(&self) -> Vec<String> {
        self.names.iter().zip(self.servers.iter().cycle()).map(|(name, server)| format!("{server}/{name}")).collect()
    }

    pub(crate) async fn open(&self) -> MysqlStore {
        self.open_ranked_by(WeightsByType::new()).await
    }

    pub(crate) async fn open_ranked_by(&self, weights: WeightsByType) -> MysqlStore {
        repeat_while_unavailable(async || MysqlStore::migrate(&self.urls(), TABLES, weights.clone()).await).await;
        repeat_while_unavailable(async || MysqlStore::open(&self.urls(), TABLES, weights.clone()).await).await
    }

    pub(crate) async fn drop_all(self) {
        for (url, name) in self.urls().iter().zip(&self.names) {
            let pool = MysqlPool::new(parse_address(url).unwrap());
            repeat_while_unavailable(async || {
                let mut session = pool.session("test").await?;
                session.allow_long_work().await?;
                session.execute_text(format!("DROP DATABASE IF EXISTS `{name}`")).await
            })
            .await;
        }
    }
}

/// Repeats what is no part of a test: many databases are created and dropped at the same time, and a loaded
/// machine may need longer for one than a statement may take.
async fn repeat_while_unavailable<T>(mut work: impl AsyncFnMut() -> Result<T>) -> T {
    let began = Instant::now();
    loop {
        match work().await {
            Err(StoreError::Unavailable(_)) if began.elapsed() < SET_UP_TIMEOUT => {}
            done => return done.unwrap(),
        }
    }
}

/// Moves a slot to this database, also where a loaded machine needs longer for a statement than it may take.
async fn move_slot(store: &MysqlStore, slot: Slot, to: usize) {
    let began = Instant::now();
    loop {
        match relocate(store, slot, to).await {
            Err(StoreError::Unavailable(_)) if began.elapsed() < SET_UP_TIMEOUT => {}
            done => return done.unwrap(),
        }
    }
}

/// Delivers everything that is owed; of these members no names.
pub(crate) async fn deliver_outboxes(store: &MysqlStore, erased: &[MemberId]) {
    for database in 0..store.count_databases() {
        for recipient in store.list_recipients(database).await.unwrap() {
            while store.deliver(database, recipient, &|member| erased.contains(&member)).await.unwrap().rows > 0 {}
        }
    }
}

impl MysqlStore {
    /// Runs a statement on the tables of a slot, whose names end in `{n}`.
    pub(crate) async fn execute(&self, slot: Slot, statement: &str) {
        let statement = statement.replace("{n}", &format!("_{}", self.table_number(slot)));
        let mut session = self.long_session("test", self.database_of(slot)).await.unwrap();
        session.execute_text(statement).await.unwrap();
    }
}

/// [`MysqlStore::find_misplaced_rows`] of all slots.
async fn find_misplaced(store: &MysqlStore) -> Vec<String> {
    store.find_misplaced_rows(Slot::FIRST, Slot::new(1_023).unwrap()).await.unwrap()
}

fn key(number: u64) -> SubjectKey {
    SubjectKey::new("video", &number.to_string()).unwrap()
}

fn member(number: u64) -> MemberId {
    MemberId::new(number).unwrap()
}

/// Stores a root comment with a like, under the lock of its slot, as a writer does.
async fn put_comment(store: &MysqlStore, key: &SubjectKey, id: CommentId, author: MemberId) -> Result<()> {
    let (slot, subject, n) = (key.slot(), subject_number(key), store.table_number(key.slot()));
    let mut s = store.session("test", store.database_of(slot)).await?;
    s.begin().await?;
    let state = SlotStatus::lock(&mut s, slot).await?.state;
    state.ensure_owned()?;
    s.execute_text(format!(
        "INSERT INTO subject_{n} (id, slot, type, `key`, floors, roots, comments, version) \
         VALUES ({subject}, {}, 'video', '{}', 1, 1, 1, 1) ON DUPLICATE KEY UPDATE floors = floors + 1, roots = roots + 1, \
         comments = comments + 1, version = version + 1",
        slot.get(),
        key.key()
    ))
    .await?;
    s.execute_text(format!(
        "INSERT INTO comment_{n} (id, subject, list, root_id, path, depth, floor, listed_floor, state, visibility, author_id, \
         author_name, author_level, likes, created_at) SELECT {id}, {subject}, {subject}, {id}, X'{:016X}', 1, floors, floors, \
         0, 0, {author}, 'Zoë 测试 😀', 3, 1, {} FROM subject_{n} WHERE id = {subject}",
        id.get(),
        id.created_ms()
    ))
    .await?;
    s.execute_text(format!("INSERT INTO content_{n} (id, content, html) VALUES ({id}, 'it''s 中文 😀 \\\\', '<p>')"))
        .await?;
    s.execute_text(format!("INSERT INTO reaction_{n} (comment_id, member_id, reaction) VALUES ({id}, {author}, 1)"))
        .await?;
    s.execute_text(format!(
        "INSERT INTO root_rank_{n} VALUES ({subject}, {id}, 1, 0, 0, {}, 1, 1, 0)",
        id.created_ms()
    ))
    .await?;
    s.execute_text(format!(
        "INSERT INTO idempotency_{n} VALUES ({author}, 'k{id}', {}, REPEAT('r', 32), {id}, 0, 1)",
        slot.get()
    ))
    .await?;
    s.execute_text(format!(
        "UPDATE slot SET comments = comments + 1, reactions = reactions + 1 WHERE slot = {}",
        slot.get()
    ))
    .await?;
    if state == SlotState::Copying {
        let dirty = [
            DirtyRow::Subject(subject),
            DirtyRow::Comment(id),
            DirtyRow::Content(id),
            DirtyRow::Reaction(id, author),
            DirtyRow::Idempotency(author, format!("k{id}")),
        ];
        record_dirty_rows(&mut s, slot, dirty).await?;
    }
    s.commit().await
}
