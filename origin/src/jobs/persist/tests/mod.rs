//! The loops over doubles of broker and tables: replays, failures, dead letters, stops.

mod dead_reactions;
mod log_damage;
mod rewinds;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64};

use gailou_shared::id::Slot;
use gailou_shared::wire::CommentState;
use tokio::time::sleep;

use crate::domain::codec::operation::encode;
use crate::domain::operation::{LoggedOperation, Operation};
use crate::jobs::persist::*;
use crate::ports::broker::BrokerError;
use crate::ports::store::StoreError;
use crate::testing::counting_listener::CountingListener;
use crate::testing::faults::FaultPoint;
use crate::testing::fixtures::{comment, like, member, publish, subject_in};
use crate::testing::memory_broker::MemoryBroker;
use crate::testing::memory_store::MemoryStore;

const PARTITIONS: u32 = 4;

struct PersistTestBed {
    log: MemoryBroker,
    tables: Arc<MemoryStore>,
    listener: Arc<CountingListener>,
    job: Arc<PersistJob>,
}

impl PersistTestBed {
    fn new(shards: usize) -> Self {
        let (log, tables, listener) =
            (MemoryBroker::new(PARTITIONS), MemoryStore::new(shards), Arc::new(CountingListener::default()));
        let job = Arc::new(PersistJob {
            broker: Arc::new(log.clone()),
            tables: tables.clone(),
            clock: Clock::from_fn(|| 7),
            erased_members: Arc::default(),
            settings: PersistSettings {
                batch: 100,
                comments_wait: Duration::from_millis(50),
                reactions_wait: Duration::from_millis(200),
            },
            listeners: CommitListeners { shared: vec![listener.clone()], local: vec![] },
            metrics: Arc::default(),
            rewinds: RewindPasser::new(tables.clone(), Clock::from_fn(|| 7)),
        });
        Self { log, tables, listener, job }
    }

    fn like(&self, slot: u16, by: u64) -> u64 {
        let bytes = encode(&like(comment(slot, 1), by)).unwrap();
        self.log.put(Topic::Reactions, u32::from(slot) % PARTITIONS, bytes)
    }

    fn metric(&self, of: impl Fn(&TopicCounts) -> &AtomicU64) -> u64 {
        of(&self.job.metrics.reactions).load(Ordering::Relaxed)
    }

    /// Runs the loops until `scenario` completes.
    async fn runs<T>(&self, scenario: impl Future<Output = T>) -> T {
        let stop = CancellationToken::new();
        let loops = tokio::spawn(run(self.job.clone(), stop.clone()));
        let value = scenario.await;
        stop.cancel();
        loops.await.unwrap().unwrap();
        value
    }

    /// Waits until the comments of these slots have so many likes in their rows.
    async fn until_liked(&self, slots: &[u16], likes: u64) {
        let liked = || slots.iter().all(|slot| self.tables.count_likes(comment(*slot, 1)) == likes);
        tokio::time::timeout(Duration::from_secs(120), async {
            while !liked() {
                sleep(Duration::from_millis(10)).await;
            }
        })
        .await
        .expect("liked in time");
    }
}

