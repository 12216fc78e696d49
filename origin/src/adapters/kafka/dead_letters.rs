//! Dead letters: records as they were, with their place and the reason why they could not be stored.
//!
//! A dead-letter topic has one partition, so one offset names a dead letter. Retried ones are
//! committed in a group of their own and deleted.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rdkafka::admin::AdminOptions;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Header, Headers, Message as _, OwnedHeaders};
use rdkafka::{Offset, TopicPartitionList};

use crate::adapters::kafka::client::{DriverLog, KafkaClient};
use crate::adapters::kafka::producer::KafkaProducer;
use crate::adapters::kafka::{run_blocking, unavailable};
use crate::ports::broker::{BrokerError, DeadLetter, Record, Topic};

/// The one partition of a dead-letter topic.
const DEAD_PARTITION: i32 = 0;
/// Dead letters in one answer. The next ones follow when these are retried.
const MAX_LETTERS_LISTED: usize = 1_000;
/// How long it may take to list them.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a query may take. Only an operator waits for the answer.
const ADMIN_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest error text that is kept.
const MAX_ERROR_BYTES: usize = 2_000;

/// See [`crate::ports::broker::DeadLetters::put_dead_letter`].
pub(super) async fn put(
    client: &KafkaClient,
    producer: &KafkaProducer,
    record: &Record,
    error: &str,
    failed_at_ms: u64,
) -> Result<(), BrokerError> {
    let error = error.get(..error.floor_char_boundary(MAX_ERROR_BYTES)).unwrap_or(error);
    let headers = [
        ("topic", record.topic.name().to_owned()),
        ("partition", record.partition.to_string()),
        ("offset", record.offset.to_string()),
        ("error", error.to_owned()),
        ("at", failed_at_ms.to_string()),
    ];
    let headers = headers
        .iter()
        .fold(OwnedHeaders::new(), |headers, (key, value)| headers.insert(Header { key, value: Some(value) }));
    producer
        .send("put_dead_letter", &client.dead_topic_name(record.topic), DEAD_PARTITION, &record.payload, Some(headers))
        .await?;
    Ok(())
}

/// See [`crate::ports::broker::DeadLetters::list_dead_letters`].
pub(super) async fn list(client: &KafkaClient, topic: Topic) -> Result<Vec<DeadLetter>, BrokerError> {
    let consumer = client.query_consumer(&client.dead_group_name())?;
    let dead_topic = client.dead_topic_name(topic);
    run_blocking("list_dead_letters", move || read_dead_letters(&consumer, &dead_topic, topic)).await
}

fn read_dead_letters(
    consumer: &BaseConsumer<DriverLog>,
    dead_topic: &str,
    topic: Topic,
) -> Result<Vec<DeadLetter>, KafkaError> {
    let mut query = TopicPartitionList::new();
    query.add_partition(dead_topic, DEAD_PARTITION);
    let committed = consumer.committed_offsets(query, ADMIN_TIMEOUT)?;
    let committed = match committed.find_partition(dead_topic, DEAD_PARTITION).map(|element| element.offset()) {
        Some(Offset::Offset(offset)) => offset,
        _ => 0,
    };
    let (low, high) = consumer.fetch_watermarks(dead_topic, DEAD_PARTITION, ADMIN_TIMEOUT)?;
    let first = committed.max(low);
    let mut letters = Vec::new();
    if first >= high {
        return Ok(letters);
    }
    let mut from = TopicPartitionList::new();
    from.add_partition_offset(dead_topic, DEAD_PARTITION, Offset::Offset(first))?;
    consumer.assign(&from)?;
    let until = Instant::now() + LIST_TIMEOUT;
    let mut last_error = None;
    while letters.len() < MAX_LETTERS_LISTED && Instant::now() < until {
        match consumer.poll(ADMIN_TIMEOUT) {
            Some(Ok(message)) => {
                let is_last = message.offset() + 1 >= high;
                letters.push(dead_letter(&message, topic));
                if is_last {
                    return Ok(letters);
                }
            }
            Some(Err(error)) => last_error = Some(error),
            None => {}
        }
    }
    match last_error {
        Some(error) if letters.is_empty() => Err(error),
        _ => Ok(letters),
    }
}

fn dead_letter(message: &BorrowedMessage<'_>, topic: Topic) -> DeadLetter {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers: HashMap<&str, String> = message.headers().map_or_else(HashMap::new, |headers| {
        headers.iter().filter_map(|header| Some((header.key, text(header.value?)))).collect()
    });
    let number = |name| headers.get(name).and_then(|value| value.parse::<u64>().ok()).unwrap_or_default();
    DeadLetter {
        record: Record {
            topic,
            partition: u32::try_from(number("partition")).unwrap_or_default(),
            offset: number("offset"),
            payload: message.payload().unwrap_or_default().to_vec(),
            trace_parent: None,
        },
        offset: u64::try_from(message.offset()).unwrap_or_default(),
        error: headers.get("error").cloned().unwrap_or_default(),
        failed_at_ms: number("at"),
    }
}

/// See [`crate::ports::broker::DeadLetters::mark_retried`].
pub(super) async fn mark_retried(client: &KafkaClient, topic: Topic, offset: u64) -> Result<(), BrokerError> {
    let consumer = client.query_consumer(&client.dead_group_name())?;
    let dead_topic = client.dead_topic_name(topic);
    let next = Offset::Offset(i64::try_from(offset + 1).unwrap_or(i64::MAX));
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(&dead_topic, DEAD_PARTITION, next).map_err(unavailable)?;
    let committed = list.clone();
    run_blocking("mark_retried", move || consumer.commit(&committed, CommitMode::Sync)).await?;
    // The broker forgets the commits of a group without members after a week. Deleted dead letters do
    // not come back then.
    let options = AdminOptions::new().request_timeout(Some(ADMIN_TIMEOUT));
    if let Err(error) = client.admin()?.delete_records(&list, &options).await {
        tracing::warn!(topic = dead_topic, offset, %error, "Could not delete the retried dead letters of {dead_topic}");
    }
    Ok(())
}
