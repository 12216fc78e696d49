//! Whether every row is in the database that has its slot, and whether two copies are equal.

use gailou_shared::id::Slot;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::numbered_tables::{NUMBERED_TABLES, NumberedTable};
use crate::adapters::mysql::reshard::copy::SlotRows;
use crate::adapters::mysql::rows::{id_at, number_at, optional_number_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_state::{SlotState, SlotStatus};
use crate::ports::store::{Result, StoreError};

/// Ranges of slots that one statement looks into.
const RANGES_PER_STATEMENT: usize = 64;
/// Rows that one statement reads.
const ROWS_PER_READ: usize = 5_000;

impl MysqlStore {
    /// Rows of the slots from `first` to `last` that are not in the database and the tables of their slot, a sentence
    /// each; nothing when all are. It looks for the first row of each range of slots that a table must not have, so it
    /// costs the same at any size.
    ///
    /// Texts have no slot of their own: they are copied and deleted with their comments, so a slot without comments
    /// has none. [`MysqlStore::find_misplaced_texts`] reads them.
    ///
    /// # Errors
    /// When a database does not answer.
    pub async fn find_misplaced_rows(&self, first: Slot, last: Slot) -> Result<Vec<String>> {
        let slots = SlotNumbers { first: first.get().into(), last: last.get().into() };
        let owners = self.owners().await?;
        let problems = self.find_slot_problems().into_iter();
        let mut misplaced: Vec<String> =
            problems.filter(|(slot, _)| slots.contains(*slot)).map(|(_, problem)| problem).collect();
        for (shard, pool) in self.pools.iter().enumerate() {
            let address = pool.address();
            let mut session = self.long_session("verify_shards", shard).await?;
            let present = SlotStatus::read_present(&mut session).await?;
            let owns = |slot: i64| usize::try_from(slot).is_ok_and(|slot| owners.get(slot) == Some(&shard));
            for slot in (first.get()..=last.get()).filter_map(Slot::new) {
                let expected = if owns(slot.get().into()) { SlotState::Owned } else { SlotState::Elsewhere };
                let state = present.get(&slot).map_or(SlotState::Elsewhere, |status| status.state);
                if state != expected {
                    misplaced.push(format!("{address}: slot {} is in state {state:?}, not {expected:?}", slot.get()));
                }
            }
            for number in 0..self.tables {
                let belongs = |slot: i64| owns(slot) && slot % i64::from(self.tables) == i64::from(number);
                for table in &NUMBERED_TABLES {
                    let mut gaps = slots.without(belongs);
                    while !gaps.is_empty() && table.has_slot_key() {
                        let found = find_first_rows(&mut session, table, number, &gaps).await?;
                        gaps.clear();
                        for (gap, slot) in found {
                            misplaced.push(format!("{address}: {}_{number} has rows of slot {slot}", table.name));
                            gaps.extend((slot < gap.last).then_some(SlotNumbers { first: slot + 1, last: gap.last }));
                        }
                    }
                }
            }
        }
        Ok(misplaced)
    }

    /// Comments of the slots from `first` to `last` without a text, and texts without a comment, a sentence for each
    /// table; nothing when there are none. It reads every comment of these slots, and the ids of every text.
    ///
    /// # Errors
    /// When a database does not answer.
    pub async fn find_misplaced_texts(&self, first: Slot, last: Slot) -> Result<Vec<String>> {
        let mut misplaced = Vec::new();
        for (shard, pool) in self.pools.iter().enumerate() {
            let mut session = self.long_session("verify_shards", shard).await?;
            for n in 0..self.tables {
                for (what, rows, others) in [
                    ("comments without a text", "comment", "content"),
                    ("texts without a comment", "content", "comment"),
                ] {
                    let (count, example) = find_alone(&mut session, (rows, others), n, (first, last)).await?;
                    if let Some(example) = example {
                        misplaced
                            .push(format!("{}: {rows}_{n} has {count} {what}, the first is {example}", pool.address()));
                    }
                }
            }
        }
        Ok(misplaced)
    }

    /// How the rows of a slot differ between two databases; nothing when they are equal. The answer has
    /// no meaning while the slot is written.
    ///
    /// # Errors
    /// When a database does not answer.
    pub async fn compare_copies(&self, slot: Slot, one: usize, other: usize) -> Result<Vec<String>> {
        let checksums = async |shard: usize| {
            let mut session = self.long_session("verify_shards", shard).await?;
            SlotRows::new(&mut session, self.table_number(slot), slot).await?.checksums(&mut session).await
        };
        let (one, other) = (checksums(one).await?, checksums(other).await?);
        let differs = one.into_iter().zip(other).filter(|(one, other)| one != other);
        Ok(differs.map(|(one, other)| format!("{}: {} and {} rows", one.table, one.rows, other.rows)).collect())
    }
}

/// Some slots, by their numbers.
#[derive(Debug, Clone, Copy)]
struct SlotNumbers {
    first: i64,
    last: i64,
}

impl SlotNumbers {
    fn contains(self, slot: Slot) -> bool {
        (self.first..=self.last).contains(&slot.get().into())
    }

    /// The ranges of these slots that are left without those that belong to a table.
    fn without(self, belongs: impl Fn(i64) -> bool) -> Vec<Self> {
        let (mut gaps, mut begin) = (Vec::new(), None);
        for slot in self.first..=self.last + 1 {
            let is_gap = slot <= self.last && !belongs(slot);
            match (begin, is_gap) {
                (None, true) => begin = Some(slot),
                (Some(first), false) => {
                    gaps.push(Self { first, last: slot - 1 });
                    begin = None;
                }
                _ => {}
            }
        }
        gaps
    }
}

/// For each range that a table has rows of, the first slot with rows.
async fn find_first_rows(
    session: &mut MysqlSession,
    table: &NumberedTable,
    number: u16,
    gaps: &[SlotNumbers],
) -> Result<Vec<(SlotNumbers, i64)>> {
    let mut found = Vec::new();
    for part in gaps.chunks(RANGES_PER_STATEMENT) {
        let probes: Vec<String> = part
            .iter()
            .enumerate()
            .map(|(index, gap)| {
                let probe = table.first_slot_sql(number, gap.first, gap.last);
                format!("(SELECT CAST({index} AS SIGNED) AS gap, f.s FROM ({probe}) f)")
            })
            .collect();
        for r in session.fetch_text(probes.join(" UNION ALL ")).await? {
            let gap = usize::try_from(number_at(&r, 0)?).ok().and_then(|index| part.get(index).copied());
            found.extend(gap.map(|gap| Ok::<_, StoreError>((gap, number_at(&r, 1)?))).transpose()?);
        }
    }
    Ok(found)
}

/// Rows of one table without a row of the same id in another: how many, and the first.
async fn find_alone(
    session: &mut MysqlSession,
    (rows, others): (&str, &str),
    number: u16,
    (first, last): (Slot, Slot),
) -> Result<(u64, Option<i64>)> {
    let (mut count, mut example, mut after) = (0, None, 0);
    loop {
        let text = format!(
            "SELECT x.id, o.id FROM (SELECT id FROM {rows}_{number} FORCE INDEX (PRIMARY) WHERE id > {after} ORDER BY id \
             LIMIT {ROWS_PER_READ}) x LEFT JOIN {others}_{number} o ON o.id = x.id ORDER BY x.id"
        );
        let read = session.fetch_text(text).await?;
        for r in &read {
            after = number_at(r, 0)?;
            let slot = id_at(r, 0)?.slot();
            if optional_number_at(r, 1)?.is_none() && (first..=last).contains(&slot) {
                count += 1;
                example = example.or(Some(after));
            }
        }
        if read.len() < ROWS_PER_READ {
            return Ok((count, example));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_what_a_table_must_not_have() {
        let check = |first, last, belongs: fn(i64) -> bool, expected: &[(i64, i64)]| {
            let gaps: Vec<_> =
                SlotNumbers { first, last }.without(belongs).iter().map(|gap| (gap.first, gap.last)).collect();
            assert_eq!(gaps, expected);
        };
        check(0, 9, |slot| slot < 5, &[(5, 9)]);
        check(0, 9, |slot| slot % 4 == 2, &[(0, 1), (3, 5), (7, 9)]);
        check(3, 3, |_| false, &[(3, 3)]);
        check(3, 3, |_| true, &[]);
    }
}
