//! The counters in Redis: one Lua script for each method of the ports (`lua/`), so that each call is
//! atomic.
//!
//! Every key has the hash tag of its slot, `{name:slot}`; `lua/common.lua` says what the keys contain. When an
//! operator has accepted the log, how often follows, so that every slot is lost and begins anew.
//! In a Redis Cluster a call is about one slot. One server takes many slots in a call, which is
//! cheaper for all of them. Under memory pressure Redis must refuse writes or evict by a `volatile-*`
//! policy: any other policy may evict pending operations without a trace.

mod fold_batcher;
mod reaction_letters;
mod recovery;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use ::redis::FromRedisValue;
use async_trait::async_trait;
use futures_util::future::try_join_all;
use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::wire::Reaction;

use crate::adapters::redis::counters::fold_batcher::FoldBatcher;
use crate::adapters::redis::counters::reaction_letters::{change_letter, parse_reaction};
use crate::adapters::redis::{RedisCallError, RedisConnection, RedisScript, ScriptCall};
use crate::domain::row::ReactionCounts;
use crate::ports::broker::{PartitionOffsets, Topic};
use crate::ports::counters::{
    CountBase, CounterView, CounterViews, Counters, CountersError, FoldRequest, FoldedReaction, PersistedOperation,
    PersistedReaction,
};
use crate::ports::failure::Failure;

/// Operations, or comments without operations, in one script. A script of this size blocks Redis for
/// about a millisecond.
const MAX_BATCH: usize = 128;

macro_rules! scripts {
    ($($name:ident: $operation:literal, $file:literal;)*) => {
        $(static $name: LazyLock<RedisScript> = LazyLock::new(|| {
            let code = concat!(include_str!("../run_id.lua"), include_str!("lua/common.lua"), include_str!($file));
            RedisScript::new($operation, code)
        });)*
    };
}

scripts! {
    FOLD_SCRIPT: "counters.fold", "lua/fold.lua";
    READ_COUNTS_SCRIPT: "counters.read_counts", "lua/read_counts.lua";
    READ_PENDING_REACTIONS_SCRIPT: "counters.read_pending_reactions", "lua/read_pending_reactions.lua";
    SETTLE_SCRIPT: "counters.settle", "lua/settle.lua";
    IS_OPEN_SCRIPT: "counters.is_open", "lua/is_open.lua";
    CLAIM_RECOVERY_SCRIPT: "counters.claim_recovery", "lua/claim_recovery.lua";
    RELEASE_RECOVERY_SCRIPT: "counters.release_recovery", "lua/release_recovery.lua";
    BEGIN_RECOVERY_SCRIPT: "counters.begin_recovery", "lua/begin_recovery.lua";
    FINISH_RECOVERY_SCRIPT: "counters.finish_recovery", "lua/finish_recovery.lua";
    READ_VIEW_SCRIPT: "counters.read_view", "lua/read_view.lua";
    FORGET_VIEW_SCRIPT: "counters.forget_view", "lua/forget_view.lua";
}

/// The items of one call of a script, by their slots.
struct SlotCall<'a, I> {
    /// How much work they are, at most [`MAX_BATCH`] unless it is one slot's.
    work: usize,
    slots: Vec<(Slot, Vec<&'a I>)>,
}

/// The counters of one cluster.
#[derive(Debug)]
pub struct RedisCounters {
    keys: CounterKeys,
    connection: RedisConnection,
    folds: Arc<FoldBatcher>,
}

impl RedisCounters {
    /// The counters of the cluster called `name`, whose reactions have these offsets.
    pub fn new(connection: RedisConnection, name: &str, offsets: Arc<dyn PartitionOffsets>) -> Self {
        let keys = CounterKeys { name: name.into(), offsets };
        Self { folds: Arc::new(FoldBatcher::new(connection.clone(), keys.clone())), keys, connection }
    }

