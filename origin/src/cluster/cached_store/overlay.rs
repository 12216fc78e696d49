//! Comments as they are now: their rows, those that are no rows yet, and their counts with what is
//! not persisted yet; and what a member thinks and has under way.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::wire::Reaction;
use tokio::time::{Instant, sleep};

use crate::cluster::cached_store::{CachedStore, FEW, enough};
use crate::domain::operation::{LoggedOperation, Operation};
use crate::domain::row::{CommentRow, NewCommentRow};
use crate::ports::counters::{Base, CountersError};
use crate::ports::store::Result;

/// Ids younger than this that have no row may be on their way. A little more than the log may take.
const YOUNG_MS: u64 = 10_000;
/// Ids younger than this may be pending: tables that stood still for a while do not have them yet.
const PENDING_MS: u64 = 60_000;
/// How long such a comment is looked for.
const LOOKED_FOR: Duration = Duration::from_secs(1);
/// How often.
const POLL: Duration = Duration::from_millis(50);
/// How long lost counters are waited for, and how long after a failure they are not asked for again.
pub(super) const OPENING: Duration = Duration::from_secs(3);

impl CachedStore {
    /// See [`crate::ports::store::Store::comments`].
    pub(super) async fn whole_rows(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        let mut got = self.comments.get(ids).await;
        let is_missing = |id: &&CommentId| !got.found.contains_key(id) && self.is_younger(**id, PENDING_MS);
        let missing: Vec<_> = ids.iter().filter(is_missing).copied().collect();
        if !missing.is_empty() {
            let wait = ids.len() <= FEW && missing.iter().any(|id| self.is_younger(*id, YOUNG_MS));
            got.found.extend(self.on_their_way(missing, wait).await);
        }
        let found = enough(ids, got)?;
        let mut rows: HashMap<_, _> = found.into_iter().map(|(id, row)| (id, Arc::unwrap_or_clone(row))).collect();
        self.count(rows.values_mut()).await;
        Ok(rows)
    }

    fn is_younger(&self, id: CommentId, ms: u64) -> bool {
        // Another origin's clock may be ahead of this one.
        id.created_ms().abs_diff(self.clock.now()) < ms
    }

    /// Comments that had no row a moment ago. The page's are not waited for.
    async fn on_their_way(&self, mut missing: Vec<CommentId>, wait: bool) -> HashMap<CommentId, Arc<CommentRow>> {
        let (until, mut found) = (Instant::now() + LOOKED_FOR, HashMap::new());
        loop {
            match self.pending.comments(&missing).await {
                Ok(pending) => {
                    for (id, stamped) in pending {
                        found.extend(self.as_row(stamped).await.map(|row| (id, Arc::new(row))));
                    }
                }
                Err(error) => tracing::debug!(%error, "what is pending is waited for in the tables"),
            }
            missing.retain(|id| !found.contains_key(id));
            if missing.is_empty() || !wait || Instant::now() >= until {
                return found;
            }
            sleep(POLL).await;
            if let Ok(rows) = self.tables.read_comments(&missing).await {
                found.extend(rows.into_iter().map(|(id, row)| (id, Arc::new(row))));
            }
            missing.retain(|id| !found.contains_key(id));
            if missing.is_empty() {
                return found;
            }
        }
    }

    /// The row that an event will make.
    async fn as_row(&self, stamped: LoggedOperation) -> Option<CommentRow> {
        let Operation::Publish(new) = stamped.operation else { return None };
        let NewCommentRow {
            subject, path, parent_id, reply_to, state, visibility, author, created_at, content, ..
        } = *new;
        let known = self.subject_rows(std::slice::from_ref(&subject)).await.ok();
        let known = known.and_then(|mut found| found.remove(&subject)).flatten();
        Some(CommentRow {
            // Older than whatever is told of it: it may have been changed since it was looked for.
            version: 0,
            mode: known.and_then(|row| row.mode),
            subject,
            path,
            parent_id,
            reply_to,
            parent_gone: false,
            floor: None,
            state,
            visibility,
            flags: vec![],
            author,
            likes: 0,
            dislikes: 0,
            reacted: 0,
            replies: 0,
            created_at,
            edited_at: None,
            content,
            html: new.html,
            mentions: new.mentions,
        })
    }

