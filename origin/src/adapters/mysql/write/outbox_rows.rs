//! What a batch owes the rows of members, in their own databases: rows of the outbox, written in the batch's
//! transaction. [`crate::adapters::mysql::outbox`] delivers them.

use std::collections::BTreeMap;

use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::wire::Author;

use crate::adapters::mysql::row_numbers::member_slot;
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::write::batch_sql::{BatchScript, RowValues};
use crate::domain::fold::HistoryRow;
use crate::ports::store::Result;

/// The clock of the database, in Unix milliseconds.
pub(in crate::adapters::mysql) const DATABASE_NOW: &str = "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)";

/// Writes what a batch owes, in its transaction.
pub(super) async fn write(
    session: &mut MysqlSession,
    history: &[HistoryRow],
    authors: &[(CommentId, &Author)],
) -> Result<()> {
    if history.is_empty() {
        return Ok(());
    }
    // A name is owed with the comment that was written under it.
    let names: BTreeMap<(MemberId, CommentId), &Author> =
        authors.iter().map(|(id, author)| ((author.id, *id), *author)).collect();
    let rows = history.iter().map(|row| {
        let author = names.get(&(row.member, row.id));
        let values = RowValues::new().number(i64::from(member_slot(row.member).get())).number(row.member.signed());
        let values = values.number(row.id.signed()).number(i64::from(row.held));
        let values = values.text(author.map(|a| a.name.as_str())).text(author.and_then(|a| a.avatar.as_deref()));
        values.number(author.map_or(0, |a| i64::from(a.level))).sql(DATABASE_NOW).end()
    });
    let statement =
        "INSERT INTO outbox (member_slot, member_id, comment_id, held, name, avatar, level, at) VALUES {rows}";
    let mut script = BatchScript::new(session);
    script.add_rows(statement, [(0, rows.collect())].into()).await?;
    script.send().await
}
