//! Whether the databases answer, and whether they are sound.

use async_trait::async_trait;
use futures_util::future::try_join_all;
use gailou_shared::id::{CommentId, Slot};
use sqlx::Row as _;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::numbered_tables::NUMBERED_TABLES;
use crate::adapters::mysql::pool::MysqlPool;
use crate::adapters::mysql::rows::{comment_id, optional_number_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_state::SlotState;
use crate::adapters::mysql::statement::sql;
use crate::ports::store::{HealthCheck, Result};

#[async_trait]
impl HealthCheck for MysqlStore {
    async fn read_last_id(&self) -> Result<Option<CommentId>> {
        let tables: Vec<String> = (0..self.tables).map(|n| format!("SELECT MAX(id) AS id FROM comment_{n}")).collect();
        let text = format!("SELECT MAX(x.id) FROM ({}) x", tables.join(" UNION ALL "));
        let found = try_join_all(self.pools.iter().map(|pool| {
            let statement = sql(text.clone());
            async move { pool.session("read_last_id").await?.fetch_first(statement).await }
        }));
        let mut last = None;
        for r in found.await?.iter().flatten() {
            last = last.max(optional_number_at(r, 0)?.map(comment_id).transpose()?);
        }
        Ok(last)
    }

    async fn find_damage(&self) -> Result<Vec<String>> {
        let mut damage = Vec::new();
        for (shard, pool) in self.pools.iter().enumerate() {
            let mut session = pool.session("find_damage").await?;
            damage.extend(self.find_misplaced_slots(shard, pool, &mut session).await?);
            session.allow_long_work().await?;
            for n in 0..self.tables {
                damage.extend(check_tables(pool, &mut session, n).await?);
            }
        }
        Ok(damage)
    }
}

impl MysqlStore {
    /// Slots whose state contradicts the slot map.
    async fn find_misplaced_slots(
        &self,
        shard: usize,
        pool: &MysqlPool,
        session: &mut MysqlSession,
    ) -> Result<Vec<String>> {
        let map = self.slot_map.get();
        let mut misplaced = Vec::new();
        for (slot, state) in SlotState::read_all(session).await? {
            let mapped = u16::try_from(slot).ok().and_then(Slot::new).map(|slot| map.shard(slot) == shard);
            let right = match mapped {
                Some(true) => state.is_owned(),
                Some(false) => matches!(state, SlotState::Elsewhere | SlotState::Incoming),
                None => false,
            };
            if !right {
                let place = if mapped == Some(true) { "here" } else { "elsewhere" };
                misplaced.push(format!(
                    "{}: slot {slot} is in state {state:?}, the map says that it is {place} (`gailou shard move` repairs it)",
                    pool.address(),
                ));
            }
        }
        Ok(misplaced)
    }
}

/// What the server finds wrong with the tables of one number.
async fn check_tables(pool: &MysqlPool, session: &mut MysqlSession, n: u16) -> Result<Vec<String>> {
    let tables: Vec<String> = NUMBERED_TABLES.iter().map(|table| format!("{}_{n}", table.name)).collect();
    let mut damage = Vec::new();
    for r in session.fetch_text(format!("CHECK TABLE {}", tables.join(", "))).await? {
        let (table, kind, text): (String, String, String) = (r.try_get(0)?, r.try_get(2)?, r.try_get(3)?);
        if !(kind == "note" || kind == "status" && text == "OK") {
            damage.push(format!("{}: {table}: {text}", pool.address()));
        }
    }
    Ok(damage)
}
