//! The tables in MySQL or MariaDB databases: 1,024 slots are spread over the databases, and in each
//! database over numbered tables.
//!
//! All rows of a slot are in one database, so a write to it is one transaction. The slot map says which
//! database has which slot; every process refreshes it each second. Reads take no locks and are bounded
//! in time. Not here: the fold of a batch (`crate::domain::fold`) and any cache of rows. Each port of
//! the tables has its own file here.

mod change_feed;
mod comments;
mod dirty_rows;
mod error;
mod health;
mod member_data;
mod member_names;
mod members;
mod migrate;
mod named_lock;
mod node_leases;
mod numbered_tables;
mod pool;
mod rank_again;
mod ranking;
mod reaction_states;
mod reconcile;
pub mod reshard;
mod routing;
mod row_numbers;
mod rows;
mod session;
mod settings;
mod slot_map;
mod slot_positions;
mod slot_state;
mod statement;
#[cfg(test)]
mod tests;
mod threads;
mod transfer;
mod write;

use std::time::Duration;

use gailou_shared::id::Slot;
use gailou_shared::rank::HotWeights;
use pool::MysqlPool;
use session::MysqlSession;
use slot_map::CurrentSlotMap;

use crate::domain::row::WeightsByType;
use crate::outage_log::OutageLog;
use crate::ports::store::{Result, Sharding, StoreError};

/// How often the slot map is refreshed.
const SLOT_MAP_REFRESH_INTERVAL: Duration = Duration::from_secs(1);

/// The tables in MySQL databases.
pub struct MysqlStore {
    pools: Vec<MysqlPool>,
    /// How many numbers the numbered tables have.
    tables: u16,
    weights: WeightsByType,
    slot_map: CurrentSlotMap,
}

impl std::fmt::Debug for MysqlStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MysqlStore")
            .field("databases", &self.pools)
            .field("tables", &self.tables)
            .finish_non_exhaustive()
    }
}

impl MysqlStore {
    /// Opens the databases at these addresses, whose tables are numbered from 0 to `tables` - 1.
    ///
    /// # Errors
    /// When one cannot be reached, or its tables belong to another version ([`MysqlStore::migrate`]) or
    /// have another number.
    pub async fn open(urls: &[String], tables: u16, weights: WeightsByType) -> Result<Self> {
        let pools = urls.iter().map(|url| Ok(MysqlPool::new(pool::parse_address(url)?))).collect::<Result<Vec<_>>>()?;
        let first = pools.first().ok_or_else(|| StoreError::Database("no database is configured".into()))?;
        migrate::check(&pools, tables).await?;
        let slot_map = CurrentSlotMap::read(first, pools.len()).await?;
        Ok(Self { pools, tables, weights, slot_map })
    }

    /// Creates the databases' tables, migrates them to this version, and ranks comments again when the
    /// weights have changed. It can be repeated, and several processes may run it at once.
    ///
    /// # Errors
    /// When one cannot be reached, or was created with another number of tables or in another order; when
    /// comments must be ranked while a slot is moved.
    pub async fn migrate(urls: &[String], tables: u16, weights: WeightsByType) -> Result<()> {
        let databases = urls.iter().map(|url| pool::parse_address(url)).collect::<Result<Vec<_>>>()?;
        migrate::run(&databases, tables).await?;
        Self::open(urls, tables, weights).await?.rank_again().await
    }

    /// Reads the slot map again. To be called every second, and after [`StoreError::Moved`].
    ///
    /// # Errors
    /// When the first database does not answer; the former map stays in force.
    pub async fn refresh_slot_map(&self) -> Result<()> {
        self.slot_map.refresh(self.first_pool(), self.pools.len()).await
    }

    /// Refreshes the slot map for as long as this is polled.
    pub async fn keep_slot_map_fresh(&self) {
        let (outage, database) = (OutageLog::default(), self.first_pool().address());
        loop {
            tokio::time::sleep(SLOT_MAP_REFRESH_INTERVAL).await;
            match self.refresh_slot_map().await {
                Ok(()) => outage.end(|| tracing::info!(database, "Refreshed the slot map from {database} again")),
                Err(error) => outage.begin(|| {
                    let retry_ms = SLOT_MAP_REFRESH_INTERVAL.as_millis();
                    tracing::warn!(database, retry_ms, %error, "Could not refresh the slot map from {database}; retrying every {retry_ms} ms");
                }),
            }
        }
    }

    fn first_pool(&self) -> &MysqlPool {
        &self.pools[0]
    }

    fn pool(&self, shard: usize) -> &MysqlPool {
        &self.pools[shard.min(self.pools.len() - 1)]
    }

    /// A connection to a database, for one call or one transaction, which is measured as `operation`.
    async fn session(&self, operation: &'static str, shard: usize) -> Result<MysqlSession> {
        self.pool(shard).session(operation).await
    }

    /// A connection to a database, for work that may take long.
    async fn long_session(&self, operation: &'static str, shard: usize) -> Result<MysqlSession> {
        let mut session = self.session(operation, shard).await?;
        session.allow_long_work().await?;
        Ok(session)
    }

    /// The number of a slot's tables.
    fn table_number(&self, slot: Slot) -> u16 {
        slot.get() % self.tables
    }

    fn weights_of(&self, kind: &str) -> HotWeights {
        self.weights.get(kind).copied().unwrap_or_default()
    }
}

impl Sharding for MysqlStore {
    fn count_databases(&self) -> usize {
        self.pools.len()
    }

    fn database_of(&self, slot: Slot) -> usize {
        self.slot_map.get().shard(slot)
    }
}
