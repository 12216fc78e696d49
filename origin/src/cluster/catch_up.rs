//! Whether the tables hold everything that was appended for a slot before a moment.
//!
//! Who finds no row asks this before it says that a comment does not exist. A database may go back, so every answer
//! rests on a question that was asked after the call. Ids are cheap to forge: a partition costs the broker one question
//! at a time, and at most five in a second, however many ask.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::Slot;
use gailou_shared::slot_set::SlotSet;
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::clock::Clock;
use crate::domain::positions::OperationStream;
use crate::ports::broker::{PartitionOffsets, Topic};
use crate::ports::failure::Failure;
use crate::ports::store::SlotTables;

/// How often a process asks the broker about a partition at most.
const QUESTION_INTERVAL: Duration = Duration::from_millis(200);
/// How long a caller waits until the tables have caught up: a few batches.
const CATCH_UP_TIMEOUT: Duration = Duration::from_millis(600);
/// When tables are behind by more than this, no caller waits, in milliseconds.
const MAX_LAG_TO_WAIT_FOR_MS: u64 = 2_000;

/// Says how far the tables are.
#[async_trait]
pub trait CatchUp: Send + Sync + std::fmt::Debug {
    /// Whether the tables hold every comment of this slot that was appended before this moment (Unix milliseconds)
    /// and before the call. `false` when that is not known.
    async fn is_caught_up(&self, slot: Slot, appended_before: u64) -> bool;
}

/// Compares the ends of the partitions with the checkpoints of the databases.
#[derive(Debug)]
pub struct PartitionCatchUp {
    offsets: Arc<dyn PartitionOffsets>,
    tables: Arc<dyn SlotTables>,
    clock: Clock,
    /// By partition and database.
    partitions: Vec<Mutex<StoredPartition>>,
}

/// What is known of one partition. Times are Unix milliseconds.
#[derive(Debug, Default)]
struct StoredPartition {
    /// Everything that was appended before it is stored.
    stored_until: u64,
    /// An end that was seen and was not stored then, with the time it was asked for.
    next_end: Option<(u64, u64)>,
    /// The last offset before which everything was stored.
    stored: u64,
    asked_at: Option<Instant>,
    /// When the last question was asked that was answered.
    confirmed_at: Option<Instant>,
    /// The slots that the database had after that answer.
    slots: SlotSet,
}

/// How far a database has stored a partition.
struct StoredAnswer {
    /// The end of the partition.
    end: u64,
    /// The offset before which everything of the database's slots is stored.
    stored: u64,
    slots: SlotSet,
}

impl StoredPartition {
    /// Takes an answer to a question that was asked at this time.
    fn add(&mut self, at: u64, StoredAnswer { end, stored, slots }: StoredAnswer) {
        self.slots = slots;
        let clock_went_back = at < self.stored_until || self.next_end.is_some_and(|(seen_at, _)| at < seen_at);
        if stored < self.stored || clock_went_back {
            // What was seen before says nothing of what is appended from now on.
            (self.stored_until, self.next_end) = (0, None);
        }
        self.stored = stored;
        match self.next_end {
            _ if stored >= end => (self.stored_until, self.next_end) = (at.max(self.stored_until), None),
            Some((seen_at, seen_end)) if stored >= seen_end => {
                (self.stored_until, self.next_end) = (seen_at.max(self.stored_until), Some((at, end)));
            }
            Some(_) => {}
            None => self.next_end = Some((at, end)),
        }
    }

    /// Whether it is known that what is appended now will not be stored soon.
    fn is_far_behind(&self, now: u64) -> bool {
        self.next_end.is_some_and(|(seen_at, _)| now.saturating_sub(seen_at) > MAX_LAG_TO_WAIT_FOR_MS)
    }
}

impl PartitionCatchUp {
    pub fn new(offsets: Arc<dyn PartitionOffsets>, tables: Arc<dyn SlotTables>, clock: Clock) -> Self {
        let count = offsets.partition_count() as usize * tables.count_databases();
        let partitions = (0..count).map(|_| Mutex::default()).collect();
        Self { offsets, tables, clock, partitions }
    }

