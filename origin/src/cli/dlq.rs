//! `gailou dlq`: records of the log that could not be stored.
//!
//! Promise: `retry` appends a dead letter before it marks it as retried, so that none is lost. One that is
//! appended twice is applied once. A reaction undoes nothing that its member did since.

use anyhow::Context as _;
use clap::Subcommand;
use serde::{Deserialize, Serialize};

use crate::bootstrap::Process;
use crate::cli::output::Console;
use crate::domain::codec::operation;
use crate::domain::operation::Operation;
use crate::domain::reaction_state::DeadReaction;
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
        Dlq::Retry => retry(process, &*broker, letters, console).await,
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

/// What became of a dead letter.
enum Retried {
    Sent,
    /// The member has reacted to the comment since.
    Outdated,
    /// This version cannot decode it: it goes to the end of the dead letters.
    Kept,
}

async fn retry(
    process: &Process,
    broker: &dyn Broker,
    letters: Vec<DeadLetter>,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    let (mut sent, mut outdated, mut kept) = (0, 0, 0);
    for letter in letters {
        match retry_one(process, broker, &letter).await? {
            Retried::Sent => sent += 1,
            Retried::Kept => kept += 1,
            Retried::Outdated => {
                outdated += 1;
                let what = describe(&letter);
                console.out(&format!("{what}: not sent again, because the member has reacted anew\n")).await?;
            }
        }
        broker.mark_retried(letter.record.topic, letter.offset).await?;
    }
    let line = format!("{sent} sent again, {outdated} not sent because their members have reacted anew, {kept} kept\n");
    console.out(&line).await?;
    Ok(0)
}

async fn retry_one(process: &Process, broker: &dyn Broker, letter: &DeadLetter) -> anyhow::Result<Retried> {
    let logged = operation::decode(&letter.record.payload);
    let slot = match logged.as_ref().map(|logged| (&logged.operation, logged.died_at)) {
        Ok((Operation::Publish(row), _)) => row.subject.slot(),
        Ok((Operation::React { id, member, .. }, died_at)) => {
            let dead = died_at.map(|position| DeadReaction { id: *id, member: *member, position });
            // The fold decides when it is stored. To ask before is for the operator alone, so that tables that do not
            // answer hold up nothing.
            if let (Some(dead), Some(tables)) = (dead, process.dead_reactions())
                && tables.is_outdated(dead).await.unwrap_or(false)
            {
                return Ok(Retried::Outdated);
            }
            id.slot()
        }
        _ => {
            broker.put_dead_letter(&letter.record, &letter.error, letter.failed_at_ms).await?;
            return Ok(Retried::Kept);
        }
    };
    let appended = broker.append_record(letter.record.topic, slot, letter.record.payload.clone()).await;
    appended.context("could not append a dead letter again; run the command again")?;
    Ok(Retried::Sent)
}
