//! The counters in Redis: one Lua script a port's method (`lua/`), each atomic.
//!
//! Every key carries its slot's hash tag, `{name:slot}`. A call is of one slot, but for one server,
//! where nodes need not be told apart: there slots share calls, which are cheaper for all of them. What the keys hold stands in
//! `lua/common.lua`. Under memory pressure Redis must refuse writes or evict by a `volatile-*` policy:
//! any other may take pending operations without a trace.

mod batch;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use ::redis::FromRedisValue;
use async_trait::async_trait;
use batch::Folds;
use futures_util::future::try_join_all;
use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::wire::Reaction;

use crate::adapters::redis::{Call, Connection, Script};
use crate::domain::operation::ReactionChange;
use crate::ports::counters::{Base, Counters, CountersError, Fold, Folded, PersistedReaction, Recovery};

/// Operations, or comments without any, in one script that many slots share: it holds up everybody else
/// for about a millisecond.
const BATCH: usize = 128;
/// How long an opening may take, in seconds.
const OPENING: u64 = 10;

macro_rules! scripts {
    ($($name:ident: $file:literal),* $(,)?) => {
        $(static $name: LazyLock<Script> = LazyLock::new(|| {
            Script::new(concat!(include_str!("../run_id.lua"), include_str!("lua/common.lua"), include_str!($file)))
        });)*
    };
}

scripts! {
    FOLD: "lua/fold.lua",
    COUNTS: "lua/counts.lua",
    REACTIONS: "lua/reactions.lua",
    PERSISTED: "lua/persisted.lua",
    LOST: "lua/lost.lua",
    BEGIN: "lua/begin.lua",
    REOPEN: "lua/reopen.lua",
    VIEW: "lua/view.lua",
    FORGET: "lua/forget.lua",
}

/// See the module.
#[derive(Debug)]
pub struct RedisCounters {
    keys: Keys,
    connection: Connection,
    folds: Arc<Folds>,
}

impl RedisCounters {
    /// The counters of the cluster called `name`.
    pub fn new(connection: Connection, name: &str) -> Self {
        let keys = Keys(name.into());
        Self { folds: Arc::new(Folds::new(connection.clone(), keys.clone())), keys, connection }
    }

