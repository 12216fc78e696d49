//! Moving slots from one database to another while they are read and written.
//!
//! The states of the slot's rows say how far a move is, so that one that was interrupted is gone on
//! with or undone by the next:
//!
//! 1. Source 4, target 3: the slot's rows are copied. Writers go on, and mark what they write
//!    (`crate::adapters::mysql::dirty_rows`). Interrupted here, the copy is thrown away and begun again.
//! 2. Source 2: under the lock of the source's row the last marks were copied too, and it was sealed.
//!    Nobody can write. Interrupted from here on, the rest is done.
//! 3. Target 1 with the source's positions; the map names the target; source 0.
//! 4. When every process must have read the map again, the source's rows are deleted.

pub(super) mod copy;

use std::time::Duration;

use copy::SlotRows;
use gailou_shared::id::{SLOT_COUNT, Slot};
use sqlx::Row as _;
use tokio::time::{Instant, sleep};

use crate::adapters::mysql::pool::{Session, sql};
use crate::adapters::mysql::rows::damaged;
use crate::adapters::mysql::{MysqlStore, dirty_rows};
use crate::ports::store::{Result, StoreError};

/// How long the old rows are kept: a process reads the map every second, and one whose map is
/// older than five asks before it reads.
const KEPT: Duration = Duration::from_secs(8);
/// Marks copied at a time while writers go on.
const MARKS: usize = 1_000;
/// Passes without holding up writers.
const PASSES: usize = 100;
/// How long writers are held up at a time: what is left then is copied next time.
const PAUSE: Duration = Duration::from_millis(400);
/// So many times before the move is given up. Writers have one batch each in between, and the copy
/// is faster than they are.
const PAUSES: usize = 500;

/// What a slot's row says of it.
const ELSEWHERE: i64 = 0;
const HERE: i64 = 1;
const SEALED: i64 = 2;
const COMING: i64 = 3;
const COPIED: i64 = 4;

/// A slot, the database that has it and the one that is to have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    pub slot: Slot,
    pub from: usize,
    pub to: usize,
}

/// The fewest moves after which the first `databases` hold as many slots each, give or take one,
/// and the others none. `owners` is the database of each slot.
fn even(owners: &[usize], databases: usize) -> Vec<Move> {
    let most = owners.iter().copied().max().map_or(0, |most| most + 1).max(databases);
    let mut held = vec![0; most];
    for owner in owners {
        held[*owner] += 1;
    }
    // The odd ones stay with those that hold most already.
    let mut by_held: Vec<usize> = (0..databases).collect();
    by_held.sort_by_key(|shard| (std::cmp::Reverse(held[*shard]), *shard));
    let mut due = vec![0; most];
    for (place, shard) in by_held.into_iter().enumerate() {
        due[shard] = owners.len() / databases + usize::from(place < owners.len() % databases);
    }
    let mut moves = Vec::new();
    let mut to = 0;
    for (slot, from) in owners.iter().copied().enumerate().rev() {
        if held[from] <= due[from] {
            continue;
        }
        while held[to] >= due[to] {
            to += 1;
        }
        held[from] -= 1;
        held[to] += 1;
        moves.extend(Slot::new(slot as u16).map(|slot| Move { slot, from, to }));
    }
    moves
}

impl MysqlStore {
    /// The moves after which the first `databases` of the configured ones hold as many slots each,
    /// and the others none.
    ///
    /// # Errors
    /// When there are not so many, or the first does not answer.
    pub async fn plan(&self, databases: usize) -> Result<Vec<Move>> {
        if databases == 0 || databases > self.pools.len() {
            return Err(StoreError::Database(format!("there are {} databases", self.pools.len()).into()));
        }
        Ok(even(&self.owners().await?, databases))
    }

    /// The database of each slot, read now.
    async fn owners(&self) -> Result<Vec<usize>> {
        self.refresh().await?;
        let map = self.map.get();
        Ok((0..SLOT_COUNT).filter_map(Slot::new).map(|slot| map.shard(slot)).collect())
    }

