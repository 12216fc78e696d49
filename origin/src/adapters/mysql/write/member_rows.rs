//! What follows a commit: the histories of members and their names, in the databases of the members.
//!
//! Nothing here counts or refuses, so it may be done twice.

use std::collections::BTreeMap;

use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::wire::Author;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::dirty_rows::Mark;
use crate::adapters::mysql::pool::Session;
use crate::adapters::mysql::write::batch_sql::{Script, Values, by_table};
use crate::adapters::mysql::write::slot_locks;
use crate::ports::store::Result;

/// Rows of members, by what a fold says is to follow.
#[derive(Debug, Default)]
pub(super) struct Following<'b> {
    pub(super) history: Vec<(MemberId, CommentId, bool)>,
    pub(super) authors: Vec<&'b Author>,
}

impl<'b> Following<'b> {
    /// The parts of it by database.
    pub(super) fn by_shard(self, shard: impl Fn(Slot) -> usize) -> BTreeMap<usize, Self> {
        let mut parts: BTreeMap<usize, Self> = BTreeMap::new();
        for row in self.history {
            parts.entry(shard(MysqlStore::member_slot(row.0))).or_default().history.push(row);
        }
        for author in self.authors {
            parts.entry(shard(MysqlStore::member_slot(author.id))).or_default().authors.push(author);
        }
        parts
    }

    pub(super) fn append(&mut self, other: Self) {
        self.history.extend(other.history);
        self.authors.extend(other.authors);
    }
}

/// Writes them in one transaction of their database.
pub(super) async fn follow(db: &MysqlStore, session: &mut Session, following: &Following<'_>) -> Result<()> {
    let slot = |member: MemberId| MysqlStore::member_slot(member);
    let of = following.history.iter().map(|row| row.0).chain(following.authors.iter().map(|author| author.id));
    let held = slot_locks::share(session, of.map(slot)).await?;
    let mut history = following.history.clone();
    history.sort_unstable();
    let rows = history.iter().map(|(member, id, held)| {
        let slot = slot(*member);
        let row = Values::new().number(member.signed()).number(id.signed()).number(i64::from(slot.get()));
        (slot, row.number(i64::from(*held)).end())
    });
    let mut script = Script::new(session);
    let statement = "INSERT INTO member_comment_{n} (member_id, comment_id, slot, held) VALUES {rows} \
                     ON DUPLICATE KEY UPDATE held = VALUES(held)";
    script.rows(statement, by_table(db, rows)).await?;
    let mut authors = following.authors.clone();
    authors.sort_by_key(|author| author.id);
    let rows = authors.iter().map(|author| {
        let slot = slot(author.id);
        let row = Values::new().number(author.id.signed()).number(i64::from(slot.get())).text(author.name.as_str());
        (slot, row.text(author.avatar.as_deref()).number(i64::from(author.level)).end())
    });
    let statement = "INSERT INTO member_{n} (id, slot, name, avatar, level) VALUES {rows} \
                     ON DUPLICATE KEY UPDATE name = VALUES(name), avatar = VALUES(avatar), level = VALUES(level)";
    script.rows(statement, by_table(db, rows)).await?;
    script.send().await?;
    let histories = history.iter().map(|(member, id, _)| (slot(*member), Mark::History(*member, *id)));
    let names = authors.iter().map(|author| (slot(author.id), Mark::Member(author.id)));
    held.mark(session, histories.chain(names)).await
}
