//! Rows as readers see them: levels by the mode, tombstones emptied, pictures of authors at this installation.

use gailou_shared::id::SubjectKey;
use gailou_shared::path::{Mode, Threading};
use gailou_shared::wire::{Comment, CommentState, SubjectRef};

use crate::domain::review::HeldEdit;
use crate::domain::row::CommentRow;
use crate::service::media;
use crate::state::AppState;

/// The comment as every reader sees it.
pub fn for_every_reader(app: &AppState, row: &CommentRow, threading: Threading) -> Comment {
    if row.is_visible() { for_author(app, row, threading) } else { tombstone(row, threading) }
}

/// The comment as its author sees it: with its content, whatever its state, unless it is deleted.
pub fn for_author(app: &AppState, row: &CommentRow, threading: Threading) -> Comment {
    let author = app.avatars.addresses.shown_author(&row.author);
    Comment { author: Some(author), ..without_author(row, threading) }
}

/// The comment with its content, and without who wrote it.
pub(super) fn without_author(row: &CommentRow, threading: Threading) -> Comment {
    let id = row.id();
    Comment {
        id,
        version: row.version,
        is_in_building: threading.mode == Mode::Building,
        subject: SubjectRef::from(&row.subject),
        author: None,
        parent_id: row.parent_id,
        root_id: row.path.root_id(),
        reply_to: row.reply_to.clone().filter(|_| !row.parent_gone),
        path: row.path.ids().collect(),
        level: threading.level(row.path.depth()).try_into().unwrap_or(u8::MAX),
        floor: row.floor,
        content: row.content.clone(),
        html: row.html.clone(),
        mentions: row.mentions.clone(),
        media: row.media.iter().map(media::view).collect(),
        state: row.state,
        visibility: row.visibility,
        flags: row.flags.clone(),
        likes: row.likes,
        dislikes: row.dislikes,
        replies: row.replies,
        created_at: row.created_at,
        edited_at: row.edited_at,
        top_replies: None,
        more_replies: None,
        audit_id: None,
        highlight: None,
    }
}

/// The comment as its author sees it, and nothing of a deleted one but its place.
pub fn for_owner(app: &AppState, row: &CommentRow, threading: Threading) -> Comment {
    if row.state == CommentState::Deleted { tombstone(row, threading) } else { for_author(app, row, threading) }
}

/// A comment with the text of an edit that waits, as its author and moderators see it.
pub fn with_edit(comment: Comment, edit: &HeldEdit) -> Comment {
    let (content, html) = (edit.content.clone(), edit.html.clone());
    Comment { content, html, state: CommentState::Review, edited_at: Some(edit.at), ..comment }
}

/// The place of a comment in a thread, without what its author wrote and who that is.
pub fn tombstone(row: &CommentRow, threading: Threading) -> Comment {
    Comment {
        content: String::new(),
        html: String::new(),
        mentions: vec![],
        media: vec![],
        ..without_author(row, threading)
    }
}

/// Whether every reader may read a comment by its id: it is visible, or it was once and has a
/// tombstone now.
pub fn is_readable_by_id(row: &CommentRow) -> bool {
    row.is_visible() || row.floor.is_some() || row.state == CommentState::Deleted
}

/// The subjects of these comments, each once.
pub fn subjects(comments: &[Comment]) -> Vec<SubjectKey> {
    let keys = comments.iter().filter_map(|c| SubjectKey::new(&c.subject.r#type, &c.subject.key).ok());
    keys.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}
