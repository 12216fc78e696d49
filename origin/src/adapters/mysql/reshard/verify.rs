//! Whether every row is in the database that the slot map names, and whether two copies are equal.

use gailou_shared::id::Slot;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::numbered_tables::NUMBERED_TABLES;
use crate::adapters::mysql::reshard::copy::SlotRows;
use crate::adapters::mysql::rows::number_at;
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_state::SlotState;
use crate::ports::store::Result;

impl MysqlStore {
    /// Rows that are not in the database that the map names, a sentence each; nothing when all are.
    ///
    /// # Errors
    /// When a database does not answer.
    pub async fn find_misplaced_rows(&self) -> Result<Vec<String>> {
        let owners = self.owners().await?;
        let mut misplaced = Vec::new();
        for (shard, pool) in self.pools.iter().enumerate() {
            let address = pool.address();
            let mut session = self.long_session("verify_shards", shard).await?;
            for (slot, state) in SlotState::read_all(&mut session).await? {
                let owned = owners.get(slot) == Some(&shard);
                let expected = if owned { SlotState::Owned } else { SlotState::Elsewhere };
                if state != expected {
                    misplaced.push(format!("{address}: slot {slot} is in state {state:?}, not {expected:?}"));
                }
            }
            for number in 0..self.tables {
                for SlotCount { table, slot, rows } in count_rows_by_slot(&mut session, number).await? {
                    let owner = usize::try_from(slot).ok().and_then(|slot| owners.get(slot));
                    if owner != Some(&shard) || slot % i64::from(self.tables) != i64::from(number) {
                        misplaced.push(format!("{address}: {table}_{number} has {rows} rows of slot {slot}"));
                    }
                }
            }
        }
        Ok(misplaced)
    }

    /// How the rows of a slot differ between two databases; nothing when they are equal. The answer has
    /// no meaning while the slot is written.
    ///
    /// # Errors
    /// When a database does not answer.
    pub async fn compare_copies(&self, slot: Slot, one: usize, other: usize) -> Result<Vec<String>> {
        let checksums = async |shard: usize| {
            let mut session = self.long_session("verify_shards", shard).await?;
            SlotRows::new(&mut session, self.table_number(slot), slot).await?.checksums(&mut session).await
        };
        let (one, other) = (checksums(one).await?, checksums(other).await?);
        let differs = one.into_iter().zip(other).filter(|(one, other)| one != other);
        Ok(differs.map(|(one, other)| format!("{}: {} and {} rows", one.table, one.rows, other.rows)).collect())
    }
}

/// The rows of a slot in one table.
struct SlotCount {
    table: &'static str,
    slot: i64,
    rows: i64,
}

/// The rows of each slot in the tables of one number.
async fn count_rows_by_slot(session: &mut MysqlSession, number: u16) -> Result<Vec<SlotCount>> {
    let mut all = Vec::new();
    for table in &NUMBERED_TABLES {
        let (slot, name) = (table.slot(), table.name);
        let text = format!("SELECT CAST({slot} AS SIGNED) AS s, COUNT(*) FROM {name}_{number} GROUP BY s ORDER BY s");
        for r in session.fetch_text(text).await? {
            all.push(SlotCount { table: name, slot: number_at(&r, 0)?, rows: number_at(&r, 1)? });
        }
    }
    Ok(all)
}
