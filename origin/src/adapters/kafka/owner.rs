//! Whose topics they are: the first record of the topic `{name}.owner` is the id of an installation.
//!
//! Of two installations that claim topics at once, the one whose record is first has them. Nothing in this program
//! changes that: an operator who gives the topics away deletes this one. Promise: while brokers answer, no installation
//! is refused topics that have no owner, or one that cannot be read.

use rdkafka::consumer::Consumer as _;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

use crate::adapters::kafka::client::KafkaClient;
use crate::adapters::kafka::producer::KafkaProducer;
use crate::adapters::kafka::{driver_partition, record_reader, run_blocking, topics};
use crate::ports::broker::BrokerError;

/// The one partition of the topic.
const OWNER_PARTITION: u32 = 0;

/// Refuses topics that another installation has.
pub(super) async fn check(client: &KafkaClient, installation: &str) -> Result<(), BrokerError> {
    compare(client, read(client).await?, installation)
}

fn compare(client: &KafkaClient, owner: Option<String>, installation: &str) -> Result<(), BrokerError> {
    match owner {
        Some(owner) if owner != installation => {
            let topic = client.owner_topic_name();
            let text = format!(
                "{topic} says that the topics belong to installation {owner}, and this is {installation}: choose \
                 another cluster.name, or correct the addresses"
            );
            Err(BrokerError::NotOwned(text.into()))
        }
        _ => Ok(()),
    }
}

/// Claims the topics, unless they have an owner. What cannot be claimed now is claimed the next time.
///
/// # Errors
/// [`BrokerError::NotOwned`] when another installation was first.
pub(super) async fn claim(client: &KafkaClient, installation: &str, replication: u16) -> Result<(), BrokerError> {
    match try_claim(client, installation, replication).await {
        Err(error) if !matches!(error, BrokerError::NotOwned(_)) => {
            let topic = client.owner_topic_name();
            tracing::warn!(topic, %error, "Could not say in {topic} whose topics these are; gailou migrate tries it again");
            Ok(())
        }
        claimed => claimed,
    }
}

async fn try_claim(client: &KafkaClient, installation: &str, replication: u16) -> Result<(), BrokerError> {
    let mut owner = read(client).await?;
    if owner.is_none() {
        let topic = topics::owner_topic(client);
        if topics::find_topic(client, &client.owner_topic_name()).await?.is_err() {
            topics::create(client, &[&topic], replication).await?;
        }
        let producer = KafkaProducer::new(client.clone())?;
        let partition = driver_partition(OWNER_PARTITION);
        let claimed =
            producer.send("claim_topics", &client.owner_topic_name(), partition, installation.as_bytes(), None).await;
        producer.close().await;
        claimed?;
        owner = read(client).await?;
    }
    compare(client, owner, installation)
}

/// The owner; `None` where there is none, or where it cannot be found out.
async fn read(client: &KafkaClient) -> Result<Option<String>, BrokerError> {
    let topic = client.owner_topic_name();
    match topics::find_topic(client, &topic).await? {
        Ok(state) if state.leaderless == 0 => {}
        _ => return Ok(None),
    }
    let client = client.clone();
    let read = move || match read_first(&client, &topic) {
        Err(error) if error.rdkafka_error_code() == Some(RDKafkaErrorCode::TopicAuthorizationFailed) => Ok(None),
        read => read,
    };
    let first = run_blocking("read_owner", read).await?;
    Ok(first.map(|id| String::from_utf8_lossy(&id).into_owned()))
}

/// The payload of the first record. Blocks.
fn read_first(client: &KafkaClient, topic: &str) -> Result<Option<Vec<u8>>, KafkaError> {
    let consumer = client.reader()?;
    let (first, end) = consumer.fetch_watermarks(topic, driver_partition(OWNER_PARTITION), topics::ADMIN_TIMEOUT)?;
    match u64::try_from(first) {
        Ok(offset) if first < end => record_reader::read_by(&consumer, topic, OWNER_PARTITION, offset),
        _ => Ok(None),
    }
}
