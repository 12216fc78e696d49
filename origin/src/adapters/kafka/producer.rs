//! Appending: an idempotent producer that waits for every in-sync replica.
//!
//! Promise: a message is sent once and answered once; after the answer it is not sent again. A
//! producer whose sequence the broker no longer accepts is replaced by a new one.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::OwnedHeaders;
use rdkafka::producer::{FutureProducer, FutureRecord, Producer};

use crate::adapters::kafka::client::{Client, Quiet};
use crate::adapters::kafka::{blocking, unavailable};
use crate::ports::broker::BrokerError;

type Inner = Arc<FutureProducer<Quiet>>;

/// How long what was taken may take to be sent at the end: longer than any message may.
const FLUSH: Duration = Duration::from_secs(3);

pub(super) struct Sender {
    client: Client,
    producer: RwLock<Inner>,
}

impl std::fmt::Debug for Sender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl Sender {
    pub(super) fn new(client: Client) -> Result<Self, BrokerError> {
        let producer = client.producer().map_err(unavailable)?;
        Ok(Self { client, producer: RwLock::new(Arc::new(producer)) })
    }

    /// Appends to this partition; the offset.
    pub(super) async fn send(
        &self,
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
        let mut producer = self.producer();
        let mut taken = producer.send_result(record()).map_err(|(error, _)| error);
        if taken.is_err() && self.replace(&producer)? {
            // It was not taken at all, so it is the first time that it is sent.
            producer = self.producer();
            taken = producer.send_result(record()).map_err(|(error, _)| error);
        }
        let delivery = taken.map_err(refused)?;
        match delivery.await {
            Ok(Ok(delivery)) => u64::try_from(delivery.offset).map_err(|_| {
                BrokerError::Unavailable("the message was written before, its offset is not known".into())
            }),
            Ok(Err((error, _))) => {
                self.replace(&producer)?;
                Err(undelivered(error))
            }
            Err(_) => Err(BrokerError::Unavailable("the producer was replaced".into())),
        }
    }

    fn producer(&self) -> Inner {
        self.producer.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts a new producer in the place of this one, if it can send nothing any more: whether it is
    /// no longer the one in use.
    fn replace(&self, failed: &Inner) -> Result<bool, BrokerError> {
        let Some((code, reason)) = failed.client().fatal_error() else { return Ok(false) };
        let mut current = self.producer.write().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&current, failed) {
            tracing::warn!(%code, reason, "the producer is replaced: the broker does not accept its sequence");
            let old = std::mem::replace(&mut *current, Arc::new(self.client.producer().map_err(unavailable)?));
            // What it has sent may still be acknowledged.
            tokio::task::spawn_blocking(move || old.flush(FLUSH));
        }
        Ok(true)
    }

    /// Waits until what was taken is sent, or given up.
    pub(super) async fn close(&self) {
        let producer = self.producer();
        if let Err(error) = blocking(move || producer.flush(FLUSH)).await {
            tracing::warn!(%error, "not everything was sent before the end");
        }
    }
}

/// Why a message was not taken: nothing of it will ever appear.
fn refused(error: KafkaError) -> BrokerError {
    match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::QueueFull) => BrokerError::Full,
        Some(RDKafkaErrorCode::MessageSizeTooLarge) => BrokerError::Damaged("the message is too large".into()),
        _ => unavailable(error),
    }
}

/// Why a message that was taken is not known to be written.
fn undelivered(error: KafkaError) -> BrokerError {
    match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::MessageSizeTooLarge) => BrokerError::Damaged("the message is too large".into()),
        _ => unavailable(error),
    }
}
