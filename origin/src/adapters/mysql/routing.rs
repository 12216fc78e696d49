//! The way of a read to its tables: by slot to a database and to a numbered table.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use futures_util::future::try_join_all;
use gailou_shared::id::Slot;
use sqlx::mysql::MySqlRow;
use tokio::time::{Instant, sleep, timeout};

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::rows::count_at;
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_state::READABLE_STATES;
use crate::adapters::mysql::statement::{SqlStatement, sql};
use crate::ports::store::{Result, Sharding, StoreError};

/// How long a caller waits for a slot that moves between databases.
const SLOT_MOVE_TIMEOUT: Duration = Duration::from_secs(2);
/// How often it refreshes the slot map meanwhile.
const SLOT_MOVE_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long it waits for the databases at each of them.
const SLOT_MAP_READ_TIMEOUT: Duration = Duration::from_millis(300);

/// The numbers in one value as a table. It is first in every join that it is in.
pub(super) const IDS_TABLE: &str = "JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j";

/// Numbers as [`IDS_TABLE`] reads them.
pub(super) fn json_array(numbers: impl IntoIterator<Item = i64>) -> String {
    let numbers: Vec<String> = numbers.into_iter().map(|number| number.to_string()).collect();
    format!("[{}]", numbers.join(","))
}

/// One number of the numbered tables, in one database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TablePart {
    pub(super) shard: usize,
    pub(super) table: u16,
}

impl TablePart {
    /// A statement on these tables: `{n}` stands for their number.
    pub(super) fn sql(self, text: &str) -> SqlStatement {
        sql(self.text(text))
    }

    pub(super) fn text(self, text: &str) -> String {
        text.replace("{n}", &self.table.to_string())
    }
}

/// Keys in the tables of one part, and their slots.
pub(super) struct PartKeys<K> {
    pub(super) part: TablePart,
    pub(super) slots: Vec<Slot>,
    pub(super) keys: Vec<K>,
}

impl MysqlStore {
    pub(super) fn part(&self, slot: Slot) -> TablePart {
        TablePart { shard: self.database_of(slot), table: self.table_number(slot) }
    }

    /// The keys by their tables.
    pub(super) fn parts<K>(&self, keys: impl IntoIterator<Item = (Slot, K)>) -> Vec<PartKeys<K>> {
        let map = self.slot_map.get();
        let mut parts: HashMap<TablePart, PartKeys<K>> = HashMap::new();
        for (slot, key) in keys {
            let part = TablePart { shard: map.shard(slot), table: self.table_number(slot) };
            let of_part = parts.entry(part).or_insert_with(|| PartKeys { part, slots: vec![], keys: vec![] });
            of_part.keys.push(key);
            if !of_part.slots.contains(&slot) {
                of_part.slots.push(slot);
            }
        }
        parts.into_values().collect()
    }

    /// A connection to read these slots in one database.
    ///
    /// The rows of a slot that moves stay where they were until every process has had time to refresh
    /// its map. A process whose states are older asks the database whether it still has the slots.
    ///
    /// # Errors
    /// [`StoreError::Moved`] when the database does not have them: an answer without rows would be wrong.
    pub(super) async fn reading(&self, operation: &'static str, shard: usize, slots: &[Slot]) -> Result<MysqlSession> {
        let known = self.slot_map.get().is_readable(shard, slots, Instant::now().into_std());
        if known == Some(false) {
            return Err(StoreError::Moved);
        }
        let mut session = self.session(operation, shard).await?;
        if known.is_none() {
            let find = format!(
                "SELECT COUNT(*) FROM {IDS_TABLE} JOIN slot s ON s.slot = j.id WHERE s.state IN {READABLE_STATES}"
            );
            let numbers = json_array(slots.iter().map(|slot| i64::from(slot.get())));
            let readable = session.fetch_first(sql(find).bind(numbers)).await?;
            if readable.map(|r| count_at(&r, 0)).transpose()? != Some(slots.len() as u64) {
                return Err(StoreError::Moved);
            }
        }
        Ok(session)
    }