    /// Moves a slot to a database, or goes on with a move that was interrupted. Its rows stay readable
    /// where they were: [`Mysql::forget`] deletes them.
    ///
    /// # Errors
    /// When a database does not answer, somebody else is moving slots, or writers are too fast. The
    /// slot stays where it was, or (when it was sealed already) refuses writes until this is called
    /// again.
    pub async fn relocate(&self, slot: Slot, to: usize) -> Result<()> {
        if to >= self.pools.len() {
            return Err(StoreError::Database(format!("there are {} databases, from 0", self.pools.len()).into()));
        }
        let mut lock = self.lock_moves().await?;
        self.resume(slot).await?;
        self.refresh().await?;
        let from = self.map.get().shard(slot);
        if from != to {
            let copied = self.copy(&mut lock, slot, from, to).await;
            if copied.is_err() {
                // Marks cost writers; if this fails too, the next call does it.
                let _ = self.undo(slot, from).await;
            }
            copied?;
            self.finish(slot, from, to).await?;
        }
        lock.raw("DO RELEASE_LOCK(CONCAT('gailou.shift.', MD5(DATABASE())))").await
    }

    /// Deletes the rows of slots from the databases that do not hold them any more, when every process
    /// has had time to know.
    ///
    /// # Errors
    /// When a database does not answer, or the copy is not whole; what is left is deleted by the next
    /// call.
    pub async fn forget(&self, slots: &[Slot]) -> Result<()> {
        sleep(KEPT).await;
        let mut lock = self.lock_moves().await?;
        self.refresh().await?;
        for slot in slots {
            let owner = self.map.get().shard(*slot);
            let number = self.table(*slot);
            let mut session = self.patient(owner).await?;
            if state(&mut session, *slot).await? != HERE {
                return Err(StoreError::Moved);
            }
            let kept = comments(&mut session, number, *slot).await?;
            for shard in (0..self.pools.len()).filter(|shard| *shard != owner) {
                let mut session = self.patient(shard).await?;
                if state(&mut session, *slot).await? != ELSEWHERE {
                    return Err(StoreError::Moved);
                }
                // Comments are never deleted from their table, so a whole copy has them all.
                let left = comments(&mut session, number, *slot).await?;
                if left > kept {
                    return Err(damaged(format_args!(
                        "slot {}: {} has {left} comments, {} has only {kept}; nothing was deleted",
                        slot.get(),
                        self.pool(shard).place(),
                        self.pool(owner).place()
                    )));
                }
                SlotRows::new(&mut session, number, *slot).await?.delete(&mut session).await?;
            }
        }
        lock.raw("DO RELEASE_LOCK(CONCAT('gailou.shift.', MD5(DATABASE())))").await
    }

    /// Rows that do not lie in the database that the map names; nothing when all do.
    ///
    /// # Errors
    /// When a database does not answer.
    pub async fn verify(&self) -> Result<Vec<String>> {
        let owners = self.owners().await?;
        let mut wrong = Vec::new();
        for (shard, pool) in self.pools.iter().enumerate() {
            let mut session = self.patient(shard).await?;
            for (slot, state) in states(&mut session).await? {
                let expected = if owners.get(slot) == Some(&shard) { HERE } else { ELSEWHERE };
                if state != expected {
                    wrong.push(format!("{}: slot {slot} is in state {state}, not {expected}", pool.place()));
                }
            }
            for number in 0..self.tables {
                for (table, slot, rows) in copy::counts(&mut session, number).await? {
                    let owner = usize::try_from(slot).ok().and_then(|slot| owners.get(slot));
                    if owner != Some(&shard) || slot % i64::from(self.tables) != i64::from(number) {
                        wrong.push(format!("{}: {table}_{number} has {rows} rows of slot {slot}", pool.place()));
                    }
                }
            }
        }
        Ok(wrong)
    }

    /// How the rows of a slot differ between two databases; nothing when they are the same. Says
    /// nothing while the slot is written.
    ///
    /// # Errors
    /// When a database does not answer.
    pub async fn compare(&self, slot: Slot, one: usize, other: usize) -> Result<Vec<String>> {
        let sums = async |shard: usize| {
            let mut session = self.patient(shard).await?;
            SlotRows::new(&mut session, self.table(slot), slot).await?.sums(&mut session).await
        };
        let (one, other) = (sums(one).await?, sums(other).await?);
        let differs = one.into_iter().zip(other).filter(|(one, other)| one != other);
        Ok(differs.map(|((table, a, _), (_, b, _))| format!("{table}: {a} and {b} rows")).collect())
    }

    /// A connection for work that takes its time.
    async fn patient(&self, shard: usize) -> Result<Session> {
        let mut session = self.session(shard).await?;
        session.patient().await?;
        Ok(session)
    }

