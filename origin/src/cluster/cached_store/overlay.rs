//! Comments as they are at this moment: their rows, those that have no row yet, and their counts with the
//! reactions that are not persisted yet; and what a member thinks and has pending.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::wire::Reaction;
use tokio::time::{Instant, sleep};

use crate::cluster::cached_store::{CachedStore, MAX_IDS_TO_WAIT_FOR, accept_partial};
use crate::domain::operation::{LoggedOperation, Operation};
use crate::domain::row::{CommentRow, NewCommentRow, ReactionCounts};
use crate::ports::counters::{CountBase, CountersError};
use crate::ports::store::Result;

/// A missing id younger than this may still be on its way to the pending comments. A little more than an
/// append to the broker may take.
const MAX_APPEND_AGE_MS: u64 = 10_000;
/// A missing id younger than this may be pending, because the tables were unavailable for a while.
const MAX_PENDING_AGE_MS: u64 = 60_000;
/// How long to look for such a comment, and how often.
const UNWRITTEN_ROW_TIMEOUT: Duration = Duration::from_secs(1);
const UNWRITTEN_ROW_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long a read waits for the recovery of lost counters. After a failure, reads do not wait for the
/// same time.
pub(super) const RECOVERY_TIMEOUT: Duration = Duration::from_secs(3);

