//! The adapter against the driver's own mock cluster; and against the real broker that
//! `GAILOU_TEST_KAFKA_BROKERS` names, where it is given.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use futures_util::future::join_all;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};

use crate::adapters::kafka::*;

type Mock = MockCluster<'static, DefaultProducerContext>;

const PARTITIONS: u32 = 4;

/// A cluster of one broker with the topics of `g`.
fn mock() -> Mock {
    let mock = MockCluster::new(1).unwrap();
    for &topic in Topic::ALL {
        mock.create_topic(&format!("g.{}", topic.name()), PARTITIONS as i32, 1).unwrap();
        mock.create_topic(&format!("g.{}.dead", topic.name()), 1, 1).unwrap();
    }
    mock
}

async fn open(mock: &Mock) -> KafkaBroker {
    KafkaBroker::open(&KafkaServers::plain(&mock.bootstrap_servers()), "g", ExpectedTopics::default()).await.unwrap()
}

/// Topics with so many partitions, of any installation.
fn topics_with(partitions: u32) -> ExpectedTopics {
    ExpectedTopics { partitions: Some(partitions), installation: None }
}

fn slot(number: u16) -> Slot {
    Slot::new(number).unwrap()
}

/// Reads until so many messages are there.
async fn read(reader: &mut dyn Consumer, most: usize) -> Vec<Record> {
    let mut messages = Vec::new();
    let until = Instant::now() + Duration::from_secs(20);
    while messages.len() < most && Instant::now() < until {
        messages.extend(reader.poll_batch(most - messages.len(), Duration::from_millis(50)).await.unwrap());
    }
    messages
}

#[tokio::test]
async fn records_are_read_in_order_and_committed_on_request() {
    let mock = mock();
    let kafka = open(&mock).await;
    assert_eq!(kafka.partition_count(), PARTITIONS);
    for n in 0..3 {
        assert_eq!(kafka.append_record(Topic::Comments, slot(6), vec![n]).await.unwrap(), u64::from(n));
    }
    assert_eq!(kafka.end_offset(Topic::Comments, 2).await.unwrap(), 3);
    assert_eq!(kafka.committed_offset(Topic::Comments, 2).await.unwrap(), 0);

    let mut reader = kafka.subscribe(Topic::Comments).unwrap();
    let messages = read(&mut *reader, 3).await;
    let seen: Vec<_> = messages.iter().map(|m| (m.partition, m.offset, m.payload.clone())).collect();
    assert_eq!(seen, [(2, 0, vec![0]), (2, 1, vec![1]), (2, 2, vec![2])]);
    let assigned: BTreeSet<_> = reader.take_assigned().into_iter().collect();
    assert_eq!(assigned, (0..PARTITIONS).collect());
    assert!(reader.take_assigned().is_empty() && reader.take_revoked().is_empty());
    reader.commit_offsets(&[(2, 2)]).await.unwrap();
    reader.close().await;
    assert_eq!(kafka.committed_offset(Topic::Comments, 2).await.unwrap(), 2);
}

#[tokio::test]
async fn a_paused_partition_is_read_later_and_nothing_is_left_out() {
    let mock = mock();
    let kafka = open(&mock).await;
    let mut reader = kafka.subscribe(Topic::Reactions).unwrap();
    join_all((0..4).map(|n| kafka.append_record(Topic::Reactions, slot(n), vec![0]))).await;
    assert_eq!(read(&mut *reader, 4).await.len(), 4);
    reader.set_paused(&BTreeSet::from([1]));
    for n in 0..8 {
        kafka.append_record(Topic::Reactions, slot(n % 2), vec![1]).await.unwrap();
    }
    let others = read(&mut *reader, 4).await;
    assert!(others.iter().all(|m| m.partition == 0) && others.len() == 4, "{others:?}");
    assert!(reader.poll_batch(10, Duration::ZERO).await.unwrap().is_empty());
    reader.set_paused(&BTreeSet::new());
    let later = read(&mut *reader, 4).await;
    assert_eq!(later.iter().map(|m| (m.partition, m.offset)).collect::<Vec<_>>(), [(1, 1), (1, 2), (1, 3), (1, 4)]);
}

