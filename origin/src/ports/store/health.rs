//! The port that examines the tables.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::CommentId;

use crate::ports::store::Result;

/// Says whether the tables answer, and whether they are sound.
#[async_trait]
pub trait HealthCheck: Send + Sync + Debug {
    /// The largest comment id: new ids continue after it. Every database must answer.
    async fn read_last_id(&self) -> Result<Option<CommentId>>;
    /// What is wrong with the tables as far as it costs seconds to find, a sentence each; nothing when all is well.
    async fn find_damage(&self) -> Result<Vec<String>>;
    /// What the database itself finds wrong with its tables. Reads everything.
    async fn check_tables(&self) -> Result<Vec<String>>;
}
