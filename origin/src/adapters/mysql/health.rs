//! Whether the databases answer, and whether they are sound.

use async_trait::async_trait;
use futures_util::future::try_join_all;
use gailou_shared::id::{CommentId, SLOT_COUNT, Slot};
use sqlx::Row as _;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::numbered_tables::NUMBERED_TABLES;
use crate::adapters::mysql::pool::MysqlPool;
use crate::adapters::mysql::rows::{comment_id, optional_number_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_state::SlotOwner;
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
        self.refresh_slot_map().await?;
        Ok(self.find_slot_problems().into_iter().map(|(_, problem)| problem).collect())
    }

    async fn check_tables(&self) -> Result<Vec<String>> {
        let mut damage = Vec::new();
        for (shard, pool) in self.pools.iter().enumerate() {
            let mut session = self.long_session("check_tables", shard).await?;
            for n in 0..self.tables {
                // One table a statement, which has an hour.
                for table in &NUMBERED_TABLES {
                    damage.extend(check_table(pool, &mut session, &format!("{}_{n}", table.name)).await?);
                }
            }
        }
        Ok(damage)
    }
}

impl MysqlStore {
    /// Slots that have no owner, or two, or one that the stored map does not name, or one that takes no writes.
    pub(super) fn find_slot_problems(&self) -> Vec<(Slot, String)> {
        let (map, mut problems) = (self.slot_map.get(), Vec::new());
        let address = |shard| self.pool(shard).address();
        for slot in (0..SLOT_COUNT).filter_map(Slot::new) {
            let number = slot.get();
            let problem = match map.owner(slot) {
                SlotOwner::Unclaimed => Some("no database has it".to_owned()),
                SlotOwner::Conflict(one, other) => {
                    Some(format!("{} and {} both have it", address(one), address(other)))
                }
                SlotOwner::One(owner) if map.stored_shard(slot) != Some(owner) => {
                    Some(format!("{} has it, the slot map does not say so", address(owner)))
                }
                SlotOwner::One(owner) if map.is_sealed(slot, owner) => {
                    Some(format!("{} has it sealed, for a move that was not finished", address(owner)))
                }
                SlotOwner::One(_) => None,
            };
            let describe = |problem| (slot, format!("slot {number}: {problem} (`gailou shard repair`)"));
            problems.extend(problem.map(describe));
        }
        problems
    }
}

/// What the server finds wrong with a table.
async fn check_table(pool: &MysqlPool, session: &mut MysqlSession, table: &str) -> Result<Vec<String>> {
    let mut damage = Vec::new();
    for r in session.fetch_text(format!("CHECK TABLE {table}")).await? {
        let (kind, text): (String, String) = (r.try_get(2)?, r.try_get(3)?);
        if !(kind == "note" || kind == "status" && text == "OK") {
            damage.push(format!("{}: {table}: {text}", pool.address()));
        }
    }
    Ok(damage)
}