    /// A script's answers, one a slot, each with the ids that were asked for there. `size` is how much
    /// work an item is.
    async fn by_slot<T: FromRedisValue, I: Sync>(
        &self,
        script: &Script,
        items: &[I],
        id: impl Fn(&I) -> CommentId + Sync,
        size: impl Fn(&I) -> usize,
        args: impl Fn(&mut Call<'_>, &I) + Sync,
    ) -> Result<Vec<(Vec<CommentId>, T)>, CountersError> {
        let mut slots = BTreeMap::<Slot, Vec<&I>>::new();
        for item in items {
            slots.entry(id(item).slot()).or_default().push(item);
        }
        let mut calls = Vec::<(usize, Vec<(Slot, Vec<&I>)>)>::new();
        for (slot, items) in slots {
            let work: usize = items.iter().map(|item| size(item)).sum();
            match calls.last_mut() {
                Some((before, call)) if *before + work <= BATCH && self.connection.is_one() => {
                    *before += work;
                    call.push((slot, items));
                }
                _ => calls.push((work, vec![(slot, items)])),
            }
        }
        let answers = calls.into_iter().map(|(_, slots)| {
            let ids = |items: &[&I]| items.iter().map(|item| id(item)).collect::<Vec<_>>();
            let keys = slots.iter().flat_map(|(slot, items)| self.keys.views(*slot, ids(items)));
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

    async fn run<T: FromRedisValue>(&self, call: &Call<'_>) -> Result<T, CountersError> {
        self.connection.run(call).await.map_err(unavailable)
    }
}

#[async_trait]
impl Counters for RedisCounters {
    async fn fold(&self, fold: Fold) -> Result<Folded, CountersError> {
        self.folds.fold(fold).await
    }

    async fn counts(&self, rows: &[Base]) -> Result<HashMap<CommentId, (u64, u64)>, CountersError> {
        let args = |call: &mut Call<'_>, row: &Base| {
            call.arg(row.likes).arg(row.dislikes).arg(row.reacted);
        };
        let answers = self.by_slot::<Option<Vec<i64>>, _>(&COUNTS, rows, |row| row.id, |_| 1, args).await?;
        let mut counts = HashMap::new();
        for (ids, answer) in answers {
            let answer = answer.ok_or(CountersError::Lost)?;
            let known = ids.into_iter().zip(answer.chunks_exact(2)).filter(|(_, of)| of[0] >= 0);
            counts.extend(known.map(|(id, of)| (id, (of[0] as u64, of[1] as u64))));
        }
        Ok(counts)
    }

    async fn reactions(
        &self,
        member: MemberId,
        ids: &[CommentId],
    ) -> Result<HashMap<CommentId, Option<Reaction>>, CountersError> {
        let mut slots = BTreeMap::<Slot, Vec<CommentId>>::new();
        for id in ids {
            slots.entry(id.slot()).or_default().push(*id);
        }
        let answers = slots.into_iter().map(|(slot, ids)| async move {
            let views = ids.iter().map(|id| self.keys.view(*id));
            let keys: Vec<_> = std::iter::once(self.keys.open(slot)).chain(views).collect();
            let answer: Option<Vec<String>> = self.run(REACTIONS.call(&keys).arg(member.get())).await?;
            Ok::<_, CountersError>((ids, answer.ok_or(CountersError::Lost)?))
        });
        let answers = try_join_all(answers).await?.into_iter();
        let pending = answers.flat_map(|(ids, letters)| ids.into_iter().zip(letters));
        Ok(pending.filter_map(|(id, letter)| Some((id, thought(&letter)?))).collect())
    }

    async fn persisted(&self, rows: &[PersistedReaction]) -> Result<Vec<CommentId>, CountersError> {
        let args = |call: &mut Call<'_>, row: &PersistedReaction| {
            call.arg(row.base.likes).arg(row.base.dislikes).arg(row.base.reacted).arg(row.operations.len());
            for (offset, member, react) in &row.operations {
                call.arg(offset).arg(member.get()).arg(operation(*react));
            }
        };
        let size = |row: &PersistedReaction| 1 + row.operations.len();
        let answers = self.by_slot::<Vec<String>, _>(&PERSISTED, rows, |row| row.base.id, size, args).await?;
        Ok(answers.into_iter().flat_map(|(_, left)| left).filter_map(|id| id.parse().ok()).collect())
    }

    async fn lost(&self, slots: &[Slot]) -> Result<Vec<Slot>, CountersError> {
        let open = slots.iter().map(|slot| async {
            let call = LOST.call(&[self.keys.open(*slot)]);
            Ok::<_, CountersError>((*slot, self.run::<bool>(&call).await?))
        });
        let open = try_join_all(open).await?.into_iter();
        Ok(open.filter(|(_, open)| !open).map(|(slot, _)| slot).collect())
    }

    async fn begin(&self, slots: &[Slot]) -> Result<Recovery, CountersError> {
        let token = format!("{:032x}", rand::random::<u128>());
        let begun = slots
            .iter()
            .map(|slot| async { self.run::<()>(BEGIN.call(&[self.keys.opening(*slot, &token)]).arg(OPENING)).await });
        try_join_all(begun).await?;
        Ok(Recovery { slots: slots.to_vec(), token })
    }

    async fn reopen(&self, opening: &Recovery, reached: &HashMap<Slot, u64>) -> Result<(), CountersError> {
        let opened = opening.slots.iter().map(|slot| async {
            let Some(reached) = reached.get(slot) else { return Ok(false) };
            let keys = [self.keys.opening(*slot, &opening.token), self.keys.open(*slot), self.keys.index(*slot)];
            self.run::<bool>(REOPEN.call(&keys).arg(reached)).await
        });
        let opened = try_join_all(opened).await?;
        if opened.contains(&false) { Err(CountersError::Lost) } else { Ok(()) }
    }

    async fn view(&self, id: CommentId) -> Result<Option<(Base, (u64, u64))>, CountersError> {
        let call = VIEW.call(&self.keys.views(id.slot(), [id]));
        let view: Option<Vec<u64>> = self.run(&call).await?;
        Ok(match view.ok_or(CountersError::Lost)?[..] {
            [reacted, likes, dislikes, now_likes, now_dislikes] => {
                Some((Base { id, likes, dislikes, reacted }, (now_likes, now_dislikes)))
            }
            _ => None,
        })
    }

    async fn forget(&self, id: CommentId) -> Result<(), CountersError> {
        self.run(&FORGET.call(&self.keys.views(id.slot(), [id]))).await
    }
}

/// The names of the keys.
#[derive(Debug, Clone)]
struct Keys(Arc<str>);

impl Keys {
    fn open(&self, slot: Slot) -> String {
        format!("{{{}:{}}}:open", self.0, slot.get())
    }

    fn opening(&self, slot: Slot, token: &str) -> String {
        format!("{{{}:{}}}:opening:{token}", self.0, slot.get())
    }

    fn index(&self, slot: Slot) -> String {
        format!("{{{}:{}}}:w", self.0, slot.get())
    }

    fn view(&self, id: CommentId) -> String {
        format!("{{{}:{}}}:v:{id}", self.0, id.slot().get())
    }

    fn order(&self, id: CommentId) -> String {
        format!("{{{}:{}}}:o:{id}", self.0, id.slot().get())
    }

    /// The keys of most scripts: the slot's marker and index, then view and order of each comment.
    fn views(&self, slot: Slot, ids: impl IntoIterator<Item = CommentId>) -> Vec<String> {
        let mut keys = vec![self.open(slot), self.index(slot)];
        keys.extend(ids.into_iter().flat_map(|id| [self.view(id), self.order(id)]));
        keys
    }
}

/// An operation's letter.
const fn operation(react: ReactionChange) -> &'static str {
    match react {
        ReactionChange::Put(Reaction::Like) => "l",
        ReactionChange::Put(Reaction::Dislike) => "d",
        ReactionChange::Take(Reaction::Like) => "L",
        ReactionChange::Take(Reaction::Dislike) => "D",
    }
}

/// The letter of what a member thinks.
const fn letter(reaction: Option<Reaction>) -> &'static str {
    match reaction {
        None => "-",
        Some(Reaction::Like) => "l",
        Some(Reaction::Dislike) => "d",
    }
}

/// What a letter stands for; `None` for the scripts' `?`.
fn thought(letter: &str) -> Option<Option<Reaction>> {
    match letter {
        "-" => Some(None),
        "l" => Some(Some(Reaction::Like)),
        "d" => Some(Some(Reaction::Dislike)),
        _ => None,
    }
}

fn unavailable(error: impl std::fmt::Display) -> CountersError {
    CountersError::Unavailable(error.to_string())
}
