//! The port to the revisions of subjects, which live updates follow.
//!
//! Each commit that changes a subject appends one revision: the step from the subject's version
//! before it to the one after. Revisions form a chain. Promise: a reader that follows the chain to
//! its end has missed nothing. A reader stops at a missing revision (its process died before it
//! appended it, or it is too old) and must load the page again; it never skips the gap.
//!
//! Events name comments and contain nothing of their texts.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, SubjectKey};
use serde::{Deserialize, Serialize};

use crate::domain::operation::{ChangedSubject, PersistedBatch, TouchedComment};
use crate::ports::failure::Failure;

/// Revisions kept of a subject: at ten comments a second, those of the last 50 s.
pub const MAX_REVISIONS_KEPT: usize = 500;
/// Events in one revision. A commit with more (an import) appends no revision, which is a gap.
pub(crate) const MAX_EVENTS_PER_REVISION: usize = 100;

/// The revisions could not be reached. Whether an append was applied is not known.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the revisions cannot be reached: {0}")]
pub struct RevisionsError(pub Failure);

/// What readers see of a commit. The names are part of the stored format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RevisionEvent {
    /// A comment became visible, or its visible content changed.
    Comment {
        id: CommentId,
        root: CommentId,
        /// `None` also if only the tables know it.
        parent: Option<CommentId>,
    },
    /// A comment is no longer visible, or only as a tombstone.
    Removed { id: CommentId },
}

/// What one commit did to a subject. The names are part of the stored format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    /// The subject's version after the commit; before it, the version was one less.
    pub version: u64,
    /// Empty if only counts changed.
    pub events: Vec<RevisionEvent>,
}

/// The revisions of all subjects.
#[async_trait]
pub trait Revisions: Send + Sync + std::fmt::Debug {
    /// Appends revisions. Two of the same version belong together.
    async fn append(&self, revisions: &[(SubjectKey, Revision)]) -> Result<(), RevisionsError>;
    /// The first [`MAX_REVISIONS_KEPT`] revisions of a subject after a version, in order. Some may be
    /// missing.
    async fn since(&self, subject: &SubjectKey, version: u64) -> Result<Vec<Revision>, RevisionsError>;
}

/// The revisions that a batch makes, one a subject.
pub fn revisions_of(persisted: &PersistedBatch) -> Vec<(SubjectKey, Revision)> {
    let mut events: HashMap<&SubjectKey, Vec<RevisionEvent>> = HashMap::new();
    for touched in &persisted.touched {
        events.entry(&touched.subject).or_default().extend(event_of(touched));
    }
    let revisions = persisted.changed.iter().filter_map(|ChangedSubject { subject, version, .. }| {
        let events = events.remove(subject).unwrap_or_default();
        (events.len() <= MAX_EVENTS_PER_REVISION).then(|| (subject.clone(), Revision { version: *version, events }))
    });
    revisions.collect()
}

/// What readers see of a comment's change.
pub(crate) fn event_of(touched: &TouchedComment) -> Option<RevisionEvent> {
    let TouchedComment { id, root, parent, visible, was_listed, listed, takedown, .. } = *touched;
    match visible {
        true if takedown || !was_listed => Some(RevisionEvent::Comment { id, root, parent }),
        false if takedown || (was_listed && !listed) => Some(RevisionEvent::Removed { id }),
        _ => None,
    }
}

/// Follows the chain from a version up to its first gap. Returns the version it ends at and the
/// events on the way, each with its version. It also ends after the revision that brings the number
/// of events to `max` or above: a revision is never cut.
pub fn follow_chain(from: u64, revisions: &[Revision], max: usize) -> (u64, Vec<(u64, RevisionEvent)>) {
    let (mut at, mut events) = (from, Vec::new());
    for revision in revisions.iter().filter(|revision| revision.version > from) {
        if revision.version > at + 1 || (revision.version > at && events.len() >= max) {
            break;
        }
        at = revision.version;
        for event in revision.events.iter().map(|event| (at, *event)) {
            if !events.contains(&event) {
                events.push(event);
            }
        }
    }
    (at, events)
}
