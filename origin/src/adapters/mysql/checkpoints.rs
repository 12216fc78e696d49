//! The checkpoints of each database, in its table `checkpoint`.

use std::collections::HashMap;

use async_trait::async_trait;
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::rows::{count_at, damaged, number_at};
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write;
use crate::adapters::mysql::write::checkpoint_rows::{self, topic_number};
use crate::domain::checkpoint::{Checkpoint, CheckpointAdvance, LogSamples};
use crate::domain::operation::{LoggedOperation, PersistedBatch};
use crate::domain::positions::OperationStream;
use crate::ports::store::{Checkpoints, Result};

#[async_trait]
impl Checkpoints for MysqlStore {
    async fn read_checkpoints(
        &self,
        database: usize,
        stream: OperationStream,
        partitions: &[(u32, u64)],
    ) -> Result<HashMap<u32, Checkpoint>> {
        let topic = topic_number(stream);
        let rows: Vec<String> = partitions.iter().map(|(part, first)| format!("({topic},{part},{first})")).collect();
        let parts: Vec<String> = partitions.iter().map(|(part, _)| part.to_string()).collect();
        if rows.is_empty() {
            return Ok(HashMap::new());
        }
        let mut session = self.session("read_checkpoints", database).await?;
        let text = format!(
            "SELECT part, next, moves, samples FROM checkpoint WHERE topic = {topic} AND part IN ({})",
            parts.join(",")
        );
        let mut found = session.fetch_text(text.clone()).await?;
        if found.len() < partitions.len() {
            session
                .execute_text(format!("INSERT IGNORE INTO checkpoint (topic, part, next) VALUES {}", rows.join(",")))
                .await?;
            found = session.fetch_text(text).await?;
        }
        let checkpoint = |r: &MySqlRow| -> Result<(u32, Checkpoint)> {
            let samples = LogSamples::from_bytes(&r.try_get::<Vec<u8>, _>(3)?);
            let part = u32::try_from(number_at(r, 0)?).map_err(damaged)?;
            Ok((part, Checkpoint { next: count_at(r, 1)?, moves: count_at(r, 2)?, samples }))
        };
        found.iter().map(checkpoint).collect()
    }

    async fn read_applied_offset(
        &self,
        database: usize,
        stream: OperationStream,
        partition: u32,
    ) -> Result<Option<u64>> {
        let find = sql("SELECT next FROM checkpoint WHERE topic = ? AND part = ?");
        let find = find.bind(topic_number(stream)).bind(i64::from(partition));
        let found = self.session("read_applied_offset", database).await?.fetch_first(find).await?;
        found.map(|r| count_at(&r, 0)).transpose()
    }

    async fn persist_from(
        &self,
        stream: OperationStream,
        batch: &[LoggedOperation],
        database: usize,
        advances: &[CheckpointAdvance],
    ) -> Result<PersistedBatch> {
        write::persist(self, batch, Some(checkpoint_rows::Advances { database, stream, advances })).await
    }

    async fn skip_operation(
        &self,
        dead: &LoggedOperation,
        database: usize,
        advances: &[CheckpointAdvance],
    ) -> Result<()> {
        write::skip_operation(self, dead, database, advances).await
    }

    async fn reset_checkpoint(
        &self,
        database: usize,
        stream: OperationStream,
        partition: u32,
        next: u64,
    ) -> Result<()> {
        let put = "INSERT INTO checkpoint (topic, part, next) VALUES (?, ?, ?) \
                   ON DUPLICATE KEY UPDATE next = VALUES(next), samples = '', moves = moves + 1";
        let put = sql(put).bind(topic_number(stream)).bind(i64::from(partition)).bind(next);
        self.session("reset_checkpoint", database).await?.execute(put).await.map(drop)
    }

    async fn advance_checkpoints(
        &self,
        database: usize,
        stream: OperationStream,
        advances: &[CheckpointAdvance],
    ) -> Result<()> {
        let mut session = self.session("advance_checkpoints", database).await?;
        if advances.is_empty() {
            // A statement that a server refuses which takes no writes.
            let touch = sql("UPDATE checkpoint SET next = next WHERE topic = ? LIMIT 1").bind(topic_number(stream));
            return session.execute(touch).await.map(drop);
        }
        // A write of its own: it is committed or refused as a whole.
        session.begin().await?;
        let done = async {
            checkpoint_rows::check_applied(&mut session, stream, advances).await?;
            checkpoint_rows::write(&mut session, stream, advances).await
        };
        let done = done.await;
        session.finish(done).await
    }
}