#[tokio::test]
async fn a_partition_is_read_from_where_it_is_started() {
    let mock = mock();
    let kafka = open(&mock).await;
    for n in 0..20 {
        kafka.append_record(Topic::Comments, slot(0), vec![n]).await.unwrap();
    }
    let mut reader = kafka.subscribe(Topic::Comments).unwrap();
    assert_eq!(read(&mut *reader, 20).await.len(), 20);
    for first in [15, 3, 19, 0] {
        reader.start_at(0, first).await.unwrap();
        let again = read(&mut *reader, 20 - first as usize).await;
        assert_eq!(again.iter().map(|m| m.offset).collect::<Vec<_>>(), (first..20).collect::<Vec<_>>());
    }
    assert_eq!(kafka.first_offset(Topic::Comments, 0).await.unwrap(), 0);
    let record = kafka.read_record(Topic::Comments, 0, 7).await.unwrap();
    assert_eq!(record.map(|record| (record.offset, record.payload)), Some((7, vec![7])));
}

#[tokio::test]
async fn partition_begins_again_after_no_broker_was_reached() {
    let mock = mock();
    let kafka = open(&mock).await;
    let mut reader = kafka.subscribe(Topic::Comments).unwrap();
    kafka.append_record(Topic::Comments, slot(0), vec![0]).await.unwrap();
    assert_eq!(read(&mut *reader, 1).await.len(), 1);
    assert_eq!((reader.take_revoked().len(), reader.take_assigned().len()), (0, PARTITIONS as usize));
    mock.broker_down(1).unwrap();
    while !reader.poll_batch(1, Duration::from_millis(10)).await.unwrap().is_empty() {}
    mock.broker_up(1).unwrap();
    kafka.append_record(Topic::Comments, slot(0), vec![1]).await.unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    let mut assigned = Vec::new();
    while assigned.is_empty() && Instant::now() < until {
        assert!(reader.poll_batch(1, Duration::from_millis(10)).await.unwrap().is_empty());
        assigned.extend(reader.take_assigned());
    }
    assert_eq!(assigned, [0], "the partition of the next record");
    reader.start_at(0, 0).await.unwrap();
    assert_eq!(read(&mut *reader, 2).await.iter().map(|record| record.offset).collect::<Vec<_>>(), [0, 1]);
}

#[tokio::test]
async fn a_producer_whose_sequence_is_refused_is_replaced() {
    let mock = mock();
    let kafka = open(&mock).await;
    kafka.append_record(Topic::Comments, slot(0), vec![0]).await.unwrap();
    let refused = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER];
    mock.request_errors(RDKafkaApiKey::Produce, &refused);
    let lost = kafka.append_record(Topic::Comments, slot(0), vec![1]).await;
    assert!(matches!(lost, Err(BrokerError::Unavailable(_))), "{lost:?}");
    // The mock did not write it.
    assert_eq!(kafka.append_record(Topic::Comments, slot(0), vec![2]).await.unwrap(), 1);
}

