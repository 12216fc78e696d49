//! Passkeys of accounts, in the accounts' slots.

use async_trait::async_trait;
use gailou_shared::id::{MemberId, PasskeyId};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::dirty_rows::DirtyRow;
use crate::adapters::mysql::row_numbers::member_slot;
use crate::adapters::mysql::rows::{count_at, damaged, number_at, optional_number_at};
use crate::adapters::mysql::slot_write::SlotWrite;
use crate::adapters::mysql::statement::{SqlStatement, sql};
use crate::adapters::mysql::write::batch_sql::BatchScript;
use crate::adapters::mysql::write::standing_rows::write_entry_of_member;
use crate::domain::audit::AuditEntry;
use crate::domain::passkey::{MAX_PASSKEYS_PER_ACCOUNT, PasskeyInsertion, StoredPasskey};
use crate::ports::store::{PasskeyRows, Result};

#[async_trait]
impl PasskeyRows for MysqlStore {
    async fn list_passkeys(&self, account: MemberId) -> Result<Vec<StoredPasskey>> {
        let slot = member_slot(account);
        let find = self.part(slot).sql(
            "SELECT id, credential, name, record, created_at, used_at FROM passkey_{n} WHERE account_id = ? ORDER BY id",
        );
        let found = self.rows_of("list_passkeys", slot, find.bind(account.signed())).await?;
        found.iter().map(|r| passkey(account, r)).collect()
    }

    async fn insert_passkey(&self, passkey: &StoredPasskey, audit: &AuditEntry) -> Result<PasskeyInsertion> {
        let mut write = self.begin_slot_write("insert_passkey", member_slot(passkey.account)).await?;
        let inserted = insert(&mut write, passkey, audit).await;
        write.finish(inserted, [DirtyRow::Member(passkey.account), DirtyRow::Audit(audit.id)]).await
    }

    async fn use_passkey(&self, account: MemberId, id: PasskeyId, former: &str, record: &str, at: u64) -> Result<bool> {
        let update = |table: u16| {
            let text = format!(
                "UPDATE passkey_{table} SET record = ?, used_at = ? WHERE account_id = ? AND id = ? AND record = ?"
            );
            sql(text).bind(record).bind(at).bind(account.signed()).bind(id.signed()).bind(former)
        };
        self.change_passkey("use_passkey", account, update).await
    }

    async fn rename_passkey(&self, account: MemberId, id: PasskeyId, name: &str) -> Result<bool> {
        let update = |table: u16| {
            let text = format!("UPDATE passkey_{table} SET name = ? WHERE account_id = ? AND id = ?");
            sql(text).bind(name).bind(account.signed()).bind(id.signed())
        };
        self.change_passkey("rename_passkey", account, update).await
    }

    async fn delete_passkey(&self, account: MemberId, id: PasskeyId, audit: &AuditEntry) -> Result<bool> {
        let mut write = self.begin_slot_write("delete_passkey", member_slot(account)).await?;
        let deleted = delete(&mut write, account, id, audit).await;
        write.finish(deleted, [DirtyRow::Member(account), DirtyRow::Audit(audit.id)]).await
    }

    async fn delete_passkeys_before(&self, account: MemberId, at: u64) -> Result<()> {
        let delete = |table: u16| {
            let text = format!("DELETE FROM passkey_{table} WHERE account_id = ? AND created_at < ?");
            sql(text).bind(account.signed()).bind(at)
        };
        self.change_passkey("delete_passkeys_before", account, delete).await.map(|_| ())
    }
}

impl MysqlStore {
    /// Runs a statement on the table of this number; whether a row fits.
    async fn change_passkey(
        &self,
        operation: &'static str,
        account: MemberId,
        statement: impl FnOnce(u16) -> SqlStatement,
    ) -> Result<bool> {
        let mut write = self.begin_slot_write(operation, member_slot(account)).await?;
        let changed = write.session.execute(statement(write.table)).await.map(|rows| rows > 0);
        write.finish(changed, [DirtyRow::Member(account)]).await
    }
}

async fn insert(write: &mut SlotWrite, passkey: &StoredPasskey, audit: &AuditEntry) -> Result<PasskeyInsertion> {
    let table = write.table;
    let StoredPasskey { account, id, credential, name, record, created_at, used_at } = passkey;
    // The account is locked: two additions wait for each other, and for an erasure.
    let find = sql(format!("SELECT id FROM account_{table} WHERE id = ? FOR UPDATE")).bind(account.signed());
    if write.session.fetch_first(find).await?.is_none() {
        return Ok(PasskeyInsertion::NoAccount);
    }
    let find = sql(format!("SELECT id, credential FROM passkey_{table} WHERE account_id = ?")).bind(account.signed());
    let all = write.session.fetch_all(find).await?;
    for r in &all {
        // Added again, because the outcome was unknown, it stays as it is.
        if number_at(r, 0)? == id.signed() {
            return Ok(PasskeyInsertion::Inserted);
        }
        if r.try_get::<Vec<u8>, _>(1)? == *credential {
            return Ok(PasskeyInsertion::Known);
        }
    }
    if all.len() >= MAX_PASSKEYS_PER_ACCOUNT {
        return Ok(PasskeyInsertion::Full);
    }
    let insert = sql(format!(
        "INSERT INTO passkey_{table} (account_id, id, slot, credential, name, record, created_at, used_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    ));
    let insert = insert.bind(account.signed()).bind(id.signed()).bind(member_slot(*account).get());
    let insert = insert.bind(&credential[..]).bind(name.as_str()).bind(record.as_str());
    write.session.execute(insert.bind(*created_at).bind(*used_at)).await?;
    write_entry(write, *account, audit).await?;
    Ok(PasskeyInsertion::Inserted)
}

async fn delete(write: &mut SlotWrite, account: MemberId, id: PasskeyId, audit: &AuditEntry) -> Result<bool> {
    let delete = sql(format!("DELETE FROM passkey_{} WHERE account_id = ? AND id = ?", write.table));
    let is_deleted = write.session.execute(delete.bind(account.signed()).bind(id.signed())).await? > 0;
    if is_deleted {
        write_entry(write, account, audit).await?;
    }
    Ok(is_deleted)
}

async fn write_entry(write: &mut SlotWrite, account: MemberId, audit: &AuditEntry) -> Result<()> {
    let table = write.table;
    let mut script = BatchScript::new(&mut write.session);
    let json = (audit.before.as_ref(), audit.after.as_ref());
    write_entry_of_member(&mut script, table, (account, audit.action), audit, audit.id.created_ms(), json).await?;
    script.send().await
}

fn passkey(account: MemberId, r: &MySqlRow) -> Result<StoredPasskey> {
    Ok(StoredPasskey {
        account,
        id: PasskeyId::try_from(number_at(r, 0)?).map_err(damaged)?,
        credential: r.try_get(1)?,
        name: r.try_get(2)?,
        record: r.try_get(3)?,
        created_at: count_at(r, 4)?,
        used_at: optional_number_at(r, 5)?.map(|at| u64::try_from(at).unwrap_or(0)),
    })
}
