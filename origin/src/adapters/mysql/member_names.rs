//! The names that members were seen with, which are in the first database.

use async_trait::async_trait;
use gailou_shared::id::MemberId;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::statement::sql;
use crate::domain::name_digest::NameDigest;
use crate::ports::store::{MemberNameReader, Result};

/// The id of none.
const NO_MEMBER: i64 = 0;

#[async_trait]
impl MemberNameReader for MysqlStore {
    async fn is_name_seen(&self, digest: NameDigest, except: Option<MemberId>, since: u64) -> Result<bool> {
        let text = "SELECT member_id FROM member_name WHERE digest = ? AND member_id <> ? AND seen_at >= ? LIMIT 1";
        let except = except.map_or(NO_MEMBER, MemberId::signed);
        let statement = sql(text).bind(digest.as_bytes()).bind(except).bind(i64::try_from(since).unwrap_or(i64::MAX));
        Ok(self.first_pool().session("is_name_seen").await?.fetch_first(statement).await?.is_some())
    }
}
