use std::sync::atomic::AtomicBool;

use crate::domain::codec::operation::encode;
use crate::jobs::persist::*;
use crate::ports::store::StoreError;
use crate::testing::doubles::{Told, When, comment, like, publish, subject_in};
use crate::testing::memory_broker::MemoryLog;
use crate::testing::memory_tables::MemoryTables;

const PARTITIONS: u32 = 4;

struct Site {
    log: MemoryLog,
    tables: Arc<MemoryTables>,
    told: Arc<Told>,
    job: Arc<PersistJob>,
}

impl Site {
    fn new(shards: usize) -> Self {
        let (log, tables, told) = (MemoryLog::new(PARTITIONS), MemoryTables::new(shards), Arc::new(Told::default()));
        let job = Arc::new(PersistJob {
            log: Arc::new(log.clone()),
            tables: tables.clone(),
            clock: Clock::from_fn(|| 7),
            settings: Settings {
                batch: 100,
                comments: Duration::from_millis(50),
                reactions: Duration::from_millis(200),
            },
            committed: told.clone(),
            figures: Arc::default(),
        });
        Self { log, tables, told, job }
    }

    fn like(&self, slot: u16, by: u64) -> u64 {
        let bytes = encode(&like(comment(slot, 1), by)).unwrap();
        self.log.put(Topic::Reactions, u32::from(slot) % PARTITIONS, bytes)
    }

    fn figure(&self, of: impl Fn(&TopicCounts) -> &AtomicU64) -> u64 {
        of(&self.job.figures.reactions).load(Ordering::Relaxed)
    }

    /// Runs the loops while `story` goes on.
    async fn runs<T>(&self, story: impl Future<Output = T>) -> T {
        let stop = CancellationToken::new();
        let loops = tokio::spawn(run(self.job.clone(), stop.clone()));
        let value = story.await;
        stop.cancel();
        loops.await.unwrap().unwrap();
        value
    }

