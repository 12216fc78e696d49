//! Threads as JSON lines, as an import reads them, for `gailou export` and for admins.
//!
//! Comments that were never published or that only their author sees are left out, with their replies.
//! Hidden and rejected comments that were published are exported as tombstones. Before the comments of a subject stand its
//! title and its address, where it has any. Not exported: mentions, pictures, reactions by member, edit history, the
//! flag "featured", a subject's owner, state and mode, and subjects without comments. Promise: an export that is
//! imported into an empty directory is exported again with the same lines.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use backon::{ConstantBuilder, Retryable as _};
use futures_util::Stream;
use futures_util::stream::try_unfold;
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::wire::{CommentFlag, CommentState, Visibility};

use crate::domain::import_line::{ImportLine, SubjectDescription};
use crate::domain::row::{ExportCursor, ExportedComment, SubjectRow};
use crate::ports::store::{Result, StoreError, Tables};

/// Comments in one query.
const COMMENTS_PER_QUERY: usize = 1_000;
/// How long an export waits for a database that is busy or away, before it reads once more.
const RETRY_DELAY: Duration = Duration::from_millis(200);
/// How often it does; then it ends in the middle.
const MAX_RETRIES: usize = 150;

/// The lines of the comments of a subject, or of all comments: in chunks of whole lines.
pub fn export(
    tables: Arc<dyn Tables>,
    subject: Option<SubjectKey>,
) -> impl Stream<Item = Result<String>> + Send + 'static {
    let export = CommentExport { tables, subject, left_out: HashSet::new(), described: None, after: None };
    try_unfold(export, |mut export| async move { Ok(export.next_chunk().await?.map(|chunk| (chunk, export))) })
}

/// The delays of an export whose database is busy or away.
pub(super) fn retry_delays() -> ConstantBuilder {
    ConstantBuilder::default().with_delay(RETRY_DELAY).with_jitter().with_max_times(MAX_RETRIES)
}

/// An export in progress.
struct CommentExport {
    tables: Arc<dyn Tables>,
    subject: Option<SubjectKey>,
    /// The comments that are left out so far: their replies are, too.
    left_out: HashSet<CommentId>,
    /// The subject of the last line.
    described: Option<SubjectKey>,
    after: Option<ExportCursor>,
}

impl CommentExport {
    /// The lines of the next comments, perhaps none; `None` at the end.
    async fn next_chunk(&mut self) -> Result<Option<String>> {
        let read = || self.tables.export_comments(self.subject.as_ref(), self.after.as_ref(), COMMENTS_PER_QUERY);
        // An answer that has begun cannot be refused any more.
        let found = read.retry(retry_delays()).when(StoreError::is_away).await?;
        let Some(last) = found.last() else { return Ok(None) };
        self.after = Some(last.cursor.clone());
        let mut text = String::new();
        let mut descriptions = self.read_descriptions(&found).await?;
        for comment in found {
            if is_left_out(&comment, &self.left_out) {
                self.left_out.insert(comment.row.id());
            } else {
                if self.described.as_ref() != Some(&comment.row.subject) {
                    self.described = Some(comment.row.subject.clone());
                    if let Some(description) = descriptions.remove(&comment.row.subject) {
                        text.push_str(&description.to_json());
                        text.push('\n');
                    }
                }
                text.push_str(&line(comment, &self.left_out).to_json());
                text.push('\n');
            }
        }
        Ok(Some(text))
    }

    /// What is known of the subjects of these comments, but for the one whose line is written.
    async fn read_descriptions(&self, found: &[ExportedComment]) -> Result<HashMap<SubjectKey, SubjectDescription>> {
        let mut keys: Vec<SubjectKey> = found.iter().map(|comment| comment.row.subject.clone()).collect();
        keys.dedup();
        keys.retain(|key| self.described.as_ref() != Some(key));
        let read = || self.tables.read_subjects(&keys);
        let rows = read.retry(retry_delays()).when(StoreError::is_away).await?;
        let is_there = |text: &String| !text.is_empty();
        let description = |row: SubjectRow| {
            let (title, url) = (row.title.filter(is_there), row.url.filter(is_there));
            let is_described = title.is_some() || url.is_some();
            is_described.then(|| (row.key.clone(), SubjectDescription { subject: row.key, title, url }))
        };
        Ok(rows.into_iter().flatten().filter_map(description).collect())
    }
}

/// Parents come first, so its ancestors are known.
fn is_left_out(comment: &ExportedComment, left_out: &HashSet<CommentId>) -> bool {
    let row = &comment.row;
    row.floor.is_none() || row.visibility == Visibility::Author || row.path.ids().any(|id| left_out.contains(&id))
}

fn line(comment: ExportedComment, left_out: &HashSet<CommentId>) -> ImportLine {
    let ExportedComment { source, parent_source, root_source, row, .. } = comment;
    let name = |source: Option<String>, id: CommentId| source.unwrap_or_else(|| id.to_string());
    // In a flat list the parent is not on the path.
    let parent = row.parent_id.filter(|id| !left_out.contains(id));
    let root = (row.path.depth() > 1).then(|| row.path.root_id());
    ImportLine {
        id: name(source, row.path.id()),
        root: root.map(|id| name(root_source, id)),
        parent: parent.map(|id| name(parent_source, id)),
        likes: row.likes,
        dislikes: row.dislikes,
        created_at: row.created_at,
        edited_at: row.edited_at,
        deleted: row.state != CommentState::Published,
        pinned: row.flags.iter().any(|flag| matches!(flag, CommentFlag::Pinned | CommentFlag::OwnerPinned)),
        // One that waits for its first decision is left out, and an edit that waits is none yet.
        held: false,
        pictures: Vec::new(),
        author: row.author,
        content: row.content,
        subject: row.subject,
    }
}
