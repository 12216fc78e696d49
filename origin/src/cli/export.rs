//! `gailou export`: threads as JSON lines, as import reads them.
//!
//! Comments that were never published or that only their author sees are left out, with their replies.
//! Hidden and rejected comments that were published are exported as tombstones. Not exported: mentions,
//! pictures, reactions by member, edit history, the flag "featured", and the subject's own row. Promise: an
//! export that is imported into an empty directory is exported again with the same lines.

use std::collections::HashSet;

use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::wire::{CommentFlag, CommentState, Visibility};
use serde::{Deserialize, Serialize};

use crate::cli::output::Console;
use crate::cli::record::ImportLine;
use crate::domain::row::ExportedComment;
use crate::ports::store::Transfer;

/// Comments in one query.
const COMMENTS_PER_QUERY: usize = 1_000;

/// A subject as it is given on the command line and sent to the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct SubjectArgument(SubjectKey);

/// The subject called `TYPE/KEY`; a key may contain further slashes.
pub(super) fn subject(text: &str) -> Result<SubjectArgument, String> {
    let (kind, key) = text.split_once('/').ok_or("must be TYPE/KEY, such as article/42")?;
    SubjectKey::new(kind, key).map(SubjectArgument).map_err(|e| format!("the {} {e}", e.field()))
}

#[cfg(feature = "cluster")]
impl SubjectArgument {
    pub(super) fn key(&self) -> &SubjectKey {
        &self.0
    }
}

impl std::fmt::Display for SubjectArgument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<String> for SubjectArgument {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        subject(&text)
    }
}

impl From<SubjectArgument> for String {
    fn from(subject: SubjectArgument) -> Self {
        subject.0.to_string()
    }
}

/// Writes the comments of a subject, or all comments.
pub(super) async fn run(
    tables: &dyn Transfer,
    subject: Option<&SubjectArgument>,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    let subject = subject.map(|subject| &subject.0);
    let mut left_out = HashSet::new();
    let mut after = None;
    loop {
        let found = tables.export_comments(subject, after.as_ref(), COMMENTS_PER_QUERY).await?;
        let Some(last) = found.last() else { return Ok(0) };
        after = Some(last.cursor.clone());
        let mut text = String::new();
        for comment in found {
            if is_left_out(&comment, &left_out) {
                left_out.insert(comment.row.id());
            } else {
                text.push_str(&line(comment, &left_out).to_json()?);
                text.push('\n');
            }
        }
        if !text.is_empty() {
            console.out(&text).await?;
        }
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
        author: row.author,
        content: row.content,
        subject: row.subject,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subject_splits_at_the_first_slash() {
        let check = |text: &str, expected: Result<(&str, &str), &str>| {
            let parsed = subject(text);
            let got = parsed.as_ref().map(|s| (s.0.kind(), s.0.key()));
            assert_eq!(got.map_err(String::as_str), expected, "{text}");
        };
        check("video/2", Ok(("video", "2")));
        check("article/2024/a b", Ok(("article", "2024/a b")));
        check("video", Err("must be TYPE/KEY, such as article/42"));
        check("video/", Err("the key must be 1 to 512 bytes of UTF-8"));
        check("/2", Err("the type must be 1 to 32 characters of a-z, 0-9, _ and -"));
    }
}