    /// The right to move slots; gone with its connection.
    async fn lock_moves(&self) -> Result<Session> {
        let mut session = self.patient(0).await?;
        let lock = "SELECT CAST(GET_LOCK(CONCAT('gailou.shift.', MD5(DATABASE())), 1) AS SIGNED)";
        match session.first(sql(lock)).await?.map(|r| r.try_get::<Option<i64>, _>(0)).transpose()?.flatten() {
            Some(1) => Ok(session),
            _ => Err(StoreError::Unavailable("somebody else is moving slots".into())),
        }
    }

    /// Finishes or undoes what was interrupted.
    async fn resume(&self, slot: Slot) -> Result<()> {
        self.refresh().await?;
        let owner = self.map.get().shard(slot);
        let mut states = Vec::with_capacity(self.pools.len());
        for shard in 0..self.pools.len() {
            states.push(state(&mut self.patient(shard).await?, slot).await?);
        }
        if states[owner] == SEALED {
            let target = (0..states.len()).find(|shard| *shard != owner && matches!(states[*shard], COMING | HERE));
            let target =
                target.ok_or_else(|| damaged(format_args!("slot {} is sealed and has no target", slot.get())))?;
            return self.finish(slot, owner, target).await;
        }
        if states[owner] == COPIED {
            self.undo(slot, owner).await?;
        }
        for (shard, state) in states.iter().enumerate() {
            if shard != owner && *state != ELSEWHERE {
                set_state(&mut self.patient(shard).await?, slot, ELSEWHERE).await?;
            }
        }
        Ok(())
    }

    /// Back to where nothing is copied.
    async fn undo(&self, slot: Slot, from: usize) -> Result<()> {
        let mut session = self.patient(from).await?;
        session.begin().await?;
        if lock(&mut session, slot).await? == COPIED {
            set_state(&mut session, slot, HERE).await?;
            session.run(sql("DELETE FROM mark WHERE slot = ?").bind(slot.get())).await?;
        }
        session.commit().await
    }

    /// Copies the slot and seals it.
    async fn copy(&self, moves: &mut Session, slot: Slot, from: usize, to: usize) -> Result<()> {
        let (mut source, mut target) = (self.patient(from).await?, self.patient(to).await?);
        let tables = SlotRows::new(&mut source, self.table(slot), slot).await?;
        set_state(&mut target, slot, COMING).await?;
        tables.delete(&mut target).await?;
        source.begin().await?;
        if lock(&mut source, slot).await? != HERE {
            return Err(StoreError::Moved);
        }
        source.run(sql("DELETE FROM mark WHERE slot = ?").bind(slot.get())).await?;
        set_state(&mut source, slot, COPIED).await?;
        source.commit().await?;
        tables.all(&mut source, &mut target).await?;
        follow(&mut source, &mut target, &tables, slot).await?;
        for _ in 0..PAUSES {
            // The lock is gone with its connection, and somebody else may be at it.
            moves.raw("DO 0").await?;
            if seal(&mut source, &mut target, &tables, slot).await? {
                return Ok(());
            }
        }
        Err(StoreError::Unavailable(format!("slot {} is written too fast to be moved now", slot.get()).into()))
    }

    /// From a sealed slot to one that lives in its new database.
    async fn finish(&self, slot: Slot, from: usize, to: usize) -> Result<()> {
        let (mut source, mut target) = (self.patient(from).await?, self.patient(to).await?);
        let find = "SELECT comments, reactions FROM slot WHERE slot = ? AND state = ?";
        let found = source.first(sql(find).bind(slot.get()).bind(SEALED)).await?;
        let found = found.ok_or_else(|| damaged(format_args!("slot {} is not sealed", slot.get())))?;
        let (comments, reactions): (i64, i64) = (found.try_get(0)?, found.try_get(1)?);
        // Not over positions that have gone on: it may be here already.
        let take = "UPDATE slot SET state = ?, comments = ?, reactions = ? WHERE slot = ? AND state <> ?";
        target.run(sql(take).bind(HERE).bind(comments).bind(reactions).bind(slot.get()).bind(HERE)).await?;
        let map = "UPDATE slot_map SET shard = ?, version = version + 1 WHERE slot = ?";
        self.session(0).await?.run(sql(map).bind(to as i64).bind(slot.get())).await?;
        set_state(&mut source, slot, ELSEWHERE).await?;
        self.refresh().await
    }
}

