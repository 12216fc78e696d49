//! `gailou dlq`: records of the log that could not be stored.
//!
//! Promise: `retry` appends a dead letter before it marks it as retried, so that none is lost. One that is
//! appended twice is applied once.

use anyhow::Context as _;
use clap::Subcommand;
use serde::{Deserialize, Serialize};

use crate::bootstrap::Process;
use crate::cli::output::Console;
use crate::domain::codec::operation;
use crate::domain::operation::Operation;
use crate::ports::broker::{Broker, DeadLetter, Topic};

#[derive(Debug, Clone, Copy, Subcommand, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Dlq {
    /// Print the dead letters, and why each could not be stored
    List,
    /// Append the dead letters again, in their order
    Retry,
}

pub(super) async fn run(process: &Process, command: Dlq, console: &mut dyn Console) -> anyhow::Result<u8> {
    let Some(broker) = process.broker() else {
        console
            .out("there are no dead letters without a cluster: all acknowledged comments are in the tables\n")
            .await?;
        return Ok(0);
    };
    let mut letters = Vec::new();
    for topic in [Topic::Comments, Topic::Reactions] {
        letters.extend(broker.list_dead_letters(topic).await?);
    }
    match command {
        Dlq::List => list(&letters, console).await,
        Dlq::Retry => retry(&*broker, letters, console).await,
    }
}

async fn list(letters: &[DeadLetter], console: &mut dyn Console) -> anyhow::Result<u8> {
    for letter in letters {
        let record = &letter.record;
        let what = describe(letter);
        let line = format!(
            "{} {}/{} at {}: {what}: {}\n",
            record.topic.name(),
            record.partition,
            record.offset,
            letter.failed_at_ms,
            letter.error
        );
        console.out(&line).await?;
    }
    console.out(&format!("{} dead letters\n", letters.len())).await?;
    Ok(0)
}

fn describe(letter: &DeadLetter) -> String {
    match operation::decode(&letter.record.payload).map(|logged| logged.operation) {
        Ok(Operation::Publish(row)) => {
            format!("comment {} on {}/{}", row.path.id(), row.subject.kind(), row.subject.key())
        }
        Ok(Operation::React { id, member, .. }) => format!("reaction of {member} to {id}"),
        Ok(_) => "an operation that is never in a log".into(),
        Err(error) => error.to_string(),
    }
}

async fn retry(broker: &dyn Broker, letters: Vec<DeadLetter>, console: &mut dyn Console) -> anyhow::Result<u8> {
    let (mut sent, mut kept) = (0, 0);
    for letter in letters {
        let slot = match operation::decode(&letter.record.payload).map(|logged| logged.operation) {
            Ok(Operation::Publish(row)) => row.subject.slot(),
            Ok(Operation::React { id, .. }) => id.slot(),
            _ => {
                // This version cannot decode it: it goes to the end of the dead letters.
                broker.put_dead_letter(&letter.record, &letter.error, letter.failed_at_ms).await?;
                broker.mark_retried(letter.record.topic, letter.offset).await?;
                kept += 1;
                continue;
            }
        };
        let topic = letter.record.topic;
        broker
            .append_record(topic, slot, letter.record.payload)
            .await
            .context("could not append a dead letter again; run the command again")?;
        broker.mark_retried(topic, letter.offset).await?;
        sent += 1;
    }
    console.out(&format!("{sent} sent again, {kept} kept\n")).await?;
    Ok(0)
}
