//! The port to the texts that the word filter refused, which are kept apart for moderators.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{MemberId, RefusedTextId};
use gailou_shared::wire::RefusedText;

use crate::ports::store::Result;

/// Keeps, reads and deletes refused texts.
#[async_trait]
pub trait RefusedTexts: Send + Sync + Debug {
    /// Keeps a text, in the database of its slot; false where its author has as many of the last hour as are kept. The
    /// oldest texts of the database go where there are more than are kept.
    async fn keep_refused(&self, text: &RefusedText) -> Result<bool>;
    /// The texts below an id, newest first.
    async fn list_refused(&self, below: Option<RefusedTextId>, count: usize) -> Result<Vec<RefusedText>>;
    /// The texts of an author above an id, in the order of ids.
    async fn list_refused_of(
        &self,
        author: MemberId,
        above: Option<RefusedTextId>,
        count: usize,
    ) -> Result<Vec<RefusedText>>;
    /// One text.
    async fn read_refused(&self, id: RefusedTextId) -> Result<Option<RefusedText>>;
    /// Deletes one text; deleting it again changes nothing.
    async fn delete_refused(&self, id: RefusedTextId) -> Result<()>;
    /// Deletes all texts of an author.
    async fn delete_refused_of(&self, author: MemberId) -> Result<()>;
    /// Deletes the texts that were refused before this moment, in Unix milliseconds.
    async fn delete_refused_before(&self, before: u64) -> Result<()>;
}
