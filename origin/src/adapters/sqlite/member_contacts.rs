//! How members are reached.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::id::MemberId;
use gailou_shared::wire::NotifyChoice;
use rusqlite::{Connection, Row, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::{fetch_all, json_array};
use crate::adapters::sqlite::rows::{StoredEnum as _, damaged, member_id};
use crate::domain::email_address::EmailAddress;
use crate::domain::member_contact::{ContactPatch, MemberContact};
use crate::ports::store::{MemberContacts, Result};

#[async_trait]
impl MemberContacts for SqliteStore {
    async fn read_contacts(&self, members: &[MemberId]) -> Result<HashMap<MemberId, MemberContact>> {
        let members = members.to_vec();
        self.read("read_contacts", move |c| read_contacts(c, &members)).await
    }

    async fn change_contact(&self, member: MemberId, patch: &ContactPatch) -> Result<MemberContact> {
        let patch = patch.clone();
        self.write("change_contact", move |c| {
            let tx = c.transaction()?;
            let mut contact = read_contacts(&tx, &[member])?.remove(&member).unwrap_or_default();
            patch.apply(&mut contact);
            let MemberContact { email, chosen, language } = &contact;
            let values = params![
                member.signed(),
                email.as_ref().map(EmailAddress::as_str),
                chosen.map(|notify| notify.number()),
                language
            ];
            let sql = "INSERT OR REPLACE INTO member_contact (id, email, notify, language) VALUES (?1, ?2, ?3, ?4)";
            tx.prepare_cached(sql)?.execute(values)?;
            tx.commit()?;
            Ok(contact)
        })
        .await
    }
}

fn read_contacts(c: &Connection, members: &[MemberId]) -> Result<HashMap<MemberId, MemberContact>> {
    let ids = json_array(members.iter().map(|member| member.signed()));
    let sql = "SELECT id, email, notify, language FROM member_contact WHERE id IN (SELECT value FROM json_each(?1))";
    Ok(fetch_all(c, sql, [ids], contact)?.into_iter().collect())
}

fn contact(r: &Row<'_>) -> Result<(MemberId, MemberContact)> {
    let email = r.get::<_, Option<String>>(1)?;
    let email = email.map(|text| EmailAddress::parse(&text).ok_or_else(|| damaged("an address"))).transpose()?;
    let chosen = r.get::<_, Option<i64>>(2)?.map(NotifyChoice::from_number).transpose()?;
    Ok((member_id(r.get(0)?)?, MemberContact { email, chosen, language: r.get(3)? }))
}
