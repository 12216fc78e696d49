//! The popularity in the memory of a process that is alone.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::SubjectKey;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::ports::popularity::{
    HALF_LIFE, LIST_MEMORY, MAX_SUBJECTS_COUNTED, PopularSubject, Popularity, PopularityError, ReadLists,
    STORE_WRITES_DAY, SubjectReads,
};

/// The sum below which a subject is forgotten, in reads.
const MIN_SUM: f64 = 0.5;

/// The sums of one process.
#[derive(Debug, Default)]
pub struct MemoryPopularity(Mutex<PopularitySums>);

#[derive(Debug, Default)]
struct PopularitySums {
    subjects: HashMap<SubjectKey, PopularitySum>,
    decayed_at: Option<Instant>,
    /// Since when writes to the edge's store are counted, and how many there were.
    store_writes: Option<(Instant, u64)>,
}

#[derive(Debug, Default)]
struct PopularitySum {
    reads: f64,
    /// When each list was requested last.
    requested_at: [Option<Instant>; ReadLists::LIST_COUNT],
}

impl MemoryPopularity {
    /// A mutex that is held for a few milliseconds at most, never across an await.
    fn sums(&self) -> MutexGuard<'_, PopularitySums> {
        self.0.lock()
    }
}

impl PopularitySums {
    /// Decays every sum to now.
    fn decay(&mut self) -> Instant {
        let now = Instant::now();
        let passed = self.decayed_at.replace(now).map_or(Duration::ZERO, |then| now - then);
        let remaining = 0.5_f64.powf(passed.as_secs_f64() / HALF_LIFE.as_secs_f64());
        self.subjects.retain(|_, sum| {
            sum.reads *= remaining;
            sum.reads >= MIN_SUM
        });
        now
    }

    /// All subjects, most read first.
    fn ranked(&self, now: Instant) -> Vec<PopularSubject> {
        let recent = |(bit, requested): (usize, &Option<Instant>)| {
            requested.is_some_and(|then| now - then < LIST_MEMORY).then_some(ReadLists::from_bits(1 << bit))
        };
        let subjects = self.subjects.iter().map(|(subject, sum)| PopularSubject {
            subject: subject.clone(),
            reads: sum.reads as u64,
            lists: sum.requested_at.iter().enumerate().filter_map(recent).fold(ReadLists::default(), ReadLists::and),
        });
        let mut subjects: Vec<_> = subjects.collect();
        subjects.sort_unstable_by(|a, b| (b.reads, &a.subject).cmp(&(a.reads, &b.subject)));
        subjects
    }
}

#[async_trait]
impl Popularity for MemoryPopularity {
    async fn add_reads(&self, reads: &[SubjectReads]) -> Result<(), PopularityError> {
        let mut sums = self.sums();
        let now = sums.decay();
        for SubjectReads { subject, count, lists } in reads {
            let sum = sums.subjects.entry(subject.clone()).or_default();
            sum.reads += *count as f64;
            for (bit, requested) in sum.requested_at.iter_mut().enumerate() {
                if lists.has(ReadLists::from_bits(1 << bit)) {
                    *requested = Some(now);
                }
            }
        }
        if sums.subjects.len() > MAX_SUBJECTS_COUNTED {
            for surplus in sums.ranked(now).split_off(MAX_SUBJECTS_COUNTED) {
                sums.subjects.remove(&surplus.subject);
            }
        }
        Ok(())
    }

    async fn most_read(&self, count: usize) -> Result<Vec<PopularSubject>, PopularityError> {
        let mut sums = self.sums();
        let now = sums.decay();
        let mut most_read = sums.ranked(now);
        most_read.truncate(count);
        Ok(most_read)
    }

    async fn claim(&self, names: &[String], _: Duration) -> Result<Vec<bool>, PopularityError> {
        Ok(vec![true; names.len()])
    }

    async fn add_store_writes(&self, writes: u64) -> Result<u64, PopularityError> {
        let mut sums = self.sums();
        let (since, count) = *sums.store_writes.get_or_insert_with(|| (Instant::now(), 0));
        let (since, count) = if since.elapsed() < STORE_WRITES_DAY { (since, count) } else { (Instant::now(), 0) };
        sums.store_writes = Some((since, count + writes));
        Ok(count + writes)
    }
}
