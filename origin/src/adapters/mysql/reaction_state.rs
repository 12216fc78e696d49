//! What the tables say of pairs of a member and a comment: one round trip a database, however many
//! tables the pairs lie in.
//!
//! A statement has a part for the slots and two for each numbered table, each on one table and by its
//! primary key: what is asked for most costs the server little more than to find the rows, and rows
//! that many pairs share come once. As one statement they are of one moment. Comments without a row
//! yet, which are few, have a statement of their own that counts their reactions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures_util::future::try_join_all;
use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::wire::{CommentState, Reaction, Visibility};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;
use tokio::time::Instant;

use crate::adapters::mysql::log_positions::here;
use crate::adapters::mysql::rows::count_at;
use crate::adapters::mysql::{MysqlStore, rows};
use crate::domain::reaction_state::ReactionState;
use crate::ports::store::{Result, StoreError};

type Pair = (CommentId, MemberId);

/// Which part of the statement a row is of.
const SLOT: i64 = 0;
const COMMENT: i64 = 1;
const REACTION: i64 = 2;

/// What one statement found.
#[derive(Default)]
struct Found {
    positions: HashMap<i64, u64>,
    comments: HashMap<i64, Counted>,
    reactions: HashMap<(i64, i64), Reaction>,
}

/// What a comment's row says.
#[derive(Clone, Copy)]
struct Counted {
    visible: bool,
    likes: u64,
    dislikes: u64,
    reacted: u64,
}

impl Found {
    fn take(&mut self, r: &MySqlRow) -> Result<()> {
        let number = |index: usize| -> Result<i64> { Ok(r.try_get(index)?) };
        match number(0)? {
            SLOT => {
                here(r, 2)?;
                self.positions.insert(number(1)?, count_at(r, 3)?);
            }
            COMMENT => {
                let visible = visible(number(2)?, number(3)?)?;
                let (likes, dislikes, reacted) = (count_at(r, 4)?, count_at(r, 5)?, count_at(r, 6)?);
                self.comments.insert(number(1)?, Counted { visible, likes, dislikes, reacted });
            }
            _ => {
                self.reactions.insert((number(1)?, number(2)?), rows::reaction(number(3)?)?);
            }
        }
        Ok(())
    }

    /// `None` for a comment without a row.
    fn standing(&self, (id, member): &Pair) -> Result<Option<ReactionState>> {
        let position = self.positions.get(&i64::from(id.slot().get())).copied().ok_or_else(no_slot)?;
        let reaction = self.reactions.get(&(id.signed(), member.signed())).copied();
        Ok(self.comments.get(&id.signed()).map(|&Counted { visible, likes, dislikes, reacted }| ReactionState {
            position,
            reaction,
            visible: Some(visible),
            likes,
            dislikes,
            reacted,
        }))
    }
}

impl MysqlStore {
    pub(super) async fn read_standing(&self, pairs: &[Pair]) -> Result<Vec<ReactionState>> {
        let begun = Instant::now();
        loop {
            match self.standing_now(pairs).await {
                Err(StoreError::Moved) => self.moved(begun).await?,
                answer => return answer,
            }
        }
    }

    async fn standing_now(&self, pairs: &[Pair]) -> Result<Vec<ReactionState>> {
        let mut shards: BTreeMap<usize, Vec<Pair>> = BTreeMap::new();
        for pair in pairs {
            shards.entry(self.shard(pair.0.slot())).or_default().push(*pair);
        }
        let asked = shards.into_iter().map(|(shard, pairs)| async move {
            let text = self.statement(&pairs);
            self.session(shard).await?.raw_all(&text).await
        });
        let mut found = Found::default();
        for r in try_join_all(asked).await?.iter().flatten() {
            found.take(r)?;
        }
        let mut all = pairs.iter().map(|pair| found.standing(pair)).collect::<Result<Vec<_>>>()?;
        let early: Vec<usize> = (0..pairs.len()).filter(|n| all[*n].is_none()).collect();
        if !early.is_empty() {
            let standing = self.standing_early(&early.iter().map(|n| pairs[*n]).collect::<Vec<_>>()).await?;
            for (n, standing) in early.into_iter().zip(standing) {
                all[n] = Some(standing);
            }
        }
        all.into_iter().collect::<Option<_>>().ok_or_else(no_slot)
    }