/// Appends when the breaker lets a record through again.
async fn append_again(kafka: &KafkaBroker, payload: Vec<u8>) -> u64 {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        match kafka.append_record(Topic::Comments, slot(0), payload.clone()).await {
            Ok(offset) => return offset,
            Err(error) => assert!(matches!(error, BrokerError::NotSent) && Instant::now() < until, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn unreachable_broker_is_reported_in_time_and_nothing_is_sent_later() {
    let mock = mock();
    let kafka = open(&mock).await;
    kafka.append_record(Topic::Comments, slot(0), vec![0]).await.unwrap();
    mock.broker_down(1).unwrap();
    let before = Instant::now();
    let appends = join_all((0..10).map(|n| kafka.append_record(Topic::Comments, slot(n), vec![1]))).await;
    let took = before.elapsed();
    assert!(appends.iter().all(|a| matches!(a, Err(BrokerError::Unavailable(_)))), "{appends:?}");
    assert!(took < Duration::from_secs(3), "{took:?}");
    let before = Instant::now();
    assert!(kafka.end_offset(Topic::Comments, 0).await.is_err() && before.elapsed() < Duration::from_secs(1));
    mock.broker_up(1).unwrap();
    assert_eq!(append_again(&kafka, vec![2]).await, 1, "what timed out never came");
}

#[tokio::test]
async fn more_than_may_wait_is_refused_and_never_appears() {
    let mock = mock();
    let kafka = open(&mock).await;
    mock.broker_down(1).unwrap();
    let appends = join_all((0..20_010).map(|_| kafka.append_record(Topic::Comments, slot(0), vec![0]))).await;
    let full = appends.iter().filter(|a| matches!(a, Err(BrokerError::Full))).count();
    assert!(full >= 10, "{full}");
    mock.broker_up(1).unwrap();
    assert!(append_again(&kafka, vec![0]).await <= 20_000);
}

#[tokio::test]
async fn topics_that_are_missing_or_not_alike_are_named() {
    let mock = MockCluster::new(1).unwrap();
    mock.create_topic("h.comments", 4, 1).unwrap();
    mock.create_topic("h.reactions", 3, 1).unwrap();
    let error = KafkaBroker::open(&KafkaServers::plain(&mock.bootstrap_servers()), "h", ExpectedTopics::default())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("h.comments has 4 partitions, h.reactions has 3"), "{error}");
    let error = KafkaBroker::open(&KafkaServers::plain(&mock.bootstrap_servers()), "i", ExpectedTopics::default())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("i.comments"), "{error}");
}

#[tokio::test]
async fn another_cluster_than_the_remembered_one_takes_nothing() {
    let mock = mock();
    let kafka = open(&mock).await;
    let cluster_id = kafka.read_cluster_id().await.unwrap().unwrap();
    let remembered = |id: &str| BrokerState { cluster_id: Some(id.to_owned()), ..BrokerState::default() };
    kafka.follow(&remembered(&cluster_id));
    kafka.append_record(Topic::Comments, slot(0), vec![0]).await.unwrap();
    // It is compared with what was seen at the start, too.
    let other = open(&mock).await;
    for kafka in [&kafka, &other] {
        kafka.follow(&remembered("another"));
        let refused = kafka.append_record(Topic::Comments, slot(0), vec![1]).await;
        assert!(matches!(refused, Err(BrokerError::Stopped(_))), "{refused:?}");
        let refused = kafka.subscribe(Topic::Comments).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.contains(&cluster_id) && refused.contains("cluster another"), "{refused}");
    }
    assert_eq!(kafka.end_offset(Topic::Comments, 0).await.unwrap(), 1);
}

/// The real broker, and a unique name.
fn broker() -> Option<(String, String)> {
    let brokers = std::env::var("GAILOU_TEST_KAFKA_BROKERS").ok()?;
    Some((brokers, format!("t{:08x}", rand::random::<u32>())))
}

#[tokio::test]
async fn topics_are_made_once_and_never_changed() {
    let Some((brokers, name)) = broker() else { return };
    KafkaBroker::migrate(&KafkaServers::plain(&brokers), &name, topics_with(3), 1).await.unwrap();
    KafkaBroker::migrate(&KafkaServers::plain(&brokers), &name, topics_with(3), 1).await.unwrap();
    let error = KafkaBroker::migrate(&KafkaServers::plain(&brokers), &name, topics_with(5), 1).await.unwrap_err();
    assert!(error.to_string().contains("can never have 5"), "{error}");
    KafkaBroker::migrate(&KafkaServers::plain(&brokers), &name, ExpectedTopics::default(), 1).await.unwrap();
    let kafka = KafkaBroker::open(&KafkaServers::plain(&brokers), &name, ExpectedTopics::default()).await.unwrap();
    assert_eq!(kafka.partition_count(), 3);
    let wrong = kafka.check_topics().await.unwrap();
    let (missing, few): (Vec<&String>, Vec<&String>) =
        wrong.iter().partition(|wrong| wrong.contains("owner is missing"));
    assert!(missing.len() == 1 && few.len() == 6 && few.iter().all(|few| few.contains("1 replicas")), "{wrong:?}");
}

