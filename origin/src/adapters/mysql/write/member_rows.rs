//! The rows of members, which follow the commit of a batch: their histories and names, in the databases
//! of the members' slots.
//!
//! Nothing here counts or refuses, so it may be written twice.

use std::collections::BTreeMap;

use gailou_shared::id::{MemberId, Slot};
use gailou_shared::wire::Author;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::dirty_rows::DirtyRow;
use crate::adapters::mysql::row_numbers::member_slot;
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::write::batch_sql::{BatchScript, RowValues, group_by_table};
use crate::adapters::mysql::write::slot_locks;
use crate::domain::fold::HistoryRow;
use crate::ports::store::{Result, Sharding as _};

/// Rows of members, as a fold returns them.
#[derive(Debug, Default)]
pub(super) struct MemberRows<'b> {
    pub(super) history: Vec<HistoryRow>,
    pub(super) authors: Vec<&'b Author>,
}

impl<'b> MemberRows<'b> {
    /// The rows by database.
    pub(super) fn by_shard(self, shard: impl Fn(Slot) -> usize) -> BTreeMap<usize, Self> {
        let mut parts: BTreeMap<usize, Self> = BTreeMap::new();
        for row in self.history {
            parts.entry(shard(member_slot(row.member))).or_default().history.push(row);
        }
        for author in self.authors {
            parts.entry(shard(member_slot(author.id))).or_default().authors.push(author);
        }
        parts
    }

    pub(super) fn append(&mut self, other: Self) {
        self.history.extend(other.history);
        self.authors.extend(other.authors);
    }

    fn members(&self) -> impl Iterator<Item = MemberId> {
        self.history.iter().map(|row| row.member).chain(self.authors.iter().map(|author| author.id))
    }

    /// Writes the rows in a transaction of their database.
    pub(super) async fn write(&self, db: &MysqlStore, session: &mut MysqlSession) -> Result<()> {
        let locked = slot_locks::share_slots(session, self.members().map(member_slot)).await?;
        let mut history = self.history.clone();
        history.sort_unstable();
        let rows = history.iter().map(|row| {
            let slot = member_slot(row.member);
            let values = RowValues::new().number(row.member.signed()).number(row.id.signed());
            (slot, values.number(i64::from(slot.get())).number(i64::from(row.held)).end())
        });
        let mut script = BatchScript::new(session);
        let statement = "INSERT INTO member_comment_{n} (member_id, comment_id, slot, held) VALUES {rows} \
                         ON DUPLICATE KEY UPDATE held = VALUES(held)";
        script.add_rows(statement, group_by_table(db, rows)).await?;
        let mut authors = self.authors.clone();
        authors.sort_by_key(|author| author.id);
        let rows = authors.iter().map(|author| {
            let slot = member_slot(author.id);
            let values = RowValues::new().number(author.id.signed()).number(i64::from(slot.get()));
            let values = values.text(author.name.as_str()).text(author.avatar.as_deref());
            (slot, values.number(i64::from(author.level)).end())
        });
        let statement = "INSERT INTO member_{n} (id, slot, name, avatar, level) VALUES {rows} \
                         ON DUPLICATE KEY UPDATE name = VALUES(name), avatar = VALUES(avatar), level = VALUES(level)";
        script.add_rows(statement, group_by_table(db, rows)).await?;
        script.send().await?;
        let histories = history.iter().map(|row| (member_slot(row.member), DirtyRow::History(row.member, row.id)));
        let names = authors.iter().map(|author| (member_slot(author.id), DirtyRow::Member(author.id)));
        locked.record_dirty_rows(session, histories.chain(names)).await
    }
}

/// Overwrites the name of a member.
pub(super) async fn erase_name(db: &MysqlStore, member: MemberId) -> Result<()> {
    let slot = member_slot(member);
    let mut session = db.session("erase_name", db.database_of(slot)).await?;
    session.begin().await?;
    let done = async {
        let locked = slot_locks::share_slots(&mut session, [slot].into_iter()).await?;
        let n = db.table_number(slot);
        let text = format!("UPDATE member_{n} SET name = '', avatar = NULL, level = 0 WHERE id = {member}");
        session.execute_text(text).await?;
        locked.record_dirty_rows(&mut session, [(slot, DirtyRow::Member(member))].into_iter()).await
    };
    let done = done.await;
    session.finish(done).await
}
