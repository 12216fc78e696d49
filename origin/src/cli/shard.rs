//! `gailou shard`: moves slots between the databases of a cluster.
//!
//! Slots stay readable and writable while they move. The next move of the same slot continues an
//! interrupted one.

use clap::Subcommand;
#[cfg(feature = "cluster")]
use gailou_shared::id::Slot;
use serde::{Deserialize, Serialize};

use crate::bootstrap::Process;
use crate::cli::EXIT_USAGE;
use crate::cli::output::Console;
use crate::cli::slot_range::{SlotRange, parse_slots};

#[derive(Debug, Clone, Subcommand, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::doc_markdown, reason = "this is the help text")]
pub(super) enum Shard {
    /// Print the moves after which all databases have the same number of slots
    Plan {
        /// Spread the slots over the first N of GAILOU_MYSQL_URLS; without it, over all
        #[arg(long, value_name = "N")]
        databases: Option<usize>,
    },
    /// Move slots while they are read and written
    Move {
        /// The slots to move, such as 7 or 0-63; without it, those of the plan
        #[arg(long, value_name = "SLOTS", value_parser = parse_slots, requires = "to")]
        slots: Option<SlotRange>,
        /// The target, by its index in GAILOU_MYSQL_URLS, from 0
        #[arg(long, value_name = "DATABASE", requires = "slots")]
        to: Option<usize>,
        /// Without --slots: spread the slots over the first N of GAILOU_MYSQL_URLS
        #[arg(long, value_name = "N", conflicts_with = "slots")]
        databases: Option<usize>,
    },
    /// Check that the rows of every slot are in the database that has it, and nowhere else
    Verify {
        /// Check these slots only, such as 7 or 0-63
        #[arg(long, value_name = "SLOTS", value_parser = parse_slots)]
        slots: Option<SlotRange>,
        /// Also check that every comment has its text, and every text its comment; this reads all comments
        #[arg(long)]
        texts: bool,
    },
    /// Finish or undo interrupted moves, and correct the slot map by the slots' rows
    Repair {
        /// The slots that two databases have, or none; needs --owner
        #[arg(long, value_name = "SLOTS", value_parser = parse_slots, requires = "owner")]
        slots: Option<SlotRange>,
        /// The database that shall have them, by its index in GAILOU_MYSQL_URLS; the rows in the others stay
        #[arg(long, value_name = "DATABASE", requires = "slots")]
        owner: Option<usize>,
        /// Delete what --owner has of slots whose rows are not complete there, and read them from the log alone
        #[arg(long, requires = "owner")]
        discard: bool,
    },
}

#[cfg(feature = "cluster")]
pub(super) async fn run(process: &Process, command: Shard, console: &mut dyn Console) -> anyhow::Result<u8> {
    use crate::cluster::reshard::{
        IncompleteCopy, count_as_rewound, decide_owner, delete_old_copies, relocate, settle_all,
    };
    use crate::ports::store::StoreError;

    let Some(cluster) = &process.cluster else { return refuse_without_cluster(console).await };
    let tables = &*cluster.tables;
    match command {
        Shard::Plan { databases } => {
            let plan = plan(tables, databases).await?;
            for step in &plan {
                console.out(&format!("slot {} from {} to {}\n", step.slot.get(), step.from, step.to)).await?;
            }
            console.out(&format!("{} moves\n", plan.len())).await?;
            Ok(0)
        }
        Shard::Move { slots, to, databases } => {
            let moves: Vec<(Slot, usize)> = match (slots, to) {
                (Some(slots), Some(to)) => slots.all().map(|slot| (slot, to)).collect(),
                _ => plan(tables, databases).await?.into_iter().map(|step| (step.slot, step.to)).collect(),
            };
            let total = moves.len() as u64;
            for (done, (slot, to)) in moves.iter().enumerate() {
                console.progress(done as u64, total).await?;
                relocate(tables, *slot, *to).await.map_err(|e| anyhow::anyhow!("slot {}: {e}", slot.get()))?;
            }
            console.progress(total, total).await?;
            let moved: Vec<Slot> = moves.into_iter().map(|(slot, _)| slot).collect();
            delete_old_copies(tables, &moved).await?;
            console.out(&format!("{total} slots moved\n")).await?;
            Ok(0)
        }
        Shard::Verify { slots, texts } => {
            let slots = slots.unwrap_or_default();
            let mut wrong = tables.find_misplaced_rows(slots.first(), slots.last()).await?;
            if texts {
                wrong.extend(tables.find_misplaced_texts(slots.first(), slots.last()).await?);
            }
            for line in &wrong {
                console.out(&format!("{line}\n")).await?;
            }
            console.out(&format!("{} rows or slots are not where they belong\n", wrong.len())).await?;
            Ok(if wrong.is_empty() { 0 } else { crate::cli::EXIT_FAILED })
        }
        Shard::Repair { slots: Some(slots), owner: Some(owner), discard } => {
            let incomplete = if discard { IncompleteCopy::Discard } else { IncompleteCopy::Refuse };
            let mut decided = Ok(());
            for slot in slots.all() {
                decided = decide_owner(tables, &*cluster.broker, slot, owner, incomplete).await;
                if let Err(error) = decided {
                    decided = Err(StoreError::Database(format!("slot {}: {error}", slot.get()).into()));
                    break;
                }
                console.out(&format!("slot {}: database {owner} has it\n", slot.get())).await?;
            }
            // Also where one of them could not be given.
            count_as_rewound(tables, owner, || process.clock.now()).await?;
            decided?;
            Ok(0)
        }
        Shard::Repair { .. } => {
            let settled = settle_all(tables).await?;
            for repair in &settled.repairs {
                console.out(&format!("{repair}\n")).await?;
            }
            for (slot, problem) in &settled.problems {
                console.out(&format!("slot {}: {problem}\n", slot.get())).await?;
            }
            for database in &settled.given_back {
                count_as_rewound(tables, *database, || process.clock.now()).await?;
            }
            let (done, left) = (settled.repairs.len(), settled.problems.len());
            console.out(&format!("{done} repairs, {left} slots left\n")).await?;
            if !settled.moved.is_empty() {
                delete_old_copies(tables, &settled.moved).await?;
            }
            Ok(if left == 0 { 0 } else { crate::cli::EXIT_FAILED })
        }
    }
}

#[cfg(feature = "cluster")]
async fn plan(
    tables: &crate::adapters::mysql::MysqlStore,
    databases: Option<usize>,
) -> anyhow::Result<Vec<crate::adapters::mysql::reshard::SlotMove>> {
    use crate::ports::store::Sharding as _;
    Ok(tables.plan_moves(databases.unwrap_or_else(|| tables.count_databases())).await?)
}

#[cfg(not(feature = "cluster"))]
pub(super) async fn run(_: &Process, _: Shard, console: &mut dyn Console) -> anyhow::Result<u8> {
    refuse_without_cluster(console).await
}

async fn refuse_without_cluster(console: &mut dyn Console) -> anyhow::Result<u8> {
    console
        .err("gailou: `shard` needs a cluster: set GAILOU_MYSQL_URLS, GAILOU_REDIS_URLS and GAILOU_KAFKA_BROKERS\n")
        .await?;
    Ok(EXIT_USAGE)
}