/// Copies what was written meanwhile, until little is left.
async fn follow(source: &mut Session, target: &mut Session, tables: &SlotRows, slot: Slot) -> Result<()> {
    for _ in 0..PASSES {
        source.begin().await?;
        if lock(source, slot).await? != COPIED {
            return Err(StoreError::Moved);
        }
        let marks = dirty_rows::take(source, slot, MARKS).await?;
        source.commit().await?;
        tables.marked(source, target, &marks).await?;
        if marks.len() < MARKS {
            break;
        }
    }
    Ok(())
}

/// Copies the rest while nobody writes, and seals the slot; or, where that takes too long, only some
/// of it.
async fn seal(source: &mut Session, target: &mut Session, tables: &SlotRows, slot: Slot) -> Result<bool> {
    let begun = Instant::now();
    source.begin().await?;
    if lock(source, slot).await? != COPIED {
        return Err(StoreError::Moved);
    }
    while begun.elapsed() < PAUSE {
        let marks = dirty_rows::take(source, slot, MARKS / 2).await?;
        if marks.is_empty() {
            set_state(source, slot, SEALED).await?;
            source.commit().await?;
            tracing::info!(slot = slot.get(), pause_ms = begun.elapsed().as_millis() as u64, "slot sealed");
            return Ok(true);
        }
        tables.marked(source, target, &marks).await?;
    }
    source.commit().await?;
    Ok(false)
}

/// Locks the slot's row; its state.
async fn lock(session: &mut Session, slot: Slot) -> Result<i64> {
    let found = session.first(sql("SELECT state FROM slot WHERE slot = ? FOR UPDATE").bind(slot.get())).await?;
    Ok(found.ok_or_else(|| damaged(format_args!("slot {} has no row", slot.get())))?.try_get(0)?)
}

/// The state of every slot.
pub(super) async fn states(session: &mut Session) -> Result<Vec<(usize, i64)>> {
    let rows = session.all(sql("SELECT slot, state FROM slot ORDER BY slot")).await?;
    rows.iter().map(|r| Ok((usize::try_from(r.try_get::<i64, _>(0)?).map_err(damaged)?, r.try_get(1)?))).collect()
}

async fn state(session: &mut Session, slot: Slot) -> Result<i64> {
    let found = session.first(sql("SELECT state FROM slot WHERE slot = ?").bind(slot.get())).await?;
    Ok(found.ok_or_else(|| damaged(format_args!("slot {} has no row", slot.get())))?.try_get(0)?)
}

async fn set_state(session: &mut Session, slot: Slot, state: i64) -> Result<()> {
    session.run(sql("UPDATE slot SET state = ? WHERE slot = ?").bind(state).bind(slot.get())).await?;
    Ok(())
}

/// How many comments of a slot are here.
async fn comments(session: &mut Session, number: u16, slot: Slot) -> Result<i64> {
    let text =
        format!("SELECT COUNT(*) FROM comment_{number} FORCE INDEX (comment_path) WHERE subject BETWEEN ? AND ?");
    let statement = sql(text)
        .bind(crate::adapters::mysql::first_subject(slot))
        .bind(crate::adapters::mysql::settings::last_subject(slot));
    Ok(session.first(statement).await?.ok_or_else(|| damaged("no count"))?.try_get(0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_few_moves_as_can_be() {
        let check = |before: &[usize], databases: usize, expected: usize| {
            let mut owners: Vec<usize> =
                before.iter().enumerate().flat_map(|(shard, count)| vec![shard; *count]).collect();
            let moves = even(&owners, databases);
            assert_eq!(moves.len(), expected, "{before:?} in {databases}");
            for m in &moves {
                assert_eq!(owners[usize::from(m.slot.get())], m.from);
                owners[usize::from(m.slot.get())] = m.to;
            }
            let held = |shard| owners.iter().filter(|owner| **owner == shard).count();
            let all: Vec<usize> = (0..databases).map(held).collect();
            assert_eq!(all.iter().sum::<usize>(), owners.len());
            assert!(all.iter().max().unwrap() - all.iter().min().unwrap() <= 1, "{all:?}");
            assert_eq!(even(&owners, databases), []);
        };
        check(&[1_024], 1, 0);
        check(&[1_024], 2, 512);
        check(&[512, 512], 3, 341);
        check(&[341, 342, 341], 2, 341);
        check(&[300, 700, 24, 0], 4, 44 + 444);
    }
}
