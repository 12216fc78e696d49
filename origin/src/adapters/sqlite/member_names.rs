//! The names that members were seen with.

use async_trait::async_trait;

use crate::adapters::sqlite::SqliteStore;
use crate::domain::name_digest::NameDigest;
use crate::ports::store::{MemberNameReader, Result};

#[async_trait]
impl MemberNameReader for SqliteStore {
    async fn is_name_seen(&self, digest: NameDigest, since: u64) -> Result<bool> {
        self.read("is_name_seen", move |c| {
            let sql = "SELECT EXISTS (SELECT 1 FROM member_name WHERE digest = ?1 AND seen_at >= ?2)";
            Ok(c.query_row(sql, (digest.as_bytes(), since), |r| r.get(0))?)
        })
        .await
    }
}
