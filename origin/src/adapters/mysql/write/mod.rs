//! Batches into the databases: the rows of their slots are locked, what a fold wants is read, what
//! it changes is written, all in one transaction a database.
//!
//! The lock of a slot's row is the fence: two consumers that believe they have the same slot write
//! one after the other, and the second applies nothing that the first has applied. What the rows
//! become is decided in [`crate::domain::fold`].

mod batch_sql;
mod flush;
mod load;
mod member_rows;
mod slot_locks;

use std::collections::BTreeMap;

use batch_sql::{Script, Values};
use futures_util::future::{join_all, try_join_all};
use gailou_shared::id::Slot;
use gailou_shared::limits;
use gailou_shared::word_filter::Term;
use member_rows::Following;
use tokio::time::Instant;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::dirty_rows::Mark;
use crate::adapters::mysql::pool::{Session, sql};
use crate::adapters::mysql::rows::damaged;
use crate::domain::fold::{Fold, Loaded, Reach};
use crate::domain::operation::{
    CHANGE_FEED_RETENTION_MS, LoggedOperation, Operation, OperationOutcome, PersistedBatch,
};
use crate::domain::positions::OperationStream;
use crate::ports::store::Sharding as _;
use crate::ports::store::{Result, StoreError};

/// Rows that outlived their time deleted by one statement.
const SWEPT: usize = 2_000;

/// Writes a batch. See [`BatchWriter::persist`].
///
/// Slots that are on their way to another database are waited for a little.
pub(super) async fn persist(db: &MysqlStore, batch: &[LoggedOperation]) -> Result<PersistedBatch> {
    let begun = Instant::now();
    let mut outcomes: Vec<Option<OperationOutcome>> = vec![None; batch.len()];
    let mut persisted = PersistedBatch::default();
    let mut following = Following::default();
    let mut rest: Vec<usize> = Vec::with_capacity(batch.len());
    for (place, stamped) in batch.iter().enumerate() {
        match &stamped.operation {
            Operation::Words(terms) => words(db, terms).await?,
            Operation::Sweep => sweep(db, stamped.at).await?,
            _ => {
                rest.push(place);
                continue;
            }
        }
        outcomes[place] = Some(OperationOutcome::Done);
    }
    while !rest.is_empty() {
        let parts: Vec<_> = by_shard(db, batch, &rest).into_iter().collect();
        let written = parts.iter().map(|(shard, places)| {
            let part: Vec<&LoggedOperation> = places.iter().map(|place| &batch[*place]).collect();
            async move { write(db, *shard, &part).await }
        });
        let written = join_all(written).await;
        rest.clear();
        for ((_, places), done) in parts.into_iter().zip(written) {
            match done {
                Ok(part) => {
                    for (place, outcome) in places.into_iter().zip(part.persisted.outcomes) {
                        outcomes[place] = Some(outcome);
                    }
                    persisted.changed.extend(part.persisted.changed);
                    persisted.touched.extend(part.persisted.touched);
                    following.append(part.following);
                }
                Err(StoreError::Moved) => rest.extend(places),
                Err(error) => return Err(error),
            }
        }
        rest.sort_unstable();
        if !rest.is_empty() {
            db.moved(begun).await?;
        }
    }
    follow(db, following, begun).await?;
    let outcomes = outcomes.into_iter().collect::<Option<_>>();
    Ok(PersistedBatch { outcomes: outcomes.ok_or_else(|| damaged("an event without an outcome"))?, ..persisted })
}

/// The slot an event is about.
fn slot(event: &Operation) -> Slot {
    match event {
        Operation::Publish(new) => new.path.id().slot(),
        Operation::React { id, .. } | Operation::Change { id, .. } => id.slot(),
        Operation::Subject { key, .. } => key.slot(),
        Operation::Snapshot { slot, .. } => *slot,
        Operation::Words(_) | Operation::Sweep => Slot::FIRST,
    }
}

fn by_shard(db: &MysqlStore, batch: &[LoggedOperation], places: &[usize]) -> BTreeMap<usize, Vec<usize>> {
    let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for place in places {
        parts.entry(db.shard(slot(&batch[*place].operation))).or_default().push(*place);
    }
    parts
}

/// One database's part of a batch, written.
struct Written<'b> {
    persisted: PersistedBatch,
    following: Following<'b>,
}

async fn write<'b>(db: &MysqlStore, shard: usize, batch: &[&'b LoggedOperation]) -> Result<Written<'b>> {
    let mut session = db.session(shard).await?;
    session.begin().await?;
    let done = write_in(db, &mut session, batch).await;
    end(session, done).await
}

/// Commits what was done, or gives it up.
async fn end<T>(mut session: Session, done: Result<T>) -> Result<T> {
    match done {
        Ok(done) => session.commit().await.map(|()| done),
        Err(error) => {
            // Where this fails too the connection is closed, and the server rolls back.
            let _ = session.rollback().await;
            Err(error)
        }
    }
}

