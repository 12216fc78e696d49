//! The rank of a root as a row to insert.

use gailou_shared::id::CommentId;
use gailou_shared::rank::EngagementCounts;

use crate::domain::root_keys::RootKeys;

/// The columns of [`root_rank_values`].
pub(in crate::adapters::mysql) const ROOT_RANK_COLUMNS: &str =
    "(subject, id, likes, dislikes, replies, created_at, hot, best, controversial)";

/// The values of a row.
pub(in crate::adapters::mysql) fn root_rank_values(
    subject: i64,
    id: CommentId,
    counts: EngagementCounts,
    created_at: u64,
    keys: RootKeys,
) -> String {
    let EngagementCounts { likes, dislikes, replies } = counts;
    let RootKeys { hot, best, controversial } = keys;
    format!("({subject},{id},{likes},{dislikes},{replies},{created_at},{hot},{best},{controversial})")
}
