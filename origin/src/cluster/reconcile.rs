//! Compares what a cluster answers with its rows.
//!
//! Writes may be in flight, so a difference is compared again. It counts only if it remains, and if the
//! pending reactions do not explain it.

use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::{CommentId, SubjectKey};
use tokio::time::sleep;

use crate::cluster::cached_store::CachedStore;
use crate::domain::row::{CommentList, CommentRow, FloorRange, ReactionCounts};
use crate::ports::cache::CacheChanges;
use crate::ports::counters::CounterViews;
use crate::ports::store::{CommentReader as _, Tables, ThreadReader as _};

/// Comments that are compared together.
const COMMENTS_PER_CHUNK: usize = 500;
/// How long to wait before a difference is compared again: longer than a batch of reactions waits.
const COMPARISON_INTERVAL: Duration = Duration::from_millis(1_500);
/// How often a difference is compared.
const MAX_COMPARISONS: usize = 3;
/// The newest floors of a list that are compared.
const FLOORS_COMPARED: usize = 1_000;

/// Compares answers with rows.
#[derive(Debug, Clone)]
pub struct AnswerCheck {
    pub tables: Arc<dyn Tables>,
    pub counters: Arc<dyn CounterViews>,
    pub cached_store: Arc<CachedStore>,
}

/// A difference between an answer and its row.
struct AnswerDifference {
    /// The comment; `None` if the difference is in a list.
    comment: Option<CommentId>,
    description: String,
}

impl AnswerCheck {
    /// The differences of a subject's comments, in words, and whether each was repaired: with `repair`
    /// the caches and counters forget them and load them from the rows again.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub async fn reconcile(&self, subject: &SubjectKey, repair: bool) -> anyhow::Result<Vec<(String, bool)>> {
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let chunk = self.tables.export_comments(Some(subject), after.as_ref(), COMMENTS_PER_CHUNK).await?;
            let Some(last) = chunk.last() else { break };
            after = Some(last.cursor.clone());
            let ids = chunk.iter().map(|comment| comment.row.id()).collect();
            found.extend(self.compare_comments(ids).await?);
        }
        found.extend(self.compare_floors(subject).await?);
        let repaired = repair && !found.is_empty();
        if repaired {
            for id in found.iter().filter_map(|difference| difference.comment) {
                self.counters.forget_view(id).await?;
            }
            let all = CacheChanges { takedown: true, ..CacheChanges::default() };
            self.cached_store.cache().apply_changes(subject.slot(), &all).await?;
        }
        Ok(found.into_iter().map(|difference| (difference.description, repaired)).collect())
    }

    async fn compare_comments(&self, mut ids: Vec<CommentId>) -> anyhow::Result<Vec<AnswerDifference>> {
        for comparison in 1.. {
            let rows = self.tables.read_comments(&ids).await?;
            let answers = self.cached_store.read_comments(&ids).await?;
            let mut found = Vec::new();
            for id in &ids {
                if let (Some(row), Some(answer)) = (rows.get(id), answers.get(id))
                    && let Some(what) = describe_difference(row, answer)
                    && !self.is_explained_by_pending(row, answer).await
                {
                    let description = format!("comment {id} in the caches: {what}");
                    found.push(AnswerDifference { comment: Some(*id), description });
                }
            }
            if found.is_empty() || comparison == MAX_COMPARISONS {
                return Ok(found);
            }
            ids = found.into_iter().filter_map(|difference| difference.comment).collect();
            sleep(COMPARISON_INTERVAL).await;
        }
        Ok(vec![])
    }

    /// Whether reactions that are not in the rows yet explain the difference.
    async fn is_explained_by_pending(&self, row: &CommentRow, answer: &CommentRow) -> bool {
        let counts = |row: &CommentRow| ReactionCounts { likes: row.likes, dislikes: row.dislikes };
        let view = self.counters.read_view(row.id()).await;
        matches!(view, Ok(Some(view))
            if view.base.counts == counts(row) && view.current == counts(answer) && view.current != counts(row))
    }

    async fn compare_floors(&self, subject: &SubjectKey) -> anyhow::Result<Option<AnswerDifference>> {
        let list = CommentList::Roots(subject.clone());
        for comparison in 1.. {
            let rows = self.tables.list_floors(&list, FloorRange::newest(FLOORS_COMPARED)).await?;
            let answer = self.cached_store.list_floors(&list, FloorRange::newest(FLOORS_COMPARED)).await?;
            if rows == answer {
                break;
            }
            if comparison == MAX_COMPARISONS {
                let common = rows.iter().zip(&answer).take_while(|(row, answer)| row == answer).count();
                let description = format!("the newest roots in the caches differ from the rows at index {common}");
                return Ok(Some(AnswerDifference { comment: None, description }));
            }
            sleep(COMPARISON_INTERVAL).await;
        }
        Ok(None)
    }
}

/// How an answer differs from its row.
fn describe_difference(row: &CommentRow, answer: &CommentRow) -> Option<String> {
    let counters = |row: &CommentRow| [row.likes, row.dislikes, row.replies, row.floor.unwrap_or(0)];
    let names = ["likes", "dislikes", "visible comments below", "floor"];
    for ((name, row), answer) in names.iter().zip(counters(row)).zip(counters(answer)) {
        if row != answer {
            return Some(format!("{name}: {answer} in the answer, {row} in the row"));
        }
    }
    if row.content != answer.content || row.state != answer.state || row.flags != answer.flags {
        return Some("content, state or flags differ from the row".into());
    }
    None
}
