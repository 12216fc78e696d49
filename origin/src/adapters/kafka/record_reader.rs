//! Reads one record by its offset, with a consumer of its own that is in no group.

use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message as _;
use rdkafka::{Offset, TopicPartitionList};

use crate::adapters::kafka::client::{DriverLog, KafkaClient};
use crate::adapters::kafka::driver_partition;

/// How long a record may take to arrive.
const RECORD_TIMEOUT: Duration = Duration::from_secs(3);

/// The payload of the record at an offset; `None` when the partition has none there. Blocks.
pub(super) fn read(
    client: &KafkaClient,
    topic: &str,
    partition: u32,
    offset: u64,
) -> Result<Option<Vec<u8>>, KafkaError> {
    let consumer = client.reader()?;
    let (first, end) = consumer.fetch_watermarks(topic, driver_partition(partition), RECORD_TIMEOUT)?;
    // The driver would wait at another offset for a record that need not come.
    if !(first..end).contains(&i64::try_from(offset).unwrap_or(i64::MAX)) {
        return Ok(None);
    }
    read_by(&consumer, topic, partition, offset)
}

/// Of a record that must be there, by a consumer that is used for nothing else from then on.
pub(super) fn read_by(
    consumer: &BaseConsumer<DriverLog>,
    topic: &str,
    partition: u32,
    offset: u64,
) -> Result<Option<Vec<u8>>, KafkaError> {
    let mut list = TopicPartitionList::with_capacity(1);
    let from = Offset::Offset(i64::try_from(offset).unwrap_or(i64::MAX));
    list.add_partition_offset(topic, driver_partition(partition), from)?;
    consumer.assign(&list)?;
    let until = Instant::now() + RECORD_TIMEOUT;
    loop {
        match consumer.poll(until.saturating_duration_since(Instant::now())) {
            Some(Ok(message)) => {
                let is_it = u64::try_from(message.offset()) == Ok(offset);
                return Ok(is_it.then(|| message.payload().unwrap_or_default().to_vec()));
            }
            Some(Err(error)) if error.rdkafka_error_code() == Some(RDKafkaErrorCode::TopicAuthorizationFailed) => {
                return Err(error);
            }
            // A broker that is found a moment later.
            Some(Err(error)) if Instant::now() >= until => return Err(error),
            Some(Err(_)) => {}
            None => {
                return Err(KafkaError::MessageConsumption(RDKafkaErrorCode::OperationTimedOut));
            }
        }
    }
}
