//! The tables in MySQL or MariaDB databases: 1,024 slots are spread over the databases, and in each
//! database over numbered tables.
//!
//! All rows of a slot are in one database, so a write to it is one transaction. The slot map says which
//! database has which slot; every process reads it from the slots' rows each second. Reads take no locks and are bounded
//! in time. Not here: the fold of a batch (`crate::domain::fold`) and any cache of rows. Each port of
//! the tables has its own file here.

mod accounts;
mod activity;
mod audit_log;
mod backup;
mod broker_states;
mod change_feed;
mod checkpoints;
mod comments;
mod copies;
mod dead_reactions;
mod dirty_rows;
mod error;
mod events;
mod health;
mod index_queues;
mod installation;
mod latest;
mod mail_queue;
mod media;
mod member_contacts;
mod member_data;
mod member_directory;
mod member_names;
mod member_standings;
mod members;
mod migrate;
mod named_lock;
mod node_leases;
mod notifications;
mod numbered_tables;
mod outbox;
mod passkeys;
mod pool;
mod rank_again;
mod rank_rows;
mod ranking;
mod reaction_states;
mod reconcile;
mod refused_texts;
pub mod reshard;
mod reviews;
mod rewinds;
mod routing;
mod row_numbers;
mod row_text;
mod rows;
mod server_settings;
mod session;
mod settings;
mod sign_in;
mod slot_map;
mod slot_positions;
mod slot_state;
mod slot_write;
mod statement;
mod subject_directory;
#[cfg(test)]
pub(crate) mod tests;
mod threads;
mod transfer;
mod watches;
mod webhooks;
mod write;

use std::time::Duration;

use async_trait::async_trait;
pub use backup::{MysqlRestore, send_returned_rows};
use futures_util::future::join_all;
use gailou_shared::id::Slot;
use gailou_shared::rank::HotWeights;
use gailou_shared::slot_set::SlotSet;
use installation::Installation;
pub use migrate::count_migrations;
use pool::MysqlPool;
use session::MysqlSession;
use slot_map::CurrentSlotMap;
use tokio::sync::Notify;

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
    installation: Installation,
    /// By database: whether this process has written to its outbox.
    outbox_written: Vec<Notify>,
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
    /// another installation, or have another number.
    pub async fn open(urls: &[String], tables: u16, weights: WeightsByType) -> Result<Self> {
        let store = Self::open_available(urls, tables, weights).await?;
        for (shard, pool) in store.pools.iter().enumerate() {
            migrate::check(pool, shard, tables, &store.installation).await?;
        }
        store.refresh_slot_map().await?;
        Ok(store)
    }

    /// The same with the databases that answer. The others are checked as soon as they answer, by
    /// [`MysqlStore::keep_slot_map_fresh`]; until then they count as away.
    ///
    /// # Errors
    /// When none can be reached, or one that answers is of another version or installation, or has another number of
    /// tables.
    pub async fn open_available(urls: &[String], tables: u16, weights: WeightsByType) -> Result<Self> {
        let pools = urls.iter().map(|url| Ok(MysqlPool::new(pool::parse_address(url)?))).collect::<Result<Vec<_>>>()?;
        if pools.is_empty() {
            return Err(StoreError::Database("no database is configured".into()));
        }
        let installation = Installation::default();
        migrate::check_available(&pools, tables, &installation).await?;
        let outbox_written = pools.iter().map(|_| Notify::new()).collect();
        let slot_map = CurrentSlotMap::new(pools.len());
        let store = Self { slot_map, pools, tables, weights, installation, outbox_written };
        match store.refresh_slot_map().await {
            Err(error) if !error.is_away() => Err(error),
            _ => Ok(store),
        }
    }

    /// Creates the databases' tables and migrates them to this version. When the weights have changed, it is stored that
    /// every comment has to be ranked again, and [`crate::ports::store::Reranker`] does that. It can be repeated, and
    /// several processes may run it at once.
    ///
    /// # Errors
    /// When one cannot be reached, or was created with another number of tables or in another order.
    pub async fn migrate(urls: &[String], tables: u16, weights: WeightsByType) -> Result<Self> {
        let databases = urls.iter().map(|url| pool::parse_address(url)).collect::<Result<Vec<_>>>()?;
        migrate::run(&databases, tables, false).await?;
        let store = Self::open(urls, tables, weights).await?;
        store.begin_ranking().await?;
        Ok(store)
    }

    /// Fills databases that are empty, and that [`MysqlStore::migrate`] refuses because they were not: what they had is
    /// given up. The slot map is made again by the rows of the others.
    ///
    /// # Errors
    /// As those of [`MysqlStore::migrate`].
    pub async fn adopt_empty(urls: &[String], tables: u16) -> Result<()> {
        let databases = urls.iter().map(|url| pool::parse_address(url)).collect::<Result<Vec<_>>>()?;
        migrate::run(&databases, tables, true).await
    }

    /// Reads the states of the slots in every database, and the stored map. To be called every second, and after
    /// [`StoreError::Moved`].
    ///
    /// # Errors
    /// When a database does not answer. What the others say is in force, and what it said before.
    pub async fn refresh_slot_map(&self) -> Result<()> {
        let refreshed = self.pools.iter().enumerate().map(|(shard, pool)| self.slot_map.refresh(pool, shard));
        join_all(refreshed).await.into_iter().collect()
    }

    /// Refreshes the slot map for as long as this is polled. A database that does not answer holds up no other.
    pub async fn keep_slot_map_fresh(&self) {
        join_all(self.pools.iter().enumerate().map(|(shard, pool)| self.follow_slots(shard, pool))).await;
    }

    async fn check_and_refresh(&self, shard: usize, pool: &MysqlPool) -> Result<()> {
        if !pool.is_open() {
            migrate::check(pool, shard, self.tables, &self.installation).await?;
        }
        self.slot_map.refresh(pool, shard).await
    }

    async fn follow_slots(&self, shard: usize, pool: &MysqlPool) {
        let (outage, database) = (OutageLog::default(), pool.address());
        loop {
            tokio::time::sleep(SLOT_MAP_REFRESH_INTERVAL).await;
            match self.check_and_refresh(shard, pool).await {
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

#[async_trait]
impl Sharding for MysqlStore {
    fn count_databases(&self) -> usize {
        self.pools.len()
    }

    fn database_of(&self, slot: Slot) -> usize {
        self.slot_map.get().shard(slot)
    }

    async fn refresh_slots_of(&self, database: usize) -> Result<SlotSet> {
        self.slot_map.refresh(self.pool(database), database).await?;
        Ok(self.slot_map.get().slots_of(database))
    }
}