    /// The rows of one statement on a slot's tables.
    pub(super) async fn rows_of(
        &self,
        operation: &'static str,
        slot: Slot,
        statement: SqlStatement,
    ) -> Result<Vec<MySqlRow>> {
        self.reading_slot(operation, slot).await?.fetch_all(statement).await
    }

    /// A connection to read a slot where it is.
    pub(super) async fn reading_slot(&self, operation: &'static str, slot: Slot) -> Result<MysqlSession> {
        let connect = || async move { self.reading(operation, self.database_of(slot), &[slot]).await };
        self.retry_while_moving(connect).await
    }

    /// The rows of one statement a part. Its first value is the ids of the part, which also replace
    /// `{ids}`; `bind` adds the other values.
    pub(super) async fn rows_by_id(
        &self,
        operation: &'static str,
        ids: impl IntoIterator<Item = (Slot, i64)>,
        text: &str,
        bind: impl Fn(SqlStatement) -> SqlStatement + Sync,
    ) -> Result<Vec<MySqlRow>> {
        let (ids, bind): (Vec<(Slot, i64)>, _) = (ids.into_iter().collect(), &bind);
        let read = || {
            let found = self.parts(ids.iter().copied()).into_iter().map(|PartKeys { part, slots, keys }| async move {
                let ids = json_array(keys);
                let text = text.replace("{ids}", &ids[1..ids.len() - 1]);
                let statement = bind(part.sql(&text).bind(ids));
                self.reading(operation, part.shard, &slots).await?.fetch_all(statement).await
            });
            try_join_all(found)
        };
        Ok(self.retry_while_moving(read).await?.into_iter().flatten().collect())
    }

    /// The rows of one statement a database: `text` for each part, with its ids for `{ids}`.
    pub(super) async fn rows_by_id_at_once(
        &self,
        operation: &'static str,
        ids: impl IntoIterator<Item = (Slot, i64)>,
        text: &str,
    ) -> Result<Vec<MySqlRow>> {
        let ids: Vec<(Slot, i64)> = ids.into_iter().collect();
        let read = || {
            let mut statements: BTreeMap<usize, (Vec<Slot>, Vec<String>)> = BTreeMap::new();
            for PartKeys { part, slots, keys } in self.parts(ids.iter().copied()) {
                let ids = json_array(keys);
                let (all_slots, texts) = statements.entry(part.shard).or_default();
                all_slots.extend(slots);
                texts.push(part.text(&text.replace("{ids}", &ids[1..ids.len() - 1])));
            }
            try_join_all(statements.into_iter().map(|(shard, (slots, texts))| async move {
                self.reading(operation, shard, &slots).await?.fetch_text(texts.join(" UNION ALL ")).await
            }))
        };
        Ok(self.retry_while_moving(read).await?.into_iter().flatten().collect())
    }

    /// The answer of `read`, which is repeated while a slot moves: with a fresh map, for
    /// [`SLOT_MOVE_TIMEOUT`].
    pub(super) async fn retry_while_moving<T, F: Future<Output = Result<T>>>(&self, read: impl Fn() -> F) -> Result<T> {
        let begun = Instant::now();
        loop {
            match read().await {
                Err(StoreError::Moved) => self.wait_for_move(begun).await?,
                answer => return answer,
            }
        }
    }

    /// Waits a little and refreshes the map, after [`StoreError::Moved`].
    ///
    /// # Errors
    /// [`StoreError::Moved`] when the time since `begun` is over.
    pub(super) async fn wait_for_move(&self, begun: Instant) -> Result<()> {
        if begun.elapsed() > SLOT_MOVE_TIMEOUT {
            return Err(StoreError::Moved);
        }
        sleep(SLOT_MOVE_POLL_INTERVAL).await;
        self.read_slot_map_again().await;
        Ok(())
    }

    /// Refreshes the map by the databases that answer soon: one that does not holds up no slot of the others.
    pub(super) async fn read_slot_map_again(&self) {
        let _ = timeout(SLOT_MAP_READ_TIMEOUT, self.refresh_slot_map()).await;
    }
}
