//! The writing part of an import: rows in their order into the journal.
//!
//! Promise: events are appended in exactly the order given, about a thousand of them in flight, and
//! a full journal is waited for; what one comment fails by is said of its line alone.

use std::collections::{HashMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use gailou_shared::id::CommentId;
use gailou_shared::wire::{CommentState, MemberRef, Visibility};

use crate::cli::import::place::{Entry, Name, Place, Stored, order};
use crate::cli::import::{Report, known};
use crate::cli::output::Console;
use crate::domain::operation::{Operation, OperationOutcome};
use crate::domain::row::{ImportedFrom, NewCommentRow};
use crate::ports::journal::{Journal, JournalError};
use crate::service::markdown;
use crate::state::AppState;

/// Events in flight: one group commit's worth.
const MAX_PENDING_APPENDS: usize = 1_000;
/// Between two attempts at a full journal.
const FULL_JOURNAL_PAUSE: Duration = Duration::from_millis(20);

/// Writes every entry that has a place.
pub(super) async fn all(
    app: &AppState,
    entries: Vec<Entry>,
    places: Vec<Result<Place, String>>,
    above: &HashMap<Name, Stored>,
    report: &mut Report,
    console: &mut dyn Console,
) -> anyhow::Result<()> {
    let order = order(&entries, &places);
    let authors = authors(app, &entries, &places, above).await?;
    let total = order.len() as u64;
    let mut items: Vec<_> = entries.into_iter().zip(places).map(Some).collect();
    let mut pipeline = Pipeline { journal: &*app.journal, flying: VecDeque::with_capacity(MAX_PENDING_APPENDS) };
    for (done, i) in order.into_iter().enumerate() {
        let Some((entry, Ok(place))) = items[i].take() else { continue };
        if let Some((tag, outcome)) = pipeline.push(entry, place, &authors).await? {
            settle(tag, outcome, report, console).await?;
        }
        if done % MAX_PENDING_APPENDS == 0 {
            console.progress(done as u64, total).await?;
        }
    }
    while let Some((tag, outcome)) = pipeline.land().await {
        settle(tag, outcome, report, console).await?;
    }
    console.progress(total, total).await?;
    Ok(())
}

/// The authors of all comments that are answered.
async fn authors(
    app: &AppState,
    entries: &[Entry],
    places: &[Result<Place, String>],
    above: &HashMap<Name, Stored>,
) -> anyhow::Result<HashMap<CommentId, MemberRef>> {
    let of_stored = above.values().map(|s| (s.path.id(), s.author.clone()));
    let of_entry = |e: &Entry| (e.id, MemberRef { id: e.line.author.id, name: e.line.author.name.clone() });
    let mut authors: HashMap<CommentId, MemberRef> = of_stored.chain(entries.iter().map(of_entry)).collect();
    // Ancestors that no line names: those that the deepest chains were cut back to.
    let mut missing: Vec<CommentId> = places.iter().flatten().filter_map(|p| p.parent).collect();
    missing.retain(|id| !authors.contains_key(id));
    missing.sort_unstable();
    missing.dedup();
    authors.extend(known::authors(&*app.store, &missing).await?);
    Ok(authors)
}

/// The line an event came from, and whether it was reparented.
type Tag = (usize, bool);
type Landed = (Tag, Result<OperationOutcome, JournalError>);

async fn settle(
    (number, reparented): Tag,
    outcome: Result<OperationOutcome, JournalError>,
    report: &mut Report,
    console: &mut dyn Console,
) -> anyhow::Result<()> {
    match outcome {
        Ok(OperationOutcome::Present { .. }) => report.skipped += 1,
        Ok(_) => {
            report.imported += 1;
            report.reparented += u64::from(reparented);
        }
        Err(JournalError::Store(error)) => report.bad(number, &format!("cannot be stored: {error}"), console).await?,
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

type Append<'a> = Pin<Box<dyn Future<Output = Result<OperationOutcome, JournalError>> + Send + 'a>>;

/// Appends whose outcome is not known yet, oldest first.
struct Pipeline<'a> {
    journal: &'a dyn Journal,
    flying: VecDeque<(Tag, Flight<'a>)>,
}

enum Flight<'a> {
    Up(Append<'a>),
    Down(Result<OperationOutcome, JournalError>),
}

impl Pipeline<'_> {
    /// Appends a row; the oldest outcome when there are enough in flight.
    async fn push(
        &mut self,
        entry: Entry,
        place: Place,
        authors: &HashMap<CommentId, MemberRef>,
    ) -> anyhow::Result<Option<Landed>> {
        let oldest = if self.flying.len() >= MAX_PENDING_APPENDS { self.land().await } else { None };
        let tag = (entry.number, place.reparented);
        let row = row(entry, place, authors);
        loop {
            let mut append = self.journal.append(Operation::Publish(Box::new(row.clone())));
            // The first poll puts it into the queue: what is pushed later comes after it.
            let flight = match poll_fn(|context| Poll::Ready(append.as_mut().poll(context))).await {
                Poll::Ready(Err(JournalError::Full)) => {
                    tokio::time::sleep(FULL_JOURNAL_PAUSE).await;
                    continue;
                }
                Poll::Ready(outcome) => Flight::Down(outcome),
                Poll::Pending => Flight::Up(append),
            };
            self.flying.push_back((tag, flight));
            return Ok(oldest);
        }
    }

    /// The outcome of the oldest append.
    async fn land(&mut self) -> Option<Landed> {
        let (tag, flight) = self.flying.pop_front()?;
        let outcome = match flight {
            Flight::Up(append) => append.await,
            Flight::Down(outcome) => outcome,
        };
        Some((tag, outcome))
    }
}

fn row(entry: Entry, place: Place, authors: &HashMap<CommentId, MemberRef>) -> NewCommentRow {
    let Entry { line, .. } = entry;
    NewCommentRow {
        reply_to: place.parent.and_then(|id| authors.get(&id).cloned()),
        path: place.path,
        parent_id: place.parent,
        state: if line.deleted { CommentState::Deleted } else { CommentState::Published },
        visibility: Visibility::Everyone,
        created_at: line.created_at,
        html: markdown::html(&line.content),
        content: line.content,
        original_text: None,
        mentions: Vec::new(),
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
    }
}
