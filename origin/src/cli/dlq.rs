//! `gailou dlq`: messages of the log that could not be stored.
//!
//! Promise: `retry` appends a letter again before it marks it as sent, so that none is lost; one
//! that is sent twice is applied once.

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
    /// Prints what could not be stored, and why
    List,
    /// Appends it again, in its order
    Retry,
}

pub(super) async fn run(process: &Process, command: Dlq, console: &mut dyn Console) -> anyhow::Result<u8> {
    let Some(log) = process.broker() else {
        console.out("there is no log here: what is acknowledged is in the tables\n").await?;
        return Ok(0);
    };
    let mut letters = Vec::new();
    for topic in [Topic::Comments, Topic::Reactions] {
        letters.extend(log.list_dead_letters(topic).await?);
    }
    match command {
        Dlq::List => list(&letters, console).await,
        Dlq::Retry => retry(&*log, letters, console).await,
    }
}

async fn list(letters: &[DeadLetter], console: &mut dyn Console) -> anyhow::Result<u8> {
    for letter in letters {
        let m = &letter.record;
        let what = describe(letter);
        let line = format!(
            "{} {}/{} at {}: {what}: {}\n",
            m.topic.name(),
            m.partition,
            m.offset,
            letter.failed_at_ms,
            letter.error
        );
        console.out(&line).await?;
    }
    console.out(&format!("{} dead letters\n", letters.len())).await?;
    Ok(0)
}

fn describe(letter: &DeadLetter) -> String {
    match operation::decode(&letter.record.payload).map(|stamped| stamped.operation) {
        Ok(Operation::Publish(row)) => {
            format!("comment {} on {}/{}", row.path.id(), row.subject.kind(), row.subject.key())
        }
        Ok(Operation::React { id, member, .. }) => format!("reaction of {member} to {id}"),
        Ok(_) => "an event that never travels".into(),
        Err(error) => error.to_string(),
    }
}

async fn retry(log: &dyn Broker, letters: Vec<DeadLetter>, console: &mut dyn Console) -> anyhow::Result<u8> {
    let (mut sent, mut kept) = (0, 0);
    for letter in letters {
        let slot = match operation::decode(&letter.record.payload).map(|stamped| stamped.operation) {
            Ok(Operation::Publish(row)) => row.subject.slot(),
            Ok(Operation::React { id, .. }) => id.slot(),
            _ => {
                // Nothing this version knows: it goes back to the end of the dead letters.
                log.put_dead_letter(&letter.record, &letter.error, letter.failed_at_ms).await?;
                log.mark_retried(letter.record.topic, letter.offset).await?;
                kept += 1;
                continue;
            }
        };
        let topic = letter.record.topic;
        log.append_record(topic, slot, letter.record.payload).await.context("nothing more was sent again")?;
        log.mark_retried(topic, letter.offset).await?;
        sent += 1;
    }
    console.out(&format!("{sent} sent again, {kept} kept\n")).await?;
    Ok(0)
}
