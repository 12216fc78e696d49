//! Passkeys of accounts.

use async_trait::async_trait;
use gailou_shared::id::{MemberId, PasskeyId};
use gailou_shared::wire::AuditTargetKind;
use rusqlite::{Row, Transaction, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::rows::{count, damaged};
use crate::adapters::sqlite::write::moderation::insert_audit;
use crate::domain::audit::AuditEntry;
use crate::domain::passkey::{MAX_PASSKEYS_PER_ACCOUNT, PasskeyInsertion, StoredPasskey};
use crate::ports::store::{PasskeyRows, Result};

#[async_trait]
impl PasskeyRows for SqliteStore {
    async fn list_passkeys(&self, account: MemberId) -> Result<Vec<StoredPasskey>> {
        self.read("list_passkeys", move |c| {
            let sql = "SELECT id, credential, name, record, created_at, used_at FROM passkey WHERE account_id = ?1 \
                       ORDER BY id";
            let mut statement = c.prepare_cached(sql)?;
            let mut rows = statement.query([account.signed()])?;
            let mut passkeys = Vec::new();
            while let Some(r) = rows.next()? {
                passkeys.push(passkey(account, r)?);
            }
            Ok(passkeys)
        })
        .await
    }

    async fn insert_passkey(&self, passkey: &StoredPasskey, audit: &AuditEntry) -> Result<PasskeyInsertion> {
        let (passkey, audit) = (passkey.clone(), audit.clone());
        self.write("insert_passkey", move |c| {
            let tx = c.transaction()?;
            let StoredPasskey { account, id, credential, name, record, created_at, used_at } = &passkey;
            let sql = "SELECT (SELECT COUNT(*) FROM account WHERE id = ?1), COUNT(*), COALESCE(SUM(credential = ?2), 0) \
                       FROM passkey WHERE account_id = ?1";
            let read = |r: &Row<'_>| Ok((r.get::<_, i64>(0)?, r.get::<_, i64>(1)?, r.get::<_, i64>(2)?));
            let (accounts, all, same) = tx.query_row(sql, params![account.signed(), credential], read)?;
            if accounts == 0 {
                return Ok(PasskeyInsertion::NoAccount);
            }
            if same > 0 {
                return Ok(PasskeyInsertion::Known);
            }
            if count(all) >= MAX_PASSKEYS_PER_ACCOUNT as u64 {
                return Ok(PasskeyInsertion::Full);
            }
            let sql = "INSERT INTO passkey (account_id, id, credential, name, record, created_at, used_at) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
            tx.execute(sql, params![account.signed(), id.signed(), credential, name, record, created_at, used_at])?;
            write_entry(&tx, *account, &audit)?;
            tx.commit()?;
            Ok(PasskeyInsertion::Inserted)
        })
        .await
    }

    async fn use_passkey(&self, account: MemberId, id: PasskeyId, former: &str, record: &str, at: u64) -> Result<bool> {
        let sql = "UPDATE passkey SET record = ?4, used_at = ?5 WHERE account_id = ?1 AND id = ?2 AND record = ?3";
        let values = (account.signed(), id.signed(), former.to_owned(), record.to_owned(), at);
        Ok(self.write_rows("use_passkey", sql, values).await? > 0)
    }

    async fn rename_passkey(&self, account: MemberId, id: PasskeyId, name: &str) -> Result<bool> {
        let sql = "UPDATE passkey SET name = ?3 WHERE account_id = ?1 AND id = ?2";
        let values = (account.signed(), id.signed(), name.to_owned());
        Ok(self.write_rows("rename_passkey", sql, values).await? > 0)
    }

    async fn delete_passkey(&self, account: MemberId, id: PasskeyId, audit: &AuditEntry) -> Result<bool> {
        let audit = audit.clone();
        self.write("delete_passkey", move |c| {
            let tx = c.transaction()?;
            let sql = "DELETE FROM passkey WHERE account_id = ?1 AND id = ?2";
            if tx.execute(sql, [account.signed(), id.signed()])? == 0 {
                return Ok(false);
            }
            write_entry(&tx, account, &audit)?;
            tx.commit()?;
            Ok(true)
        })
        .await
    }

    async fn delete_passkeys_before(&self, account: MemberId, at: u64) -> Result<()> {
        let sql = "DELETE FROM passkey WHERE account_id = ?1 AND created_at < ?2";
        self.write_rows("delete_passkeys_before", sql, (account.signed(), at)).await.map(|_| ())
    }
}

fn write_entry(tx: &Transaction<'_>, account: MemberId, audit: &AuditEntry) -> Result<()> {
    let target = (AuditTargetKind::Member, None, &*account.to_string());
    insert_audit(tx, audit, audit.id.created_ms(), target, (audit.before.clone(), audit.after.clone()))
}

fn passkey(account: MemberId, r: &Row<'_>) -> Result<StoredPasskey> {
    Ok(StoredPasskey {
        account,
        id: PasskeyId::try_from(r.get::<_, i64>(0)?).map_err(damaged)?,
        credential: r.get(1)?,
        name: r.get(2)?,
        record: r.get(3)?,
        created_at: count(r.get(4)?),
        used_at: r.get::<_, Option<i64>>(5)?.map(count),
    })
}
