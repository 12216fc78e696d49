//! One story for every keeper of the sums, and which subjects are hot.

use std::time::Duration;

use gailou_shared::id::SubjectKey;
use gailou_shared::rank::Sort;

use crate::adapters::memory::popularity::MemoryPopularity;
use crate::ports::popularity::*;

fn subject(key: &str) -> SubjectKey {
    SubjectKey::new("video", key).unwrap()
}

fn reads(key: &str, count: u64, lists: ReadLists) -> Reads {
    Reads { subject: subject(key), count, lists }
}

fn warm(key: &str, heat: u64) -> PopularSubject {
    PopularSubject { subject: subject(key), heat, lists: ReadLists::default() }
}

async fn owns(heat: &dyn Popularity, name: &str) -> bool {
    heat.claim(&[name.to_owned()], Duration::from_millis(100)).await.unwrap() == [true]
}

const NEW_50: (Sort, usize) = (Sort::New, 50);

async fn sums_are_of_all(heat: &dyn Popularity) {
    assert_eq!(heat.most_read(9).await.unwrap(), []);
    let new = ReadLists::of(NEW_50.0, NEW_50.1);
    heat.add(&[reads("a/b", 2, new), reads("中", 5, ReadLists::default()), reads("c", 1, ReadLists::DEFAULT)])
        .await
        .unwrap();
    heat.add(&[reads("a/b", 9, ReadLists::DEFAULT)]).await.unwrap();
    let hottest = heat.most_read(2).await.unwrap();
    assert_eq!(hottest[0], PopularSubject { lists: new.and(ReadLists::DEFAULT), ..warm("a/b", 11) });
    assert_eq!(hottest[1], warm("中", 5));
    assert_eq!(heat.most_read(9).await.unwrap().len(), 3);
    assert!(owns(heat, "words").await && owns(heat, "words").await, "prolonged");
}

#[tokio::test(start_paused = true)]
async fn in_memory() {
    let heat = MemoryPopularity::default();
    sums_are_of_all(&heat).await;
    tokio::time::advance(HALF).await;
    assert_eq!(heat.most_read(1).await.unwrap()[0].heat, 5);
    tokio::time::advance(10 * HALF).await;
    assert_eq!(heat.most_read(1).await.unwrap(), []);
}

#[tokio::test]
async fn hot_lists_are_forgotten_after_a_while_and_cold_subjects_when_there_are_too_many() {
    tokio::time::pause();
    let heat = MemoryPopularity::default();
    heat.add(&[reads("a", 1_000_000, ReadLists::DEFAULT)]).await.unwrap();
    tokio::time::advance(ASKED).await;
    heat.add(&[reads("a", 1, ReadLists::of(Sort::New, 10))]).await.unwrap();
    assert_eq!(heat.most_read(1).await.unwrap()[0].lists, ReadLists::of(Sort::New, 10));
    let many: Vec<_> =
        (0..HEATED + 5).map(|n| reads(&format!("k{n}"), 1 + n as u64 / 10, ReadLists::default())).collect();
    heat.add(&many).await.unwrap();
    assert_eq!(heat.most_read(2 * HEATED).await.unwrap().len(), HEATED);
}

#[cfg(feature = "cluster")]
#[tokio::test]
async fn in_redis() {
    use crate::adapters::redis::Connection;
    use crate::adapters::redis::popularity::RedisPopularity;
    let Some(server) = crate::testing::redis_server::Server::start().await else { return };
    let connection = Connection::open(&server.urls()).await.unwrap();
    let [one, other] = [(); 2].map(|()| RedisPopularity::new(connection.clone(), "t"));
    sums_are_of_all(&one).await;
    assert!(!owns(&other, "words").await, "one process at a time");
    assert!(owns(&other, "other").await);
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert!(owns(&other, "words").await, "its lease has ended");
    // Three minutes on.
    let score = ::redis::Cmd::zscore("{t}:hot", "T");
    let halved: i64 = connection.query("{t}:hot", &score).await.unwrap();
    let past = ::redis::Cmd::zadd("{t}:hot", "T", halved + 180);
    connection.query::<()>("{t}:hot", &past).await.unwrap();
    let hottest = other.most_read(9).await.unwrap();
    assert_eq!(hottest.iter().map(|warm| warm.heat).collect::<Vec<_>>(), [1, 0], "an eighth is left: {hottest:?}");
}

#[test]
fn lists_are_a_set() {
    let all = ReadLists::DEFAULT.and(ReadLists::of(Sort::New, 100));
    assert_eq!(all.iter().collect::<Vec<_>>(), [(Sort::Hot, 20), (Sort::New, 100)]);
    assert_eq!(ReadLists::of(Sort::Hot, 20), ReadLists::DEFAULT);
    for (sort, limit) in [(Sort::Old, 20), (Sort::Hot, 30)] {
        assert_eq!(ReadLists::of(sort, limit), ReadLists::default());
    }
}

#[test]
fn a_subject_stays_hot_until_it_is_clearly_not() {
    let check = |heat, was_hot: bool, expected: bool| {
        let before = if was_hot { vec![warm("a", 0)] } else { vec![] };
        assert_eq!(!hot(vec![warm("a", heat)], &before, 600).is_empty(), expected, "{heat} {was_hot}");
    };
    check(864, false, true);
    check(863, false, false);
    check(863, true, true);
    check(432, true, true);
    check(431, true, false);
}

#[test]
fn readers_count_and_say_what_is_hot() {
    let readers = ReadCounters::new();
    readers.of(&subject("a")).read(ReadLists::DEFAULT);
    readers.of(&subject("a")).read(ReadLists::default());
    assert_eq!(readers.take(), [reads("a", 2, ReadLists::DEFAULT)]);
    assert_eq!(readers.take(), []);
    readers.declare(&[warm("a", 1), warm("b", 1)], 10);
    assert_eq!([readers.of(&subject("a")).hot_for(), readers.of(&subject("b")).hot_for()], [10, 10]);
    readers.declare(&[warm("b", 1)], 10);
    assert_eq!([readers.of(&subject("a")).hot_for(), readers.of(&subject("b")).hot_for()], [0, 10]);
}
