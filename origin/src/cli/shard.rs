//! `gailou shard`: moves slots between the databases of a cluster.
//!
//! Slots stay readable and writable while they move. The next move of the same slot continues an
//! interrupted one.

use clap::Subcommand;
use gailou_shared::id::Slot;
use serde::{Deserialize, Serialize};

use crate::bootstrap::Process;
use crate::cli::EXIT_USAGE;
use crate::cli::output::Console;

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
        #[arg(long, value_name = "SLOTS", value_parser = slots, requires = "to")]
        slots: Option<Slots>,
        /// The target, by its index in GAILOU_MYSQL_URLS, from 0
        #[arg(long, value_name = "DATABASE", requires = "slots")]
        to: Option<usize>,
        /// Without --slots: spread the slots over the first N of GAILOU_MYSQL_URLS
        #[arg(long, value_name = "N", conflicts_with = "slots")]
        databases: Option<usize>,
    },
    /// Check that the rows of every slot are in the database of the slot map, and nowhere else
    Verify,
}

/// The first and the last of some slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Slots(u16, u16);

impl Slots {
    #[cfg_attr(not(feature = "cluster"), expect(dead_code, reason = "only a cluster has slots to move"))]
    fn all(self) -> impl Iterator<Item = Slot> {
        (self.0..=self.1).filter_map(Slot::new)
    }
}

fn slots(text: &str) -> Result<Slots, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.parse().ok().filter(|n| Slot::new(*n).is_some());
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok(Slots(first, last)),
        _ => Err("must be a slot from 0 to 1023, or a range such as 0-63".into()),
    }
}

#[cfg(feature = "cluster")]
pub(super) async fn run(process: &Process, command: Shard, console: &mut dyn Console) -> anyhow::Result<u8> {
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
                tables.relocate(*slot, *to).await.map_err(|e| anyhow::anyhow!("slot {}: {e}", slot.get()))?;
            }
            console.progress(total, total).await?;
            let moved: Vec<Slot> = moves.into_iter().map(|(slot, _)| slot).collect();
            tables.delete_old_copies(&moved).await?;
            console.out(&format!("{total} slots moved\n")).await?;
            Ok(0)
        }
        Shard::Verify => {
            let wrong = tables.find_misplaced_rows().await?;
            for line in &wrong {
                console.out(&format!("{line}\n")).await?;
            }
            console.out(&format!("{} rows or slots are not where they belong\n", wrong.len())).await?;
            Ok(if wrong.is_empty() { 0 } else { crate::cli::EXIT_FAILED })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_one_number_or_a_range() {
        assert_eq!(slots("7"), Ok(Slots(7, 7)));
        assert_eq!(slots("0-1023"), Ok(Slots(0, 1_023)));
        for wrong in ["", "1024", "5-4", "a", "1-", "-1"] {
            assert!(slots(wrong).is_err(), "{wrong}");
        }
    }
}
