//! The port to the names that members were seen with.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::MemberId;

use crate::domain::name_digest::NameDigest;
use crate::ports::store::Result;

/// Finds names; [`crate::domain::operation::Operation::MemberNames`] records them.
#[async_trait]
pub trait MemberNameReader: Send + Sync + Debug {
    /// Whether a member other than `except` was seen with such a name since `since` (Unix ms).
    async fn is_name_seen(&self, digest: NameDigest, except: Option<MemberId>, since: u64) -> Result<bool>;
}
