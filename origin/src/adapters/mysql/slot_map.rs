//! Which database has which slot, as this process last read it.

use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::{SLOT_COUNT, Slot};
use parking_lot::RwLock;
use sqlx::Row as _;
use tokio::time::Instant;

use crate::adapters::mysql::pool::MysqlPool;
use crate::adapters::mysql::rows::damaged;
use crate::adapters::mysql::statement::sql;
use crate::ports::store::Result;

/// An older map may name a database from which the rows of a slot that moved are being deleted.
const MAX_TRUSTED_AGE: Duration = Duration::from_secs(5);

/// The map at one moment.
#[derive(Debug)]
pub(super) struct SlotMap {
    shards: Vec<u16>,
    read_at: Instant,
}

impl SlotMap {
    pub(super) fn shard(&self, slot: Slot) -> usize {
        self.shards.get(usize::from(slot.get())).copied().map_or(0, usize::from)
    }

    /// Whether the map is young enough to be used without a question to the database.
    pub(super) fn is_trusted(&self) -> bool {
        self.read_at.elapsed() < MAX_TRUSTED_AGE
    }
}

/// The newest map; it is replaced, never changed.
#[derive(Debug)]
pub(super) struct CurrentSlotMap(RwLock<Arc<SlotMap>>);

impl CurrentSlotMap {
    pub(super) async fn read(first: &MysqlPool, databases: usize) -> Result<Self> {
        Ok(Self(RwLock::new(Arc::new(read(first, databases).await?))))
    }

    pub(super) fn get(&self) -> Arc<SlotMap> {
        self.0.read().clone()
    }

    pub(super) async fn refresh(&self, first: &MysqlPool, databases: usize) -> Result<()> {
        let map = Arc::new(read(first, databases).await?);
        let mut current = self.0.write();
        if map.read_at > current.read_at {
            *current = map;
        }
        Ok(())
    }
}

async fn read(first: &MysqlPool, databases: usize) -> Result<SlotMap> {
    let read_at = Instant::now();
    let rows =
        first.session("read_slot_map").await?.fetch_all(sql("SELECT slot, shard FROM slot_map ORDER BY slot")).await?;
    let mut shards = Vec::with_capacity(usize::from(SLOT_COUNT));
    for (number, row) in rows.iter().enumerate() {
        let (slot, shard): (i16, i16) = (row.try_get(0)?, row.try_get(1)?);
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
        return Err(damaged(format_args!("the slot map has {} of {SLOT_COUNT} rows", shards.len())));
    }
    Ok(SlotMap { shards, read_at })
}

/// The database of a slot in a new installation with this many databases: each has an even range.
pub(super) fn initial_shard(slot: u16, databases: usize) -> usize {
    usize::from(slot) * databases / usize::from(SLOT_COUNT)
}
