//! The steps of a merge beside the changes of comments: which guest is which member, in the first database with copies
//! in the others, and the history of the guest.

use gailou_shared::id::MemberId;
use gailou_shared::wire::Author;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::copies::put_end_copies;
use crate::adapters::mysql::rows::{member_id, number_at, role_number};
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write::batch_sql::RowValues;
use crate::domain::erasure::MemberEnd;
use crate::domain::operation::{MergeStep, OperationOutcome};
use crate::ports::store::Result;

pub(super) async fn write(db: &MysqlStore, guest: MemberId, step: &MergeStep, at: u64) -> Result<OperationOutcome> {
    match step {
        MergeStep::Begin(author) => return begin(db, guest, author, at).await,
        MergeStep::History => db.clean_history(guest).await?,
        MergeStep::Finish => {
            let copy = &[MemberEnd { at, member: guest, heir: read_heir(db, guest).await? }];
            for pool in &db.pools[1..] {
                put_end_copies(pool, copy).await?;
            }
            let finish = sql("UPDATE merged_guest SET done = 1 WHERE guest_id = ?").bind(guest.signed());
            db.first_pool().session("finish_merge").await?.execute(finish).await?;
        }
    }
    Ok(OperationOutcome::Done)
}

async fn begin(db: &MysqlStore, guest: MemberId, author: &Author, at: u64) -> Result<OperationOutcome> {
    let row = RowValues::new().number(guest.signed()).number(author.id.signed()).text(author.name.as_str());
    let row = row.text(author.avatar.as_deref()).number(i64::from(author.level)).number(role_number(author.role));
    let columns = "guest_id, member_id, name, avatar, level, role, at";
    let insert = format!("INSERT IGNORE INTO merged_guest ({columns}) VALUES {}", row.count(at).end());
    db.first_pool().session("begin_merge").await?.execute_text(insert).await?;
    let heir = read_heir(db, guest).await?;
    if heir != Some(author.id) {
        return Ok(OperationOutcome::Conflict);
    }
    let copy = &[MemberEnd { at, member: guest, heir }];
    db.copy("a merged guest", |pool| async move { put_end_copies(&pool, copy).await }).await;
    Ok(OperationOutcome::Done)
}

async fn read_heir(db: &MysqlStore, guest: MemberId) -> Result<Option<MemberId>> {
    let find = sql("SELECT member_id FROM merged_guest WHERE guest_id = ?").bind(guest.signed());
    let found = db.first_pool().session("read_heir").await?.fetch_first(find).await?;
    found.map(|r| Ok(member_id(number_at(&r, 0)?)?)).transpose()
}
