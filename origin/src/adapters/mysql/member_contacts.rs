//! How members are reached, in the members' slots.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::id::MemberId;
use gailou_shared::wire::NotifyChoice;
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::dirty_rows::DirtyRow;
use crate::adapters::mysql::routing::IDS_TABLE;
use crate::adapters::mysql::row_numbers::member_slot;
use crate::adapters::mysql::rows::{StoredEnum as _, damaged, member_id, number_at, optional_number_at};
use crate::adapters::mysql::slot_write::SlotWrite;
use crate::adapters::mysql::statement::sql;
use crate::domain::email_address::EmailAddress;
use crate::domain::member_contact::{ContactPatch, MemberContact};
use crate::ports::store::{MemberContacts, Result};

/// The columns that [`contact`] reads.
const CONTACT_COLUMNS: &str = "c.id, c.email, c.notify, c.language";

#[async_trait]
impl MemberContacts for MysqlStore {
    async fn read_contacts(&self, members: &[MemberId]) -> Result<HashMap<MemberId, MemberContact>> {
        let text = format!(
            "SELECT {CONTACT_COLUMNS} FROM {IDS_TABLE} \
             STRAIGHT_JOIN member_contact_{{n}} c FORCE INDEX (PRIMARY) ON c.id = j.id"
        );
        let ids = members.iter().map(|member| (member_slot(*member), member.signed()));
        self.rows_by_id("read_contacts", ids, &text, |s| s).await?.iter().map(contact).collect()
    }

    async fn change_contact(&self, member: MemberId, patch: &ContactPatch) -> Result<MemberContact> {
        let mut write = self.begin_slot_write("change_contact", member_slot(member)).await?;
        let done = change(&mut write, member, patch).await;
        write.finish(done, [DirtyRow::Member(member)]).await
    }
}

async fn change(write: &mut SlotWrite, member: MemberId, patch: &ContactPatch) -> Result<MemberContact> {
    let table = write.table;
    // The row exists before it is locked: two first changes wait for each other.
    let insert = sql(format!("INSERT IGNORE INTO member_contact_{table} (id, slot) VALUES (?, ?)"));
    write.session.execute(insert.bind(member.signed()).bind(member_slot(member).get())).await?;
    let find = sql(format!("SELECT {CONTACT_COLUMNS} FROM member_contact_{table} c WHERE c.id = ? FOR UPDATE"));
    let found = write.session.fetch_first(find.bind(member.signed())).await?;
    let mut contact = found.map(|r| contact(&r)).transpose()?.map(|(_, contact)| contact).unwrap_or_default();
    patch.apply(&mut contact);
    let MemberContact { email, chosen, language } = &contact;
    let update = sql(format!("UPDATE member_contact_{table} SET email = ?, notify = ?, language = ? WHERE id = ?"))
        .bind(email.as_ref().map(EmailAddress::as_str))
        .bind(chosen.map(NotifyChoice::number))
        .bind(language.as_deref())
        .bind(member.signed());
    write.session.execute(update).await?;
    Ok(contact)
}

fn contact(r: &MySqlRow) -> Result<(MemberId, MemberContact)> {
    let email = r.try_get::<Option<&str>, _>(1)?;
    let email = email.map(|text| EmailAddress::parse(text).ok_or_else(|| damaged("an address"))).transpose()?;
    let chosen = optional_number_at(r, 2)?.map(NotifyChoice::from_number).transpose()?;
    Ok((member_id(number_at(r, 0)?)?, MemberContact { email, chosen, language: r.try_get(3)? }))
}