    /// Runs a script over items grouped by slot. Returns one answer a slot, with the comments it is
    /// about. `size` is how much work an item is, at most [`MAX_BATCH`] together in one call.
    async fn run_by_slot<T: FromRedisValue, I: Sync>(
        &self,
        script: &RedisScript,
        items: &[I],
        id: impl Fn(&I) -> CommentId + Sync,
        size: impl Fn(&I) -> usize,
        args: impl Fn(&mut ScriptCall<'_>, &I) + Sync,
    ) -> Result<Vec<(Vec<CommentId>, T)>, CountersError> {
        let work = |items: &[&I]| items.iter().map(|item| size(item)).sum();
        let answers = self.group_by_call(items, &id, work).into_iter().map(|SlotCall { slots, .. }| {
            let ids = |items: &[&I]| items.iter().map(|item| id(item)).collect::<Vec<_>>();
            let keys = slots.iter().flat_map(|(slot, items)| self.keys.of(*slot).views(ids(items)));
            let mut call = script.call(&keys.collect::<Vec<_>>());
            for (_, items) in &slots {
                call.arg(items.len());
                items.iter().for_each(|item| args(&mut call, item));
            }
            let ids: Vec<_> = slots.iter().map(|(_, items)| ids(items)).collect();
            async move {
                let answers: Vec<T> = self.run(&call).await?;
                Ok::<_, CountersError>(ids.into_iter().zip(answers).collect::<Vec<_>>())
            }
        });
        Ok(try_join_all(answers).await?.into_iter().flatten().collect())
    }

    /// The calls for these items. One server answers about many slots in one call; in a cluster the keys
    /// of a call have one slot.
    fn group_by_call<'a, I>(
        &self,
        items: &'a [I],
        id: impl Fn(&I) -> CommentId,
        work: impl Fn(&[&I]) -> usize,
    ) -> Vec<SlotCall<'a, I>> {
        let mut slots = BTreeMap::<Slot, Vec<&I>>::new();
        for item in items {
            slots.entry(id(item).slot()).or_default().push(item);
        }
        let mut calls = Vec::<SlotCall<'a, I>>::new();
        for (slot, items) in slots {
            let work = work(&items);
            match calls.last_mut() {
                Some(call) if call.work + work <= MAX_BATCH && self.connection.is_single_server() => {
                    call.work += work;
                    call.slots.push((slot, items));
                }
                _ => calls.push(SlotCall { work, slots: vec![(slot, items)] }),
            }
        }
        calls
    }

    async fn run<T: FromRedisValue>(&self, call: &ScriptCall<'_>) -> Result<T, CountersError> {
        Ok(self.connection.run_script(call).await?)
    }
}

impl From<RedisCallError> for CountersError {
    fn from(error: RedisCallError) -> Self {
        Self::Unavailable(Failure::of_driver(error))
    }
}

#[async_trait]
impl Counters for RedisCounters {
    async fn fold(&self, request: FoldRequest) -> Result<FoldedReaction, CountersError> {
        self.folds.fold(request).await
    }

    async fn read_counts(&self, rows: &[CountBase]) -> Result<HashMap<CommentId, ReactionCounts>, CountersError> {
        let args = |call: &mut ScriptCall<'_>, row: &CountBase| {
            call.arg(row.counts.likes).arg(row.counts.dislikes).arg(row.offset);
        };
        let answers =
            self.run_by_slot::<Option<Vec<i64>>, _>(&READ_COUNTS_SCRIPT, rows, |row| row.id, |_| 1, args).await?;
        let mut counts = HashMap::new();
        for (ids, answer) in answers {
            let answer = answer.ok_or(CountersError::Lost)?;
            let (pairs, _) = answer.as_chunks::<2>();
            // A comment without a view has -1.
            counts.extend(ids.into_iter().zip(pairs).filter_map(|(id, [likes, dislikes])| {
                let (likes, dislikes) = (u64::try_from(*likes).ok()?, u64::try_from(*dislikes).ok()?);
                Some((id, ReactionCounts { likes, dislikes }))
            }));
        }
        Ok(counts)
    }

    async fn read_pending_reactions(
        &self,
        member: MemberId,
        ids: &[CommentId],
    ) -> Result<HashMap<CommentId, Option<Reaction>>, CountersError> {
        let mut slots = BTreeMap::<Slot, Vec<CommentId>>::new();
        for id in ids {
            slots.entry(id.slot()).or_default().push(*id);
        }
        let answers = slots.into_iter().map(|(slot, ids)| async move {
            let of = self.keys.of(slot);
            let keys: Vec<_> = std::iter::once(of.marker()).chain(ids.iter().map(|id| of.view(*id))).collect();
            let answer: Option<Vec<String>> =
                self.run(READ_PENDING_REACTIONS_SCRIPT.call(&keys).arg(member.get())).await?;
            Ok::<_, CountersError>((ids, answer.ok_or(CountersError::Lost)?))
        });
        let answers = try_join_all(answers).await?.into_iter();
        let pending = answers.flat_map(|(ids, letters)| ids.into_iter().zip(letters));
        Ok(pending.filter_map(|(id, letter)| Some((id, parse_reaction(&letter)?))).collect())
    }

    async fn settle(&self, rows: &[PersistedReaction]) -> Result<Vec<CommentId>, CountersError> {
        let args = |call: &mut ScriptCall<'_>, row: &PersistedReaction| {
            let CountBase { counts, offset, .. } = row.base;
            call.arg(counts.likes).arg(counts.dislikes).arg(offset).arg(row.operations.len());
            for PersistedOperation { offset, member, change } in &row.operations {
                call.arg(offset).arg(member.get()).arg(change_letter(*change));
            }
        };
        let size = |row: &PersistedReaction| 1 + row.operations.len();
        let answers = self.run_by_slot::<Vec<String>, _>(&SETTLE_SCRIPT, rows, |row| row.base.id, size, args).await?;
        Ok(answers.into_iter().flat_map(|(_, unsettled)| unsettled).filter_map(|id| id.parse().ok()).collect())
    }
}

