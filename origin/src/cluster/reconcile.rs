//! Whether what a cluster answers is what its rows say.
//!
//! Writes may be under way: what differs is looked at again, and only what goes on differing, or is
//! still different when its counters say that nothing is on its way, is a difference.

use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::{CommentId, SubjectKey};
use tokio::time::sleep;

use crate::cluster::cached_store::CachedStore;
use crate::domain::row::{CommentList, CommentRow};
use crate::ports::cache::Changes;
use crate::ports::counters::Counters;
use crate::ports::store::{CommentReader as _, Tables, ThreadReader as _};

/// Comments looked at together.
const CHUNK: usize = 500;
/// How long a difference has to go away: longer than a batch of reactions waits.
const SETTLE: Duration = Duration::from_millis(1_500);
/// How often it is looked at.
const LOOKS: usize = 3;
/// The newest floors of a list that are compared.
const FLOORS: usize = 1_000;

/// Compares what a cluster answers with its rows.
#[derive(Debug, Clone)]
pub struct AnswerCheck {
    pub tables: Arc<dyn Tables>,
    pub counters: Arc<dyn Counters>,
    pub cached_store: Arc<CachedStore>,
}

impl AnswerCheck {
    /// What the caches and counters say of a subject's comments and its rows do not, and whether it
    /// was repaired: forgotten, so that it is read from the rows again.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub async fn reconcile(&self, subject: &SubjectKey, repair: bool) -> anyhow::Result<Vec<(String, bool)>> {
        let mut found = Vec::new();
        let mut after = None;
        loop {
            let chunk = self.tables.export_comments(Some(subject), after.as_ref(), CHUNK).await?;
            let Some(last) = chunk.last() else { break };
            after = Some(last.cursor.clone());
            let ids = chunk.iter().map(|comment| comment.row.id()).collect();
            found.extend(self.compare_comments(ids).await?);
        }
        found.extend(self.compare_floors(subject).await?.map(|what| (None, what)));
        let repaired = repair && !found.is_empty();
        if repaired {
            for id in found.iter().filter_map(|(id, _)| *id) {
                self.counters.forget(id).await?;
            }
            let all = Changes { takedown: true, ..Changes::default() };
            self.cached_store.cache().change(subject.slot(), &all).await?;
        }
        Ok(found.into_iter().map(|(_, what)| (what, repaired)).collect())
    }

    async fn compare_comments(&self, mut ids: Vec<CommentId>) -> anyhow::Result<Vec<(Option<CommentId>, String)>> {
        for look in 1.. {
            let rows = self.tables.read_comments(&ids).await?;
            let shown = self.cached_store.read_comments(&ids).await?;
            let mut found = Vec::new();
            for id in &ids {
                if let (Some(row), Some(shown)) = (rows.get(id), shown.get(id))
                    && let Some(what) = difference(row, shown)
                    && !self.on_its_way(row, shown).await
                {
                    found.push((Some(*id), format!("comment {id} in the caches: {what}")));
                }
            }
            if found.is_empty() || look == LOOKS {
                return Ok(found);
            }
            ids = found.into_iter().filter_map(|(id, _)| id).collect();
            sleep(SETTLE).await;
        }
        Ok(vec![])
    }

    /// Whether reactions that are not in the rows yet account for what differs.
    async fn on_its_way(&self, row: &CommentRow, shown: &CommentRow) -> bool {
        let counted = |row: &CommentRow| (row.likes, row.dislikes);
        let view = self.counters.view(row.id()).await;
        matches!(view, Ok(Some((base, counts)))
            if (base.likes, base.dislikes) == counted(row) && counts == counted(shown) && counts != counted(row))
    }

    async fn compare_floors(&self, subject: &SubjectKey) -> anyhow::Result<Option<String>> {
        let list = CommentList::Roots(subject.clone());
        for look in 1.. {
            let rows = self.tables.list_floors(&list, false, None, FLOORS).await?;
            let shown = self.cached_store.list_floors(&list, false, None, FLOORS).await?;
            if rows == shown {
                break;
            }
            if look == LOOKS {
                let both = rows.iter().zip(&shown).take_while(|(row, shown)| row == shown).count();
                return Ok(Some(format!("the newest roots in the caches differ from the rows at place {both}")));
            }
            sleep(SETTLE).await;
        }
        Ok(None)
    }
}

/// What is shown of a comment that its row does not say.
fn difference(row: &CommentRow, shown: &CommentRow) -> Option<String> {
    let counters = |row: &CommentRow| [row.likes, row.dislikes, row.replies, row.floor.unwrap_or(0)];
    let names = ["likes", "dislikes", "visible comments below", "floor"];
    for ((name, row), shown) in names.iter().zip(counters(row)).zip(counters(shown)) {
        if row != shown {
            return Some(format!("{name} shown {shown}, in the row {row}"));
        }
    }
    if row.content != shown.content || row.state != shown.state || row.flags != shown.flags {
        return Some("what is shown is not what the row says".into());
    }
    None
}
