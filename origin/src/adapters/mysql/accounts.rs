//! Accounts of this installation, in the members' slots, and what they are found by, in the slots of its digests.

use async_trait::async_trait;
use gailou_shared::id::MemberId;
use gailou_shared::token::Role;
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::dirty_rows::DirtyRow;
use crate::adapters::mysql::row_numbers::member_slot;
use crate::adapters::mysql::rows::{StoredEnum as _, count_at, damaged, member_id, number_at, slot_at};
use crate::adapters::mysql::slot_write::{SlotWrite, digest_slot};
use crate::adapters::mysql::statement::sql;
use crate::domain::sign_in::{OwnAccount, SignInDigest};
use crate::ports::store::{AccountRows, Result};

#[async_trait]
impl AccountRows for MysqlStore {
    async fn read_account(&self, id: MemberId) -> Result<Option<OwnAccount>> {
        let slot = member_slot(id);
        let find = self.part(slot).sql("SELECT id, name, avatar, role, created_at FROM account_{n} WHERE id = ?");
        let found = self.rows_of("read_account", slot, find.bind(id.signed())).await?;
        found.first().map(account).transpose()
    }

    async fn insert_account(&self, account: &OwnAccount) -> Result<bool> {
        let slot = member_slot(account.id);
        let mut write = self.begin_slot_write("insert_account", slot).await?;
        let insert = sql(format!(
            "INSERT IGNORE INTO account_{} (id, slot, name, avatar, role, created_at) VALUES (?, ?, ?, ?, ?, ?)",
            write.table
        ));
        let insert = insert.bind(account.id.signed()).bind(slot.get()).bind(account.name.as_str());
        let insert = insert.bind(account.avatar.as_deref()).bind(account.role.number()).bind(account.created_at);
        let inserted = write.session.execute(insert).await;
        Ok(write.finish(inserted, [DirtyRow::Member(account.id)]).await? > 0)
    }

    async fn change_account(&self, id: MemberId, name: Option<&str>, avatar: Option<Option<&str>>) -> Result<()> {
        let mut write = self.begin_slot_write("change_account", member_slot(id)).await?;
        let update = sql(format!(
            "UPDATE account_{} SET name = COALESCE(?, name), avatar = IF(? = 1, ?, avatar) WHERE id = ?",
            write.table
        ));
        let update = update.bind(name).bind(i64::from(avatar.is_some())).bind(avatar.flatten()).bind(id.signed());
        let changed = write.session.execute(update).await.map(|_| ());
        write.finish(changed, [DirtyRow::Member(id)]).await
    }

    async fn name_account(&self, id: MemberId, name: &str) -> Result<()> {
        let mut write = self.begin_slot_write("name_account", member_slot(id)).await?;
        let update = sql(format!("UPDATE account_{} SET name = ? WHERE id = ? AND name = ''", write.table));
        let changed = write.session.execute(update.bind(name).bind(id.signed())).await.map(|_| ());
        write.finish(changed, [DirtyRow::Member(id)]).await
    }

    async fn find_identity(&self, digest: &SignInDigest) -> Result<Option<MemberId>> {
        let slot = digest_slot(digest);
        let find = self.part(slot).sql("SELECT account_id FROM identity_{n} WHERE digest = ?").bind(&digest[..]);
        let found = self.rows_of("find_identity", slot, find).await?;
        found.first().map(|r| Ok(member_id(number_at(r, 0)?)?)).transpose()
    }

    async fn claim_identity(
        &self,
        digest: &SignInDigest,
        former: Option<MemberId>,
        account: MemberId,
        at: u64,
    ) -> Result<MemberId> {
        let mut write = self.begin_slot_write("claim_identity", digest_slot(digest)).await?;
        let owner = claim(&mut write, digest, former, account, at).await;
        write.finish(owner, [DirtyRow::Digest(*digest)]).await
    }

    async fn delete_identities(&self, account: MemberId) -> Result<()> {
        let text = "SELECT slot, digest FROM identity_{n} FORCE INDEX (identity_account) WHERE account_id = ?";
        let bind = |statement: super::statement::SqlStatement| statement.bind(account.signed());
        for r in self.rows_of_all("delete_identities", text, bind, |r| slot_at(r, 0)).await? {
            let digest: Vec<u8> = r.try_get(1)?;
            let digest: SignInDigest = digest.try_into().map_err(|_| damaged("the digest of an identity"))?;
            let mut write = self.begin_slot_write("delete_identities", slot_at(&r, 0)?).await?;
            let delete = sql(format!("DELETE FROM identity_{} WHERE digest = ?", write.table)).bind(&digest[..]);
            let deleted = write.session.execute(delete).await.map(|_| ());
            write.finish(deleted, [DirtyRow::Digest(digest)]).await?;
        }
        Ok(())
    }

    async fn has_admin(&self) -> Result<bool> {
        let text = "SELECT slot FROM account_{n} FORCE INDEX (account_role) WHERE role = ? LIMIT 1";
        let bind = |statement: super::statement::SqlStatement| statement.bind(Role::Admin.number());
        Ok(!self.rows_of_all("has_admin", text, bind, |r| slot_at(r, 0)).await?.is_empty())
    }
}

async fn claim(
    write: &mut SlotWrite,
    digest: &SignInDigest,
    former: Option<MemberId>,
    account: MemberId,
    at: u64,
) -> Result<MemberId> {
    let table = write.table;
    let insert =
        sql(format!("INSERT IGNORE INTO identity_{table} (digest, slot, account_id, created_at) VALUES (?, ?, ?, ?)"));
    let insert = insert.bind(&digest[..]).bind(digest_slot(digest).get()).bind(account.signed()).bind(at);
    write.session.execute(insert).await?;
    if let Some(former) = former {
        let update = sql(format!("UPDATE identity_{table} SET account_id = ? WHERE digest = ? AND account_id = ?"));
        let update = update.bind(account.signed()).bind(&digest[..]).bind(former.signed());
        write.session.execute(update).await?;
    }
    let find = sql(format!("SELECT account_id FROM identity_{table} WHERE digest = ?")).bind(&digest[..]);
    let found = write.session.fetch_first(find).await?.ok_or_else(|| damaged("an identity that was inserted"))?;
    Ok(member_id(number_at(&found, 0)?)?)
}

fn account(r: &MySqlRow) -> Result<OwnAccount> {
    Ok(OwnAccount {
        id: member_id(number_at(r, 0)?)?,
        name: r.try_get(1)?,
        avatar: r.try_get(2)?,
        role: Role::from_number(number_at(r, 3)?)?,
        created_at: count_at(r, 4)?,
    })
}
