//! Writes batches: locks the rows of their slots, reads the rows that a fold requests, and writes the
//! rows that it changes, all in one transaction a database.
//!
//! The lock of a slot's row is the fence: two consumers that both believe they have a slot write one
//! after the other, and the second applies nothing that the first has applied.
//! [`crate::domain::fold`] decides what the rows become.

mod activity_rows;
pub(super) mod batch_sql;
pub(super) mod checkpoint_rows;
mod dead_reaction_rows;
mod event_rows;
mod flush;
mod index_queue_rows;
pub(super) mod installation_rows;
mod load;
mod merge_rows;
pub(super) mod moderation_rows;
pub(super) mod outbox_rows;
pub(super) mod rank_values;
pub(super) mod slot_locks;
pub(super) mod standing_rows;
mod webhook_rows;

use std::collections::{BTreeMap, HashSet};

use async_trait::async_trait;
use batch_sql::{BatchScript, RowValues};
use checkpoint_rows::Advances;
use futures_util::future::join_all;
use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::limits;
use gailou_shared::wire::AuditTargetKind;
use tokio::time::Instant;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::copies::put_end_copies;
use crate::adapters::mysql::dirty_rows::DirtyRow;
use crate::adapters::mysql::rows::{damaged, number_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::statement::sql;
use crate::domain::activity::ActivityStep;
use crate::domain::audit::{AuditEntry, UNDO_WINDOW_MS};
use crate::domain::checkpoint::CheckpointAdvance;
use crate::domain::erasure::MemberEnd;
use crate::domain::fold::{BatchFold, LoadedRows, TableLayout};
use crate::domain::name_digest::{NAME_TAKEN_MS, NameDigest};
use crate::domain::network_digest::NETWORK_KNOWN_MS;
use crate::domain::operation::{
    CHANGE_FEED_RETENTION_MS, ErasureStep, LoggedOperation, Operation, OperationOutcome, PersistedBatch,
};
use crate::domain::positions::StreamPosition;
use crate::domain::reaction_state::DeadReaction;
use crate::domain::sign_in::{LINK_LIFETIME_MS, REFRESH_IDLE_MS};
use crate::ports::store::{BatchWriter, Result, Sharding as _, StoreError};

/// Expired rows that one statement deletes.
const ROWS_PER_DELETE: usize = 2_000;
/// Old texts that one statement deletes: 10 MB at most.
const TEXTS_PER_DELETE: usize = 500;

#[async_trait]
impl BatchWriter for MysqlStore {
    async fn persist(&self, batch: &[LoggedOperation]) -> Result<PersistedBatch> {
        persist(self, batch, None).await
    }
}

/// Writes a batch, and checkpoints with what is written to their database. Waits a little for slots that move
/// between databases.
pub(super) async fn persist(
    db: &MysqlStore,
    batch: &[LoggedOperation],
    checkpoints: Option<Advances<'_>>,
) -> Result<PersistedBatch> {
    let begun = Instant::now();
    let mut outcomes: Vec<Option<OperationOutcome>> = vec![None; batch.len()];
    let mut persisted = PersistedBatch::default();
    let mut remaining: Vec<usize> = Vec::with_capacity(batch.len());
    for (index, logged) in batch.iter().enumerate() {
        match &logged.operation {
            Operation::Dictionary { terms, expected_version, audit } => {
                outcomes[index] = Some(
                    installation_rows::replace_dictionary(db, terms, *expected_version, audit.as_ref(), logged.at)
                        .await?,
                );
                continue;
            }
            Operation::Settings { stored, audit } => {
                outcomes[index] = Some(installation_rows::change_settings(db, stored, audit, logged.at).await?);
                continue;
            }
            Operation::Webhook { change, audit } => {
                outcomes[index] = Some(webhook_rows::change(db, change, audit, logged.at).await?);
                continue;
            }
            Operation::Import { audit } => installation_rows::record_import(db, audit, logged.at).await?,
            Operation::MemberNames(names) => record_names(db, names, logged.at).await?,
            Operation::DeleteExpired => delete_expired(db, logged.at).await?,
            Operation::DeleteEditHistory { before } => delete_edit_history(db, *before).await?,
            Operation::Erasure { member, step, audit } => {
                erase_member(db, *member, *step, audit.as_ref(), logged.at).await?;
            }
            Operation::Merge { guest, step } => {
                outcomes[index] = Some(merge_rows::write(db, *guest, step, logged.at).await?);
                continue;
            }
            _ => {
                remaining.push(index);
                continue;
            }
        }
        outcomes[index] = Some(OperationOutcome::Done);
    }
    while !remaining.is_empty() {
        let parts: Vec<_> = by_shard(db, batch, &remaining).into_iter().collect();
        // What is written in another database than the checkpoints is fenced by none.
        if checkpoints.is_some_and(|of| parts.iter().any(|(shard, _)| *shard != of.database)) {
            return Err(StoreError::Moved);
        }
        let written = parts.iter().map(|(shard, indexes)| {
            let part: Vec<&LoggedOperation> = indexes.iter().map(|index| &batch[*index]).collect();
            async move { write_part(db, *shard, &part, checkpoints).await }
        });
        let written = join_all(written).await;
        remaining.clear();
        for ((_, indexes), done) in parts.into_iter().zip(written) {
            match done {
                Ok(part) => {
                    for (index, outcome) in indexes.into_iter().zip(part.outcomes) {
                        outcomes[index] = Some(outcome);
                    }
                    persisted.changed.extend(part.changed);
                    persisted.touched.extend(part.touched);
                }
                Err(StoreError::Moved) => remaining.extend(indexes),
                Err(error) => return Err(error),
            }
        }
        remaining.sort_unstable();
        if !remaining.is_empty() {
            db.wait_for_move(begun).await?;
        }
    }
    let outcomes = outcomes.into_iter().collect::<Option<_>>();
    let outcomes = outcomes.ok_or_else(|| damaged("an operation without an outcome"))?;
    Ok(PersistedBatch { outcomes, ..persisted })
}

/// Moves a slot past a dead letter, unless it is past it already, and writes checkpoints with it.
pub(super) async fn skip_operation(
    db: &MysqlStore,
    dead: &LoggedOperation,
    database: usize,
    advances: &[CheckpointAdvance],
) -> Result<()> {
    let of = StreamPosition::of(dead).ok_or_else(|| damaged("a dead letter without a position"))?;
    let StreamPosition { stream, slot, position } = of;
    let mut session = db.session("skip_operation", database).await?;
    session.begin().await?;
    let done = async {
        checkpoint_rows::check_applied(&mut session, stream, advances).await?;
        let locked = slot_locks::lock_slots(&mut session, [slot].into_iter()).await?;
        let mut positions = locked.positions();
        if positions.next(stream, slot) <= position {
            positions.set(stream, slot, position + 1);
            if let Some(dead) = DeadReaction::of(dead) {
                dead_reaction_rows::add(db, &mut session, dead).await?;
                let dirty = DirtyRow::Reaction(dead.id, dead.member);
                locked.record_dirty_rows(&mut session, [(slot, dirty)].into_iter()).await?;
            }
        }
        locked.advance(&mut session, &positions).await?;
        checkpoint_rows::write(&mut session, stream, advances).await
    };
    let done = done.await;
    session.finish(done).await
}

fn by_shard(db: &MysqlStore, batch: &[LoggedOperation], indexes: &[usize]) -> BTreeMap<usize, Vec<usize>> {
    let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for index in indexes {
        parts.entry(db.database_of(batch[*index].operation.slot())).or_default().push(*index);
    }
    parts
}

async fn write_part(
    db: &MysqlStore,
    shard: usize,
    batch: &[&LoggedOperation],
    checkpoints: Option<Advances<'_>>,
) -> Result<PersistedBatch> {
    let mut session = db.session("persist", shard).await?;
    session.begin().await?;
    let checkpoints = checkpoints.filter(|of| of.database == shard);
    let done = async {
        if let Some(Advances { stream, advances, .. }) = checkpoints {
            checkpoint_rows::check_applied(&mut session, stream, advances).await?;
        }
        let done = write_in_transaction(db, &mut session, batch).await;
        if matches!(done, Err(StoreError::Unavailable(_) | StoreError::Busy(_) | StoreError::Moved)) {
            return done;
        }
        // Also when the batch cannot be written: what it refers to may be what the database has lost.
        if let Some(Advances { stream, advances, .. }) = checkpoints {
            checkpoint_rows::write(&mut session, stream, advances).await?;
        }
        done
    };
    let done = done.await;
    let (persisted, owes) = session.finish(done).await?;
    if owes && let Some(written) = db.outbox_written.get(shard) {
        written.notify_one();
    }
    Ok(persisted)
}

/// What the batch did, and whether it has written to the outbox.
async fn write_in_transaction(
    db: &MysqlStore,
    session: &mut MysqlSession,
    batch: &[&LoggedOperation],
) -> Result<(PersistedBatch, bool)> {
    let slots = batch.iter().map(|logged| logged.operation.slot());
    let locked = slot_locks::lock_slots(session, slots).await?;
    let mut loaded = LoadedRows::new(TableLayout::Sharded, locked.positions());
    while let Some(request) = loaded.next_request(batch) {
        load::load(db, session, &request, &mut loaded).await?;
    }
    let mut fold = BatchFold::new(loaded)?;
    let mut outcomes = batch.iter().map(|logged| Ok(fold.apply(logged)?)).collect::<Result<Vec<_>>>()?;
    let (persisted, changes) = fold.finish(|kind| db.weights_of(kind));
    let subjects = flush::subject_numbers(&changes);
    flush::flush(db, session, &changes, &subjects).await?;
    let snapshots = write_snapshots(db, session, batch).await?;
    let leased = moderation_rows::write_leases(db, session, batch, &mut outcomes).await?;
    let standings = standing_rows::write(db, session, batch, &mut outcomes).await?;
    let dirty = flush::dirty_rows(&changes, &subjects).into_iter().chain(snapshots).chain(leased).chain(standings);
    locked.record_dirty_rows(session, dirty).await?;
    locked.advance(session, &changes.positions).await?;
    outbox_rows::write(session, &changes.history, &changes.authors).await?;
    index_queue_rows::write(session, &changes).await?;
    event_rows::write(session, &changes.events).await?;
    // The last rows that are locked: other transactions of the same part wait for them.
    activity_rows::write(session, batch, &changes).await?;
    Ok((PersistedBatch { outcomes, ..persisted }, !changes.history.is_empty()))
}

/// Stores the snapshots of a batch.
async fn write_snapshots(
    db: &MysqlStore,
    session: &mut MysqlSession,
    batch: &[&LoggedOperation],
) -> Result<Vec<(Slot, DirtyRow)>> {
    let mut script = BatchScript::new(session);
    let mut dirty = Vec::new();
    for logged in batch {
        let Operation::Snapshot { slot, snapshot } = &logged.operation else { continue };
        let row = RowValues::new().number(i64::from(slot.get())).bytes(&snapshot.id()[..]);
        let row = row.bytes(&snapshot.to_bytes()[..]).count(logged.at).end();
        let table = db.table_number(*slot);
        script
            .add(&format!(
                "INSERT INTO snapshot_{table} (slot, id, ids, used_at) VALUES {row} \
                 ON DUPLICATE KEY UPDATE used_at = VALUES(used_at)"
            ))
            .await?;
        dirty.push((*slot, DirtyRow::Snapshot(snapshot.id())));
    }
    script.send().await?;
    Ok(dirty)
}

/// Records the names of members, in the first database, where erased members are, too.
async fn record_names(db: &MysqlStore, names: &[(NameDigest, MemberId)], at: u64) -> Result<()> {
    let ids: Vec<String> = names.iter().map(|(_, member)| member.to_string()).collect();
    let erased = format!("SELECT member_id FROM erased_member WHERE member_id IN ({})", ids.join(","));
    let mut session = db.first_pool().session("record_names").await?;
    let erased = session.fetch_all(sql(erased)).await?;
    let erased = erased.iter().map(|row| number_at(row, 0)).collect::<Result<HashSet<_>>>()?;
    let mut rows: Vec<String> = names
        .iter()
        .filter(|(_, member)| !erased.contains(&member.signed()))
        .map(|(digest, member)| RowValues::new().bytes(digest.as_bytes()).number(member.signed()).count(at).end())
        .collect();
    if rows.is_empty() {
        return Ok(());
    }
    // Other processes record names, too: all lock rows in the order of their keys.
    rows.sort_unstable();
    let text = "INSERT INTO member_name (digest, member_id, seen_at) VALUES {rows} \
                ON DUPLICATE KEY UPDATE seen_at = VALUES(seen_at)";
    session.execute_text(text.replace("{rows}", &rows.join(","))).await?;
    Ok(())
}

/// Deletes expired rows, a few at a time.
async fn delete_expired(db: &MysqlStore, at: u64) -> Result<()> {
    let ages = [
        ("snapshot", "used_at", limits::SNAPSHOT_LIFETIME_MS),
        ("idempotency", "created_at", limits::IDEMPOTENCY_WINDOW_MS),
        ("refresh_family", "used_at", REFRESH_IDLE_MS),
        ("sign_in_link", "created_at", LINK_LIFETIME_MS),
    ];
    for shard in 0..db.count_databases() {
        let mut session = db.session("delete_expired", shard).await?;
        let tables = ages
            .iter()
            .flat_map(|(table, column, age)| (0..db.tables).map(move |n| (format!("{table}_{n}"), *column, *age)));
        let of_ids = [("undo", "audit_id", UNDO_WINDOW_MS), ("author_network", "comment_id", NETWORK_KNOWN_MS)];
        for (table, column, age) in of_ids {
            let oldest = CommentId::from_parts(at.saturating_sub(age), Slot::FIRST, 0, 0);
            for n in 0..db.tables {
                let text = format!("DELETE FROM {table}_{n} WHERE {column} < ? LIMIT {ROWS_PER_DELETE}");
                while session.execute(sql(text.clone()).bind(oldest.signed())).await? >= ROWS_PER_DELETE as u64 {}
            }
        }
        for (step, before) in ActivityStep::expired_at(at) {
            let text = format!("DELETE FROM activity WHERE step = ? AND at < ? LIMIT {ROWS_PER_DELETE}");
            let expired = || sql(text.clone()).bind(step.number()).bind(batch_sql::signed(before));
            while session.execute(expired()).await? >= ROWS_PER_DELETE as u64 {}
        }
        let single = [("feed", "at", CHANGE_FEED_RETENTION_MS), ("member_name", "seen_at", NAME_TAKEN_MS)];
        for (table, column, age) in tables.chain(single.map(|(table, column, age)| (table.to_owned(), column, age))) {
            let before = batch_sql::signed(at.saturating_sub(age));
            let text = format!("DELETE FROM {table} WHERE {column} < ? LIMIT {ROWS_PER_DELETE}");
            while session.execute(sql(text.clone()).bind(before)).await? >= ROWS_PER_DELETE as u64 {}
        }
    }
    Ok(())
}

/// Deletes old texts, a few at a time.
async fn delete_edit_history(db: &MysqlStore, before: u64) -> Result<()> {
    for shard in 0..db.count_databases() {
        let mut session = db.session("delete_edit_history", shard).await?;
        for n in 0..db.tables {
            let text = format!(
                "DELETE FROM content_history_{n} WHERE edited_at < {} ORDER BY edited_at LIMIT {TEXTS_PER_DELETE}",
                batch_sql::signed(before)
            );
            while session.execute(sql(text.clone())).await? >= TEXTS_PER_DELETE as u64 {}
        }
    }
    Ok(())
}

/// Removes the name of a member from the audit log.
async fn erase_from_audit(db: &MysqlStore, member: MemberId) -> Result<()> {
    for shard in 0..db.count_databases() {
        let mut session = db.session("erase_from_audit", shard).await?;
        for n in 0..db.tables {
            let text =
                format!("UPDATE audit_{n} FORCE INDEX (audit_actor) SET actor_name = '' WHERE actor_id = {member}");
            session.execute_text(text).await?;
        }
    }
    let text = "UPDATE installation_audit SET actor_name = '' WHERE actor_id = ?";
    db.first_pool().session("erase_from_audit").await?.execute(sql(text).bind(member.signed())).await?;
    Ok(())
}

/// A step in the erasure of a member. Erased members and taken names are in the first database, who is erased is
/// copied to the others, names to show in
/// those of the members' slots.
async fn erase_member(
    db: &MysqlStore,
    member: MemberId,
    step: ErasureStep,
    audit: Option<&AuditEntry>,
    at: u64,
) -> Result<()> {
    let copy = &[MemberEnd { at, member, heir: None }];
    let statement = match step {
        ErasureStep::Begin => {
            db.copy("an erased member", |pool| async move { put_end_copies(&pool, copy).await }).await;
            return begin_erasure(db, member, audit, at).await;
        }
        ErasureStep::Name => {
            standing_rows::erase(db, member).await?;
            erase_from_audit(db, member).await?;
            let merged = "UPDATE merged_guest SET name = '', avatar = NULL, level = 0, role = 0 WHERE member_id = ?";
            db.first_pool().session("erase_member").await?.execute(sql(merged).bind(member.signed())).await?;
            sql("DELETE FROM member_name WHERE member_id = ?").bind(member.signed())
        }
        ErasureStep::Finish => {
            for pool in &db.pools[1..] {
                put_end_copies(pool, copy).await?;
            }
            sql("UPDATE erased_member SET done = 1 WHERE member_id = ?").bind(member.signed())
        }
    };
    db.first_pool().session("erase_member").await?.execute(statement).await?;
    Ok(())
}

/// Remembers that a member is erased, with the entry in the audit log.
async fn begin_erasure(db: &MysqlStore, member: MemberId, audit: Option<&AuditEntry>, at: u64) -> Result<()> {
    let mut session = db.first_pool().session("erase_member").await?;
    session.begin().await?;
    let done = async {
        let text = "INSERT IGNORE INTO erased_member (member_id, at) VALUES (?, ?)";
        session.execute(sql(text).bind(member.signed()).bind(at)).await?;
        let Some(audit) = audit else { return Ok(()) };
        let mut script = BatchScript::new(&mut session);
        let target = (AuditTargetKind::Member, &*member.to_string());
        moderation_rows::write_entry_of_installation(&mut script, audit, target, at).await?;
        script.send().await
    };
    let done = done.await;
    session.finish(done).await
}
