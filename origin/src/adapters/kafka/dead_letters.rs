//! Dead letters: messages as they were, with where they stood and why they could not be stored.
//!
//! A dead topic has one partition, so a letter has one number. What was sent again is committed in
//! a group of its own and deleted.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rdkafka::admin::AdminOptions;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Header, Headers, Message as _, OwnedHeaders};
use rdkafka::{Offset, TopicPartitionList};

use crate::adapters::kafka::client::{Client, Quiet};
use crate::adapters::kafka::producer::Sender;
use crate::adapters::kafka::{blocking, unavailable};
use crate::ports::broker::{BrokerError, DeadLetter, Record, Topic};

/// The one partition of a dead topic.
const ONLY: i32 = 0;
/// Letters handed out at once: the rest is there when these are sent.
const MOST: usize = 1_000;
/// How long reading them may take.
const READING: Duration = Duration::from_secs(10);
/// How long a question may take here: nobody waits for an answer but an operator.
const ASK: Duration = Duration::from_secs(5);
/// Longest text of an error that is kept, in bytes.
const ERROR_BYTES: usize = 2_000;

/// See [`crate::ports::broker::Log::bury`].
pub(super) async fn bury(
    client: &Client,
    sender: &Sender,
    message: &Record,
    error: &str,
    at: u64,
) -> Result<(), BrokerError> {
    let error = error.get(..error.floor_char_boundary(ERROR_BYTES)).unwrap_or(error);
    let headers = [
        ("topic", message.topic.name().to_owned()),
        ("partition", message.partition.to_string()),
        ("offset", message.offset.to_string()),
        ("error", error.to_owned()),
        ("at", at.to_string()),
    ];
    let headers = headers
        .iter()
        .fold(OwnedHeaders::new(), |headers, (key, value)| headers.insert(Header { key, value: Some(value) }));
    sender.send(&client.dead(message.topic), ONLY, &message.payload, Some(headers)).await?;
    Ok(())
}

/// See [`crate::ports::broker::Log::letters`].
pub(super) async fn unsent(client: &Client, topic: Topic) -> Result<Vec<DeadLetter>, BrokerError> {
    let consumer = client.asking(&client.dead_group())?;
    let dead = client.dead(topic);
    blocking(move || read(&consumer, &dead, topic)).await
}

fn read(consumer: &BaseConsumer<Quiet>, dead: &str, topic: Topic) -> Result<Vec<DeadLetter>, KafkaError> {
    let mut asked = TopicPartitionList::new();
    asked.add_partition(dead, ONLY);
    let committed = consumer.committed_offsets(asked, ASK)?;
    let committed = match committed.find_partition(dead, ONLY).map(|element| element.offset()) {
        Some(Offset::Offset(offset)) => offset,
        _ => 0,
    };
    let (low, high) = consumer.fetch_watermarks(dead, ONLY, ASK)?;
    let first = committed.max(low);
    let mut letters = Vec::new();
    if first >= high {
        return Ok(letters);
    }
    let mut from = TopicPartitionList::new();
    from.add_partition_offset(dead, ONLY, Offset::Offset(first))?;
    consumer.assign(&from)?;
    let until = Instant::now() + READING;
    let mut error = None;
    while letters.len() < MOST && Instant::now() < until {
        match consumer.poll(ASK) {
            Some(Ok(message)) => {
                let last = message.offset() + 1 >= high;
                letters.push(letter(&message, topic));
                if last {
                    return Ok(letters);
                }
            }
            Some(Err(e)) => error = Some(e),
            None => {}
        }
    }
    match error {
        Some(error) if letters.is_empty() => Err(error),
        _ => Ok(letters),
    }
}

fn letter(message: &BorrowedMessage<'_>, topic: Topic) -> DeadLetter {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers: HashMap<&str, String> = message.headers().map_or_else(HashMap::new, |headers| {
        headers.iter().filter_map(|header| Some((header.key, text(header.value?)))).collect()
    });
    let number = |name| headers.get(name).and_then(|value| value.parse::<u64>().ok()).unwrap_or_default();
    DeadLetter {
        message: Record {
            topic,
            partition: u32::try_from(number("partition")).unwrap_or_default(),
            offset: number("offset"),
            payload: message.payload().unwrap_or_default().to_vec(),
        },
        offset: u64::try_from(message.offset()).unwrap_or_default(),
        error: headers.get("error").cloned().unwrap_or_default(),
        at: number("at"),
    }
}

/// See [`crate::ports::broker::Log::retried`].
pub(super) async fn retried(client: &Client, topic: Topic, offset: u64) -> Result<(), BrokerError> {
    let consumer = client.asking(&client.dead_group())?;
    let dead = client.dead(topic);
    let next = Offset::Offset(i64::try_from(offset + 1).unwrap_or(i64::MAX));
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(&dead, ONLY, next).map_err(unavailable)?;
    let committed = list.clone();
    blocking(move || consumer.commit(&committed, CommitMode::Sync)).await?;
    // A commit of a group without members is forgotten after a week: the letters must not come back.
    let options = AdminOptions::new().request_timeout(Some(ASK));
    if let Err(error) = client.admin()?.delete_records(&list, &options).await {
        tracing::warn!(topic = dead, %error, "letters that were sent again are not deleted");
    }
    Ok(())
}
