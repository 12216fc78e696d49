//! Which database holds which slot, as this process last read it.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use gailou_shared::id::{SLOT_COUNT, Slot};
use tokio::time::Instant;

use crate::adapters::mysql::pool::{Pool, sql};
use crate::ports::store::{Result, StoreError};

/// A map that is older may be wrong about a slot whose old rows are already being deleted.
const FRESH: Duration = Duration::from_secs(5);

/// The map at one moment.
#[derive(Debug)]
pub(super) struct Map {
    shards: Vec<u16>,
    read_at: Instant,
}

impl Map {
    pub(super) fn shard(&self, slot: Slot) -> usize {
        self.shards.get(usize::from(slot.get())).copied().map_or(0, usize::from)
    }

    /// Whether it is young enough to be believed without asking.
    pub(super) fn fresh(&self) -> bool {
        self.read_at.elapsed() < FRESH
    }
}

/// The map as it is now; replaced, never changed.
#[derive(Debug)]
pub(super) struct Current(RwLock<Arc<Map>>);

impl Current {
    pub(super) async fn read(first: &Pool, databases: usize) -> Result<Self> {
        Ok(Self(RwLock::new(Arc::new(read(first, databases).await?))))
    }

    pub(super) fn get(&self) -> Arc<Map> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) async fn refresh(&self, first: &Pool, databases: usize) -> Result<()> {
        let map = Arc::new(read(first, databases).await?);
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if map.read_at > current.read_at {
            *current = map;
        }
        Ok(())
    }
}

async fn read(first: &Pool, databases: usize) -> Result<Map> {
    use sqlx::Row;
    let read_at = Instant::now();
    let rows = first.session().await?.all(sql("SELECT slot, shard FROM slot_map ORDER BY slot")).await?;
    let mut shards = Vec::with_capacity(usize::from(SLOT_COUNT));
    for (number, row) in rows.iter().enumerate() {
        let (slot, shard): (i16, i16) = (row.try_get(0)?, row.try_get(1)?);
        match u16::try_from(shard) {
            Ok(shard) if usize::from(shard) < databases && usize::try_from(slot) == Ok(number) => shards.push(shard),
            _ => {
                return Err(StoreError::damaged(format_args!(
                    "slot {slot} is in database {shard} (from 0), but {databases} are configured"
                )));
            }
        }
    }
    if shards.len() != usize::from(SLOT_COUNT) {
        return Err(StoreError::damaged(format_args!("the map of slots has {} of {SLOT_COUNT} rows", shards.len())));
    }
    Ok(Map { shards, read_at })
}

/// Where a slot lies in an installation that begins with this many databases: ranges as even as
/// can be.
pub(super) fn first_shard(slot: u16, databases: usize) -> usize {
    usize::from(slot) * databases / usize::from(SLOT_COUNT)
}