#[async_trait]
impl CounterViews for RedisCounters {
    async fn read_view(&self, id: CommentId) -> Result<Option<CounterView>, CountersError> {
        let call = READ_VIEW_SCRIPT.call(&self.keys.of(id.slot()).views([id]));
        let view: Option<Vec<u64>> = self.run(&call).await?;
        Ok(match view.ok_or(CountersError::Lost)?[..] {
            [offset, likes, dislikes, current_likes, current_dislikes] => Some(CounterView {
                base: CountBase { id, counts: ReactionCounts { likes, dislikes }, offset },
                current: ReactionCounts { likes: current_likes, dislikes: current_dislikes },
            }),
            _ => None,
        })
    }

    async fn forget_view(&self, id: CommentId) -> Result<(), CountersError> {
        self.run(&FORGET_VIEW_SCRIPT.call(&self.keys.of(id.slot()).views([id]))).await
    }
}

/// Makes the names of keys.
#[derive(Debug, Clone)]
struct CounterKeys {
    name: Arc<str>,
    offsets: Arc<dyn PartitionOffsets>,
}

impl CounterKeys {
    /// The keys of a slot. When an operator has accepted the log they are other ones: the counters before may count
    /// reactions that it has lost.
    fn of(&self, slot: Slot) -> SlotKeys {
        let (tag, accepts) = (format!("{{{}:{}}}", self.name, slot.get()), self.offsets.accept_count());
        // Read last, so that no keys of now come with a base of before.
        let base = self.offsets.base(Topic::Reactions, self.offsets.partition_of(slot));
        SlotKeys { base, prefix: if accepts == 0 { tag } else { format!("{tag}:{accepts}") } }
    }
}

/// The keys of one slot.
#[derive(Debug)]
struct SlotKeys {
    /// Where the offsets of its reactions begin.
    base: u64,
    prefix: String,
}

impl SlotKeys {
    fn marker(&self) -> String {
        format!("{}:open", self.prefix)
    }

    fn recovery_token(&self, token: &str) -> String {
        format!("{}:opening:{token}", self.prefix)
    }

    fn recovery_claim(&self) -> String {
        format!("{}:recovering", self.prefix)
    }

    fn index(&self) -> String {
        format!("{}:w", self.prefix)
    }

    fn view(&self, id: CommentId) -> String {
        format!("{}:v:{id}", self.prefix)
    }

    fn order(&self, id: CommentId) -> String {
        format!("{}:o:{id}", self.prefix)
    }

    /// The keys of most scripts: the slot's marker and index, then view and order of each comment.
    fn views(&self, ids: impl IntoIterator<Item = CommentId>) -> Vec<String> {
        let mut keys = vec![self.marker(), self.index()];
        keys.extend(ids.into_iter().flat_map(|id| [self.view(id), self.order(id)]));
        keys
    }
}
