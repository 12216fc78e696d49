//! Moves of slots: movers that begin, die and stand still, and an operator who ends what no job may end.

use std::collections::BTreeSet;
use std::time::Duration;

use gailou_shared::id::Slot;
use tokio::time::{Instant, sleep};

use crate::cluster::reshard::{IncompleteCopy, count_as_rewound, decide_owner, delete_old_copies, relocate};
use crate::domain::slot_state::{SlotOwner, SlotState};
use crate::ports::store::Result;
use crate::testing::faults::lock;
use crate::testing::simulation::broker_log::SimulatedBroker;
use crate::testing::simulation::database::{Database, member_slot};
use crate::testing::simulation::database_slots::owner_of;
use crate::testing::simulation::faults::FaultMaker;
use crate::testing::simulation::tables::SimulatedTables;

/// How long a mover takes for some slots, when nothing is wrong, in milliseconds.
const MOVE_MS: u64 = 800;
/// After what time a mover deletes what it has copied.
const OLD_ROWS_RETENTION_MS: u64 = 8_000;
/// For how long a mover stands still at most, in milliseconds: longer than its connections live.
const MAX_MOVER_FREEZE_MS: u64 = 40_000;
const SHORT_FREEZE_MS: u64 = 1_500;
/// Within what time jobs finish or undo a move whose mover is dead: its connections end, and two rounds of the jobs.
const SETTLE_MOVES_TIMEOUT: Duration = Duration::from_secs(20 + 30);
const SETTLE_MOVES_POLL_INTERVAL: Duration = Duration::from_millis(250);
/// How often an operator tries a command.
const MAX_COMMAND_TRIES: usize = 5;

/// Moves slots as `gailou shard move` does.
async fn move_slots(tables: &SimulatedTables, slots: &[Slot], to: usize) -> Result<()> {
    tables.refresh_all_slots().await?;
    for slot in slots {
        relocate(tables, *slot, to).await?;
    }
    delete_old_copies(tables, slots).await
}

impl FaultMaker {
    /// A mover begins; it may die or stand still at any step.
    pub(super) async fn begin_move(&self) {
        let databases = lock(&self.cluster.databases).len();
        let (slots, to) = (self.pick_slots(), self.world.below(databases as u64) as usize);
        if databases < 2 || slots.is_empty() {
            return;
        }
        let tables = self.cluster.build_mover();
        let node = tables.node.clone();
        self.world.explain(|| format!("process {} moves {slots:?} to database {to}", node.number));
        let mover = node.clone();
        tokio::spawn(async move {
            let moved = move_slots(&tables, &slots, to).await;
            mover.run().await;
            mover.world.note("mover ended", [u64::from(mover.number), u64::from(moved.is_ok()), 0]);
            mover.world.explain(|| format!("mover {} ended: {moved:?}", mover.number));
            mover.kill();
        });
        let fate = self.world.below(10);
        let begin = if self.world.chance(250) { OLD_ROWS_RETENTION_MS } else { 0 };
        self.world.pause(begin, begin + MOVE_MS).await;
        match fate {
            0..4 => {}
            4..7 => self.kill(Some(node)).await,
            _ => {
                // Often it is short: while a mover stands still, no other begins.
                let longest = if self.world.chance(500) { MAX_MOVER_FREEZE_MS } else { SHORT_FREEZE_MS };
                let time = Duration::from_millis(self.world.below(longest));
                self.world.explain(|| format!("process {} stands still for {time:?}", node.number));
                node.freeze(time);
            }
        }
    }

    /// Up to three slots of subjects and members that there are.
    fn pick_slots(&self) -> Vec<Slot> {
        let oracle = lock(&self.oracle);
        let count = 1 + self.world.below(3);
        let pick = |_| {
            let post = oracle.posts.get(self.world.below(oracle.posts.len() as u64) as usize)?;
            let is_of_member = self.world.chance(300);
            Some(if is_of_member { member_slot(post.member) } else { post.subject.slot() })
        };
        (0..count).filter_map(pick).collect::<BTreeSet<Slot>>().into_iter().collect()
    }