async fn write_in<'b>(db: &MysqlStore, session: &mut Session, batch: &[&'b LoggedOperation]) -> Result<Written<'b>> {
    let held = slot_locks::lock(session, batch.iter().map(|stamped| slot(&stamped.operation))).await?;
    let mut loaded = Loaded::new(Reach::Slots, held.positions());
    while let Some(wanted) = loaded.wants(batch) {
        load::load(db, session, &wanted, &mut loaded).await?;
    }
    let mut fold = Fold::new(loaded)?;
    let outcomes = batch.iter().map(|stamped| Ok(fold.apply(stamped)?)).collect::<Result<_>>()?;
    let (persisted, mut changes) = fold.finish(|kind| db.weights(kind));
    let subjects = flush::subject_numbers(&changes);
    flush::flush(db, session, &changes, &subjects).await?;
    let snapshots = snapshots(db, session, batch).await?;
    held.mark(session, flush::marks(&changes, &subjects).into_iter().chain(snapshots)).await?;
    held.advance(session, &changes.positions).await?;
    let following =
        Following { history: std::mem::take(&mut changes.history), authors: std::mem::take(&mut changes.authors) };
    Ok(Written { persisted: PersistedBatch { outcomes, ..persisted }, following })
}

/// Keeps the snapshots of a batch.
async fn snapshots(db: &MysqlStore, session: &mut Session, batch: &[&LoggedOperation]) -> Result<Vec<(Slot, Mark)>> {
    let mut script = Script::new(session);
    let mut marks = Vec::new();
    for stamped in batch {
        let Operation::Snapshot { slot, snapshot } = &stamped.operation else { continue };
        let row = Values::new().number(i64::from(slot.get())).bytes(&snapshot.id()[..]);
        let row = row.bytes(&snapshot.to_bytes()[..]).count(stamped.at).end();
        let table = db.table(*slot);
        script
            .add(&format!(
                "INSERT INTO snapshot_{table} (slot, id, ids, used_at) VALUES {row} \
                 ON DUPLICATE KEY UPDATE used_at = VALUES(used_at)"
            ))
            .await?;
        marks.push((*slot, Mark::Snapshot(snapshot.id())));
    }
    script.send().await?;
    Ok(marks)
}

/// Writes histories and names, database by database.
async fn follow(db: &MysqlStore, mut following: Following<'_>, begun: Instant) -> Result<()> {
    loop {
        let parts = following.by_shard(|slot| db.shard(slot));
        let written = parts.into_iter().map(|(shard, part)| async move {
            let done = async {
                let mut session = db.session(shard).await?;
                session.begin().await?;
                let done = member_rows::follow(db, &mut session, &part).await;
                end(session, done).await
            };
            match done.await {
                Ok(()) => Ok(None),
                Err(StoreError::Moved) => Ok(Some(part)),
                Err(error) => Err(error),
            }
        });
        following = Following::default();
        let rest: Vec<_> = try_join_all(written).await?.into_iter().flatten().collect();
        if rest.is_empty() {
            return Ok(());
        }
        rest.into_iter().for_each(|part| following.append(part));
        db.moved(begun).await?;
    }
}

/// Passes over a position. See [`crate::ports::store::SlotPositions`].
pub(super) async fn skip(db: &MysqlStore, stream: OperationStream, slot: Slot, position: u64) -> Result<()> {
    let begun = Instant::now();
    loop {
        let mut session = db.session(db.shard(slot)).await?;
        session.begin().await?;
        let done = async {
            let held = slot_locks::lock(&mut session, [slot].into_iter()).await?;
            let mut positions = held.positions();
            if positions.next(stream, slot) <= position {
                positions.set(stream, slot, position + 1);
            }
            held.advance(&mut session, &positions).await
        };
        let done = done.await;
        match end(session, done).await {
            Err(StoreError::Moved) => db.moved(begun).await?,
            done => return done,
        }
    }
}

/// Replaces the dictionary.
async fn words(db: &MysqlStore, terms: &[Term]) -> Result<()> {
    let mut session = db.first().session().await?;
    session.begin().await?;
    let done = async {
        let mut script = Script::new(&mut session);
        // First, so that two that come together follow each other.
        script
            .add(
                "INSERT INTO setting (name, value) VALUES ('words_version', '1') \
                 ON DUPLICATE KEY UPDATE value = CAST(value AS SIGNED) + 1",
            )
            .await?;
        script.add("DELETE FROM word").await?;
        let mut rows = Vec::with_capacity(terms.len());
        for term in terms {
            let action = serde_json::to_value(term.action).map_err(damaged)?;
            let row = Values::new().text(term.term.as_str()).text(term.category.as_str()).text(action.as_str());
            rows.push(row.end());
        }
        if !rows.is_empty() {
            let statement = "INSERT INTO word (term, category, action) VALUES {rows} \
                             ON DUPLICATE KEY UPDATE category = VALUES(category), action = VALUES(action)";
            script.rows(statement, [(0, rows)].into()).await?;
        }
        script.send().await
    };
    let done = done.await;
    end(session, done).await
}

/// Deletes what has outlived its time, a little at a time.
async fn sweep(db: &MysqlStore, at: u64) -> Result<()> {
    let old = [
        ("snapshot", "used_at", limits::SNAPSHOT_LIFETIME_MS),
        ("idempotency", "created_at", limits::IDEMPOTENCY_WINDOW_MS),
    ];
    for shard in 0..db.count_databases() {
        let mut session = db.session(shard).await?;
        let tables = old
            .iter()
            .flat_map(|(table, column, age)| (0..db.tables).map(move |n| (format!("{table}_{n}"), *column, *age)));
        for (table, column, age) in tables.chain([("feed".to_owned(), "at", CHANGE_FEED_RETENTION_MS)]) {
            let before = batch_sql::signed(at.saturating_sub(age));
            let text = format!("DELETE FROM {table} WHERE {column} < ? LIMIT {SWEPT}");
            while session.run(sql(text.clone()).bind(before)).await? >= SWEPT as u64 {}
        }
    }
    Ok(())
}
