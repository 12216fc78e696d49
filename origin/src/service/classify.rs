//! The external classifier: about which texts it is asked, and what becomes of its answers.
//!
//! Promise: it refuses nothing. What it suspects waits for a moderator; what it does not answer does what
//! `rules.unclassified` says. It is not asked about moderators, nor about a text that waits anyway.

use gailou_shared::id::{MemberKind, SubjectKey};
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::{CommentState, ReviewReason, ReviewReasonKind};
use metrics::counter;

use crate::config::{ClassifiedAuthors, UnclassifiedRule};
use crate::ports::classifier::{SpamVerdict, TextToClassify};
use crate::service::challenge::WriteSource;
use crate::service::filter::FilteredText;
use crate::service::{ServiceResult, subject};
use crate::state::admission::AdmissionPlace;
use crate::state::{AppState, CLASSIFIED_COUNT};

/// Why a text waits that was not answered.
const UNANSWERED_LABEL: &str = "unanswered";

/// A text with where it comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrittenText<'a> {
    pub(super) author: &'a Member,
    pub(super) source: &'a WriteSource,
    pub(super) subject: &'a SubjectKey,
    pub(super) is_reply: bool,
    pub(super) is_edit: bool,
}

/// Whether the classifier is asked about a text of this author.
pub(super) fn is_asked(app: &AppState, author: &Member, text: &FilteredText) -> bool {
    let is_of_asked_author = match app.settings().values.rules.classified {
        ClassifiedAuthors::None => false,
        ClassifiedAuthors::Guests => author.id.kind() == MemberKind::Guest,
        ClassifiedAuthors::Everyone => true,
    };
    let is_free = author.role >= Role::Moderator || text.state == CommentState::Review;
    is_of_asked_author && !is_free && app.classifier.is_some()
}

/// Holds a text that the classifier suspects. The place is given back while it is asked, which may take seconds.
///
/// # Errors
/// The store's, or those of the admission.
pub(super) async fn apply<'a>(
    app: &'a AppState,
    place: AdmissionPlace<'a>,
    written: WrittenText<'_>,
    text: &mut FilteredText,
) -> ServiceResult<AdmissionPlace<'a>> {
    let Some(classifier) = app.classifier.as_ref().filter(|_| is_asked(app, written.author, text)) else {
        return Ok(place);
    };
    let asked = TextToClassify {
        content: text.original_text.as_ref().unwrap_or(&text.content).clone(),
        author: written.author.id,
        author_name: written.author.name.clone(),
        is_guest: written.author.id.kind() == MemberKind::Guest,
        subject: written.subject.clone(),
        page: subject::read_row(app, written.subject).await?.url,
        is_reply: written.is_reply,
        is_edit: written.is_edit,
        network: written.source.network,
        user_agent: written.source.user_agent.clone(),
    };
    drop(place);
    let (outcome, held_for) = match classifier.classify(&asked).await {
        Ok(SpamVerdict::Ham) => ("ham", vec![]),
        Ok(SpamVerdict::Spam(labels)) => ("spam", labels),
        // The adapter logs it.
        Err(_) => match app.settings().values.rules.unclassified {
            UnclassifiedRule::Allow => ("unanswered", vec![]),
            UnclassifiedRule::Review => ("unanswered", vec![UNANSWERED_LABEL.into()]),
        },
    };
    counter!(CLASSIFIED_COUNT, "outcome" => outcome).increment(1);
    if !held_for.is_empty() {
        text.state = CommentState::Review;
    }
    let reason = |detail| ReviewReason { kind: ReviewReasonKind::Classifier, detail, count: 1 };
    text.reasons.extend(held_for.into_iter().map(reason));
    Ok(app.writes.admit().await?)
}
