//! What happened on a subject lately, for readers who watch it.
//!
//! Each commit that changes a subject leaves one link, from the subject's version before it to the
//! one after; links form a chain, and a reader goes along it. Promise: who reaches the end of the
//! chain has missed nothing. Where a link is missing (its process died before it told, or it is too
//! long ago) nobody gets past: readers are told to begin anew, never to go on as if nothing were
//! missing.
//!
//! Events name comments and say nothing of what is in them.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, SubjectKey};
use serde::{Deserialize, Serialize};

use crate::domain::operation::{PersistedBatch, TouchedComment};

/// Links kept of a subject: at ten comments a second, the last minute of them.
pub const MAX_REVISIONS_KEPT: usize = 500;
/// Events told of one commit. One that did more (an import) is told as if it were not known.
pub(crate) const MAX_EVENTS_PER_REVISION: usize = 100;

/// The keeper of the links does not answer.
#[derive(Debug, Clone, thiserror::Error)]
#[error("what happened lately is not known: {0}")]
pub struct RevisionsError(pub String);

/// What readers are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RevisionEvent {
    /// There is a comment to be seen, or it reads differently now.
    Comment {
        id: CommentId,
        root: CommentId,
        /// `None` also where it is known to the tables alone.
        parent: Option<CommentId>,
    },
    /// A comment can be seen no more, or only that it was there.
    Removed { id: CommentId },
}

/// What one commit did to a subject. Its version before was one less.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    /// The subject's version after it.
    pub version: u64,
    /// None for what changes numbers alone.
    pub events: Vec<RevisionEvent>,
}

/// The links of all subjects.
#[async_trait]
pub trait Revisions: Send + Sync + std::fmt::Debug {
    /// Keeps links. Two of the same version belong together.
    async fn append(&self, links: &[(SubjectKey, Revision)]) -> Result<(), RevisionsError>;
    /// The links of a subject beyond a version, by version: the first [`KEPT`] of them. Some may be
    /// missing.
    async fn since(&self, subject: &SubjectKey, version: u64) -> Result<Vec<Revision>, RevisionsError>;
}

/// What a commit did, subject by subject.
pub fn revisions_of(persisted: &PersistedBatch) -> Vec<(SubjectKey, Revision)> {
    let mut events: HashMap<&SubjectKey, Vec<RevisionEvent>> = HashMap::new();
    for touched in &persisted.touched {
        events.entry(&touched.subject).or_default().extend(event(touched));
    }
    let links = persisted.changed.iter().filter_map(|(subject, version)| {
        let events = events.remove(subject).unwrap_or_default();
        (events.len() <= MAX_EVENTS_PER_REVISION).then(|| (subject.clone(), Revision { version: *version, events }))
    });
    links.collect()
}

pub(crate) fn event(touched: &TouchedComment) -> Option<RevisionEvent> {
    let TouchedComment { id, root, parent, visible, was_listed, listed, takedown, .. } = *touched;
    match visible {
        true if takedown || !was_listed => Some(RevisionEvent::Comment { id, root, parent }),
        false if takedown || (was_listed && !listed) => Some(RevisionEvent::Removed { id }),
        _ => None,
    }
}

/// The events on the way from a version to the end of the chain, each with its version, and where
/// that end is. After `most` events the way ends with the link they are in.
pub fn follow(from: u64, links: &[Revision], most: usize) -> (u64, Vec<(u64, RevisionEvent)>) {
    let (mut at, mut events) = (from, Vec::new());
    for link in links.iter().filter(|link| link.version > from) {
        if link.version > at + 1 || (link.version > at && events.len() >= most) {
            break;
        }
        at = link.version;
        for event in link.events.iter().map(|event| (at, *event)) {
            if !events.contains(&event) {
                events.push(event);
            }
        }
    }
    (at, events)
}
