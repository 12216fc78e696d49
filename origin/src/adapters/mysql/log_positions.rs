//! What a log's consumers ask: how far the tables are, what a member thinks, and who may issue ids.
//! What the tables say of pairs stands in `standing`.
//!
//! Unlike pages, these answers must come from the database that has the slot now, and say
//! [`StoreError::Moved`] otherwise.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::try_join_all;
use gailou_shared::id::{CommentId, IMPORT_NODE, MemberId, Slot};
use gailou_shared::wire::Reaction;
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;
use tokio::time::{Instant, sleep};

use crate::adapters::mysql::pool::sql;
use crate::adapters::mysql::read::{IDS, json};
use crate::adapters::mysql::rows::count_at;
use crate::adapters::mysql::{MysqlStore, rows};
use crate::domain::positions::OperationStream;
use crate::ports::store::{Result, StoreError};

/// How long a caller waits for a slot that changes its database.
const MOVING: Duration = Duration::from_secs(2);
/// How often it looks.
const LOOK: Duration = Duration::from_millis(20);

/// The database's own milliseconds, since processes' clocks differ.
const NOW: &str = "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)";

/// A database holds a slot's truth in these states.
const HERE: [i64; 2] = [1, 4];
/// The same, and where it is complete for as long as nobody can write it.
const WHOLE: [i64; 3] = [1, 2, 4];

impl MysqlStore {
    /// Waits a little and reads the map again, after [`StoreError::Moved`]; the error itself when the
    /// time since `begun` is over.
    pub(super) async fn moved(&self, begun: Instant) -> Result<()> {
        if begun.elapsed() > MOVING {
            return Err(StoreError::Moved);
        }
        sleep(LOOK).await;
        self.refresh().await
    }

    pub(super) async fn read_positions(&self, stream: OperationStream, slots: &[Slot]) -> Result<HashMap<Slot, u64>> {
        let begun = Instant::now();
        loop {
            match self.positions_now(stream, slots).await {
                Err(StoreError::Moved) => self.moved(begun).await?,
                answer => return answer,
            }
        }
    }

    async fn positions_now(&self, stream: OperationStream, slots: &[Slot]) -> Result<HashMap<Slot, u64>> {
        let column = match stream {
            OperationStream::Comments => "comments",
            OperationStream::Reactions => "reactions",
        };
        let text = format!(
            "SELECT s.slot, s.state, s.{column} FROM {IDS} STRAIGHT_JOIN slot s FORCE INDEX (PRIMARY) ON s.slot = j.id"
        );
        let mut by_shard: HashMap<usize, Vec<i64>> = HashMap::new();
        for slot in slots {
            by_shard.entry(self.shard(*slot)).or_default().push(i64::from(slot.get()));
        }
        let found = try_join_all(by_shard.into_iter().map(|(shard, slots)| {
            let statement = sql(text.clone()).bind(json(slots));
            async move { self.session(shard).await?.all(statement).await }
        }));
        let mut positions = HashMap::with_capacity(slots.len());
        for r in found.await?.iter().flatten() {
            here(r, 1)?;
            let slot = u16::try_from(r.try_get::<i64, _>(0)?).ok().and_then(Slot::new);
            positions.insert(slot.ok_or_else(|| rows::damaged("a slot's number"))?, count_at(r, 2)?);
        }
        Ok(positions)
    }

    /// What a member thinks of comments. As new as the counters that dropped what became a row: after a
    /// slot has moved, its old copy would miss that.
    pub(super) async fn read_reactions(
        &self,
        member: MemberId,
        ids: &[CommentId],
    ) -> Result<HashMap<CommentId, Reaction>> {
        let begun = Instant::now();
        loop {
            match self.reactions_now(member, ids).await {
                Err(StoreError::Moved) => self.moved(begun).await?,
                answer => return answer,
            }
        }
    }

    async fn reactions_now(&self, member: MemberId, ids: &[CommentId]) -> Result<HashMap<CommentId, Reaction>> {
        let text = format!(
            "SELECT j.id, s.state, r.reaction FROM {IDS} \
             STRAIGHT_JOIN slot s FORCE INDEX (PRIMARY) ON s.slot = (j.id >> 12) & 1023 \
             LEFT JOIN reaction_{{n}} r FORCE INDEX (PRIMARY) ON r.comment_id = j.id AND r.member_id = ?"
        );
        let things = ids.iter().map(|id| (id.slot(), id.signed()));
        let mut reactions = HashMap::new();
        for r in self.rows_by_id(things, &text, |s| s.bind(member.signed())).await? {
            if !WHOLE.contains(&r.try_get(1)?) {
                return Err(StoreError::Moved);
            }
            if let Some(reaction) = r.try_get::<Option<i64>, _>(2)? {
                reactions.insert(rows::id_at(&r, 0)?, rows::reaction(reaction)?);
            }
        }
        Ok(reactions)
    }

    pub(super) async fn take_lease(&self, holder: &str, ttl_ms: u64) -> Result<Option<u64>> {
        let mut session = self.first().session().await?;
        let ttl = i64::try_from(ttl_ms).unwrap_or(i64::MAX / 2);
        // A number whose time is over is still its last holder's while nobody has taken it.
        let renew = format!("UPDATE node SET expires_at = {NOW} + ? WHERE holder = ?");
        session.run(sql(renew).bind(ttl).bind(holder.to_owned())).await?;
        let find = "SELECT node FROM node WHERE holder = ?";
        if let Some(r) = session.first(sql(find).bind(holder.to_owned())).await? {
            return Ok(Some(count_at(&r, 0)?));
        }
        let take = format!(
            "UPDATE node SET holder = ?, expires_at = {NOW} + ? WHERE expires_at <= {NOW} AND node < {IMPORT_NODE} \
             ORDER BY node LIMIT 1"
        );
        session.run(sql(take).bind(holder.to_owned()).bind(ttl)).await?;
        let found = session.first(sql(find).bind(holder.to_owned())).await?;
        found.map(|r| count_at(&r, 0)).transpose()
    }

    pub(super) async fn give_back(&self, holder: &str) -> Result<()> {
        let give = "UPDATE node SET holder = '', expires_at = 0 WHERE holder = ?";
        self.first().session().await?.run(sql(give).bind(holder.to_owned())).await?;
        Ok(())
    }
}

/// Refuses a slot whose state, in this column, says that it is not here.
pub(super) fn here(r: &MySqlRow, column: usize) -> Result<()> {
    if HERE.contains(&r.try_get(column)?) { Ok(()) } else { Err(StoreError::Moved) }
}
