//! What members, moderators and other programs are to be notified of: events, written in the batch's transaction.

use gailou_shared::id::MemberId;

use crate::adapters::mysql::rows::StoredEnum as _;
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::write::batch_sql::{BatchScript, RowValues};
use crate::adapters::mysql::write::outbox_rows::DATABASE_NOW;
use crate::domain::event::Event;
use crate::ports::store::Result;

/// Writes the events of a batch.
pub(super) async fn write(session: &mut MysqlSession, events: &[Event]) -> Result<()> {
    let rows: Vec<String> = events
        .iter()
        .map(|Event { id, comment, kind, actor, at }| {
            let values = RowValues::new().number(id.signed()).count(*at).number(comment.signed());
            values.number(kind.number()).number(actor.map(MemberId::signed)).sql(DATABASE_NOW).end()
        })
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    let statement = "INSERT INTO event (id, at, comment_id, kind, actor_id, queued_at) VALUES {rows}";
    let mut script = BatchScript::new(session);
    script.add_rows(statement, [(0, rows)].into()).await?;
    script.send().await
}
