//! The networks that read subjects of this process lately, and which subjects are popular.
//!
//! A network counts once a minute for a subject, however often it reads: one client must not make a subject
//! popular. Counting a read is one hash and one bit. [`crate::jobs::share_read_counts`] adds the counts to
//! the sums of all processes; a network that reads from several processes counts in each. No IO here.

mod network_sketch;

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU16, Ordering};

use gailou_shared::id::SubjectKey;

use crate::ports::popularity::{LIST_MEMORY, MAX_SUBJECTS_COUNTED, PopularSubject, ReadLists, SubjectReads};
use network_sketch::NetworkSketch;

/// Subjects that can be popular at a time.
pub const MAX_POPULAR_SUBJECTS: usize = 100;

/// The reads of one subject in this process. Pages hold it.
#[derive(Debug, Default)]
pub struct ReadCounter {
    networks: NetworkSketch,
    lists: AtomicU16,
    fresh_for_seconds: AtomicU8,
}

impl ReadCounter {
    /// Counts a read of this network; readers whose address is unknown are one network.
    pub fn count_read(&self, lists: ReadLists, network: Option<IpAddr>) {
        self.networks.add(network);
        self.lists.fetch_or(lists.bits(), Ordering::Relaxed);
    }

    /// For how many seconds the edge may serve a page of it without asking; 0 unless it is popular.
    pub fn fresh_for_seconds(&self) -> u8 {
        self.fresh_for_seconds.load(Ordering::Relaxed)
    }
}

/// The counters of the subjects that were requested from this process lately.
#[derive(Debug)]
pub struct ReadCounters(moka::sync::Cache<SubjectKey, Arc<ReadCounter>>);

impl ReadCounters {
    pub fn new() -> Self {
        let counters = moka::sync::Cache::builder().max_capacity(MAX_SUBJECTS_COUNTED as u64);
        Self(counters.time_to_idle(LIST_MEMORY).build())
    }

    /// The counter of a subject.
    pub fn counter_of(&self, subject: &SubjectKey) -> Arc<ReadCounter> {
        self.0.get_with_by_ref(subject, Arc::default)
    }

    /// The reads since the last call: of each subject the networks that have not counted before.
    pub fn take_reads(&self) -> Vec<SubjectReads> {
        let taken = self.0.iter().map(|(subject, counter)| SubjectReads {
            subject: SubjectKey::clone(&subject),
            count: counter.networks.take_count(),
            lists: ReadLists::from_bits(counter.lists.swap(0, Ordering::Relaxed)),
        });
        taken.filter(|reads| reads.count > 0 || reads.lists != ReadLists::default()).collect()
    }

    /// Lets every network count again.
    pub fn forget_networks(&self) {
        for (_, counter) in &self.0 {
            counter.networks.forget();
        }
    }

    /// Declares these subjects popular, and no other, with pages that are fresh for so many seconds.
    pub fn declare_popular(&self, popular: &[PopularSubject], fresh_for_seconds: u8) {
        let subjects: HashSet<_> = popular.iter().map(|popular| &popular.subject).collect();
        for (subject, counter) in &self.0 {
            let seconds = if subjects.contains(&*subject) { fresh_for_seconds } else { 0 };
            counter.fresh_for_seconds.store(seconds, Ordering::Relaxed);
        }
        for popular in popular {
            self.counter_of(&popular.subject).fresh_for_seconds.store(fresh_for_seconds, Ordering::Relaxed);
        }
    }
}

impl Default for ReadCounters {
    fn default() -> Self {
        Self::new()
    }
}

/// Which of the most read subjects are popular: read by at least `per_minute` networks a minute, or half
/// as many if they were popular `before`, so that a subject near the limit does not alternate.
///
/// A sum that halves every minute and grows evenly settles at 1 / ln 2 = 1.44 times what is added in
/// a minute.
pub fn select_popular(
    most_read: Vec<PopularSubject>,
    before: &[PopularSubject],
    per_minute: u32,
) -> Vec<PopularSubject> {
    let is_popular = |subject: &PopularSubject| {
        let was_popular = before.iter().any(|b| b.subject == subject.subject);
        let needed = if was_popular { u64::from(per_minute) / 2 } else { per_minute.into() };
        subject.reads * 100 >= needed * 144
    };
    most_read.into_iter().filter(is_popular).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(key: &str) -> SubjectKey {
        SubjectKey::new("video", key).unwrap()
    }

    fn popular(key: &str, reads: u64) -> PopularSubject {
        PopularSubject { subject: subject(key), reads, lists: ReadLists::default() }
    }

    #[test]
    fn popular_subject_stays_popular_down_to_half_the_limit() {
        let check = |reads, was_popular: bool, expected: bool| {
            let before = if was_popular { vec![popular("a", 0)] } else { vec![] };
            let selected = select_popular(vec![popular("a", reads)], &before, 600);
            assert_eq!(!selected.is_empty(), expected, "{reads} {was_popular}");
        };
        check(864, false, true);
        check(863, false, false);
        check(863, true, true);
        check(432, true, true);
        check(431, true, false);
    }

    fn network(number: u32) -> Option<IpAddr> {
        Some(IpAddr::from(number.to_be_bytes()))
    }

    #[test]
    fn network_counts_once_until_networks_are_forgotten() {
        let counters = ReadCounters::new();
        let read = |network| counters.counter_of(&subject("a")).count_read(ReadLists::DEFAULT_LIST, network);
        let taken = |count| vec![SubjectReads { subject: subject("a"), count, lists: ReadLists::DEFAULT_LIST }];
        (0..10_000).for_each(|_| read(network(1)));
        assert_eq!(counters.take_reads(), taken(1));
        assert_eq!(counters.take_reads(), []);
        for network in [network(1), network(2), None, None] {
            read(network);
        }
        assert_eq!(counters.take_reads(), taken(2));
        read(network(1));
        assert_eq!(counters.take_reads(), taken(0), "the list is requested, the network is known");
        counters.forget_networks();
        read(network(1));
        assert_eq!(counters.take_reads(), taken(1));
    }

    #[test]
    fn one_network_makes_no_subject_popular_and_many_do() {
        let reads_of = |networks: u32| {
            let counters = ReadCounters::new();
            for read in 0..20_000 {
                counters.counter_of(&subject("a")).count_read(ReadLists::DEFAULT_LIST, network(read % networks));
            }
            counters.take_reads()[0].count
        };
        assert!(select_popular(vec![popular("a", reads_of(1))], &[], 600).is_empty());
        assert!(!select_popular(vec![popular("a", reads_of(1_000))], &[], 600).is_empty());
    }

    #[test]
    fn declaring_replaces_the_popular_subjects() {
        let counters = ReadCounters::new();
        let seconds = || ["a", "b"].map(|key| counters.counter_of(&subject(key)).fresh_for_seconds());
        counters.declare_popular(&[popular("a", 1), popular("b", 1)], 10);
        assert_eq!(seconds(), [10, 10]);
        counters.declare_popular(&[popular("b", 1)], 10);
        assert_eq!(seconds(), [0, 10]);
    }
}
