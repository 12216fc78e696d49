//! What happened on a subject after a version, as readers who watch it get it.
//!
//! Promise: nothing is left out. Where a revision stays missing, the answer is `reset`: the reader
//! loads again what is shown.

use std::time::Duration;

use gailou_shared::id::SubjectKey;
use gailou_shared::wire::{CommentLocation, LiveEvent, LiveEventKind, LiveEventPage, RemovedComment, SubjectState};
use tokio::time::{Instant, sleep};

use crate::ports::revisions::{RevisionEvent, follow_chain};
use crate::service::{ServiceResult, subject};
use crate::state::AppState;

/// Events in one answer; a few more where the last commit had several.
const MAX_EVENTS: usize = 100;
/// How far a reader's version may be ahead of the row that is read here: commits of the time in which a row may
/// be served from a cache.
const MAX_VERSIONS_AHEAD: u64 = 1_000;
/// How long a missing revision may be on its way.
const MISSING_REVISION_TIMEOUT: Duration = Duration::from_secs(1);
/// How often a missing revision is looked up meanwhile.
const MISSING_REVISION_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What happened after the version `after`; without it, nothing but the version of now.
///
/// # Errors
/// The store's, or the revisions'.
pub async fn read_events_since(app: &AppState, key: &SubjectKey, after: Option<u64>) -> ServiceResult<LiveEventPage> {
    let deadline = Instant::now() + MISSING_REVISION_TIMEOUT;
    loop {
        // The row is read before the revisions: of every commit it shows, the revision exists or is late.
        let row = subject::read_row(app, key).await?;
        let from = after.unwrap_or(row.version);
        if row.state == SubjectState::Hidden {
            return Ok(LiveEventPage { version: row.version, reset: from != row.version, events: vec![] });
        }
        if from > row.version + MAX_VERSIONS_AHEAD {
            // No page and no server can know that many commits before this one reads any of them.
            return Ok(LiveEventPage { version: row.version, reset: true, events: vec![] });
        }
        let revisions = app.revisions.since(key, from).await?;
        let (end, found) = follow_chain(from, &revisions, MAX_EVENTS);
        let is_late = Instant::now() >= deadline;
        if end > from && (row.version >= end || is_late) {
            let mut events: Vec<_> = found.iter().map(|(id, event)| LiveEvent { id: *id, kind: wire(event) }).collect();
            if !events.is_empty() {
                let counts = subject::counts_of(&row);
                events.push(LiveEvent { id: end, kind: LiveEventKind::Counts(counts) });
            }
            return Ok(LiveEventPage { version: end, reset: false, events });
        }
        if end == from && revisions.is_empty() && row.version == from {
            return Ok(LiveEventPage { version: from, reset: false, events: vec![] });
        }
        if end == from && is_late {
            return Ok(LiveEventPage { version: row.version, reset: true, events: vec![] });
        }
        sleep(MISSING_REVISION_POLL_INTERVAL).await;
    }
}

fn wire(event: &RevisionEvent) -> LiveEventKind {
    match *event {
        RevisionEvent::Comment { id, root, parent } => {
            LiveEventKind::Comment(CommentLocation { id, root_id: root, parent_id: parent })
        }
        RevisionEvent::Removed { id } => LiveEventKind::Removed(RemovedComment { id }),
    }
}
