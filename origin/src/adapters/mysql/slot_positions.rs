//! How far the tables have applied the streams of each slot. The answers must come from the database that
//! has the slot now.

use std::collections::HashMap;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use gailou_shared::id::Slot;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::routing::{IDS_TABLE, json_array};
use crate::adapters::mysql::rows::{count_at, slot_at};
use crate::adapters::mysql::slot_state::SlotState;
use crate::adapters::mysql::statement::sql;
use crate::domain::positions::OperationStream;
use crate::ports::store::{Result, Sharding as _, SlotPositions};

#[async_trait]
impl SlotPositions for MysqlStore {
    async fn read_positions(&self, stream: OperationStream, slots: &[Slot]) -> Result<HashMap<Slot, u64>> {
        self.retry_while_moving(|| self.read_current_positions(stream, slots)).await
    }
}

impl MysqlStore {
    async fn read_current_positions(&self, stream: OperationStream, slots: &[Slot]) -> Result<HashMap<Slot, u64>> {
        let column = match stream {
            OperationStream::Comments => "comments",
            OperationStream::Reactions => "reactions",
        };
        let text = format!(
            "SELECT s.slot, s.state, s.{column} \
             FROM {IDS_TABLE} STRAIGHT_JOIN slot s FORCE INDEX (PRIMARY) ON s.slot = j.id"
        );
        let mut by_shard: HashMap<usize, Vec<i64>> = HashMap::new();
        for slot in slots {
            by_shard.entry(self.database_of(*slot)).or_default().push(i64::from(slot.get()));
        }
        let found = try_join_all(by_shard.into_iter().map(|(shard, slots)| {
            let statement = sql(text.clone()).bind(json_array(slots));
            async move { self.session("read_positions", shard).await?.fetch_all(statement).await }
        }));
        let mut positions = HashMap::with_capacity(slots.len());
        for r in found.await?.iter().flatten() {
            SlotState::at(r, 1)?.ensure_owned()?;
            positions.insert(slot_at(r, 0)?, count_at(r, 2)?);
        }
        Ok(positions)
    }
}
