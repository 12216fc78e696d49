//! The sums in the memory of the only process there is.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::SubjectKey;
use tokio::time::Instant;

use crate::ports::popularity::{ASKED, HALF, HEATED, PopularSubject, Popularity, PopularityError, ReadLists, Reads};

/// Heat below which a subject is forgotten.
const COLD: f64 = 0.5;

#[derive(Debug, Default)]
pub struct MemoryPopularity(Mutex<Sums>);

#[derive(Debug, Default)]
struct Sums {
    subjects: HashMap<SubjectKey, Sum>,
    cooled: Option<Instant>,
}

#[derive(Debug, Default)]
struct Sum {
    heat: f64,
    /// When each list was last asked for.
    asked: [Option<Instant>; 8],
}

impl Sums {
    /// Lets everything cool down to now.
    fn cool(&mut self) -> Instant {
        let now = Instant::now();
        let passed = self.cooled.replace(now).map_or(Duration::ZERO, |then| now - then);
        let left = 0.5_f64.powf(passed.as_secs_f64() / HALF.as_secs_f64());
        self.subjects.retain(|_, sum| {
            sum.heat *= left;
            sum.heat >= COLD
        });
        now
    }

    fn hottest(&self, now: Instant) -> Vec<PopularSubject> {
        let recent = |(bit, asked): (usize, &Option<Instant>)| {
            asked.is_some_and(|then| now - then < ASKED).then_some(ReadLists::from_bits(1 << bit))
        };
        let warm = self.subjects.iter().map(|(subject, sum)| PopularSubject {
            subject: subject.clone(),
            heat: sum.heat as u64,
            lists: sum.asked.iter().enumerate().filter_map(recent).fold(ReadLists::default(), ReadLists::and),
        });
        let mut warm: Vec<_> = warm.collect();
        warm.sort_unstable_by(|a, b| (b.heat, &a.subject).cmp(&(a.heat, &b.subject)));
        warm
    }
}

#[async_trait]
impl Popularity for MemoryPopularity {
    async fn add(&self, reads: &[Reads]) -> Result<(), PopularityError> {
        // A std mutex: held for a few milliseconds at most, never across an await.
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = sums.cool();
        for Reads { subject, count, lists } in reads {
            let sum = sums.subjects.entry(subject.clone()).or_default();
            sum.heat += *count as f64;
            for (bit, asked) in sum.asked.iter_mut().enumerate() {
                if lists.has(ReadLists::from_bits(1 << bit)) {
                    *asked = Some(now);
                }
            }
        }
        if sums.subjects.len() > HEATED {
            for cold in sums.hottest(now).split_off(HEATED) {
                sums.subjects.remove(&cold.subject);
            }
        }
        Ok(())
    }

    async fn most_read(&self, count: usize) -> Result<Vec<PopularSubject>, PopularityError> {
        let mut sums = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = sums.cool();
        let mut hottest = sums.hottest(now);
        hottest.truncate(count);
        Ok(hottest)
    }

    async fn claim(&self, names: &[String], _: Duration) -> Result<Vec<bool>, PopularityError> {
        Ok(vec![true; names.len()])
    }
}
