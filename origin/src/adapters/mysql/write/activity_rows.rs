//! What a batch did, in numbers, written in its transaction: a batch that is applied a second time has none.
//!
//! The rows belong to the database and not to a slot: a slot takes its rows along when it moves, and a number that
//! two databases had at once would count twice. Here nothing moves, so nothing can.

use gailou_shared::id::Slot;

use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::write::batch_sql::{BatchScript, RowValues};
use crate::domain::activity::activity_rows;
use crate::domain::fold::RowChanges;
use crate::domain::operation::LoggedOperation;
use crate::ports::store::Result;

/// The rows of one step, so that transactions that commit at once seldom wait for each other: a sum reads at most as
/// many for each point.
const ACTIVITY_PARTS: u16 = 16;

/// Adds the numbers of a batch.
pub(super) async fn write(
    session: &mut MysqlSession,
    batch: &[&LoggedOperation],
    changes: &RowChanges<'_>,
) -> Result<()> {
    if changes.activity.is_empty() {
        return Ok(());
    }
    // The transaction has locked this slot: others that run at once begin with other ones.
    let lowest = batch.iter().map(|logged| logged.operation.slot()).min().unwrap_or(Slot::FIRST);
    let part = i64::from(lowest.get() % ACTIVITY_PARTS);
    let rows = activity_rows(&changes.activity).into_iter().map(|((step, at), row)| {
        let values = RowValues::new().number(step.number()).count(at).number(part).count(row.posts).count(row.held);
        values.count(row.rejected).count(row.reports).count(row.reactions).end()
    });
    let statement = "INSERT INTO activity (step, at, part, posts, held, rejected, reports, reactions) VALUES {rows} \
                     ON DUPLICATE KEY UPDATE posts = posts + VALUES(posts), held = held + VALUES(held), \
                     rejected = rejected + VALUES(rejected), reports = reports + VALUES(reports), \
                     reactions = reactions + VALUES(reactions)";
    let mut script = BatchScript::new(session);
    script.add_rows(statement, [(0, rows.collect())].into()).await?;
    script.send().await
}