    /// The statement for pairs of one database, ascending within each part.
    fn statement(&self, pairs: &[Pair]) -> String {
        let slots: BTreeSet<Slot> = pairs.iter().map(|(id, _)| id.slot()).collect();
        let mut tables: BTreeMap<u16, BTreeMap<CommentId, BTreeSet<MemberId>>> = BTreeMap::new();
        for (id, member) in pairs {
            tables.entry(self.table(id.slot())).or_default().entry(*id).or_default().insert(*member);
        }
        let slots = list(slots.iter().map(|slot| slot.get()));
        let mut parts = vec![format!(
            "SELECT {SLOT}, slot, state, reactions, 0, 0, 0 FROM slot FORCE INDEX (PRIMARY) WHERE slot IN ({slots})"
        )];
        for (table, comments) in tables {
            let ids = list(comments.keys());
            let members = |(id, members): (&CommentId, &BTreeSet<MemberId>)| {
                format!("(comment_id = {id} AND member_id IN ({}))", list(members))
            };
            let members = comments.iter().map(members).collect::<Vec<_>>().join(" OR ");
            parts.push(format!(
                "SELECT {COMMENT}, id, state, visibility, likes, dislikes, reacted \
                 FROM comment_{table} FORCE INDEX (PRIMARY) WHERE id IN ({ids})"
            ));
            parts.push(format!(
                "SELECT {REACTION}, comment_id, member_id, reaction, 0, 0, 0 \
                 FROM reaction_{table} FORCE INDEX (PRIMARY) WHERE {members}"
            ));
        }
        parts.join(" UNION ALL ")
    }

    /// The same for comments that had no row a moment ago: their reactions are counted.
    async fn standing_early(&self, pairs: &[Pair]) -> Result<Vec<ReactionState>> {
        let count = |reaction: u8| {
            format!(
                "CASE WHEN c.id IS NULL THEN (SELECT COUNT(*) FROM reaction_{{n}} x \
                 WHERE x.comment_id = j.id AND x.reaction = {reaction}) END"
            )
        };
        let text = format!(
            "SELECT j.n, s.state, s.reactions, r.reaction, c.likes, c.dislikes, c.reacted, {}, {}, c.state, c.visibility \
             FROM JSON_TABLE(?, '$[*]' COLUMNS (n BIGINT PATH '$[0]', id BIGINT PATH '$[1]', \
             member BIGINT PATH '$[2]', slot BIGINT PATH '$[3]')) j \
             STRAIGHT_JOIN slot s FORCE INDEX (PRIMARY) ON s.slot = j.slot LEFT JOIN comment_{{n}} c FORCE INDEX (PRIMARY) ON c.id = j.id \
             LEFT JOIN reaction_{{n}} r FORCE INDEX (PRIMARY) ON r.comment_id = j.id AND r.member_id = j.member",
            count(1),
            count(2),
        );
        let things = pairs.iter().enumerate().map(|(n, (id, member))| (id.slot(), (n, *id, *member)));
        let found = try_join_all(self.parts(things).into_iter().map(|(part, _, pairs)| {
            let lines = pairs.iter().map(|(n, id, member)| format!("[{n},{id},{member},{}]", id.slot().get()));
            let statement = part.sql(&text).bind(format!("[{}]", lines.collect::<Vec<_>>().join(",")));
            async move { self.session(part.shard).await?.all(statement).await }
        }));
        let mut all = vec![None; pairs.len()];
        for r in found.await?.iter().flatten() {
            here(r, 1)?;
            let of = |row: usize, counted: usize| -> Result<u64> {
                let known: Option<i64> = r.try_get(row)?;
                Ok(rows::count(known.map_or_else(|| r.try_get(counted), Ok)?))
            };
            let seen = match (r.try_get::<Option<i64>, _>(9)?, r.try_get::<Option<i64>, _>(10)?) {
                (Some(state), Some(visibility)) => Some(visible(state, visibility)?),
                _ => None,
            };
            let standing = ReactionState {
                position: count_at(r, 2)?,
                reaction: r.try_get::<Option<i64>, _>(3)?.map(rows::reaction).transpose()?,
                visible: seen,
                likes: of(4, 7)?,
                dislikes: of(5, 8)?,
                reacted: r.try_get::<Option<i64>, _>(6)?.map_or(0, rows::count),
            };
            if let Some(place) = usize::try_from(r.try_get::<i64, _>(0)?).ok().and_then(|n| all.get_mut(n)) {
                *place = Some(standing);
            }
        }
        all.into_iter().collect::<Option<_>>().ok_or_else(no_slot)
    }
}

fn visible(state: i64, visibility: i64) -> Result<bool> {
    Ok(rows::state(state)? == CommentState::Published && rows::visibility(visibility) == Visibility::Everyone)
}

fn no_slot() -> StoreError {
    rows::damaged("a slot has no row")
}

fn list(values: impl IntoIterator<Item = impl std::fmt::Display>) -> String {
    values.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join(",")
}
