//! The node numbers of a cluster, leased from the first database by its own clock, since the clocks of
//! processes differ.

use async_trait::async_trait;
use gailou_shared::id::IMPORT_NODE;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::rows::count_at;
use crate::adapters::mysql::statement::sql;
use crate::ports::store::{NodeLeases, Result};

/// The database's clock, in Unix milliseconds.
const DATABASE_NOW_MS: &str = "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)";

#[async_trait]
impl NodeLeases for MysqlStore {
    async fn lease_node(&self, holder: &str, ttl_ms: u64) -> Result<Option<u64>> {
        let mut session = self.first_pool().session("lease_node").await?;
        let ttl = i64::try_from(ttl_ms).unwrap_or(i64::MAX / 2);
        // An expired number still belongs to its last holder until another process takes it.
        let renew = format!("UPDATE node SET expires_at = {DATABASE_NOW_MS} + ? WHERE holder = ?");
        session.execute(sql(renew).bind(ttl).bind(holder)).await?;
        let find = "SELECT node FROM node WHERE holder = ?";
        if let Some(r) = session.fetch_first(sql(find).bind(holder)).await? {
            return Ok(Some(count_at(&r, 0)?));
        }
        let take = format!(
            "UPDATE node SET holder = ?, expires_at = {DATABASE_NOW_MS} + ? \
             WHERE expires_at <= {DATABASE_NOW_MS} AND node < {IMPORT_NODE} ORDER BY node LIMIT 1"
        );
        session.execute(sql(take).bind(holder).bind(ttl)).await?;
        let found = session.fetch_first(sql(find).bind(holder)).await?;
        found.map(|r| count_at(&r, 0)).transpose()
    }

    async fn release_node(&self, holder: &str) -> Result<()> {
        let release = "UPDATE node SET holder = '', expires_at = 0 WHERE holder = ?";
        self.first_pool().session("release_node").await?.execute(sql(release).bind(holder)).await?;
        Ok(())
    }
}