    /// The checkpoint is read after the end: what is before the end and stored is in it. Which slots the database has
    /// is read last: its checkpoint says nothing of those that have left it.
    async fn ask(&self, partition: u32, database: usize) -> Result<StoredAnswer, Failure> {
        let end = self.end(partition).await?;
        let stored = self.tables.read_applied_offset(database, OperationStream::Comments, partition).await;
        let stored = stored.map_err(Failure::of_driver)?.unwrap_or(0);
        // What was appended and stored in between is before the end by now, unless the log is another.
        if stored > end && stored > self.end(partition).await? {
            return Err(Failure::from("the tables are ahead of the broker"));
        }
        let slots = self.tables.refresh_slots_of(database).await.map_err(Failure::of_driver)?;
        Ok(StoredAnswer { end, stored, slots })
    }

    async fn end(&self, partition: u32) -> Result<u64, Failure> {
        self.offsets.end_offset(Topic::Comments, partition).await.map_err(Failure::of_driver)
    }
}

#[async_trait]
impl CatchUp for PartitionCatchUp {
    async fn is_caught_up(&self, slot: Slot, appended_before: u64) -> bool {
        let partition = self.offsets.partition_of(slot);
        let (called_at, before) = (Instant::now(), appended_before.min(self.clock.now()));
        loop {
            let database = self.tables.database_of(slot);
            let index = partition as usize * self.tables.count_databases() + database;
            let mut progress = self.partitions[index].lock().await;
            let is_known = |progress: &StoredPartition| {
                progress.stored_until >= before
                    && progress.confirmed_at.is_some_and(|at| at >= called_at)
                    && progress.slots.contains(slot)
            };
            if is_known(&progress) {
                return true;
            }
            let next_question = progress.asked_at.map_or(called_at, |asked_at| asked_at + QUESTION_INTERVAL);
            if next_question <= Instant::now() {
                let (at, asked_at) = (self.clock.now(), Instant::now());
                match self.ask(partition, database).await {
                    Ok(answer) => {
                        progress.add(at, answer);
                        progress.confirmed_at = Some(asked_at);
                    }
                    Err(error) => {
                        tracing::debug!(partition, %error, "Could not ask how far partition {partition} of the comments is stored");
                    }
                }
                progress.asked_at = Some(Instant::now());
                if is_known(&progress) {
                    return true;
                }
            }
            if called_at.elapsed() >= CATCH_UP_TIMEOUT || progress.is_far_behind(self.clock.now()) {
                return false;
            }
            drop(progress);
            sleep(QUESTION_INTERVAL / 2).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;
    use tokio::time::advance;

    use super::*;
    use crate::testing::fixtures::TEST_START_MS;
    use crate::testing::manual_clock::ManualClock;
    use crate::testing::memory_broker::MemoryBroker;
    use crate::testing::memory_store::MemoryStore;

    struct CatchUpTestBed {
        broker: MemoryBroker,
        store: Arc<MemoryStore>,
        clock: ManualClock,
        questions: Arc<AtomicUsize>,
        catch_up: PartitionCatchUp,
    }

    impl CatchUpTestBed {
        fn new() -> Self {
            Self::with_databases(1)
        }

        fn with_databases(count: usize) -> Self {
            let (broker, clock) = (MemoryBroker::new(2), ManualClock::at(TEST_START_MS));
            let (store, questions) = (MemoryStore::new(count), Arc::<AtomicUsize>::default());
            let counted = questions.clone();
            broker.on_end_offset(move || _ = counted.fetch_add(1, Ordering::SeqCst));
            let catch_up = PartitionCatchUp::new(Arc::new(broker.clone()), store.clone(), clock.clock());
            Self { broker, store, clock, questions, catch_up }
        }

        fn store_until(&self, offset: u64) {
            self.store.set_checkpoint(0, OperationStream::Comments, 0, offset);
        }

        async fn pass(&self, time: Duration) {
            self.clock.advance(time);
            advance(time).await;
        }

        async fn is_caught_up(&self, before: u64) -> bool {
            self.catch_up.is_caught_up(Slot::FIRST, before).await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_stored_once_is_so_until_the_database_goes_back() {
        let bed = CatchUpTestBed::new();
        bed.broker.put(Topic::Comments, 0, vec![]);
        bed.store_until(1);
        assert!(bed.is_caught_up(TEST_START_MS - 1_000).await);
        // An append that is not stored.
        bed.broker.put(Topic::Comments, 0, vec![]);
        bed.pass(Duration::from_secs(5)).await;
        assert!(bed.is_caught_up(TEST_START_MS).await, "it was seen then");
        assert!(!bed.is_caught_up(TEST_START_MS + 1_000).await);
        bed.store_until(2);
        bed.pass(QUESTION_INTERVAL).await;
        assert!(bed.is_caught_up(u64::MAX).await, "until the call");
        bed.store_until(0);
        bed.pass(QUESTION_INTERVAL).await;
        assert!(!bed.is_caught_up(TEST_START_MS - 1_000).await, "what was stored is not there");
        // The tables hold more than the broker: one of them is not what it was.
        bed.store_until(3);
        bed.pass(QUESTION_INTERVAL).await;
        assert!(!bed.is_caught_up(TEST_START_MS - 1_000).await);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_appended_after_the_clock_went_back_is_not_known_to_be_stored() {
        let bed = CatchUpTestBed::new();
        bed.clock.advance(Duration::from_secs(40));
        assert!(bed.is_caught_up(u64::MAX).await);
        bed.clock.set(TEST_START_MS);
        advance(QUESTION_INTERVAL).await;
        bed.broker.put(Topic::Comments, 0, vec![]);
        assert!(!bed.is_caught_up(u64::MAX).await);
        bed.store_until(1);
        bed.pass(QUESTION_INTERVAL).await;
        assert!(bed.is_caught_up(u64::MAX).await);
    }

    #[tokio::test(start_paused = true)]
    async fn busy_partition_is_caught_up_with_what_was_before() {
        let bed = CatchUpTestBed::new();
        bed.broker.put(Topic::Comments, 0, vec![]);
        assert!(!bed.is_caught_up(TEST_START_MS).await);
        // The consumers go on, and are never at the end.
        bed.broker.put(Topic::Comments, 0, vec![]);
        bed.store_until(1);
        bed.pass(Duration::from_secs(1)).await;
        assert!(bed.is_caught_up(TEST_START_MS).await);
        assert!(!bed.is_caught_up(TEST_START_MS + 1_000).await);
    }

    #[tokio::test(start_paused = true)]
    async fn flood_of_questions_is_a_few_to_the_broker() {
        let bed = CatchUpTestBed::new();
        bed.broker.put(Topic::Comments, 0, vec![]);
        let answers = join_all((0..1_000).map(|n| bed.is_caught_up(TEST_START_MS - n))).await;
        assert!(answers.iter().all(|is_caught_up| !is_caught_up));
        let questions = bed.questions.load(Ordering::SeqCst);
        assert!(questions <= 5, "{questions}");
        // Far behind, no caller waits.
        bed.pass(Duration::from_secs(60)).await;
        let asked_at = Instant::now();
        assert!(!bed.is_caught_up(TEST_START_MS).await);
        assert_eq!(asked_at.elapsed(), Duration::ZERO);
        // A caller that waits is answered when the tables have caught up.
        bed.store_until(1);
        bed.pass(QUESTION_INTERVAL).await;
        assert!(bed.is_caught_up(TEST_START_MS).await);
    }

    #[tokio::test(start_paused = true)]
    async fn former_database_of_a_slot_that_moved_does_not_answer_for_it() {
        let bed = CatchUpTestBed::with_databases(2);
        bed.broker.put(Topic::Comments, 0, vec![]);
        bed.store_until(1);
        assert!(bed.is_caught_up(TEST_START_MS).await);
        // The comment is the new database's to store, and the map does not name it yet.
        bed.store.move_slot_unnoticed(Slot::FIRST, 1);
        bed.pass(QUESTION_INTERVAL).await;
        assert!(!bed.is_caught_up(TEST_START_MS).await);
        let stays = Slot::new(2).expect("a slot of the same partition");
        bed.pass(QUESTION_INTERVAL).await;
        assert!(bed.catch_up.is_caught_up(stays, TEST_START_MS).await, "it has not moved");
    }
}