    /// Gives rows the counts they have with what is not persisted yet; where the counters do not
    /// answer, rows keep their own.
    pub(super) async fn count(&self, rows: impl Iterator<Item = &mut CommentRow>) {
        let mut rows: Vec<_> = rows.collect();
        let base =
            |row: &CommentRow| Base { id: row.id(), likes: row.likes, dislikes: row.dislikes, reacted: row.reacted };
        let mut bases: Vec<_> = rows.iter().map(|row| base(row)).collect();
        bases.sort_unstable_by_key(|base| base.id);
        bases.dedup_by_key(|base| base.id);
        if bases.is_empty() {
            return;
        }
        let slots = slots(bases.iter().map(|base| base.id));
        let Some((mut counts, opened)) = self.opened(&slots, || self.counters.counts(&bases)).await else { return };
        if opened {
            // The counters begin with what the tables hold now; these rows may be older than that.
            let uncounted: Vec<_> = bases.iter().map(|base| base.id).filter(|id| !counts.contains_key(id)).collect();
            let fresh = self.tables.read_comments(&uncounted).await.unwrap_or_else(|error| {
                tracing::debug!(%error, "rows are served as they were read");
                HashMap::new()
            });
            counts.extend(fresh.into_iter().map(|(id, row)| (id, (row.likes, row.dislikes))));
        }
        for row in &mut rows {
            if let Some((likes, dislikes)) = counts.get(&row.id()) {
                (row.likes, row.dislikes) = (*likes, *dislikes);
            }
        }
    }

    /// What the counters say; those that were lost are opened first, and waited for if nobody waited
    /// in vain a moment ago. Also whether they were opened for this answer.
    async fn opened<T, F>(&self, slots: &[Slot], ask: impl Fn() -> F) -> Option<(T, bool)>
    where
        F: Future<Output = std::result::Result<T, CountersError>>,
    {
        let (mut said, mut opened) = (ask().await, false);
        if matches!(said, Err(CountersError::Lost)) && !slots.iter().any(|slot| self.unopened.contains_key(slot)) {
            match tokio::time::timeout(OPENING, self.opener.open(slots)).await {
                Ok(Ok(())) => (said, opened) = (ask().await, true),
                _ => slots.iter().for_each(|slot| self.unopened.insert(*slot, ())),
            }
        }
        if let Err(error) = &said {
            tracing::debug!(%error, "rows are served as the tables have them");
        }
        said.ok().map(|said| (said, opened))
    }

    /// See [`crate::ports::store::Store::reactions`].
    pub(super) async fn own_reactions(
        &self,
        member: MemberId,
        ids: &[CommentId],
    ) -> Result<HashMap<CommentId, Reaction>> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        // The counters first: what they drop after this is in the rows that are read then.
        let slots = slots(ids.iter().copied());
        let unpersisted = self.opened(&slots, || self.counters.reactions(member, ids)).await;
        let mut reactions = self.tables.read_reactions(member, ids).await?;
        for (id, reaction) in unpersisted.into_iter().flat_map(|(unpersisted, _)| unpersisted) {
            match reaction {
                Some(reaction) => reactions.insert(id, reaction),
                None => reactions.remove(&id),
            };
        }
        Ok(reactions)
    }

    /// See [`crate::ports::store::Store::pending`].
    pub(super) async fn own_pending(&self, member: MemberId, count: usize) -> Result<Vec<CommentId>> {
        // Those under way first: what is a row by then is among the rows that are read after them.
        let under_way = self.pending.of(member).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "what is under way is not shown");
            vec![]
        });
        let rows = self.tables.list_pending(member, count).await?;
        let written: HashSet<_> = self.comments.get(&under_way).await.found.into_keys().collect();
        // What is a row and not among these stands in lists by now, or is gone.
        let own = under_way.into_iter().filter(|id| !written.contains(id)).chain(rows);
        let newest: BTreeSet<_> = own.collect();
        Ok(newest.into_iter().rev().take(count).collect())
    }
}

fn slots(ids: impl Iterator<Item = CommentId>) -> Vec<Slot> {
    ids.map(CommentId::slot).collect::<BTreeSet<_>>().into_iter().collect()
}
