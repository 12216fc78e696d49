//! Reacting: appended first, then folded into the counters for the answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gailou_shared::id::{CommentId, MemberId, SLOT_COUNT};
use tokio::time::{Instant, sleep_until};

use crate::cluster::journal::{ClusterJournal, PATIENCE};
use crate::domain::operation::{LoggedOperation, OperationOutcome, ReactionChange};
use crate::domain::reaction_state::ReactionState;
use crate::ports::broker::Topic;
use crate::ports::counters::{CountersError, Fold, Folded};
use crate::ports::journal::JournalError;
use crate::ports::store::{CommentReader, StoreError};

/// How long it is believed whether a comment can be seen.
const FACES: Duration = Duration::from_millis(250);
/// Comments of which it is known: about 100 bytes each.
const FACES_KEPT: u64 = 10_000;
/// How often the rows are asked whether they have a reaction that the counters do not answer for.
const POLL: Duration = Duration::from_millis(100);
/// Fresh standings for one fold, at most.
const AGAIN: u32 = 3;

/// Whether comments can be seen, for a moment.
#[derive(Debug)]
pub(super) struct VisibilityCache {
    store: Arc<dyn CommentReader>,
    seen: moka::future::Cache<CommentId, bool>,
    /// Changes in each slot so far: what was asked for before one is not remembered after it.
    changes: Box<[AtomicU64]>,
}

impl VisibilityCache {
    pub(super) fn new(store: Arc<dyn CommentReader>) -> Self {
        let seen = moka::future::Cache::builder().max_capacity(FACES_KEPT).time_to_live(FACES).build();
        Self { store, seen, changes: (0..SLOT_COUNT).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Whether every reader may see it, as rows, caches and what is pending say. One question however
    /// many ask.
    pub(super) async fn visible(&self, id: CommentId) -> Result<bool, StoreError> {
        let look = async {
            let rows = self.store.read_comments(&[id]).await?;
            Ok(rows.get(&id).is_some_and(crate::domain::row::CommentRow::visible))
        };
        self.seen.try_get_with(id, look).await.map_err(|error: Arc<StoreError>| (*error).clone())
    }

    /// The same, if it is remembered.
    pub(super) async fn known(&self, id: CommentId) -> Option<bool> {
        self.seen.get(&id).await
    }

    fn changes(&self, id: CommentId) -> &AtomicU64 {
        &self.changes[usize::from(id.slot().get())]
    }

    fn mark(&self, id: CommentId) -> u64 {
        self.changes(id).load(Ordering::SeqCst)
    }

    /// Remembers what was asked for at this mark.
    async fn note(&self, id: CommentId, visible: bool, mark: u64) {
        self.seen.insert(id, visible).await;
        if self.mark(id) != mark {
            self.seen.invalidate(&id).await;
        }
    }

    pub(super) async fn forget(&self, id: CommentId) {
        self.changes(id).fetch_add(1, Ordering::SeqCst);
        self.seen.invalidate(&id).await;
    }
}

impl ClusterJournal {
    pub(super) async fn react(
        &self,
        id: CommentId,
        member: MemberId,
        react: ReactionChange,
        stamped: LoggedOperation,
    ) -> Result<OperationOutcome, JournalError> {
        let (version, standing) = match self.faces.known(id).await {
            Some(false) => return Ok(OperationOutcome::NoComment),
            Some(true) => {
                // Refused before anything is appended, when too many wait.
                let standing = self.standings.ask((id, member))?;
                let (version, standing) = tokio::join!(self.put(Topic::Reactions, id.slot(), &stamped), standing);
                (version?, standing)
            }
            None => {
                let (visible, standing) = self.seen(id, member).await?;
                if !visible {
                    return Ok(OperationOutcome::NoComment);
                }
                (self.put(Topic::Reactions, id.slot(), &stamped).await?, standing)
            }
        };
        let fold = Fold { id, member, react, version, standing: standing.map_err(unknown)? };
        let Folded { likes, dislikes, reaction } = self.fold(fold).await?;
        Ok(OperationOutcome::Reacted { likes, dislikes, reaction })
    }

    /// Whether the comment can be seen, of which nobody asked lately, and the pair's standing: a row
    /// says both at once. Without a row, or while the tables do not answer, it is looked for elsewhere.
    async fn seen(
        &self,
        id: CommentId,
        member: MemberId,
    ) -> Result<(bool, Result<ReactionState, StoreError>), JournalError> {
        let mark = self.faces.mark(id);
        let standing = self.standings.ask((id, member))?.await;
        let visible = match standing.as_ref().ok().and_then(|standing| standing.visible) {
            Some(visible) => {
                self.faces.note(id, visible, mark).await;
                visible
            }
            None => self.faces.visible(id).await?,
        };
        Ok((visible, standing))
    }

    /// Folds what is in the log already: from here on nothing is refused, only unknown.
    async fn fold(&self, mut fold: Fold) -> Result<Folded, JournalError> {
        let until = Instant::now() + PATIENCE;
        let mut opened = false;
        for _ in 0..AGAIN {
            match self.counters.fold(fold.clone()).await {
                Ok(folded) => return Ok(folded),
                Err(CountersError::Behind) => {}
                Err(CountersError::Lost) if !opened => {
                    opened = true;
                    if let Err(error) = self.opener.open(&[fold.id.slot()]).await {
                        tracing::warn!(%error, "the counters cannot be opened");
                        return self.answer_by_rows(&fold, until).await;
                    }
                }
                Err(CountersError::Lost) => return Err(unknown(CountersError::Lost)),
                Err(error @ CountersError::Unavailable(_)) => {
                    tracing::warn!(%error, "a reaction is answered from its row");
                    return self.answer_by_rows(&fold, until).await;
                }
            }
            fold.standing = self.standings.ask((fold.id, fold.member)).map_err(unknown)?.await.map_err(unknown)?;
        }
        Err(unknown(CountersError::Behind))
    }

    /// Waits until the rows hold an operation, and answers as they do.
    async fn answer_by_rows(&self, fold: &Fold, until: Instant) -> Result<Folded, JournalError> {
        loop {
            let next = Instant::now() + POLL;
            let pair = (fold.id, fold.member);
            let ReactionState { position, likes, dislikes, reaction, .. } =
                self.standings.ask(pair).map_err(unknown)?.await.map_err(unknown)?;
            if position > fold.version {
                return Ok(Folded { likes, dislikes, reaction });
            }
            if next > until {
                return Err(unknown("it is in the log and not in the rows yet"));
            }
            sleep_until(next).await;
        }
    }
}

fn unknown(reason: impl std::fmt::Display) -> JournalError {
    JournalError::Unknown(reason.to_string())
}
