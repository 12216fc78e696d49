//! Accounts of this installation, and where they are signed in.

use async_trait::async_trait;
use gailou_shared::id::MemberId;
use gailou_shared::token::Role;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::rows::{StoredEnum as _, count, damaged, member_id};
use crate::domain::sign_in::{
    LINK_LIFETIME_MS, MAX_FAMILIES_PER_ACCOUNT, OwnAccount, PresentedToken, RefreshFamily, SignInDigest, SignInLink,
};
use crate::ports::store::{AccountRows, Result, SignInRows};

#[async_trait]
impl AccountRows for SqliteStore {
    async fn read_account(&self, id: MemberId) -> Result<Option<OwnAccount>> {
        self.read("read_account", move |c| {
            let sql = "SELECT id, name, avatar, role, created_at FROM account WHERE id = ?1";
            let mut statement = c.prepare_cached(sql)?;
            let mut found = statement.query([id.signed()])?;
            found.next()?.map(account).transpose()
        })
        .await
    }

    async fn insert_account(&self, account: &OwnAccount) -> Result<bool> {
        let OwnAccount { id, name, avatar, role, created_at } = account.clone();
        let sql = "INSERT INTO account (id, name, avatar, role, created_at) VALUES (?1, ?2, ?3, ?4, ?5) \
                   ON CONFLICT DO NOTHING";
        let values = (id.signed(), name, avatar, role.number(), created_at);
        Ok(self.write_rows("insert_account", sql, values).await? > 0)
    }

    async fn change_account(&self, id: MemberId, name: Option<&str>, avatar: Option<Option<&str>>) -> Result<()> {
        let sql = "UPDATE account SET name = COALESCE(?2, name), avatar = CASE WHEN ?3 THEN ?4 ELSE avatar END \
                   WHERE id = ?1";
        let values = (id.signed(), name.map(str::to_owned), avatar.is_some(), avatar.flatten().map(str::to_owned));
        self.write_rows("change_account", sql, values).await.map(|_| ())
    }

    async fn name_account(&self, id: MemberId, name: &str) -> Result<()> {
        let sql = "UPDATE account SET name = ?2 WHERE id = ?1 AND name = ''";
        self.write_rows("name_account", sql, (id.signed(), name.to_owned())).await.map(|_| ())
    }

    async fn find_identity(&self, digest: &SignInDigest) -> Result<Option<MemberId>> {
        let digest = *digest;
        self.read("find_identity", move |c| {
            let sql = "SELECT account_id FROM identity WHERE digest = ?1";
            let found: Option<i64> = c.prepare_cached(sql)?.query_row([&digest[..]], |r| r.get(0)).optional()?;
            Ok(found.map(member_id).transpose()?)
        })
        .await
    }

    async fn claim_identity(
        &self,
        digest: &SignInDigest,
        former: Option<MemberId>,
        account: MemberId,
        at: u64,
    ) -> Result<MemberId> {
        let digest = *digest;
        self.write("claim_identity", move |c| {
            let sql = "INSERT INTO identity (digest, account_id, created_at) VALUES (?1, ?2, ?3) \
                       ON CONFLICT DO UPDATE SET account_id = excluded.account_id WHERE account_id = ?4 \
                       RETURNING account_id";
            let values = params![&digest[..], account.signed(), at, former.map(MemberId::signed)];
            let claimed: Option<i64> = c.prepare_cached(sql)?.query_row(values, |r| r.get(0)).optional()?;
            let owner = match claimed {
                Some(owner) => owner,
                None => {
                    c.query_row("SELECT account_id FROM identity WHERE digest = ?1", [&digest[..]], |r| r.get(0))?
                }
            };
            Ok(member_id(owner)?)
        })
        .await
    }

    async fn delete_identities(&self, account: MemberId) -> Result<()> {
        let sql = "DELETE FROM identity WHERE account_id = ?1";
        self.write_rows("delete_identities", sql, [account.signed()]).await.map(|_| ())
    }

    async fn has_admin(&self) -> Result<bool> {
        self.read("has_admin", |c| {
            let sql = "SELECT EXISTS (SELECT 1 FROM account WHERE role = ?1 AND role > 0)";
            Ok(c.query_row(sql, [Role::Admin.number()], |r| r.get(0))?)
        })
        .await
    }
}