    /// Waits until jobs have settled every slot; where they may not, because a database went back and two have a slot or
    /// none has, an operator says who has it.
    pub(super) async fn settle_moves(&self) {
        let until = Instant::now() + SETTLE_MOVES_TIMEOUT;
        let is_open = || self.cluster.has_movers() || !find_unsettled(&lock(&self.cluster.databases)).is_empty();
        while is_open() && Instant::now() < until {
            sleep(SETTLE_MOVES_POLL_INTERVAL).await;
        }
        let unsettled = find_unsettled(&lock(&self.cluster.databases));
        for slot in unsettled {
            let owner = owner_of(&lock(&self.cluster.databases), slot);
            let is_known_to_be_disputed = lock(&self.oracle).is_disputed(slot);
            if matches!(owner, SlotOwner::One(_)) || !is_known_to_be_disputed {
                lock(&self.oracle).fail(format!("the move of slot {} is not settled: {owner:?}", slot.get()));
                continue;
            }
            let owner = choose_owner(&lock(&self.cluster.databases), slot);
            self.world.explain(|| format!("an operator gives slot {} to database {owner}", slot.get()));
            let decide = async |tables: &SimulatedTables, broker: &SimulatedBroker| {
                // The log has everything.
                decide_owner(tables, broker, slot, owner, IncompleteCopy::Discard).await?;
                count_as_rewound(tables, owner, || tables.node.clock().now()).await
            };
            self.command("decide", decide).await;
        }
    }

    /// An operator has the rows deleted that are left in databases which do not have their slots.
    pub(super) async fn delete_leftovers(&self) {
        let leftovers: Vec<Slot> = {
            let databases = lock(&self.cluster.databases);
            let of_one = |database: &Database| -> Vec<Slot> {
                let is_left = |slot: &Slot| database.slots.status(*slot).state == SlotState::Elsewhere;
                database.slots_with_rows().into_iter().filter(is_left).collect()
            };
            databases.iter().flat_map(of_one).collect::<BTreeSet<Slot>>().into_iter().collect()
        };
        if !leftovers.is_empty() {
            self.command("delete", async |tables, _| delete_old_copies(tables, &leftovers).await).await;
        }
    }

    /// Runs a command of an operator, who repeats it.
    async fn command(&self, what: &str, command: impl AsyncFn(&SimulatedTables, &SimulatedBroker) -> Result<()>) {
        let mut last = None;
        for _ in 0..MAX_COMMAND_TRIES {
            let Some((tables, broker)) = self.cluster.command().await else { continue };
            match command(&tables, &broker).await {
                Ok(()) => return,
                Err(error) => last = Some(error),
            }
            sleep(Duration::from_secs(2)).await;
        }
        lock(&self.oracle).fail(format!("the command {what} fails: {last:?}"));
    }

    /// Every slot is in one database, with all its rows, and everybody knows which.
    pub(super) fn check_slots(&self) {
        let (databases, mut oracle) = (lock(&self.cluster.databases), lock(&self.oracle));
        for slot in find_unsettled(&databases) {
            oracle.fail(format!("slot {} is not settled: {:?}", slot.get(), owner_of(&databases, slot)));
        }
        for (number, database) in databases.iter().enumerate() {
            let has = |slot: &Slot| owner_of(&databases, *slot) == SlotOwner::One(number);
            for slot in database.slots_with_rows().into_iter().filter(|slot| !has(slot)) {
                oracle.fail(format!("database {number} has rows of slot {}, which it does not have", slot.get()));
            }
        }
    }
}

/// Slots that not one database alone has, or whose database the stored map does not name.
fn find_unsettled(databases: &[Database]) -> Vec<Slot> {
    let stored = &databases[0].slots.stored_map.shards;
    let is_unsettled = |slot: &Slot| {
        let present =
            databases.iter().enumerate().filter_map(|(number, of)| Some((number, of.slots.present.get(slot)?)));
        let present: Vec<_> = present.collect();
        let [(owner, status)] = present[..] else { return true };
        status.state != SlotState::Owned || usize::from(stored[usize::from(slot.get())]) != owner
    };
    (0..gailou_shared::id::SLOT_COUNT).filter_map(Slot::new).filter(is_unsettled).collect()
}

/// Whom an operator gives a slot that two databases have, or none: who had it last, and has most of it.
fn choose_owner(databases: &[Database], slot: Slot) -> usize {
    if let SlotOwner::Conflict(owner, _) = owner_of(databases, slot) {
        return owner;
    }
    let rank = |database: &Database| (database.slot_rows(slot).len(), database.slots.status(slot).move_number);
    databases.iter().enumerate().max_by_key(|(_, database)| rank(database)).map_or(0, |(number, _)| number)
}
