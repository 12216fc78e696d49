//! What the tables know of pairs of a member and a comment: one round trip a database, however many
//! tables the pairs are in.
//!
//! A statement has a part for the slots and two parts for each numbered table. Each part reads one table
//! by its primary key, so it costs the server little more than to find the rows, and a row that many
//! pairs share is sent once. One statement is of one moment. Comments without a row yet, which are few,
//! have a statement of their own that counts their reactions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Display;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::wire::{CommentState, Reaction, Visibility};
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::routing::PartKeys;
use crate::adapters::mysql::rows::{StoredEnum, count, count_at, damaged, number_at, optional_number_at};
use crate::adapters::mysql::slot_state::SlotState;
use crate::domain::reaction_state::ReactionState;
use crate::domain::row::is_visible;
use crate::ports::store::{ReactionStateReader, Result, Sharding as _, StoreError};

type ReactionKey = (CommentId, MemberId);

/// The first column of a row says which part of the statement it is from.
const SLOT_PART: i64 = 0;
const COMMENT_PART: i64 = 1;
const REACTION_PART: i64 = 2;

#[async_trait]
impl ReactionStateReader for MysqlStore {
    async fn read_reaction_states(&self, pairs: &[ReactionKey]) -> Result<Vec<ReactionState>> {
        self.retry_while_moving(|| self.read_current_states(pairs)).await
    }
}

/// The rows that statements found.
#[derive(Default)]
struct StateRows {
    positions: HashMap<i64, u64>,
    comments: HashMap<i64, CountedRow>,
    reactions: HashMap<(i64, i64), Reaction>,
}

/// The columns of a comment's row.
#[derive(Clone, Copy)]
struct CountedRow {
    visible: bool,
    likes: u64,
    dislikes: u64,
    reactions_offset: u64,
}

impl StateRows {
    fn add(&mut self, r: &MySqlRow) -> Result<()> {
        match number_at(r, 0)? {
            SLOT_PART => {
                SlotState::at(r, 2)?.ensure_owned()?;
                self.positions.insert(number_at(r, 1)?, count_at(r, 3)?);
            }
            COMMENT_PART => {
                let visible = visible(number_at(r, 2)?, number_at(r, 3)?)?;
                let (likes, dislikes, reactions_offset) = (count_at(r, 4)?, count_at(r, 5)?, count_at(r, 6)?);
                self.comments.insert(number_at(r, 1)?, CountedRow { visible, likes, dislikes, reactions_offset });
            }
            _ => {
                let reaction = Reaction::from_number(number_at(r, 3)?)?;
                self.reactions.insert((number_at(r, 1)?, number_at(r, 2)?), reaction);
            }
        }
        Ok(())
    }

    /// `None` for a comment without a row.
    fn state(&self, (id, member): &ReactionKey) -> Result<Option<ReactionState>> {
        let position = self.positions.get(&i64::from(id.slot().get())).copied().ok_or_else(no_slot)?;
        let reaction = self.reactions.get(&(id.signed(), member.signed())).copied();
        Ok(self.comments.get(&id.signed()).map(|&CountedRow { visible, likes, dislikes, reactions_offset }| {
            ReactionState { position, reaction, visible: Some(visible), likes, dislikes, reactions_offset }
        }))
    }
}

impl MysqlStore {
    async fn read_current_states(&self, pairs: &[ReactionKey]) -> Result<Vec<ReactionState>> {
        let mut shards: BTreeMap<usize, Vec<ReactionKey>> = BTreeMap::new();
        for pair in pairs {
            shards.entry(self.database_of(pair.0.slot())).or_default().push(*pair);
        }
        let found = shards.into_iter().map(|(shard, pairs)| async move {
            let text = self.states_sql(&pairs);
            self.session("read_reaction_states", shard).await?.fetch_text(text).await
        });
        let mut rows = StateRows::default();
        for r in try_join_all(found).await?.iter().flatten() {
            rows.add(r)?;
        }
        let mut all = pairs.iter().map(|pair| rows.state(pair)).collect::<Result<Vec<_>>>()?;
        let early: Vec<usize> = (0..pairs.len()).filter(|n| all[*n].is_none()).collect();
        if !early.is_empty() {
            let states = self.count_early_reactions(&early.iter().map(|n| pairs[*n]).collect::<Vec<_>>()).await?;
            for (n, state) in early.into_iter().zip(states) {
                all[n] = Some(state);
            }
        }
        all.into_iter().collect::<Option<_>>().ok_or_else(no_slot)
    }

