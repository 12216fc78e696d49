//! What the search index has to read again: entries of its queue, written in the batch's transaction.

use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::write::batch_sql::{BatchScript, RowValues};
use crate::adapters::mysql::write::outbox_rows::DATABASE_NOW;
use crate::domain::fold::RowChanges;
use crate::ports::store::Result;

/// Writes an entry for each comment that the index has to read again.
pub(super) async fn write(session: &mut MysqlSession, changes: &RowChanges<'_>) -> Result<()> {
    let rows = changes.indexed_comments().into_iter();
    let rows: Vec<String> = rows.map(|id| RowValues::new().sql(DATABASE_NOW).number(id.signed()).end()).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let mut script = BatchScript::new(session);
    script.add_rows("INSERT INTO index_queue (at, comment_id) VALUES {rows}", [(0, rows)].into()).await?;
    script.send().await
}
