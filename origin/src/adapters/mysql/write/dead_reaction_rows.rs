//! Reactions among the dead letters: a row from the moment in which one is skipped until its pair changes. There are
//! hardly ever any.

use std::collections::BTreeSet;

use gailou_shared::id::{MemberId, Slot};
use sqlx::Row as _;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::numbered_tables::slot_of_comment;
use crate::adapters::mysql::rows::{count_at, id_at, member_id, slot_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write::batch_sql::{BatchScript, group_by_table, json_numbers, json_table, signed};
use crate::domain::fold::LoadedRows;
use crate::domain::reaction_state::DeadReaction;
use crate::ports::store::Result;

/// Adds one, in a transaction that has locked its slot.
pub(super) async fn add(db: &MysqlStore, session: &mut MysqlSession, dead: DeadReaction) -> Result<()> {
    let text = format!(
        "INSERT IGNORE INTO dead_reaction_{} (member_id, comment_id, position) VALUES (?, ?, ?)",
        db.table_number(dead.id.slot())
    );
    let add = sql(text).bind(dead.member.signed()).bind(dead.id.signed()).bind(signed(dead.position));
    session.execute(add).await.map(drop)
}

/// Reads those of members in slots, after the slots are locked. One statement asks which slots have any; mostly it
/// is the only one.
pub(super) async fn load(
    db: &MysqlStore,
    session: &mut MysqlSession,
    members: &[(Slot, MemberId)],
    loaded: &mut LoadedRows<'_>,
) -> Result<()> {
    if members.is_empty() {
        return Ok(());
    }
    let slots: BTreeSet<Slot> = members.iter().map(|(slot, _)| *slot).collect();
    let slots = group_by_table(db, slots.into_iter().map(|slot| (slot, slot.get().to_string())));
    let parts = slots.into_iter().map(|(table, slots)| {
        format!("SELECT DISTINCT slot FROM dead_reaction_{table} WHERE slot IN ({})", slots.join(","))
    });
    let found = session.fetch_text(parts.collect::<Vec<_>>().join(" UNION ALL ")).await?;
    let found = found.iter().map(|r| slot_at(r, 0)).collect::<Result<BTreeSet<Slot>>>()?;
    let keys = members.iter().filter(|(slot, _)| found.contains(slot));
    let keys = keys.map(|(slot, member)| (*slot, json_numbers(&[Some(i64::from(slot.get())), Some(member.signed())])));
    let parts = group_by_table(db, keys).into_iter().map(|(table, rows)| {
        format!(
            "SELECT d.comment_id, d.member_id, d.position FROM {} STRAIGHT_JOIN dead_reaction_{table} d \
             ON d.slot = j.slot AND d.member_id = j.member",
            json_table(&rows.join(","), &["slot SMALLINT", "member BIGINT"])
        )
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() {
        return Ok(());
    }
    for r in session.fetch_text(parts.join(" UNION ALL ")).await? {
        let (id, member, position) = (id_at(&r, 0)?, member_id(r.try_get(1)?)?, count_at(&r, 2)?);
        loaded.add_dead_reaction(DeadReaction { id, member, position });
    }
    Ok(())
}

/// Deletes those that are applied or outdated.
pub(super) async fn delete(db: &MysqlStore, script: &mut BatchScript<'_>, ended: &[DeadReaction]) -> Result<()> {
    let rows = ended.iter().map(|DeadReaction { id, member, position }| {
        (id.slot(), json_numbers(&[Some(id.signed()), Some(member.signed()), Some(signed(*position))]))
    });
    let statement = format!(
        "DELETE d FROM {} STRAIGHT_JOIN dead_reaction_{{n}} d ON d.slot = {} AND d.member_id = j.member \
         AND d.comment_id = j.id AND d.position = j.position",
        json_table("{rows}", &["id BIGINT", "member BIGINT", "position BIGINT"]),
        slot_of_comment("j.id")
    );
    script.add_rows(&statement, group_by_table(db, rows)).await
}