#[async_trait]
impl SignInRows for SqliteStore {
    async fn begin_family(&self, family: &RefreshFamily) -> Result<()> {
        let family = family.clone();
        self.write("begin_family", move |c| {
            let tx = c.transaction()?;
            let account = family.account.signed();
            let sql = "DELETE FROM refresh_family WHERE account_id = ?1 AND id IN (SELECT id FROM refresh_family \
                       WHERE account_id = ?1 ORDER BY used_at DESC LIMIT -1 OFFSET ?2)";
            tx.prepare_cached(sql)?.execute(params![account, MAX_FAMILIES_PER_ACCOUNT - 1])?;
            let sql = "INSERT INTO refresh_family (account_id, id, digest, created_at, used_at) \
                       VALUES (?1, ?2, ?3, ?4, ?5)";
            let values = params![account, family.id as i64, &family.digest[..], family.created_at, family.used_at];
            tx.prepare_cached(sql)?.execute(values)?;
            Ok(tx.commit()?)
        })
        .await
    }

    async fn rotate_family(
        &self,
        account: MemberId,
        id: u64,
        presented: &SignInDigest,
        next: &SignInDigest,
        now: u64,
    ) -> Result<Option<RefreshFamily>> {
        let (presented, next) = (*presented, *next);
        self.write("rotate_family", move |c| {
            let tx = c.transaction()?;
            let key = params![account.signed(), id as i64];
            let sql = "SELECT digest, created_at, used_at FROM refresh_family WHERE account_id = ?1 AND id = ?2";
            let read = |r: &Row<'_>| Ok((r.get::<_, Vec<u8>>(0)?, r.get::<_, i64>(1)?, r.get::<_, i64>(2)?));
            let Some((digest, created_at, used_at)) = tx.prepare_cached(sql)?.query_row(key, read).optional()? else {
                return Ok(None);
            };
            let digest = digest.try_into().map_err(|_| damaged("the digest of a family"))?;
            let family = RefreshFamily { account, id, digest, created_at: count(created_at), used_at: count(used_at) };
            let rotated = match family.present(&presented, now) {
                PresentedToken::Ends => {
                    tx.execute("DELETE FROM refresh_family WHERE account_id = ?1 AND id = ?2", key)?;
                    None
                }
                PresentedToken::Newest => {
                    let sql = "UPDATE refresh_family SET digest = ?3, used_at = ?4 WHERE account_id = ?1 AND id = ?2";
                    tx.execute(sql, params![account.signed(), id as i64, &next[..], now])?;
                    Some(RefreshFamily { digest: next, used_at: now, ..family })
                }
            };
            tx.commit()?;
            Ok(rotated)
        })
        .await
    }

    async fn end_family(&self, account: MemberId, id: u64) -> Result<()> {
        let sql = "DELETE FROM refresh_family WHERE account_id = ?1 AND id = ?2";
        self.write_rows("end_family", sql, (account.signed(), id as i64)).await.map(|_| ())
    }

    async fn put_link(&self, digest: &SignInDigest, link: &SignInLink, at: u64) -> Result<()> {
        let record = serde_json::to_string(link).map_err(damaged)?;
        let sql = "INSERT INTO sign_in_link (digest, record, created_at) VALUES (?1, ?2, ?3)";
        self.write_rows("put_link", sql, (digest.to_vec(), record, at)).await.map(|_| ())
    }

    async fn find_link(&self, digest: &SignInDigest, now: u64) -> Result<Option<SignInLink>> {
        let digest = *digest;
        let sql = "SELECT record, created_at FROM sign_in_link WHERE digest = ?1";
        self.read("find_link", move |c| link(c, sql, &digest, now)).await
    }

    async fn take_link(&self, digest: &SignInDigest, now: u64) -> Result<Option<SignInLink>> {
        let digest = *digest;
        let sql = "DELETE FROM sign_in_link WHERE digest = ?1 RETURNING record, created_at";
        self.write("take_link", move |c| link(c, sql, &digest, now)).await
    }
}

/// The link of the row that a statement answers, where it is not too old.
fn link(c: &Connection, sql: &str, digest: &SignInDigest, now: u64) -> Result<Option<SignInLink>> {
    let read = |r: &Row<'_>| Ok((r.get::<_, String>(0)?, r.get::<_, i64>(1)?));
    let found = c.prepare_cached(sql)?.query_row([&digest[..]], read).optional()?;
    let found = found.filter(|(_, at)| now.saturating_sub(count(*at)) <= LINK_LIFETIME_MS);
    found.map(|(record, _)| serde_json::from_str(&record).map_err(damaged)).transpose()
}

fn account(r: &Row<'_>) -> Result<OwnAccount> {
    Ok(OwnAccount {
        id: member_id(r.get(0)?)?,
        name: r.get(1)?,
        avatar: r.get(2)?,
        role: Role::from_number(r.get(3)?)?,
        created_at: count(r.get(4)?),
    })
}
