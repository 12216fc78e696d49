//! The names that members were seen with.

use async_trait::async_trait;
use gailou_shared::id::MemberId;

use crate::adapters::sqlite::SqliteStore;
use crate::domain::name_digest::NameDigest;
use crate::ports::store::{MemberNameReader, Result};

#[async_trait]
impl MemberNameReader for SqliteStore {
    async fn is_name_seen(&self, digest: NameDigest, except: Option<MemberId>, since: u64) -> Result<bool> {
        self.read("is_name_seen", move |c| {
            let sql =
                "SELECT EXISTS (SELECT 1 FROM member_name WHERE digest = ?1 AND member_id IS NOT ?2 AND seen_at >= ?3)";
            Ok(c.query_row(sql, (digest.as_bytes(), except.map(MemberId::signed), since), |r| r.get(0))?)
        })
        .await
    }
}
