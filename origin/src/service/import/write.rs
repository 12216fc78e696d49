//! Writes imported comments: appends their rows to the journal in order.
//!
//! Promise: operations are appended in exactly the order given, about a thousand of them in flight,
//! and a full journal delays the import. An error of one comment is reported for its line alone.

use std::collections::{HashMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use gailou_shared::id::CommentId;
use gailou_shared::wire::{CommentState, MemberRef, Visibility};

use crate::domain::markdown;
use crate::domain::operation::{Operation, OperationOutcome};
use crate::domain::row::{ImportedFrom, NewCommentRow};
use crate::ports::journal::{Journal, JournalError};
use crate::service::import::parents::{ImportEntry, SourceKey, StoredParent, ThreadPosition, write_order};
use crate::service::import::{ImportObserver, ImportReport, PreparedPart, Result, stored};
use crate::state::AppState;

/// Operations in flight: as many as one group commit has.
const MAX_PENDING_APPENDS: usize = 1_000;
/// How long the import waits before it appends to a full journal again.
pub(super) const FULL_JOURNAL_PAUSE: Duration = Duration::from_millis(20);

/// Writes every entry of a part that has a position. `total`: the lines of the whole import.
pub(super) async fn write_entries(
    app: &AppState,
    part: PreparedPart,
    total: u64,
    report: &mut ImportReport,
    observer: &mut dyn ImportObserver,
) -> Result<()> {
    let PreparedPart { entries, positions, stored } = part;
    let order = write_order(&entries, &positions);
    let authors = parent_authors(app, &entries, &positions, &stored).await?;
    let mut items: Vec<_> = entries.into_iter().zip(positions).map(Some).collect();
    let mut pipeline =
        AppendPipeline { journal: &*app.journal, in_flight: VecDeque::with_capacity(MAX_PENDING_APPENDS) };
    for (written, i) in order.into_iter().enumerate() {
        if written % MAX_PENDING_APPENDS == 0 {
            observer.progress(report.done(), total).await?;
        }
        let Some((entry, Ok(position))) = items[i].take() else { continue };
        if let Some((line, outcome)) = pipeline.append(entry, position, &authors).await? {
            record_outcome(line, outcome, report, observer).await?;
        }
    }
    while let Some((line, outcome)) = pipeline.next_outcome().await {
        record_outcome(line, outcome, report, observer).await?;
    }
    Ok(())
}

/// The authors of all comments that are replied to.
async fn parent_authors(
    app: &AppState,
    entries: &[ImportEntry],
    positions: &[std::result::Result<ThreadPosition, String>],
    stored: &HashMap<SourceKey, StoredParent>,
) -> Result<HashMap<CommentId, MemberRef>> {
    let of_stored = stored.values().map(|s| (s.path.id(), s.author.clone()));
    let of_entry = |e: &ImportEntry| (e.id, MemberRef { id: e.line.author.id, name: e.line.author.name.clone() });
    let mut authors: HashMap<CommentId, MemberRef> = of_stored.chain(entries.iter().map(of_entry)).collect();
    // A chain that is too deep is cut back to an ancestor that may be in no line.
    let mut missing: Vec<CommentId> = positions.iter().flatten().filter_map(|p| p.parent).collect();
    missing.retain(|id| !authors.contains_key(id));
    missing.sort_unstable();
    missing.dedup();
    authors.extend(stored::read_authors(&*app.store, &missing).await?);
    Ok(authors)
}

/// The line of an appended comment.
#[derive(Debug, Clone, Copy)]
struct AppendedLine {
    number: usize,
    reparented: bool,
}

type AppendResult = std::result::Result<OperationOutcome, JournalError>;
type PendingAppend<'a> = Pin<Box<dyn Future<Output = AppendResult> + Send + 'a>>;

async fn record_outcome(
    line: AppendedLine,
    outcome: AppendResult,
    report: &mut ImportReport,
    observer: &mut dyn ImportObserver,
) -> Result<()> {
    match outcome {
        Ok(OperationOutcome::Present { .. }) => report.skipped += 1,
        Ok(_) => {
            report.imported += 1;
            report.reparented += u64::from(line.reparented);
        }
        Err(JournalError::Store(error)) => {
            report.add_bad_line(line.number, &format!("cannot be stored: {error}"), observer).await?;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// Appends whose outcome is not recorded yet, oldest first.
struct AppendPipeline<'a> {
    journal: &'a dyn Journal,
    in_flight: VecDeque<(AppendedLine, AppendState<'a>)>,
}

enum AppendState<'a> {
    Pending(PendingAppend<'a>),
    Done(AppendResult),
}

impl AppendPipeline<'_> {
    /// Appends a row. Returns the oldest outcome when enough appends are in flight.
    async fn append(
        &mut self,
        entry: ImportEntry,
        position: ThreadPosition,
        authors: &HashMap<CommentId, MemberRef>,
    ) -> Result<Option<(AppendedLine, AppendResult)>> {
        let oldest = if self.in_flight.len() >= MAX_PENDING_APPENDS { self.next_outcome().await } else { None };
        let line = AppendedLine { number: entry.number, reparented: position.reparented };
        let row = new_row(entry, position, authors);
        loop {
            let mut append = self.journal.append(Operation::Publish(Box::new(row.clone())));
            // The first poll puts the operation into the journal's queue, before all later ones.
            let state = match poll_fn(|context| Poll::Ready(append.as_mut().poll(context))).await {
                Poll::Ready(Err(JournalError::Full)) => {
                    tokio::time::sleep(FULL_JOURNAL_PAUSE).await;
                    continue;
                }
                Poll::Ready(outcome) => AppendState::Done(outcome),
                Poll::Pending => AppendState::Pending(append),
            };
            self.in_flight.push_back((line, state));
            return Ok(oldest);
        }
    }

    /// Waits for the oldest append.
    async fn next_outcome(&mut self) -> Option<(AppendedLine, AppendResult)> {
        let (line, state) = self.in_flight.pop_front()?;
        let outcome = match state {
            AppendState::Pending(append) => append.await,
            AppendState::Done(outcome) => outcome,
        };
        Some((line, outcome))
    }
}

fn new_row(entry: ImportEntry, position: ThreadPosition, authors: &HashMap<CommentId, MemberRef>) -> NewCommentRow {
    let ImportEntry { line, .. } = entry;
    NewCommentRow {
        reply_to: position.parent.and_then(|id| authors.get(&id).cloned()),
        path: position.path,
        parent_id: position.parent,
        state: if line.deleted { CommentState::Deleted } else { CommentState::Published },
        visibility: Visibility::Everyone,
        created_at: line.created_at,
        html: markdown::html(&line.content),
        content: line.content,
        original_text: None,
        mentions: Vec::new(),
        media: Vec::new(),
        reasons: Vec::new(),
        idempotency: None,
        imported: Some(ImportedFrom {
            source: line.id,
            likes: line.likes,
            dislikes: line.dislikes,
            edited_at: line.edited_at,
            pinned: line.pinned,
        }),
        author: line.author,
        subject: line.subject,
        network: None,
    }
}