#[tokio::test(start_paused = true)]
async fn html_in_a_record_is_not_believed() {
    let bed = PersistTestBed::new(1);
    let contents = ["plain", "**marked** <script>alert(1)</script>"];
    for (number, content) in (0..).zip(contents) {
        let mut logged = publish(&subject_in(5), comment(5, number));
        let Operation::Publish(row) = &mut logged.operation else { panic!("a comment") };
        row.content = content.to_owned();
        row.html = "<script>alert(1)</script>".to_owned();
        bed.log.put(Topic::Comments, 1, encode(&logged).unwrap());
    }
    bed.runs(async {
        while bed.tables.applied().len() < contents.len() {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let html = |logged: &LoggedOperation| match &logged.operation {
        Operation::Publish(row) => row.html.trim_end().to_owned(),
        other => panic!("{other:?}"),
    };
    let stored: Vec<_> = bed.tables.applied().iter().map(html).collect();
    assert_eq!(stored, ["<p>plain</p>", "<p><strong>marked</strong> &lt;script&gt;alert(1)&lt;/script&gt;</p>"]);
}

#[tokio::test(start_paused = true)]
async fn records_are_stored_once_and_replays_change_nothing() {
    let bed = PersistTestBed::new(2);
    let subject = subject_in(5);
    for number in 0..3 {
        let bytes = encode(&publish(&subject, comment(5, number))).unwrap();
        bed.log.put(Topic::Comments, 1, bytes);
    }
    for by in 1..=250 {
        bed.like(5, by);
        bed.like(900, by);
    }
    bed.runs(async {
        while bed.tables.applied().len() < 503 {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_eq!([5, 900].map(|slot| bed.tables.count_likes(comment(slot, 1))), [250, 250]);
    assert_eq!(bed.log.commits(Topic::Comments)[&1], 3);
    assert_eq!(bed.log.commits(Topic::Reactions), HashMap::from([(1, 250), (0, 250)]));
    assert_eq!(bed.listener.operations(), 503);
    let positions: Vec<_> = bed.tables.applied().iter().filter_map(|operation| operation.position).collect();
    assert_eq!(positions.len(), 503);

    // Another process reads everything again: nothing changes.
    bed.log.forget_commits();
    bed.tables.forget_checkpoints();
    bed.runs(async {
        while bed.metric(|counts| &counts.replayed) < 500 {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_eq!(bed.tables.applied().len(), 503, "a replay changes nothing");
    assert_eq!(bed.log.commits(Topic::Reactions), HashMap::from([(1, 250), (0, 250)]));
}

#[tokio::test(start_paused = true)]
async fn poisoned_record_becomes_a_dead_letter_alone() {
    let bed = PersistTestBed::new(1);
    for by in 1..=90 {
        bed.like(8, by);
        bed.like(12, by);
    }
    // Both slots share a partition: the 45th like of slot 8 has offset 88.
    bed.tables.fail_writes(|batch| {
        let poisoned = batch.iter().any(|operation| operation.position == Some(88));
        poisoned.then(|| (FaultPoint::Before, StoreError::Database("no such thing".into())))
    });
    bed.runs(async {
        bed.until_liked(&[12], 90).await;
        bed.until_liked(&[8], 89).await;
    })
    .await;
    let letters = bed.log.dead_letters();
    assert_eq!(letters.len(), 1);
    assert_eq!((letters[0].record.partition, letters[0].record.offset, letters[0].failed_at_ms), (0, 88, 7));
    assert_eq!(letters[0].error, "the database failed: no such thing");
    assert_eq!(bed.tables.skipped(), [(OperationStream::Reactions, Slot::new(8).unwrap(), 88)]);
    assert_eq!(bed.log.commits(Topic::Reactions)[&0], 180, "the others were stored");
    assert_eq!(bed.metric(|counts| &counts.dead_letters), 1);
    let alone = bed.tables.batch_sizes().iter().filter(|size| **size == 1).count();
    assert!(alone >= 3, "three tries alone: {:?}", bed.tables.batch_sizes());
}

/// A table that refuses everything while the others of its database take writes.
#[tokio::test(start_paused = true)]
async fn database_that_refuses_many_records_makes_few_dead_letters() {
    let bed = PersistTestBed::new(1);
    for slot in 0..40 {
        bed.like(slot * 4, 1);
    }
    bed.tables.fail_writes(|batch| {
        let is_refused = batch.iter().any(|logged| matches!(logged.operation, Operation::React { .. }));
        is_refused.then(|| (FaultPoint::Before, StoreError::Database("no such column".into())))
    });
    bed.runs(async {
        sleep(Duration::from_secs(50)).await;
        assert_eq!(bed.log.dead_letters().len(), refusals::MAX_REFUSALS);
        bed.tables.heal();
        let stored = || (0..40).filter(|slot| bed.tables.count_likes(comment(slot * 4, 1)) == 1).count();
        while stored() < 40 - refusals::MAX_REFUSALS {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_eq!(bed.log.dead_letters().len(), refusals::MAX_REFUSALS, "the others are stored");
}

#[tokio::test(start_paused = true)]
async fn read_only_database_makes_no_dead_letters() {
    let bed = PersistTestBed::new(1);
    for by in 1..=30 {
        bed.like(4, by);
    }
    bed.tables.fail_writes(|_| Some((FaultPoint::Before, StoreError::Database("read-only".into()))));
    bed.runs(async {
        sleep(Duration::from_secs(60)).await;
        bed.tables.heal();
        bed.until_liked(&[4], 30).await;
    })
    .await;
    assert!(bed.log.dead_letters().is_empty() && bed.tables.skipped().is_empty());
}

#[tokio::test(start_paused = true)]
async fn unavailable_database_makes_no_dead_letters_and_delays_no_other() {
    let bed = PersistTestBed::new(2);
    for by in 1..=50 {
        bed.like(4, by);
        bed.like(604, by);
    }
    bed.tables.take_down(0);
    bed.runs(async {
        bed.until_liked(&[604], 50).await;
        sleep(Duration::from_secs(60)).await;
        assert_eq!(bed.tables.count_likes(comment(4, 1)), 0);
        assert!(!bed.log.commits(Topic::Reactions).contains_key(&0), "one database has stored nothing");
        // Records of the other database are stored meanwhile.
        for by in 51..=60 {
            bed.like(604, by);
        }
        bed.until_liked(&[604], 60).await;
        bed.tables.heal();
        bed.until_liked(&[4], 50).await;
        until_committed(&bed, 110).await;
    })
    .await;
    assert!(bed.log.dead_letters().is_empty());
}

#[tokio::test(start_paused = true)]
async fn write_that_landed_before_it_failed_is_a_replay() {
    let bed = PersistTestBed::new(1);
    let failed = AtomicBool::new(false);
    bed.tables.fail_writes(move |_| {
        let first = !failed.swap(true, Ordering::Relaxed);
        first.then(|| (FaultPoint::After, StoreError::Unavailable("the connection is gone".into())))
    });
    for by in 1..=20 {
        bed.like(4, by);
    }
    bed.runs(async {
        while bed.metric(|counts| &counts.stored) < 20 {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_eq!(bed.tables.applied().len(), 20);
    assert_eq!(bed.metric(|counts| &counts.replayed), 20);
    assert_eq!(bed.log.commits(Topic::Reactions)[&0], 20);
    assert!(bed.log.dead_letters().is_empty());
}

#[tokio::test(start_paused = true)]
async fn unreadable_record_becomes_a_dead_letter() {
    let bed = PersistTestBed::new(1);
    bed.like(4, 1);
    bed.log.put(Topic::Reactions, 0, b"garbage".to_vec());
    // A comment among the reactions, and a like in a partition that is not its slot's.
    bed.log.put(Topic::Reactions, 0, encode(&publish(&subject_in(4), comment(4, 2))).unwrap());
    bed.log.put(Topic::Reactions, 0, encode(&like(comment(5, 1), 1)).unwrap());
    bed.like(4, 2);
    let down = Arc::new(AtomicBool::new(true));
    let asked = down.clone();
    bed.log.fail_appends(move |_| {
        asked.load(Ordering::Relaxed).then(|| (FaultPoint::Before, BrokerError::Unavailable("no broker".into())))
    });
    bed.runs(async {
        bed.until_liked(&[4], 2).await;
        sleep(Duration::from_secs(5)).await;
        assert_eq!(bed.log.commits(Topic::Reactions)[&0], 1, "not committed before the dead letter is written");
        down.store(false, Ordering::Relaxed);
        sleep(Duration::from_secs(2)).await;
    })
    .await;
    let errors: Vec<_> = bed.log.dead_letters().into_iter().map(|letter| letter.error).collect();
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert_eq!(bed.log.commits(Topic::Reactions)[&0], 5);
    assert_eq!(bed.tables.count_likes(comment(5, 1)), 0);
}

#[tokio::test(start_paused = true)]
async fn record_of_a_newer_version_stops_its_partition_and_is_no_dead_letter() {
    let bed = PersistTestBed::new(1);
    bed.like(4, 1);
    bed.like(5, 1);
    let mut newer = encode(&like(comment(4, 1), 2)).unwrap();
    newer[0] += 2;
    bed.log.put(Topic::Reactions, 0, newer);
    bed.like(4, 3);
    bed.like(5, 2);
    bed.runs(async { tokio::join!(bed.until_liked(&[5], 2), sleep(Duration::from_secs(120))) }).await;
    assert_eq!(bed.tables.count_likes(comment(4, 1)), 1, "what is before it is stored, and nothing behind it");
    assert_eq!(bed.log.dead_letters().len(), 0);
    assert_eq!(bed.log.commits(Topic::Reactions)[&0], 1);
}

#[tokio::test(start_paused = true)]
async fn two_jobs_of_one_partition_store_each_record_once() {
    let bed = PersistTestBed::new(1);
    for by in 1..=500 {
        bed.like(4, by);
    }
    let other = PersistTestBed { job: clone(&bed), ..PersistTestBed::new(1) };
    tokio::join!(bed.runs(bed.until_liked(&[4], 500)), other.runs(bed.until_liked(&[4], 500)));
    let positions: Vec<_> = bed.tables.applied().iter().filter_map(|operation| operation.position).collect();
    assert_eq!(positions, (0..500).collect::<Vec<_>>(), "in the order of their offsets, each once");
}

/// The job of another process, on the same broker and tables.
fn clone(bed: &PersistTestBed) -> Arc<PersistJob> {
    Arc::new(PersistJob {
        broker: Arc::new(bed.log.clone()),
        tables: bed.tables.clone(),
        clock: Clock::from_fn(|| 7),
        erased_members: bed.job.erased_members.clone(),
        settings: PersistSettings { batch: 70, ..bed.job.settings },
        listeners: CommitListeners { shared: vec![bed.listener.clone()], local: vec![] },
        metrics: Arc::default(),
        rewinds: bed.job.rewinds.clone(),
    })
}

/// Stores likes 1 to 20 of a comment, and waits until they are committed.
async fn store_twenty_likes(bed: &PersistTestBed) {
    (1..=20).for_each(|by| _ = bed.like(4, by));
    bed.runs(async {
        bed.until_liked(&[4], 20).await;
        until_committed(bed, 20).await;
    })
    .await;
}

async fn until_committed(bed: &PersistTestBed, offset: u64) {
    until_committed_of(bed, Topic::Reactions, offset).await;
}

async fn until_committed_of(bed: &PersistTestBed, topic: Topic, offset: u64) {
    while bed.log.commits(topic).get(&0) != Some(&offset) {
        sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn database_that_is_away_for_long_does_not_stop_its_partitions() {
    let bed = PersistTestBed::new(2);
    bed.like(4, 1);
    bed.like(604, 1);
    bed.runs(async {
        bed.until_liked(&[4, 604], 1).await;
        bed.tables.take_down(0);
        // More than a partition may have waiting.
        (2..=9_000).for_each(|by| _ = bed.like(4, by));
        (2..=100).for_each(|by| _ = bed.like(604, by));
        bed.until_liked(&[604], 100).await;
        sleep(Duration::from_secs(60)).await;
        bed.like(604, 101);
        bed.until_liked(&[604], 101).await;
        bed.tables.heal();
        bed.until_liked(&[4], 9_000).await;
    })
    .await;
    assert!(bed.log.dead_letters().is_empty());
}

#[tokio::test(start_paused = true)]
async fn stop_stores_what_was_taken_and_waits_for_no_database() {
    let bed = PersistTestBed::new(2);
    let before = bed
        .runs(async {
            // The partitions are begun by then.
            sleep(Duration::from_secs(1)).await;
            bed.tables.take_down(0);
            (1..=10).for_each(|by| _ = bed.like(604, by));
            bed.like(4, 1);
            // Stopped at once: what the consumer had taken is stored all the same.
            sleep(Duration::from_millis(250)).await;
            Instant::now()
        })
        .await;
    let took = before.elapsed();
    assert_eq!(bed.tables.count_likes(comment(604, 1)), 10);
    assert!(bed.log.commits(Topic::Reactions).is_empty(), "one database has stored nothing");
    assert!(took >= PERSIST_DRAIN_TIMEOUT && took < PERSIST_DRAIN_TIMEOUT * 2, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn comment_of_an_erased_member_is_stored_without_its_content() {
    let bed = PersistTestBed::new(1);
    let subject = subject_in(5);
    bed.log.put(Topic::Comments, 1, encode(&publish(&subject, comment(5, 0))).unwrap());
    bed.job.erased_members.add(member(1));
    bed.runs(async {
        while bed.tables.applied().is_empty() {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let applied = bed.tables.applied();
    let Operation::Publish(row) = &applied[0].operation else { panic!("{applied:?}") };
    assert_eq!((row.content.as_str(), row.author.name.as_str(), row.state), ("", "", CommentState::Deleted));
    assert_eq!(row.author.id, member(1));
}