impl CachedStore {
    /// See [`crate::ports::store::CommentReader::read_comments`].
    pub(super) async fn read_current_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        let mut lookup = self.comments.get(ids).await;
        let may_be_pending =
            |id: &&CommentId| !lookup.found.contains_key(id) && self.is_younger(**id, MAX_PENDING_AGE_MS);
        let missing: Vec<_> = ids.iter().filter(may_be_pending).copied().collect();
        if !missing.is_empty() {
            let may_be_appended = missing.iter().any(|id| self.is_younger(*id, MAX_APPEND_AGE_MS));
            let wait = ids.len() <= MAX_IDS_TO_WAIT_FOR && may_be_appended;
            lookup.found.extend(self.find_unwritten(missing, wait).await);
        }
        let found = accept_partial(ids, lookup)?;
        let mut rows: HashMap<_, _> = found.into_iter().map(|(id, row)| (id, Arc::unwrap_or_clone(row))).collect();
        self.overlay_counts(rows.values_mut()).await;
        Ok(rows)
    }

    fn is_younger(&self, id: CommentId, age_ms: u64) -> bool {
        // The clock of another process may be ahead of this one.
        id.created_ms().abs_diff(self.clock.now()) < age_ms
    }

    /// Comments that had no row a moment ago. With `wait`, they are looked for until the timeout.
    async fn find_unwritten(&self, mut missing: Vec<CommentId>, wait: bool) -> HashMap<CommentId, Arc<CommentRow>> {
        let (until, mut found) = (Instant::now() + UNWRITTEN_ROW_TIMEOUT, HashMap::new());
        loop {
            match self.pending.read_comments(&missing).await {
                Ok(pending) => {
                    for (id, logged) in pending {
                        found.extend(self.unwritten_row(logged).await.map(|row| (id, Arc::new(row))));
                    }
                }
                Err(error) => tracing::debug!(%error, "Could not read pending comments; they appear with their rows"),
            }
            missing.retain(|id| !found.contains_key(id));
            if missing.is_empty() || !wait || Instant::now() >= until {
                return found;
            }
            sleep(UNWRITTEN_ROW_POLL_INTERVAL).await;
            if let Ok(rows) = self.tables.read_comments(&missing).await {
                found.extend(rows.into_iter().map(|(id, row)| (id, Arc::new(row))));
            }
            missing.retain(|id| !found.contains_key(id));
            if missing.is_empty() {
                return found;
            }
        }
    }

    /// The row that an operation will make.
    async fn unwritten_row(&self, logged: LoggedOperation) -> Option<CommentRow> {
        let Operation::Publish(new) = logged.operation else { return None };
        let NewCommentRow {
            subject, path, parent_id, reply_to, state, visibility, author, created_at, content, ..
        } = *new;
        let known = self.read_subject_rows(std::slice::from_ref(&subject)).await.ok();
        let known = known.and_then(|mut found| found.remove(&subject)).flatten();
        Some(CommentRow {
            // Older than every invalidation: the comment may have changed since it was pending.
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
            reactions_offset: 0,
            replies: 0,
            created_at,
            edited_at: None,
            content,
            html: new.html,
            mentions: new.mentions,
        })
    }

    /// Replaces the counts of rows by the current ones. While the counters do not answer, rows keep their
    /// own.
    pub(super) async fn overlay_counts(&self, rows: impl Iterator<Item = &mut CommentRow>) {
        let mut rows: Vec<_> = rows.collect();
        let mut bases: Vec<_> = rows.iter().map(|row| count_base(row)).collect();
        bases.sort_unstable_by_key(|base| base.id);
        bases.dedup_by_key(|base| base.id);
        if bases.is_empty() {
            return;
        }
        let slots = slots_of(bases.iter().map(|base| base.id));
        let answer = self.query_counters(&slots, || self.counters.read_counts(&bases)).await;
        let Some(CountersAnswer { value: mut counts, is_recovered }) = answer else { return };
        if is_recovered {
            // The counters continue from what the tables hold now. These rows may be older than that.
            let without_view = bases.iter().map(|base| base.id).filter(|id| !counts.contains_key(id));
            let fresh = self.tables.read_comments(&without_view.collect::<Vec<_>>()).await.unwrap_or_else(|error| {
                tracing::debug!(%error, "Could not read rows again after a recovery; serving them as they are");
                HashMap::new()
            });
            counts.extend(fresh.into_iter().map(|(id, row)| (id, count_base(&row).counts)));
        }
        for row in &mut rows {
            if let Some(ReactionCounts { likes, dislikes }) = counts.get(&row.id()) {
                (row.likes, row.dislikes) = (*likes, *dislikes);
            }
        }
    }

    /// Queries the counters. Lost ones are recovered first, unless that failed a moment ago.
    async fn query_counters<T, F>(&self, slots: &[Slot], query: impl Fn() -> F) -> Option<CountersAnswer<T>>
    where
        F: Future<Output = std::result::Result<T, CountersError>>,
    {
        let (mut answer, mut is_recovered) = (query().await, false);
        if matches!(answer, Err(CountersError::Lost)) && !slots.iter().any(|slot| self.unrecovered.contains_key(slot)) {
            match tokio::time::timeout(RECOVERY_TIMEOUT, self.recovery.recover_slots(slots)).await {
                Ok(Ok(())) => (answer, is_recovered) = (query().await, true),
                _ => slots.iter().for_each(|slot| self.unrecovered.insert(*slot, ())),
            }
        }
        if let Err(error) = &answer {
            tracing::debug!(%error, "Serving rows with their own counts");
        }
        answer.ok().map(|value| CountersAnswer { value, is_recovered })
    }

    /// See [`crate::ports::store::MemberReader::read_reactions`].
    pub(super) async fn read_current_reactions(
        &self,
        member: MemberId,
        ids: &[CommentId],
    ) -> Result<HashMap<CommentId, Reaction>> {
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        // The counters first: what they drop after this is in the rows that are read after it.
        let slots = slots_of(ids.iter().copied());
        let pending = self.query_counters(&slots, || self.counters.read_pending_reactions(member, ids)).await;
        let mut reactions = self.tables.read_reactions(member, ids).await?;
        for (id, reaction) in pending.into_iter().flat_map(|answer| answer.value) {
            match reaction {
                Some(reaction) => reactions.insert(id, reaction),
                None => reactions.remove(&id),
            };
        }
        Ok(reactions)
    }

    /// See [`crate::ports::store::MemberReader::list_pending`].
    pub(super) async fn list_member_pending(&self, member: MemberId, count: usize) -> Result<Vec<CommentId>> {
        // The pending comments first: one that gets its row meanwhile is among the rows read after them.
        let pending = self.pending.list_member_comments(member).await.unwrap_or_else(|error| {
            tracing::debug!(%member, %error, "Could not list the pending comments of {member}");
            vec![]
        });
        let rows = self.tables.list_pending(member, count).await?;
        let written: HashSet<_> = self.comments.get(&pending).await.found.into_keys().collect();
        // A pending comment with a row that is not among these is in the public lists, or gone.
        let own = pending.into_iter().filter(|id| !written.contains(id)).chain(rows);
        let newest: BTreeSet<_> = own.collect();
        Ok(newest.into_iter().rev().take(count).collect())
    }
}

/// An answer of the counters.
struct CountersAnswer<T> {
    value: T,
    /// Whether lost counters were recovered for it.
    is_recovered: bool,
}

fn count_base(row: &CommentRow) -> CountBase {
    let counts = ReactionCounts { likes: row.likes, dislikes: row.dislikes };
    CountBase { id: row.id(), counts, offset: row.reactions_offset }
}

fn slots_of(ids: impl Iterator<Item = CommentId>) -> Vec<Slot> {
    ids.map(CommentId::slot).collect::<BTreeSet<_>>().into_iter().collect()
}
