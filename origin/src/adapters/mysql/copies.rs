//! What a process must know before it can start, kept in every database: secrets, the dictionary, who is erased or
//! merged, and the number of the broker's partitions.
//!
//! The first database has the truth; the others have copies, which are read only while the first does not answer.
//! Copies are written best effort, and again at each start, but for a finished erasure or merge: that waits for
//! every database. Not here: what is written into the first database.

use futures_util::future::join_all;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::member_data::list_member_ends_of;
use crate::adapters::mysql::pool::MysqlPool;
use crate::adapters::mysql::rows::damaged;
use crate::adapters::mysql::statement::sql;
use crate::domain::erasure::MemberEnd;
use crate::ports::store::{Result, StoreError};

/// The setting that has the number of partitions of the broker's topics.
const PARTITIONS_SETTING: &str = "kafka_partitions";
/// Erased and merged members that are copied at once.
const ENDS_PER_COPY: usize = 1_000;

impl MysqlStore {
    fn other_pools(&self) -> &[MysqlPool] {
        &self.pools[1..]
    }

    /// The first answer of another database than the first; `away` is why the first gave none.
    pub(super) async fn read_copy<T, F: Future<Output = Result<Option<T>>>>(
        &self,
        away: StoreError,
        read: impl Fn(MysqlPool) -> F,
    ) -> Result<T> {
        if !away.is_away() {
            return Err(away);
        }
        for pool in self.other_pools() {
            match read(pool.clone()).await {
                Ok(Some(found)) => return Ok(found),
                Ok(None) => {}
                Err(error) => {
                    tracing::debug!(database = pool.address(), %error, "Could not read a copy from {}", pool.address())
                }
            }
        }
        Err(away)
    }

    /// Copies something to the other databases, as far as they answer.
    pub(super) async fn copy<F: Future<Output = Result<()>>>(&self, what: &str, write: impl Fn(MysqlPool) -> F) {
        let copied = self.other_pools().iter().map(|pool| {
            let (written, database) = (write(pool.clone()), pool.address());
            async move {
                if let Err(error) = written.await {
                    tracing::debug!(database, what, %error, "Could not copy {what} to {database}");
                }
            }
        });
        join_all(copied).await;
    }

    /// Copies a setting to the other databases, as far as they answer.
    pub(super) async fn copy_setting(&self, name: &str, value: &[u8]) {
        let text = "INSERT INTO setting (name, value) VALUES (?, ?) ON DUPLICATE KEY UPDATE value = VALUES(value)";
        let write = |pool: MysqlPool| async move {
            pool.session("copy_setting").await?.execute(sql(text).bind(name).bind(value)).await.map(|_| ())
        };
        self.copy(name, write).await;
    }

    /// The number of partitions that was remembered; `None` before the first.
    ///
    /// # Errors
    /// When no database answers.
    pub async fn read_partition_count(&self) -> Result<Option<u32>> {
        let found = match read_setting(self.first_pool(), PARTITIONS_SETTING).await {
            Ok(found) => found,
            Err(away) => Some(self.read_copy(away, |pool| read_copied(pool, PARTITIONS_SETTING)).await?),
        };
        let parse = |text: Vec<u8>| std::str::from_utf8(&text).map_err(damaged)?.parse().map_err(damaged);
        found.map(parse).transpose()
    }

    /// Remembers the number of partitions, as far as the databases answer.
    pub async fn store_partition_count(&self, count: u32) {
        let text = "INSERT IGNORE INTO setting (name, value) VALUES (?, ?)";
        let write = |pool: MysqlPool| async move {
            let put = sql(text).bind(PARTITIONS_SETTING).bind(count.to_string().into_bytes());
            pool.session("store_partition_count").await?.execute(put).await.map(|_| ())
        };
        if let Err(error) = write(self.first_pool().clone()).await {
            tracing::debug!(count, %error, "Could not remember that there are {count} partitions");
        }
        self.copy(PARTITIONS_SETTING, write).await;
    }
}

/// A setting in one database.
pub(super) async fn read_setting(pool: &MysqlPool, name: &str) -> Result<Option<Vec<u8>>> {
    let found = sql("SELECT value FROM setting WHERE name = ?").bind(name);
    let found = pool.session("read_setting").await?.fetch_first(found).await?;
    Ok(found.map(|row| sqlx::Row::try_get(&row, 0)).transpose()?)
}

/// The same, as [`MysqlStore::read_copy`] reads it.
pub(super) async fn read_copied(pool: MysqlPool, name: &str) -> Result<Option<Vec<u8>>> {
    read_setting(&pool, name).await
}

/// Adds erased and merged members to one copy.
pub(super) async fn put_end_copies(pool: &MysqlPool, ends: &[MemberEnd]) -> Result<()> {
    let (mut erased, mut merged) = (Vec::new(), Vec::new());
    for MemberEnd { at, member, heir } in ends {
        match heir {
            None => erased.push(format!("({member}, {at}, 1)")),
            Some(heir) => merged.push(format!("({member}, {heir}, {at}, 1)")),
        }
    }
    let tables =
        [("erased_member (member_id, at, done)", erased), ("merged_guest (guest_id, member_id, at, done)", merged)];
    for (columns, rows) in tables.into_iter().filter(|(_, rows)| !rows.is_empty()) {
        let text = format!("INSERT IGNORE INTO {columns} VALUES {}", rows.join(", "));
        pool.session("put_end_copies").await?.execute_text(text).await?;
    }
    Ok(())
}

/// Copies every erased and merged member to the other databases.
pub(super) async fn copy_member_ends(pools: &[MysqlPool]) -> Result<()> {
    let [first, others @ ..] = pools else { return Ok(()) };
    let mut after = None;
    loop {
        let rows = list_member_ends_of(first, after, ENDS_PER_COPY).await?;
        for pool in others {
            put_end_copies(pool, &rows).await?;
        }
        after = rows.last().copied();
        if rows.len() < ENDS_PER_COPY {
            return Ok(());
        }
    }
}
