//! Appending: an idempotent producer that waits for every in-sync replica.
//!
//! Promise: a record is sent once and answered once, and is not sent after its answer. A producer
//! whose sequence the broker refuses is replaced by a new one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::OwnedHeaders;
use rdkafka::producer::{FutureProducer, FutureRecord, Producer as _};

use crate::adapters::kafka::client::{DriverLog, KafkaClient};
use crate::adapters::kafka::{run_blocking, unavailable};
use crate::ports::broker::BrokerError;
use crate::telemetry::measure_call;

type DriverProducer = Arc<FutureProducer<DriverLog>>;

/// How long accepted records may take to be sent when the producer closes: longer than any of them may.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// The producer in use.
pub(super) struct KafkaProducer {
    client: KafkaClient,
    current: RwLock<DriverProducer>,
}

impl fmt::Debug for KafkaProducer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaProducer").finish_non_exhaustive()
    }
}

impl KafkaProducer {
    pub(super) fn new(client: KafkaClient) -> Result<Self, BrokerError> {
        let producer = client.producer().map_err(unavailable)?;
        Ok(Self { client, current: RwLock::new(Arc::new(producer)) })
    }

    /// Appends a record to this partition, measured as `operation`. Returns its offset.
    pub(super) async fn send(
        &self,
        operation: &'static str,
        topic: &str,
        partition: i32,
        payload: &[u8],
        headers: Option<OwnedHeaders>,
    ) -> Result<u64, BrokerError> {
        let record = || {
            let record = FutureRecord::<(), [u8]>::to(topic).partition(partition).payload(payload);
            match &headers {
                Some(headers) => record.headers(headers.clone()),
                None => record,
            }
        };
        let mut producer = self.current();
        let mut accepted = producer.send_result(record()).map_err(|(error, _)| error);
        if accepted.is_err() && self.replace_if_fatal(&producer)? {
            // The old producer did not accept the record, so this sends it for the first time.
            producer = self.current();
            accepted = producer.send_result(record()).map_err(|(error, _)| error);
        }
        let delivery = accepted.map_err(not_accepted)?;
        let delivery = async {
            delivery.await.map_or(Err(KafkaError::Canceled), |delivered| delivered.map_err(|(error, _)| error))
        };
        match measure_call("kafka", operation, delivery).await {
            Ok(delivery) => u64::try_from(delivery.offset)
                .map_err(|_| BrokerError::Unavailable("the record was written before, its offset is not known".into())),
            Err(KafkaError::Canceled) => Err(BrokerError::Unavailable("the producer was replaced".into())),
            Err(error) => {
                self.replace_if_fatal(&producer)?;
                Err(not_delivered(error))
            }
        }
    }

    fn current(&self) -> DriverProducer {
        self.current.read().clone()
    }

    /// Replaces this producer if it has failed for good. Returns whether it has.
    fn replace_if_fatal(&self, failed: &DriverProducer) -> Result<bool, BrokerError> {
        let Some((code, reason)) = failed.client().fatal_error() else { return Ok(false) };
        let mut current = self.current.write();
        if Arc::ptr_eq(&current, failed) {
            let brokers = self.client.brokers();
            tracing::warn!(brokers, %code, reason, "Replacing the producer: {brokers} refuse its sequence ({code})");
            let old = std::mem::replace(&mut *current, Arc::new(self.client.producer().map_err(unavailable)?));
            // Records that it has sent may still be acknowledged.
            tokio::task::spawn_blocking(move || old.flush(FLUSH_TIMEOUT));
        }
        Ok(true)
    }

    /// Waits until every accepted record is sent or has failed.
    pub(super) async fn close(&self) {
        let producer = self.current();
        if let Err(error) = run_blocking("flush", move || producer.flush(FLUSH_TIMEOUT)).await {
            let brokers = self.client.brokers();
            tracing::warn!(brokers, %error, "Closing the producer before every record was sent to {brokers}");
        }
    }
}

/// Why a record was not accepted: nothing of it will ever appear.
fn not_accepted(error: KafkaError) -> BrokerError {
    match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::QueueFull) => BrokerError::Full,
        _ => not_delivered(error),
    }
}

/// Why an accepted record is not known to be written.
fn not_delivered(error: KafkaError) -> BrokerError {
    match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::MessageSizeTooLarge) => BrokerError::Damaged("the record is too large".into()),
        _ => unavailable(error),
    }
}
