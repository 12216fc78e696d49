//! Writes imported comments: appends their rows to the journal in order.
//!
//! Promise: operations are appended in exactly the order given, about a thousand of them in flight,
//! and a full journal delays the import. An error of one comment is reported for its line alone.

use std::collections::{HashMap, HashSet, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use gailou_shared::id::CommentId;
use gailou_shared::path::Path;
use gailou_shared::wire::{CommentState, MemberRef, ReviewReason, ReviewReasonKind, Visibility};

use crate::domain::import_line::ImportLine;
use crate::domain::markdown;
use crate::domain::operation::{Operation, OperationOutcome};
use crate::domain::row::{ImportedFrom, NewCommentRow};
use crate::ports::journal::{Journal, JournalError};
use crate::service::import::parents::ParentNode;
use crate::service::import::pictures::{LINES_PER_FETCH, PictureFetcher};
use crate::service::import::prepared::PreparedPart;
use crate::service::import::{FULL_JOURNAL_PAUSE, ImportObserver, ImportReport, Result, stored};
use crate::state::AppState;

/// Operations in flight: as many as one group commit has.
const MAX_PENDING_APPENDS: usize = 1_000;
/// What moderators read as the reason of a comment that waited where it comes from.
const HELD_RULE: &str = "import";

/// Writes every line of a part that has a position, with its pictures where they are fetched. `total`: the lines of the
/// whole import.
pub(super) async fn write_part(
    app: &AppState,
    part: &PreparedPart,
    total: u64,
    mut pictures: Option<&mut PictureFetcher>,
    report: &mut ImportReport,
    observer: &mut dyn ImportObserver,
) -> Result<()> {
    let batch_lines = if pictures.is_some() { LINES_PER_FETCH } else { MAX_PENDING_APPENDS };
    let mut pipeline =
        AppendPipeline { journal: &*app.journal, in_flight: VecDeque::with_capacity(MAX_PENDING_APPENDS) };
    for batch in part.order.chunks(batch_lines) {
        observer.progress(report.done(), total).await?;
        let mut lines = part.comments.read_comments(batch).await?;
        let authors = parent_authors(app, part, batch, &lines).await?;
        let (mut media, former) = (Vec::new(), *report);
        if let Some(pictures) = &mut pictures {
            let ids: Vec<CommentId> = batch.iter().map(|index| part.ids[*index as usize]).collect();
            media = pictures.fetch(app, &mut lines, &ids, report, observer).await?;
        }
        let media = media.into_iter().chain(std::iter::repeat_with(Vec::new));
        for ((index, line), media) in batch.iter().zip(lines).zip(media) {
            let position = &part.positions[*index as usize];
            let number = part.comments.lines[*index as usize].number;
            let appended = AppendedLine { number, reparented: position.reparented };
            let reply_to = position.parent.and_then(|parent| authors.get(&parent).cloned());
            let parent = position.parent.map(|parent| part.id_of(parent));
            let row = NewCommentRow { media, ..new_row(line, part.path_of(*index), parent, reply_to) };
            if let Some((line, outcome)) = pipeline.append(appended, &row).await? {
                record_outcome(line, outcome, report, observer).await?;
            }
        }
        if (report.pictures, report.pictures_failed) != (former.pictures, former.pictures_failed) {
            // The next pictures take their time: what is done is said before.
            pipeline.finish(report, observer).await?;
        }
    }
    pipeline.finish(report, observer).await
}

/// The authors of all comments that some lines reply to.
async fn parent_authors(
    app: &AppState,
    part: &PreparedPart,
    batch: &[u32],
    lines: &[ImportLine],
) -> Result<HashMap<ParentNode, MemberRef>> {
    let author = |line: &ImportLine| MemberRef { id: line.author.id, name: line.author.name.clone() };
    let of_batch: HashMap<u32, &ImportLine> = batch.iter().copied().zip(lines).collect();
    let parents = batch.iter().filter_map(|index| part.positions[*index as usize].parent);
    let parents: HashSet<ParentNode> = parents.collect();
    let mut authors = HashMap::with_capacity(parents.len());
    let (mut elsewhere, mut stored) = (Vec::new(), Vec::new());
    for parent in parents {
        match parent {
            ParentNode::Line(index) => match of_batch.get(&index) {
                Some(line) => _ = authors.insert(parent, author(line)),
                None => elsewhere.push(index),
            },
            ParentNode::Stored(_) => stored.push(parent),
        }
    }
    elsewhere.sort_unstable();
    let read = part.comments.read_comments(&elsewhere).await?;
    authors.extend(elsewhere.iter().zip(&read).map(|(index, line)| (ParentNode::Line(*index), author(line))));
    let ids: Vec<CommentId> = stored.iter().map(|parent| part.id_of(*parent)).collect();
    let of_stored = stored::read_authors(&*app.store, &ids).await?;
    authors.extend(stored.iter().zip(&ids).filter_map(|(parent, id)| Some((*parent, of_stored.get(id)?.clone()))));
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
        line: AppendedLine,
        row: &NewCommentRow,
    ) -> Result<Option<(AppendedLine, AppendResult)>> {
        let oldest = if self.in_flight.len() >= MAX_PENDING_APPENDS { self.next_outcome().await } else { None };
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

    /// Waits for all appends.
    async fn finish(&mut self, report: &mut ImportReport, observer: &mut dyn ImportObserver) -> Result<()> {
        while let Some((line, outcome)) = self.next_outcome().await {
            record_outcome(line, outcome, report, observer).await?;
        }
        Ok(())
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

/// Why a comment waits that waited where it comes from.
fn reason_of_held() -> ReviewReason {
    ReviewReason { kind: ReviewReasonKind::Rule, detail: HELD_RULE.into(), count: 1 }
}

fn new_row(line: ImportLine, path: Path, parent_id: Option<CommentId>, reply_to: Option<MemberRef>) -> NewCommentRow {
    let is_held = line.held && !line.deleted;
    NewCommentRow {
        reply_to,
        path,
        parent_id,
        state: match (line.deleted, line.held) {
            (true, _) => CommentState::Deleted,
            (false, true) => CommentState::Review,
            (false, false) => CommentState::Published,
        },
        visibility: Visibility::Everyone,
        created_at: line.created_at,
        html: markdown::html(&line.content),
        content: line.content,
        original_text: None,
        mentions: Vec::new(),
        media: Vec::new(),
        reasons: if is_held { vec![reason_of_held()] } else { Vec::new() },
        idempotency: None,
        imported: Some(ImportedFrom {
            source: line.id,
            likes: line.likes,
            dislikes: line.dislikes,
            edited_at: line.edited_at,
            pinned: line.pinned && !is_held,
        }),
        author: line.author,
        subject: line.subject,
        network: None,
    }
}