    /// The statement for pairs of one database; the keys of each part ascend.
    fn states_sql(&self, pairs: &[ReactionKey]) -> String {
        let slots: BTreeSet<Slot> = pairs.iter().map(|(id, _)| id.slot()).collect();
        let mut tables: BTreeMap<u16, BTreeMap<CommentId, BTreeSet<MemberId>>> = BTreeMap::new();
        for (id, member) in pairs {
            tables.entry(self.table_number(id.slot())).or_default().entry(*id).or_default().insert(*member);
        }
        let slots = join(slots.iter().map(|slot| slot.get()));
        let mut parts = vec![format!(
            "SELECT {SLOT_PART}, slot, state, reactions, 0, 0, 0 \
             FROM slot FORCE INDEX (PRIMARY) WHERE slot IN ({slots})"
        )];
        for (table, comments) in tables {
            let ids = join(comments.keys());
            let members = |(id, members): (&CommentId, &BTreeSet<MemberId>)| {
                format!("(slot = {} AND comment_id = {id} AND member_id IN ({}))", id.slot().get(), join(members))
            };
            let members = comments.iter().map(members).collect::<Vec<_>>().join(" OR ");
            parts.push(format!(
                "SELECT {COMMENT_PART}, id, state, visibility, likes, dislikes, reacted \
                 FROM comment_{table} FORCE INDEX (PRIMARY) WHERE id IN ({ids})"
            ));
            parts.push(format!(
                "SELECT {REACTION_PART}, comment_id, member_id, reaction, 0, 0, 0 \
                 FROM reaction_{table} FORCE INDEX (PRIMARY) WHERE {members}"
            ));
        }
        parts.join(" UNION ALL ")
    }

    /// The states for comments that had no row a moment ago: their reactions are counted. By now the row
    /// may exist.
    async fn count_early_reactions(&self, pairs: &[ReactionKey]) -> Result<Vec<ReactionState>> {
        let count_of = |reaction: Reaction| {
            format!(
                "CASE WHEN c.id IS NULL THEN (SELECT COUNT(*) FROM reaction_{{n}} x \
                 WHERE x.slot = j.slot AND x.comment_id = j.id AND x.reaction = {}) END",
                reaction.number()
            )
        };
        let text = format!(
            "SELECT j.n, s.state, s.reactions, r.reaction, c.likes, c.dislikes, c.reacted, {}, {}, c.state, c.visibility \
             FROM JSON_TABLE(?, '$[*]' COLUMNS (n BIGINT PATH '$[0]', id BIGINT PATH '$[1]', \
             member BIGINT PATH '$[2]', slot BIGINT PATH '$[3]')) j \
             STRAIGHT_JOIN slot s FORCE INDEX (PRIMARY) ON s.slot = j.slot \
             LEFT JOIN comment_{{n}} c FORCE INDEX (PRIMARY) ON c.id = j.id \
             LEFT JOIN reaction_{{n}} r FORCE INDEX (PRIMARY) \
             ON r.slot = j.slot AND r.comment_id = j.id AND r.member_id = j.member",
            count_of(Reaction::Like),
            count_of(Reaction::Dislike),
        );
        let keys = pairs.iter().enumerate().map(|(n, (id, member))| (id.slot(), (n, *id, *member)));
        let found = try_join_all(self.parts(keys).into_iter().map(|PartKeys { part, keys, .. }| {
            let lines = keys.iter().map(|(n, id, member)| format!("[{n},{id},{member},{}]", id.slot().get()));
            let statement = part.sql(&text).bind(format!("[{}]", lines.collect::<Vec<_>>().join(",")));
            async move { self.session("read_early_reaction_states", part.shard).await?.fetch_all(statement).await }
        }));
        let mut all = vec![None; pairs.len()];
        for r in found.await?.iter().flatten() {
            let index = usize::try_from(number_at(r, 0)?).ok();
            if let Some(state) = index.and_then(|index| all.get_mut(index)) {
                *state = Some(early_state(r)?);
            }
        }
        all.into_iter().collect::<Option<_>>().ok_or_else(no_slot)
    }
}

/// A row of [`MysqlStore::count_early_reactions`].
fn early_state(r: &MySqlRow) -> Result<ReactionState> {
    SlotState::at(r, 1)?.ensure_owned()?;
    let votes = |row: usize, counted: usize| -> Result<u64> {
        optional_number_at(r, row)?.map_or_else(|| count_at(r, counted), |number| Ok(count(number)))
    };
    let visible = match (optional_number_at(r, 9)?, optional_number_at(r, 10)?) {
        (Some(state), Some(visibility)) => Some(visible(state, visibility)?),
        _ => None,
    };
    Ok(ReactionState {
        position: count_at(r, 2)?,
        reaction: optional_number_at(r, 3)?.map(Reaction::from_number).transpose()?,
        visible,
        likes: votes(4, 7)?,
        dislikes: votes(5, 8)?,
        reactions_offset: optional_number_at(r, 6)?.map_or(0, count),
    })
}

fn visible(state: i64, visibility: i64) -> Result<bool> {
    Ok(is_visible(CommentState::from_number(state)?, Visibility::from_number(visibility)?))
}

fn no_slot() -> StoreError {
    damaged("a slot has no row")
}

fn join(values: impl IntoIterator<Item = impl Display>) -> String {
    values.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join(",")
}
