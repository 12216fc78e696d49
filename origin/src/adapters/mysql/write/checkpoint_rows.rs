//! Checkpoints as a transaction writes them: conditional on what is known of them.

use gailou_shared::id::Slot;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::rows::{count_at, damaged, number_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write::batch_sql::json_table;
use crate::domain::checkpoint::CheckpointAdvance;
use crate::domain::positions::OperationStream;
use crate::domain::slot_state::SlotProgress;
use crate::ports::store::{Result, StoreError};

/// The checkpoints that are written with a batch to one database.
#[derive(Debug, Clone, Copy)]
pub(in crate::adapters::mysql) struct Advances<'a> {
    pub(in crate::adapters::mysql) database: usize,
    pub(in crate::adapters::mysql) stream: OperationStream,
    pub(in crate::adapters::mysql) advances: &'a [CheckpointAdvance],
}

/// A stream in the column `topic`.
pub(in crate::adapters::mysql) fn topic_number(stream: OperationStream) -> i16 {
    match stream {
        OperationStream::Comments => 0,
        OperationStream::Reactions => 1,
    }
}

/// The checkpoints of a slot's partition: stream, partition and next offset.
///
/// Every database has one row for each partition, so the largest says how many partitions there are.
pub(in crate::adapters::mysql) async fn read_of_slot(
    session: &mut MysqlSession,
    slot: Slot,
) -> Result<Vec<(OperationStream, u32, u64)>> {
    let find = "SELECT topic, part, next FROM checkpoint c \
                WHERE part = ? % (SELECT MAX(part) + 1 FROM checkpoint m WHERE m.topic = c.topic)";
    let found = session.fetch_all(sql(find).bind(slot.get())).await?;
    let checkpoint = |r: &MySqlRow| {
        let streams = [OperationStream::Comments, OperationStream::Reactions];
        let topic = number_at(r, 0)?;
        let stream = streams.into_iter().find(|stream| i64::from(topic_number(*stream)) == topic);
        let stream = stream.ok_or_else(|| damaged(format_args!("topic {topic}")))?;
        Ok((stream, u32::try_from(number_at(r, 1)?).map_err(damaged)?, count_at(r, 2)?))
    };
    found.iter().map(checkpoint).collect()
}

/// Lowers the checkpoints of a database to which a slot has come: what follows there may not be applied.
pub(in crate::adapters::mysql) async fn receive_slot(
    session: &mut MysqlSession,
    progress: &SlotProgress,
) -> Result<()> {
    for (stream, partition, at_most) in progress.checkpoints_at_most() {
        let lower = "UPDATE checkpoint SET next = LEAST(next, ?), moves = moves + 1 WHERE topic = ? AND part = ?";
        let lower = sql(lower).bind(at_most).bind(topic_number(stream)).bind(i64::from(partition));
        session.execute(lower).await?;
    }
    Ok(())
}

/// Writes checkpoints. One that is there and larger stays, and so do samples that end later ([`LogSamples::replace_by`]):
/// what is written here may have been made before a batch that was written meanwhile.
///
/// [`LogSamples::replace_by`]: crate::domain::checkpoint::LogSamples::replace_by
pub(in crate::adapters::mysql) async fn write(
    session: &mut MysqlSession,
    stream: OperationStream,
    advances: &[CheckpointAdvance],
) -> Result<()> {
    if advances.is_empty() {
        return Ok(());
    }
    let rows = advances.iter().map(|advance| {
        let CheckpointAdvance { partition, known_next, known_moves, next, samples, .. } = advance;
        format!("[{partition},{known_next},{known_moves},{next},\"{}\"]", hex::encode_upper(samples.to_bytes()))
    });
    let rows: Vec<String> = rows.collect();
    let columns = ["part INT", "known_next BIGINT", "known_moves BIGINT", "next BIGINT", "samples VARCHAR(2048)"];
    let text = format!(
        "UPDATE {} STRAIGHT_JOIN checkpoint c ON c.part = j.part \
         SET c.next = GREATEST(c.next, j.next), c.samples = IF(SUBSTRING(UNHEX(j.samples), -16, 8) >= \
         SUBSTRING(c.samples, -16, 8), UNHEX(j.samples), c.samples) \
         WHERE c.topic = ? AND c.next >= j.known_next AND c.moves = j.known_moves",
        json_table(&rows.join(","), &columns)
    );
    let found = session.execute(sql(text).bind(topic_number(stream))).await?;
    if found == advances.len() as u64 { Ok(()) } else { Err(StoreError::CheckpointChanged) }
}

/// Compares the positions of slots with what was seen applied of them beyond the checkpoints. To be called before
/// the transaction advances any.
pub(in crate::adapters::mysql) async fn check_applied(
    session: &mut MysqlSession,
    stream: OperationStream,
    advances: &[CheckpointAdvance],
) -> Result<()> {
    let applied = advances.iter().flat_map(|advance| &advance.applied);
    let rows: Vec<String> = applied.map(|(slot, position)| format!("[{},{position}]", slot.get())).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let column = match stream {
        OperationStream::Comments => "comments",
        OperationStream::Reactions => "reactions",
    };
    let text = format!(
        "SELECT s.slot FROM {} STRAIGHT_JOIN slot s FORCE INDEX (PRIMARY) ON s.slot = j.slot \
         WHERE s.{column} < j.position LIMIT 1",
        json_table(&rows.join(","), &["slot INT", "position BIGINT"])
    );
    let has_less = session.fetch_first(sql(text)).await?.is_some();
    if has_less { Err(StoreError::CheckpointChanged) } else { Ok(()) }
}
