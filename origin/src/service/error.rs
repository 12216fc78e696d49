//! Why a service refuses. No HTTP here: [`crate::http`] gives every refusal its code and status.
//!
//! The text of a variant is for the reader. The ports' own errors are for the log: their texts are
//! never sent.

use std::borrow::Cow;

use gailou_shared::wire::{Challenge, FieldError};

use crate::clock::rfc3339;
use crate::domain::picture::PictureError;
use crate::ports::blobs::BlobError;
use crate::ports::journal::JournalError;
use crate::ports::rate_limits::RateLimited;
use crate::ports::revisions::RevisionsError;
use crate::ports::search_index::SearchError;
use crate::ports::store::StoreError;
use crate::state::admission::NotAdmitted;

/// What a service answers.
pub type ServiceResult<T> = Result<T, ServiceError>;

/// A refusal.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error("there is no such subject type here")]
    UnknownSubjectType,
    #[error("there is no such comment")]
    CommentNotFound,
    #[error("{0}")]
    NotFound(&'static str),
    /// Something has changed that the request expects as it was.
    #[error("{0}")]
    VersionConflict(&'static str),
    #[error("the comment to answer does not exist, is deleted, or belongs to another subject")]
    ParentNotFound,
    /// Fields that are wrong by the rules of this installation.
    #[error("{}", wrong_fields(.0))]
    WrongFields(Vec<FieldError>),
    /// A cursor that is genuine and does not fit here.
    #[error("{0}")]
    BadCursor(&'static str),
    #[error("this walk is over; begin again at the first page")]
    CursorExpired,
    #[error("{0}")]
    Forbidden(&'static str),
    /// The member may not write until this moment, in Unix milliseconds.
    #[error("you may not write here until {}", rfc3339(*.0))]
    Muted(u64),
    #[error("{0}")]
    GuestsNotAllowed(&'static str),
    /// A guest answers this first.
    #[error("{reason}")]
    ChallengeRequired { reason: &'static str, challenge: Box<Challenge> },
    #[error("posting here needs level {0}")]
    LevelTooLow(u8),
    #[error("this subject takes no comments")]
    SubjectClosed,
    #[error("a comment can be edited for 15 minutes")]
    EditWindowOver,
    #[error("this comment was edited as often as a comment may be; delete it and write another")]
    TooManyEdits,
    /// The categories of the blocked words, never the words.
    #[error("the comment contains words that are not allowed here: {}", .0.join(", "))]
    ContentRejected(Vec<String>),
    /// Why a guest cannot have a name, and what to do.
    #[error("this name cannot be taken: it {0}")]
    NameRejected(&'static str),
    #[error("the description of the picture contains words that are not allowed here")]
    AltRejected,
    #[error("the file {0}")]
    Picture(#[from] PictureError),
    #[error("this Idempotency-Key was used for another request; use a new key")]
    IdempotencyMismatch,
    /// A site that is not among those that are allowed.
    #[error("this site is not allowed here: {0}")]
    SiteNotAllowed(String),
    /// A visit to a provider, or a link of a mail, that is used up, too old, or of another browser.
    #[error("this is over; sign in again")]
    VisitOver,
    /// A provider does not answer, or confirms nothing.
    #[error("the provider has not confirmed who you are")]
    Provider,
    /// A refresh token that is none, or of what has ended.
    #[error("you are signed in no more; sign in again")]
    SignInAgain,
    /// A passkey that is none of this installation's, or an answer to no challenge that is open.
    #[error("this passkey does not sign in here, or it took too long; try again, or sign in in another way")]
    PasskeyRefused,
    #[error(transparent)]
    RateLimited(#[from] RateLimited),
    #[error(transparent)]
    NotAdmitted(#[from] NotAdmitted),
    /// This process has no node number, so it cannot make ids.
    #[error("no lease of a node number")]
    NoNodeNumber,
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Revisions(#[from] RevisionsError),
    #[error(transparent)]
    Search(#[from] SearchError),
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// A bug. The text is for the log.
    #[error("{0}")]
    Bug(String),
}

impl ServiceError {
    /// One wrong field.
    pub(crate) fn wrong_field(field: impl Into<Cow<'static, str>>, detail: impl Into<Cow<'static, str>>) -> Self {
        Self::WrongFields(vec![FieldError::new(field, detail)])
    }
}

/// A sentence that names wrong fields.
pub(crate) fn wrong_fields(errors: &[FieldError]) -> String {
    let names: Vec<_> = errors.iter().map(|error| error.field.as_ref()).collect();
    let these = if names.len() == 1 { "this field is wrong" } else { "these fields are wrong" };
    format!("{these}: {}", names.join(", "))
}