#[tokio::test]
async fn topics_belong_to_the_installation_that_claims_them_first() {
    let Some((brokers, name)) = broker() else { return };
    let servers = KafkaServers::plain(&brokers);
    let of = |installation: &str| ExpectedTopics { installation: Some(installation.into()), ..topics_with(3) };
    let migrate = |installation| KafkaBroker::migrate(&servers, &name, of(installation), 1);
    // Those of a version that claimed nothing have no owner.
    KafkaBroker::migrate(&servers, &name, topics_with(3), 1).await.unwrap();
    KafkaBroker::open(&servers, &name, of("anybody")).await.unwrap();
    let (one, other) = tokio::join!(migrate("one"), migrate("other"));
    let (owner, refused) = if one.is_ok() { ("one", "other") } else { ("other", "one") };
    assert!(matches!(one.and(other), Err(BrokerError::NotOwned(_))), "one of the two is first");
    for _ in 0..2 {
        migrate(owner).await.unwrap();
        KafkaBroker::open(&servers, &name, of(owner)).await.unwrap();
        let expected = format!("belong to installation {owner}, and this is {refused}");
        let error = KafkaBroker::open(&servers, &name, of(refused)).await.unwrap_err();
        assert!(matches!(error, BrokerError::NotOwned(_)) && error.to_string().contains(&expected), "{error}");
        let error = migrate(refused).await.unwrap_err();
        assert!(error.to_string().contains(&expected), "{error}");
    }
}

#[tokio::test]
async fn letters_are_kept_until_they_are_sent_again() {
    let Some((brokers, name)) = broker() else { return };
    KafkaBroker::migrate(&KafkaServers::plain(&brokers), &name, topics_with(3), 1).await.unwrap();
    let kafka = KafkaBroker::open(&KafkaServers::plain(&brokers), &name, ExpectedTopics::default()).await.unwrap();
    let message =
        |offset| Record { topic: Topic::Reactions, partition: 2, offset, payload: vec![1, 2, 3], trace_parent: None };
    assert!(kafka.list_dead_letters(Topic::Reactions).await.unwrap().is_empty());
    let long = "ü".repeat(5_000);
    for offset in 40..43 {
        kafka.put_dead_letter(&message(offset), &long, 1_700_000_000_000 + offset).await.unwrap();
    }
    let letters = kafka.list_dead_letters(Topic::Reactions).await.unwrap();
    let seen: Vec<_> = letters.iter().map(|l| (l.offset, l.record.offset, l.failed_at_ms)).collect();
    assert_eq!(seen, [(0, 40, 1_700_000_000_040), (1, 41, 1_700_000_000_041), (2, 42, 1_700_000_000_042)]);
    assert_eq!((letters[0].record.partition, &letters[0].record.payload), (2, &vec![1, 2, 3]));
    assert!(letters[0].error.starts_with("üü") && letters[0].error.len() == 2_000);
    kafka.mark_retried(Topic::Reactions, 1).await.unwrap();
    let left = kafka.list_dead_letters(Topic::Reactions).await.unwrap();
    assert_eq!(left.iter().map(|l| l.offset).collect::<Vec<_>>(), [2]);
    assert!(kafka.list_dead_letters(Topic::Comments).await.unwrap().is_empty());
    kafka.mark_retried(Topic::Reactions, 2).await.unwrap();
    assert!(kafka.list_dead_letters(Topic::Reactions).await.unwrap().is_empty());
}

