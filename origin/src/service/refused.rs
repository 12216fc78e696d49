//! Texts that the word filter refuses: kept for moderators, who accept or drop them ([`crate::service::rejected`]).
//!
//! Promise: the way of an answer waits for no table ([`crate::state::refused_texts`]).

use gailou_shared::content::NewComment;
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::wire::{
    Author, RefusedText, RefusedTextKind, ReviewReason, ReviewReasonKind, SubjectRef, Visibility,
};

use crate::service::challenge::WriteSource;
use crate::service::filter::FilteredText;
use crate::service::{ServiceError, ServiceResult};
use crate::state::AppState;

/// A write with a text to refuse.
pub(super) struct RefusedWrite<'w> {
    pub(super) author: Author,
    pub(super) subject: &'w SubjectKey,
    pub(super) target: RefusedTarget<'w>,
}

/// What the text was to be.
pub(super) enum RefusedTarget<'w> {
    Post(&'w NewComment),
    Edit { id: CommentId, content: String },
}

/// Passes on what the filter has made of a text.
///
/// # Errors
/// The filter's; [`ServiceError::VersionConflict`] for a text that the edge alone refuses: it is not written.
pub(super) fn pass(source: &WriteSource, filtered: ServiceResult<FilteredText>) -> ServiceResult<FilteredText> {
    let filtered = filtered?;
    if source.is_refused {
        let detail = "nothing here refuses this text; as X-Gailou-Refused asks, it is not written";
        return Err(ServiceError::VersionConflict(detail));
    }
    Ok(filtered)
}

/// Passes on the answer to a write. A text that it refuses is kept; `write` describes it.
pub(super) fn keep_refused<'w, T>(
    app: &AppState,
    answer: ServiceResult<T>,
    write: impl FnOnce() -> RefusedWrite<'w>,
) -> ServiceResult<T> {
    if let Err(ServiceError::ContentRejected(categories)) = &answer {
        keep(app, write(), categories);
    }
    answer
}

fn keep(app: &AppState, write: RefusedWrite<'_>, categories: &[String]) {
    let at = app.now();
    // Without a node number the text is not kept: that is best-effort.
    let Some(id) = app.ids.next(write.subject.slot(), at) else { return };
    let reason = |category: &String| ReviewReason { kind: ReviewReasonKind::Word, detail: category.clone(), count: 1 };
    let text = RefusedText {
        id: id.into(),
        at,
        kind: RefusedTextKind::Edit,
        subject: SubjectRef::from(write.subject),
        parent_id: None,
        comment_id: None,
        author: write.author,
        content: String::new(),
        why: categories.iter().map(reason).collect(),
        mentions: vec![],
        visibility: Visibility::Everyone,
    };
    app.refused_texts.push(match write.target {
        RefusedTarget::Post(new) => RefusedText {
            kind: RefusedTextKind::Post,
            parent_id: new.parent_id,
            content: new.content.clone(),
            mentions: new.mentions.clone(),
            visibility: new.visibility,
            ..text
        },
        RefusedTarget::Edit { id, content } => RefusedText { comment_id: Some(id), content, ..text },
    });
}
