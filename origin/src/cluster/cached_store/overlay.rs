//! Comments as they are at this moment: their rows, those that have no row yet, and their counts with the
//! reactions that are not persisted yet; and what a member thinks and has pending.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::wire::Reaction;
use tokio::time::{Instant, sleep};

use crate::cluster::cached_store::{CachedStore, MAX_IDS_TO_WAIT_FOR, accept_partial};
use crate::domain::operation::{LoggedOperation, Operation};
use crate::domain::row::{CommentRow, NewCommentRow, ReactionCounts};
use crate::ports::broker::RECORD_RETENTION;
use crate::ports::counters::{CountBase, CountersError};
use crate::ports::pending::MAX_PENDING_TIME;
use crate::ports::store::{Result, StoreError};

/// A missing id younger than this may still be on its way to the pending comments. A little more than an
/// append to the broker may take.
const MAX_APPEND_AGE: Duration = Duration::from_secs(10);
/// By how much the clock of the process that issued an id may have been ahead of this one, or behind it. An id from a later time
/// is looked for among the pending comments, and nothing else is done for it.
const MAX_CLOCK_SKEW_MS: u64 = 10 * 60 * 1_000;
/// How long to look for such a comment, and how often.
const UNWRITTEN_ROW_TIMEOUT: Duration = Duration::from_secs(1);
const UNWRITTEN_ROW_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How long a read waits for the recovery of lost counters. After a failure, reads do not wait for the
/// same time.
pub(super) const RECOVERY_TIMEOUT: Duration = Duration::from_secs(3);

impl CachedStore {
    /// See [`crate::ports::store::CommentReader::read_comments`]. A comment that has no row yet is one that was
    /// accepted, or one that does not exist: a request for few answers which, or fails as [`StoreError::NotCaughtUp`].
    pub(super) async fn read_current_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        let mut lookup = self.comments.get(ids).await;
        let is_unknown = |id: &&CommentId| !lookup.found.contains_key(id) && self.may_be_in_broker(**id);
        let missing: Vec<_> = ids.iter().filter(is_unknown).copied().collect();
        if !missing.is_empty() {
            let is_for_few = ids.len() <= MAX_IDS_TO_WAIT_FOR;
            if lookup.failed.is_some() {
                lookup.found.extend(self.find_pending(&missing, true).await);
            } else {
                match self.find_unwritten(missing, is_for_few).await {
                    Ok(found) => lookup.found.extend(found),
                    Err(error) => lookup.failed = Some(error),
                }
            }
        }
        let found = accept_partial(ids, lookup)?;
        let mut rows: HashMap<_, _> = found.into_iter().map(|(id, row)| (id, Arc::unwrap_or_clone(row))).collect();
        self.overlay_counts(rows.values_mut()).await;
        Ok(rows)
    }

    /// Whether a comment without a row may be a record that the broker still has.
    fn may_be_in_broker(&self, id: CommentId) -> bool {
        self.is_younger(id, RECORD_RETENTION)
    }

    fn is_of_later(&self, id: CommentId) -> bool {
        id.created_ms() >= self.clock.now() + MAX_CLOCK_SKEW_MS
    }

    fn is_younger(&self, id: CommentId, age: Duration) -> bool {
        u128::from(self.clock.now().saturating_sub(id.created_ms())) < age.as_millis()
    }

    /// Those of these comments, which had no row a moment ago, that are accepted or have got their row. Young ones
    /// are looked for until the timeout where few are asked for, and none of these is left in doubt.
    ///
    /// # Errors
    /// [`StoreError::NotCaughtUp`] where one of few may be in the broker and nowhere else, or the tables' error.
    async fn find_unwritten(
        &self,
        mut missing: Vec<CommentId>,
        is_for_few: bool,
    ) -> Result<HashMap<CommentId, Arc<CommentRow>>> {
        let (until, mut found) = (Instant::now() + UNWRITTEN_ROW_TIMEOUT, HashMap::new());
        let wait =
            is_for_few && missing.iter().any(|id| !self.is_of_later(*id) && self.is_younger(*id, MAX_APPEND_AGE));
        loop {
            found.extend(self.find_pending(&missing, false).await);
            missing.retain(|id| !found.contains_key(id));
            if missing.is_empty() {
                return Ok(found);
            }
            let is_last = !wait || Instant::now() >= until;
            let are_absent = !is_last || !is_for_few || self.are_stored_if_appended(&missing).await;
            // After that: a comment ends to be pending when its row is there.
            let rows = self.tables.read_comments(&missing).await?;
            found.extend(rows.into_iter().map(|(id, row)| (id, Arc::new(row))));
            missing.retain(|id| !found.contains_key(id));
            if missing.is_empty() || (is_last && are_absent) {
                return Ok(found);
            }
            if is_last {
                return Err(StoreError::NotCaughtUp);
            }
            sleep(UNWRITTEN_ROW_POLL_INTERVAL).await;
        }
    }

    /// Whether the tables have these comments, if they were appended.
    async fn are_stored_if_appended(&self, ids: &[CommentId]) -> bool {
        let appended_before = |id: &CommentId| id.created_ms() + MAX_APPEND_AGE.as_millis() as u64 + MAX_CLOCK_SKEW_MS;
        let mut slots = BTreeMap::new();
        for id in ids.iter().filter(|id| !self.is_of_later(**id)) {
            let before = slots.entry(id.slot()).or_insert(0);
            *before = appended_before(id).max(*before);
        }
        join_all(slots.into_iter().map(|(slot, before)| self.catch_up.is_caught_up(slot, before)))
            .await
            .into_iter()
            .all(|is_caught_up| is_caught_up)
    }

    /// The pending comments among these. `tables_are_away`: their rows are not known, so that only those are taken
    /// that cannot have been changed since.
    async fn find_pending(&self, ids: &[CommentId], tables_are_away: bool) -> HashMap<CommentId, Arc<CommentRow>> {
        let may_be_pending = |id: &&CommentId| self.is_younger(**id, MAX_PENDING_TIME);
        let ids: Vec<_> = ids.iter().filter(may_be_pending).copied().collect();
        if ids.is_empty() {
            return HashMap::new();
        }
        let pending = self.pending.read_comments(&ids).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "Could not read pending comments; they appear with their rows");
            HashMap::new()
        });
        let mut found = HashMap::with_capacity(pending.len());
        for (id, pending) in pending.into_iter().collect::<BTreeMap<_, _>>() {
            if pending.is_of_this_server || !tables_are_away {
                found.extend(self.unwritten_row(pending.operation).await.map(|row| (id, Arc::new(row))));
            }
        }
        found
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
            media: new.media,
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
        let failed_lately = |slot| self.unrecovered.get(slot).is_some_and(|at| at.elapsed() < RECOVERY_TIMEOUT);
        if matches!(answer, Err(CountersError::Lost)) && !slots.iter().any(failed_lately) {
            match tokio::time::timeout(RECOVERY_TIMEOUT, self.recovery.recover_slots(slots)).await {
                Ok(Ok(())) => (answer, is_recovered) = (query().await, true),
                _ => slots.iter().for_each(|slot| self.unrecovered.insert(*slot, Instant::now())),
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