#[tokio::test]
async fn two_readers_share_the_partitions_and_miss_nothing() {
    let Some((brokers, name)) = broker() else { return };
    KafkaBroker::migrate(&KafkaServers::plain(&brokers), &name, topics_with(4), 1).await.unwrap();
    let kafka = KafkaBroker::open(&KafkaServers::plain(&brokers), &name, ExpectedTopics::default()).await.unwrap();
    let append =
        |from: u16| join_all((from..from + 400).map(|n| kafka.append_record(Topic::Comments, slot(n), vec![0])));
    let mut first = kafka.subscribe(Topic::Comments).unwrap();
    append(0).await.into_iter().for_each(|offset| assert!(offset.is_ok()));
    let messages = read(&mut *first, 400).await;
    assert_eq!((messages.len(), first.take_assigned().len()), (400, 4));
    let ends: Vec<_> = (0..4).map(|partition| (partition, 100)).collect();
    first.commit_offsets(&ends).await.unwrap();

    let mut second = kafka.subscribe(Topic::Comments).unwrap();
    let mut gone = Vec::new();
    let until = Instant::now() + Duration::from_secs(20);
    while gone.len() < 2 && Instant::now() < until {
        let (more, others) = tokio::join!(
            first.poll_batch(1, Duration::from_millis(10)),
            second.poll_batch(1, Duration::from_millis(10))
        );
        assert!(more.unwrap().is_empty() && others.unwrap().is_empty(), "nothing that stayed is read again");
        gone.extend(first.take_revoked());
    }
    assert_eq!(gone.len(), 2);
    append(400).await;
    let (kept, moved) = tokio::join!(read(&mut *first, 200), read(&mut *second, 200));
    assert!(kept.iter().all(|m| !gone.contains(&m.partition)) && moved.iter().all(|m| gone.contains(&m.partition)));
    let offsets: BTreeSet<_> = kept.iter().chain(&moved).map(|m| (m.partition, m.offset)).collect();
    assert_eq!(offsets.len(), 400);
    // A commit for what went is left out.
    first.commit_offsets(&(0..4).map(|partition| (partition, 200)).collect::<Vec<_>>()).await.unwrap();
    first.close().await;
    for partition in 0..4 {
        let expected = if gone.contains(&partition) { 100 } else { 200 };
        assert_eq!(kafka.committed_offset(Topic::Comments, partition).await.unwrap(), expected, "{partition}");
    }
}

/// A member of the group, as the job is one, until it is stopped: what it takes waits for a
/// round before it is stored, and is forgotten with its partition. Who stores a message makes
/// everything before it in its partition a replay: so nothing before it may be missing.
async fn store(mut reader: Box<dyn Consumer>, stored: &[AtomicU64], stop: &AtomicBool) {
    let (mut held, mut waiting) = (BTreeSet::new(), Vec::<Record>::new());
    while !stop.load(Ordering::SeqCst) {
        let messages = reader.poll_batch(500, Duration::from_millis(20)).await.unwrap();
        for partition in reader.take_revoked() {
            held.remove(&partition);
            waiting.retain(|message| message.partition != partition);
        }
        for partition in reader.take_assigned() {
            held.insert(partition);
        }
        for Record { partition, offset, .. } in waiting.drain(..) {
            let next = stored[partition as usize].fetch_max(offset + 1, Ordering::SeqCst);
            assert!(offset <= next, "{offset} of partition {partition} is stored, and not {next}");
        }
        assert!(messages.iter().all(|message| held.contains(&message.partition)), "{held:?}");
        waiting = messages;
        let done: Vec<_> = (0..).zip(stored.iter().map(|next| next.load(Ordering::SeqCst))).collect();
        reader.commit_offsets(&done).await.unwrap();
    }
    reader.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_come_and_go_and_no_message_is_handed_out_behind_a_gap() {
    let Some((brokers, name)) = broker() else { return };
    KafkaBroker::migrate(&KafkaServers::plain(&brokers), &name, topics_with(PARTITIONS), 1).await.unwrap();
    let kafka = KafkaBroker::open(&KafkaServers::plain(&brokers), &name, ExpectedTopics::default()).await.unwrap();
    let stored: Vec<AtomicU64> = (0..PARTITIONS).map(|_| AtomicU64::new(0)).collect();
    let [all, one] = [AtomicBool::new(false), AtomicBool::new(false)];
    let appends = async {
        for n in 0_u16.. {
            if all.load(Ordering::SeqCst) {
                break;
            }
            join_all((n % 64..n % 64 + 8).map(|n| kafka.append_record(Topic::Comments, slot(n), vec![0]))).await;
        }
    };
    let coming_and_going = async {
        for _ in 0..3 {
            one.store(false, Ordering::SeqCst);
            let leave = async {
                tokio::time::sleep(Duration::from_secs(4)).await;
                one.store(true, Ordering::SeqCst);
            };
            tokio::join!(store(kafka.subscribe(Topic::Comments).unwrap(), &stored, &one), leave);
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        all.store(true, Ordering::SeqCst);
    };
    tokio::join!(appends, store(kafka.subscribe(Topic::Comments).unwrap(), &stored, &all), coming_and_going);
    assert!(stored.iter().all(|next| next.load(Ordering::SeqCst) > 100), "{stored:?}");
}
