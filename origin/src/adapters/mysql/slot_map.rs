//! The slot map of this process, and how it is read from the databases.

use std::sync::Arc;

use gailou_shared::id::SLOT_COUNT;
use parking_lot::RwLock;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::adapters::mysql::pool::MysqlPool;
use crate::adapters::mysql::rows::{damaged, number_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_state::SlotStatus;
use crate::adapters::mysql::statement::sql;
pub(super) use crate::domain::slot_map::{SlotMap, initial_shard};
use crate::ports::store::Result;

/// The newest map; it is replaced, never changed.
#[derive(Debug)]
pub(super) struct CurrentSlotMap {
    map: RwLock<Arc<SlotMap>>,
    /// One process asks a database once at a time.
    reads: Vec<Mutex<()>>,
}

impl CurrentSlotMap {
    /// A map that knows nothing yet.
    pub(super) fn new(databases: usize) -> Self {
        Self {
            map: RwLock::new(Arc::new(SlotMap::new(databases))),
            reads: (0..databases).map(|_| Mutex::default()).collect(),
        }
    }

    pub(super) fn get(&self) -> Arc<SlotMap> {
        self.map.read().clone()
    }

    /// Reads the rows of one database, and the stored map if it is the first.
    pub(super) async fn refresh(&self, pool: &MysqlPool, shard: usize) -> Result<()> {
        let (begun, Some(read)) = (Instant::now().into_std(), self.reads.get(shard)) else { return Ok(()) };
        let _read = read.lock().await;
        if self.get().read_at(shard) > Some(begun) {
            return Ok(());
        }
        let read_at = Instant::now().into_std();
        let mut session = pool.session("read_slot_map").await?;
        let statuses = Arc::new(SlotStatus::read_present(&mut session).await?);
        let stored = if shard == 0 { Some(read_stored(&mut session, self.reads.len()).await) } else { None };
        let (stored, failure) = stored.transpose().map_or_else(|error| (None, Some(error)), |stored| (stored, None));
        let mut current = self.map.write();
        *current = Arc::new(current.with_answer(shard, statuses, read_at, stored));
        failure.map_or(Ok(()), Err)
    }
}

/// The stored map, which must be complete.
async fn read_stored(session: &mut MysqlSession, databases: usize) -> Result<Vec<u16>> {
    let rows = session.fetch_all(sql("SELECT slot, shard FROM slot_map ORDER BY slot")).await?;
    let mut shards = Vec::with_capacity(usize::from(SLOT_COUNT));
    for (number, row) in rows.iter().enumerate() {
        let (slot, shard) = (number_at(row, 0)?, number_at(row, 1)?);
        match u16::try_from(shard) {
            Ok(shard) if usize::from(shard) < databases && usize::try_from(slot) == Ok(number) => shards.push(shard),
            _ => {
                return Err(damaged(format_args!(
                    "slot {slot} is in database {shard} (from 0), but {databases} are configured"
                )));
            }
        }
    }
    if shards.len() != usize::from(SLOT_COUNT) {
        let found = shards.len();
        return Err(damaged(format_args!("the slot map has {found} of {SLOT_COUNT} rows: `gailou migrate` adds them")));
    }
    Ok(shards)
}
