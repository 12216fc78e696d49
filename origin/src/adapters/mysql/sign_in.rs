//! Where accounts are signed in, in the accounts' slots, and addresses that sign in once, in the slots of their
//! digests.

use async_trait::async_trait;
use gailou_shared::id::MemberId;
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::dirty_rows::DirtyRow;
use crate::adapters::mysql::row_numbers::member_slot;
use crate::adapters::mysql::rows::{count_at, damaged};
use crate::adapters::mysql::slot_write::{SlotWrite, digest_slot};
use crate::adapters::mysql::statement::sql;
use crate::domain::sign_in::{
    LINK_LIFETIME_MS, MAX_FAMILIES_PER_ACCOUNT, PresentedToken, RefreshFamily, SignInDigest, SignInLink,
};
use crate::ports::store::{Result, SignInRows};

#[async_trait]
impl SignInRows for MysqlStore {
    async fn begin_family(&self, family: &RefreshFamily) -> Result<()> {
        let mut write = self.begin_slot_write("begin_family", member_slot(family.account)).await?;
        let begun = begin(&mut write, family).await;
        write.finish(begun, [DirtyRow::Member(family.account)]).await
    }

    async fn rotate_family(
        &self,
        account: MemberId,
        id: u64,
        presented: &SignInDigest,
        next: &SignInDigest,
        now: u64,
    ) -> Result<Option<RefreshFamily>> {
        let mut write = self.begin_slot_write("rotate_family", member_slot(account)).await?;
        let rotated = rotate(&mut write, account, id, presented, next, now).await;
        write.finish(rotated, [DirtyRow::Member(account)]).await
    }

    async fn end_family(&self, account: MemberId, id: u64) -> Result<()> {
        let mut write = self.begin_slot_write("end_family", member_slot(account)).await?;
        let ended = end(&mut write, account, id).await;
        write.finish(ended, [DirtyRow::Member(account)]).await
    }

    async fn put_link(&self, digest: &SignInDigest, link: &SignInLink, at: u64) -> Result<()> {
        let record = serde_json::to_string(link).map_err(damaged)?;
        let slot = digest_slot(digest);
        let mut write = self.begin_slot_write("put_link", slot).await?;
        let insert = sql(format!(
            "INSERT INTO sign_in_link_{} (digest, slot, record, created_at) VALUES (?, ?, ?, ?)",
            write.table
        ));
        let insert = insert.bind(&digest[..]).bind(slot.get()).bind(record).bind(at);
        let inserted = write.session.execute(insert).await.map(|_| ());
        write.finish(inserted, [DirtyRow::Digest(*digest)]).await
    }

    async fn find_link(&self, digest: &SignInDigest, now: u64) -> Result<Option<SignInLink>> {
        let slot = digest_slot(digest);
        let find = format!("SELECT record, created_at FROM sign_in_link_{} WHERE digest = ?", self.table_number(slot));
        let found = self.rows_of("find_link", slot, sql(find).bind(&digest[..])).await?;
        found.first().map_or(Ok(None), |found| link(found, now))
    }

    async fn take_link(&self, digest: &SignInDigest, now: u64) -> Result<Option<SignInLink>> {
        let mut write = self.begin_slot_write("take_link", digest_slot(digest)).await?;
        let taken = take(&mut write, digest, now).await;
        write.finish(taken, [DirtyRow::Digest(*digest)]).await
    }
}

async fn begin(write: &mut SlotWrite, family: &RefreshFamily) -> Result<()> {
    let (table, account) = (write.table, family.account.signed());
    let find = sql(format!(
        "SELECT id FROM refresh_family_{table} WHERE account_id = ? ORDER BY used_at DESC, id LIMIT 1000 OFFSET ?"
    ));
    let over = write.session.fetch_all(find.bind(account).bind(MAX_FAMILIES_PER_ACCOUNT as u64 - 1)).await?;
    for r in over {
        end(write, family.account, r.try_get::<i64, _>(0)? as u64).await?;
    }
    let insert = sql(format!(
        "INSERT INTO refresh_family_{table} (account_id, id, slot, digest, created_at, used_at) \
         VALUES (?, ?, ?, ?, ?, ?)"
    ));
    let insert = insert.bind(account).bind(family.id as i64).bind(member_slot(family.account).get());
    let insert = insert.bind(&family.digest[..]).bind(family.created_at).bind(family.used_at);
    write.session.execute(insert).await.map(|_| ())
}

async fn rotate(
    write: &mut SlotWrite,
    account: MemberId,
    id: u64,
    presented: &SignInDigest,
    next: &SignInDigest,
    now: u64,
) -> Result<Option<RefreshFamily>> {
    let table = write.table;
    let find = sql(format!(
        "SELECT digest, created_at, used_at FROM refresh_family_{table} WHERE account_id = ? AND id = ? FOR UPDATE"
    ));
    let found = write.session.fetch_first(find.bind(account.signed()).bind(id as i64)).await?;
    let Some(family) = found.map(|r| family(&r, account, id)).transpose()? else { return Ok(None) };
    if family.present(presented, now) == PresentedToken::Ends {
        return end(write, account, id).await.map(|()| None);
    }
    let update =
        sql(format!("UPDATE refresh_family_{table} SET digest = ?, used_at = ? WHERE account_id = ? AND id = ?"));
    let update = update.bind(&next[..]).bind(now).bind(account.signed()).bind(id as i64);
    write.session.execute(update).await?;
    Ok(Some(RefreshFamily { digest: *next, used_at: now, ..family }))
}

async fn end(write: &mut SlotWrite, account: MemberId, id: u64) -> Result<()> {
    let delete = sql(format!("DELETE FROM refresh_family_{} WHERE account_id = ? AND id = ?", write.table));
    write.session.execute(delete.bind(account.signed()).bind(id as i64)).await.map(|_| ())
}

async fn take(write: &mut SlotWrite, digest: &SignInDigest, now: u64) -> Result<Option<SignInLink>> {
    let table = write.table;
    let find = sql(format!("SELECT record, created_at FROM sign_in_link_{table} WHERE digest = ? FOR UPDATE"));
    let Some(found) = write.session.fetch_first(find.bind(&digest[..])).await? else { return Ok(None) };
    let delete = sql(format!("DELETE FROM sign_in_link_{table} WHERE digest = ?")).bind(&digest[..]);
    write.session.execute(delete).await?;
    link(&found, now)
}

/// The link of a row, where it is not too old.
fn link(r: &MySqlRow, now: u64) -> Result<Option<SignInLink>> {
    if now.saturating_sub(count_at(r, 1)?) > LINK_LIFETIME_MS {
        return Ok(None);
    }
    serde_json::from_str(r.try_get(0)?).map(Some).map_err(damaged)
}

fn family(r: &MySqlRow, account: MemberId, id: u64) -> Result<RefreshFamily> {
    let digest: Vec<u8> = r.try_get(0)?;
    let digest = digest.try_into().map_err(|_| damaged("the digest of a family"))?;
    Ok(RefreshFamily { account, id, digest, created_at: count_at(r, 1)?, used_at: count_at(r, 2)? })
}
