//! The contract of the popularity, on every adapter.

use std::time::Duration;

use gailou_shared::id::SubjectKey;
use gailou_shared::list_view::ListView;
use gailou_shared::rank::Sort;

use crate::adapters::memory::popularity::MemoryPopularity;
use crate::ports::popularity::{
    HALF_LIFE, LIST_MEMORY, MAX_SUBJECTS_COUNTED, PopularSubject, Popularity, ReadLists, STORE_WRITES_DAY, SubjectReads,
};

fn subject(key: &str) -> SubjectKey {
    SubjectKey::new("video", key).unwrap()
}

fn reads(key: &str, count: u64, lists: ReadLists) -> SubjectReads {
    SubjectReads { subject: subject(key), count, lists }
}

fn popular(key: &str, reads: u64) -> PopularSubject {
    PopularSubject { subject: subject(key), reads, lists: ReadLists::default() }
}

async fn claims(popularity: &dyn Popularity, name: &str) -> bool {
    popularity.claim(&[name.to_owned()], Duration::from_millis(100)).await.unwrap() == [true]
}

async fn check_sums(popularity: &dyn Popularity) {
    assert_eq!(popularity.most_read(9).await.unwrap(), []);
    let new_50 = ReadLists::of(Sort::New, 50, ListView::Compact);
    let first = [reads("a/b", 2, new_50), reads("中", 5, ReadLists::default()), reads("c", 1, ReadLists::DEFAULT_LIST)];
    popularity.add_reads(&first).await.unwrap();
    popularity.add_reads(&[reads("a/b", 9, ReadLists::DEFAULT_LIST)]).await.unwrap();
    let most_read = popularity.most_read(2).await.unwrap();
    assert_eq!(most_read[0], PopularSubject { lists: new_50.and(ReadLists::DEFAULT_LIST), ..popular("a/b", 11) });
    assert_eq!(most_read[1], popular("中", 5));
    assert_eq!(popularity.most_read(9).await.unwrap().len(), 3);
    let writes = async |count| popularity.add_store_writes(count).await.unwrap();
    assert_eq!([writes(3).await, writes(0).await, writes(4).await], [3, 3, 7]);
    assert!(claims(popularity, "words").await && claims(popularity, "words").await, "prolonged");
}

#[tokio::test(start_paused = true)]
async fn contract_holds_in_memory() {
    let popularity = MemoryPopularity::default();
    check_sums(&popularity).await;
    tokio::time::advance(STORE_WRITES_DAY).await;
    assert_eq!(popularity.add_store_writes(1).await.unwrap(), 1, "the next day");
    let popularity = MemoryPopularity::default();
    check_sums(&popularity).await;
    tokio::time::advance(HALF_LIFE).await;
    assert_eq!(popularity.most_read(1).await.unwrap()[0].reads, 5);
    tokio::time::advance(10 * HALF_LIFE).await;
    assert_eq!(popularity.most_read(1).await.unwrap(), []);
}

#[tokio::test]
async fn old_lists_and_surplus_subjects_are_forgotten() {
    tokio::time::pause();
    let popularity = MemoryPopularity::default();
    popularity.add_reads(&[reads("a", 1_000_000, ReadLists::DEFAULT_LIST)]).await.unwrap();
    tokio::time::advance(LIST_MEMORY).await;
    let new_10 = ReadLists::of(Sort::New, 10, ListView::Full);
    popularity.add_reads(&[reads("a", 1, new_10)]).await.unwrap();
    assert_eq!(popularity.most_read(1).await.unwrap()[0].lists, new_10);
    let many = (0..MAX_SUBJECTS_COUNTED + 5).map(|n| reads(&format!("k{n}"), 1 + n as u64 / 10, ReadLists::default()));
    popularity.add_reads(&many.collect::<Vec<_>>()).await.unwrap();
    assert_eq!(popularity.most_read(2 * MAX_SUBJECTS_COUNTED).await.unwrap().len(), MAX_SUBJECTS_COUNTED);
}

#[cfg(feature = "cluster")]
#[tokio::test]
async fn contract_holds_in_redis() {
    use crate::adapters::redis::RedisConnection;
    use crate::adapters::redis::popularity::RedisPopularity;
    let Some(server) = crate::testing::redis_server::RedisServer::start().await else { return };
    let connection = RedisConnection::open(&server.urls(), None).await.unwrap();
    let [one, other] = [(); 2].map(|()| RedisPopularity::new(connection.clone(), "t"));
    check_sums(&one).await;
    assert!(!claims(&other, "words").await, "another process holds it");
    assert!(claims(&other, "other").await);
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert!(claims(&other, "words").await, "its lease has expired");
    // Three minutes later.
    let score = ::redis::Cmd::zscore("{t}:hot", "T");
    let halved: i64 = connection.query("test", "{t}:hot", &score).await.unwrap();
    let past = ::redis::Cmd::zadd("{t}:hot", "T", halved + 180);
    connection.query::<()>("test", "{t}:hot", &past).await.unwrap();
    let most_read = other.most_read(9).await.unwrap();
    let sums: Vec<_> = most_read.iter().map(|subject| subject.reads).collect();
    assert_eq!(sums, [1, 0], "an eighth is left: {most_read:?}");
}

#[test]
fn lists_form_a_set() {
    let (full, compact) = (ListView::Full, ListView::Compact);
    let all = ReadLists::DEFAULT_LIST.and(ReadLists::of(Sort::New, 100, full)).and(ReadLists::ELEMENT_LIST);
    let expected = [(Sort::Hot, 20, full), (Sort::New, 100, full), (Sort::Hot, 20, compact)];
    assert_eq!(all.iter().collect::<Vec<_>>(), expected);
    assert_eq!(ReadLists::of(Sort::Hot, 20, full), ReadLists::DEFAULT_LIST);
    assert_eq!(ReadLists::of(Sort::Hot, 20, compact), ReadLists::ELEMENT_LIST);
    assert_eq!(ReadLists::from_bits(u16::MAX).iter().count(), ReadLists::LIST_COUNT);
    for (sort, limit) in [(Sort::Old, 20), (Sort::Hot, 30)] {
        assert_eq!(ReadLists::of(sort, limit, compact), ReadLists::default());
    }
}
