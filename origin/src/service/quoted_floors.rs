//! The floors that the comments of a building quote: read once for a page, in one call of the store.
//!
//! Promise: what is not visible is quoted as a tombstone, as it is shown in lists. Bounded: a page that quotes more
//! than [`limits::MAX_QUOTED_FLOORS`] or [`limits::MAX_QUOTED_BYTES`] is cut short; what its first comment and the
//! pinned ones quote beyond that is left out.

use std::collections::{BTreeMap, HashSet};

use gailou_shared::id::CommentId;
use gailou_shared::limits;
use gailou_shared::path::{Mode, Threading};
use gailou_shared::wire::{Comment, QuotedFloor, Subject};

use crate::domain::building;
use crate::service::answer_rows::json_bytes;
use crate::service::{ServiceResult, comment_view};
use crate::state::AppState;

/// The comments of a page, with what they quote.
pub(super) struct Quoting {
    pub(super) comments: Vec<Comment>,
    /// `None` where comments quote nothing: in other modes.
    pub(super) floors: Option<BTreeMap<CommentId, QuotedFloor>>,
}

impl Quoting {
    /// Reads what these comments and the pinned ones quote. `ids` are those of the page; how many of them it still
    /// shows is the second answer.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn of(
        app: &AppState,
        threading: Threading,
        subject: &Subject,
        mut comments: Vec<Comment>,
        ids: &[CommentId],
    ) -> ServiceResult<(Self, usize)> {
        if threading.mode != Mode::Building {
            return Ok((Self { comments, floors: None }, ids.len()));
        }
        let groups = quoted_by(&subject.pinned, &comments);
        let wanted: Vec<_> = groups.concat().into_iter().take(limits::MAX_QUOTED_FLOORS).collect();
        let rows = if wanted.is_empty() { <_>::default() } else { app.store.read_comments(&wanted).await? };
        let wanted: HashSet<_> = wanted.into_iter().collect();
        let (mut floors, mut used, mut fitting) = (BTreeMap::new(), 0, groups.len());
        for (number, group) in groups.iter().enumerate() {
            let bytes: usize = group.iter().filter_map(|id| rows.get(id)).map(json_bytes).sum();
            let fits = used + bytes <= limits::MAX_QUOTED_BYTES && group.iter().all(|id| wanted.contains(id));
            if !fits && number > 1 {
                fitting = number;
                break;
            }
            for row in group.iter().filter_map(|id| rows.get(id)) {
                if used + json_bytes(row) <= limits::MAX_QUOTED_BYTES {
                    used += json_bytes(row);
                    floors.insert(row.id(), comment_view::for_every_reader(app, row, threading).into());
                }
            }
        }
        // The first group is that of the pinned comments.
        let left_out = comments.get(fitting - 1).and_then(|comment| ids.iter().position(|id| *id == comment.id));
        comments.truncate(fitting - 1);
        Ok((Self { comments, floors: Some(floors) }, left_out.unwrap_or(ids.len())))
    }
}

/// What the pinned comments quote, and then what each comment with its replies does: each floor once, and none that
/// is on the page itself.
fn quoted_by(pinned: &[Comment], comments: &[Comment]) -> Vec<Vec<CommentId>> {
    let mut known: HashSet<_> =
        pinned.iter().chain(comments).flat_map(with_replies).map(|comment| comment.id).collect();
    let mut new = |comments: &[Comment]| -> Vec<_> {
        let quoted = comments.iter().flat_map(with_replies).flat_map(|comment| building::quoted(&comment.path));
        quoted.filter(|id| known.insert(*id)).collect()
    };
    let mut groups = vec![new(pinned)];
    groups.extend(comments.chunks(1).map(new));
    groups
}

fn with_replies(comment: &Comment) -> impl Iterator<Item = &Comment> {
    [comment].into_iter().chain(comment.top_replies.iter().flatten())
}