    /// Waits until so many likes are in the rows of these slots' comments.
    async fn until_liked(&self, slots: &[u16], likes: u64) {
        let liked = || slots.iter().all(|slot| self.tables.likes(comment(*slot, 1)) == likes);
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
async fn what_is_in_the_log_comes_into_the_tables_once() {
    let site = Site::new(2);
    let subject = subject_in(5);
    for number in 0..3 {
        let bytes = encode(&publish(&subject, comment(5, number))).unwrap();
        site.log.put(Topic::Comments, 1, bytes);
    }
    for by in 1..=250 {
        site.like(5, by);
        site.like(900, by);
    }
    site.runs(async {
        while site.tables.applied().len() < 503 {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_eq!([5, 900].map(|slot| site.tables.likes(comment(slot, 1))), [250, 250]);
    assert_eq!(site.log.commits(Topic::Comments)[&1], 3);
    assert_eq!(site.log.commits(Topic::Reactions), HashMap::from([(1, 250), (0, 250)]));
    assert_eq!(site.told.events(), 503);
    let positions: Vec<_> = site.tables.applied().iter().filter_map(|stamped| stamped.position).collect();
    assert_eq!(positions.len(), 503);

    // Another process begins where the broker says, or before: nothing changes.
    site.log.forget_commits();
    site.runs(async {
        while site.figure(|counts| &counts.seen) < 500 {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_eq!(site.tables.applied().len(), 503, "a replay changes nothing");
    assert_eq!(site.log.commits(Topic::Reactions), HashMap::from([(1, 250), (0, 250)]));
}

#[tokio::test(start_paused = true)]
async fn a_poisoned_event_in_the_middle_of_a_batch_is_buried_alone() {
    let site = Site::new(1);
    for by in 1..=90 {
        site.like(8, by);
        site.like(12, by);
    }
    // Both slots share a partition: the 45th like of slot 8 stands at 88.
    site.tables.refuse(|batch| {
        let poisoned = batch.iter().any(|stamped| stamped.position == Some(88));
        poisoned.then(|| (When::Before, StoreError::Database("no such thing".into())))
    });
    site.runs(async {
        site.until_liked(&[12], 90).await;
        site.until_liked(&[8], 89).await;
    })
    .await;
    let letters = site.log.buried();
    assert_eq!(letters.len(), 1);
    assert_eq!((letters[0].message.partition, letters[0].message.offset, letters[0].at), (0, 88, 7));
    assert_eq!(letters[0].error, "the database failed: no such thing");
    assert_eq!(site.tables.skipped(), [(OperationStream::Reactions, Slot::new(8).unwrap(), 88)]);
    assert_eq!(site.log.commits(Topic::Reactions)[&0], 180, "the others went on");
    assert_eq!(site.figure(|counts| &counts.buried), 1);
    let alone = site.tables.batches().iter().filter(|size| **size == 1).count();
    assert!(alone >= 3, "three tries alone: {:?}", site.tables.batches());
}

#[tokio::test(start_paused = true)]
async fn a_database_that_refuses_everything_buries_nothing() {
    let site = Site::new(1);
    for by in 1..=30 {
        site.like(4, by);
    }
    site.tables.refuse(|_| Some((When::Before, StoreError::Database("read-only".into()))));
    site.runs(async {
        sleep(Duration::from_secs(60)).await;
        site.tables.heal();
        site.until_liked(&[4], 30).await;
    })
    .await;
    assert!(site.log.buried().is_empty() && site.tables.skipped().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_database_that_stands_still_for_a_minute_buries_nothing_and_holds_up_no_other() {
    let site = Site::new(2);
    for by in 1..=50 {
        site.like(4, by);
        site.like(604, by);
    }
    site.tables.down(0);
    site.runs(async {
        site.until_liked(&[604], 50).await;
        sleep(Duration::from_secs(60)).await;
        assert_eq!(site.tables.likes(comment(4, 1)), 0);
        assert!(!site.log.commits(Topic::Reactions).contains_key(&0), "the first event is not stored yet");
        // What comes meanwhile of the other database goes on.
        for by in 51..=60 {
            site.like(604, by);
        }
        site.until_liked(&[604], 60).await;
        site.tables.heal();
        site.until_liked(&[4], 50).await;
    })
    .await;
    assert!(site.log.buried().is_empty());
    assert_eq!(site.log.commits(Topic::Reactions)[&0], 110);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_landed_before_it_failed_is_seen_the_second_time() {
    let site = Site::new(1);
    let failed = AtomicBool::new(false);
    site.tables.refuse(move |_| {
        let first = !failed.swap(true, Ordering::Relaxed);
        first.then(|| (When::After, StoreError::Unavailable("the connection is gone".into())))
    });
    for by in 1..=20 {
        site.like(4, by);
    }
    site.runs(async {
        while site.figure(|counts| &counts.stored) < 20 {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    assert_eq!(site.tables.applied().len(), 20);
    assert_eq!(site.figure(|counts| &counts.seen), 20);
    assert_eq!(site.log.commits(Topic::Reactions)[&0], 20);
    assert!(site.log.buried().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_no_event_is_buried_and_passed_over() {
    let site = Site::new(1);
    site.like(4, 1);
    site.log.put(Topic::Reactions, 0, b"garbage".to_vec());
    // A comment among the reactions, and a like in a partition that is not its slot's.
    site.log.put(Topic::Reactions, 0, encode(&publish(&subject_in(4), comment(4, 2))).unwrap());
    site.log.put(Topic::Reactions, 0, encode(&like(comment(5, 1), 1)).unwrap());
    site.like(4, 2);
    let down = Arc::new(AtomicBool::new(true));
    let asked = down.clone();
    site.log.fail(move |_| {
        asked.load(Ordering::Relaxed).then(|| (When::Before, BrokerError::Unavailable("no broker".into())))
    });
    site.runs(async {
        site.until_liked(&[4], 2).await;
        sleep(Duration::from_secs(5)).await;
        assert_eq!(site.log.commits(Topic::Reactions)[&0], 1, "not passed over before the letter is written");
        down.store(false, Ordering::Relaxed);
        sleep(Duration::from_secs(2)).await;
    })
    .await;
    let errors: Vec<_> = site.log.buried().into_iter().map(|letter| letter.error).collect();
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert_eq!(site.log.commits(Topic::Reactions)[&0], 5);
    assert_eq!(site.tables.likes(comment(5, 1)), 0);
}

#[tokio::test(start_paused = true)]
async fn two_servers_that_both_hold_a_partition_write_everything_once() {
    let site = Site::new(1);
    for by in 1..=500 {
        site.like(4, by);
    }
    let other = Site { job: clone(&site), ..Site::new(1) };
    tokio::join!(site.runs(site.until_liked(&[4], 500)), other.runs(site.until_liked(&[4], 500)));
    let positions: Vec<_> = site.tables.applied().iter().filter_map(|stamped| stamped.position).collect();
    assert_eq!(positions, (0..500).collect::<Vec<_>>(), "in the log's order, each once");
}

/// Another process's job on the same log and tables.
fn clone(site: &Site) -> Arc<PersistJob> {
    Arc::new(PersistJob {
        log: Arc::new(site.log.clone()),
        tables: site.tables.clone(),
        clock: Clock::from_fn(|| 7),
        settings: Settings { batch: 70, ..site.job.settings },
        committed: site.told.clone(),
        figures: Arc::default(),
    })
}

#[tokio::test(start_paused = true)]
async fn a_recreated_topic_stops_the_process() {
    let site = Site::new(1);
    site.tables.move_to(OperationStream::Reactions, Slot::new(4).unwrap(), 1_000);
    site.like(4, 1);
    let error = run(site.job.clone(), CancellationToken::new()).await.unwrap_err();
    assert!(error.to_string().contains("the topic was recreated"), "{error:#}");
    assert!(site.tables.applied().is_empty() && site.log.commits(Topic::Reactions).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_is_recreated_under_a_reader_stops_the_process() {
    let site = Site::new(1);
    for by in 1..=20 {
        site.like(4, by);
    }
    let loops = tokio::spawn(run(site.job.clone(), CancellationToken::new()));
    site.until_liked(&[4], 20).await;
    sleep(Duration::from_secs(2)).await;
    site.log.recreate(Topic::Reactions);
    site.like(4, 21);
    let error = loops.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("ends at 1, but the tables have stored slot 4 up to 20"), "{error:#}");
}

#[tokio::test(start_paused = true)]
async fn stopping_writes_and_commits_what_was_taken_but_waits_for_no_database() {
    let site = Site::new(2);
    site.tables.down(0);
    for by in 1..=10 {
        site.like(604, by);
    }
    site.like(4, 1);
    let before = Instant::now();
    // Stopped at once: what the reader had is written all the same.
    site.runs(sleep(Duration::from_millis(250))).await;
    let took = before.elapsed();
    assert_eq!(site.tables.likes(comment(604, 1)), 10);
    assert_eq!(site.log.commits(Topic::Reactions)[&0], 10, "up to what could not be written");
    assert!(took > LAST && took < LAST * 2, "{took:?}");
}
