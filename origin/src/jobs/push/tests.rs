//! Pushing under leases, failures, sizes and stale pages, by a paused clock.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use tokio::task::JoinHandle;
use tokio::time::{advance, sleep};

use crate::jobs::push::*;
use crate::ports::popularity::SubjectReads;
use gailou_shared::edge_protocol::PushOutcome;

/// Keys with their versions, and when they were pushed.
type Push = (Instant, Vec<(String, u64)>);

/// The end of the key of the list that is always pushed.
const ELEMENT_LIST: &str = "/comments?view=compact";
/// Writes a day: more than any test makes but the one that reaches them.
const MAX_WRITES: u64 = 5_000;

/// One subject, a recording edge, and the lease of the process that pushes.
#[derive(Debug, Default)]
struct PushTestBed {
    version: AtomicU64,
    /// By how many versions pages are older than the row.
    behind: AtomicU64,
    /// Bytes of the element's list, and of every other page.
    sizes: [AtomicUsize; 2],
    fails: AtomicBool,
    /// Writes of this day.
    writes: AtomicU64,
    pushes: Mutex<Vec<Push>>,
    /// The lease: its process, and its end.
    lease: Mutex<Option<(usize, Instant)>>,
}

fn subject() -> SubjectKey {
    SubjectKey::new("video", "2").unwrap()
}

#[async_trait]
impl PageSource for PushTestBed {
    async fn versions(&self, subjects: &[SubjectKey]) -> Result<Vec<u64>, PushError> {
        Ok(vec![self.version.load(Ordering::SeqCst); subjects.len()])
    }

    async fn page(&self, path_query: &str) -> Result<Option<PushedPage>, PushError> {
        let size = self.sizes[usize::from(!path_query.ends_with(ELEMENT_LIST))].load(Ordering::SeqCst);
        let version = self.version.load(Ordering::SeqCst) - self.behind.load(Ordering::SeqCst);
        Ok(Some(PushedPage {
            key: path_query.to_owned(),
            headers: [].into(),
            body: "x".repeat(size),
            cache_tags: String::new(),
            made: 1,
            version,
        }))
    }

    async fn dictionary_version(&self) -> Result<u64, PushError> {
        Ok(1)
    }

    async fn dictionary(&self) -> Result<PushedDictionary, PushError> {
        Ok(PushedDictionary { version: 1, terms: vec![] })
    }
}

#[async_trait]
impl EdgeClient for PushTestBed {
    async fn push(
        &self,
        pages: &[PushedPage],
        dictionary: Option<&PushedDictionary>,
    ) -> Result<PushOutcome, EdgeError> {
        let keys = pages.iter().map(|page| (page.key.clone(), page.version));
        let keys =
            keys.chain(dictionary.map(|dictionary| (DICTIONARY_LEASE_NAME.to_owned(), dictionary.version))).collect();
        self.pushes.lock().unwrap().push((Instant::now(), keys));
        sleep(Duration::from_millis(100)).await;
        let stored = PushOutcome { stored: pages.len() as u64, older: 0 };
        if self.fails.load(Ordering::SeqCst) { Err(EdgeError::Refused(500)) } else { Ok(stored) }
    }
}

/// One of the processes that may push.
#[derive(Debug)]
struct PushProcess(Arc<PushTestBed>, usize);

#[async_trait]
impl Popularity for PushProcess {
    async fn add_reads(&self, _: &[SubjectReads]) -> Result<(), PopularityError> {
        Ok(())
    }

    async fn most_read(&self, _: usize) -> Result<Vec<PopularSubject>, PopularityError> {
        Ok(vec![PopularSubject { subject: subject(), reads: 1_000, lists: ReadLists::default() }])
    }

    async fn claim(&self, names: &[String], life: Duration) -> Result<Vec<bool>, PopularityError> {
        let mut lease = self.0.lease.lock().unwrap();
        let mine = lease.is_none_or(|(who, until)| who == self.1 || until <= Instant::now());
        if mine {
            *lease = Some((self.1, Instant::now() + life));
        }
        Ok(vec![mine; names.len()])
    }

    async fn add_store_writes(&self, writes: u64) -> Result<u64, PopularityError> {
        Ok(self.0.writes.fetch_add(writes, Ordering::SeqCst) + writes)
    }
}

impl PushTestBed {
    fn start() -> Arc<Self> {
        let bed = Self::default();
        bed.version.store(5, Ordering::SeqCst);
        Arc::new(bed)
    }

    fn process(self: &Arc<Self>, number: usize) -> JoinHandle<()> {
        tokio::spawn(run(Arc::new(Pusher {
            edge: self.clone(),
            popularity: Arc::new(PushProcess(self.clone(), number)),
            source: self.clone(),
            read_counters: Arc::default(),
            hot_per_minute: 1,
            fresh_for: 10,
            metrics: Arc::new(PushMetrics { max_writes_per_day: MAX_WRITES, ..PushMetrics::default() }),
        })))
    }

    /// Versions of the element's list that were pushed, with the seconds at which that was.
    fn pushed(&self, since: Instant) -> Vec<(u64, u64)> {
        let pushes = self.pushes.lock().unwrap();
        let list = |(at, pages): &Push| {
            let page = pages.iter().find(|(key, _)| key.ends_with(ELEMENT_LIST))?;
            Some(((*at - since).as_secs(), page.1))
        };
        pushes.iter().filter_map(list).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn second_process_pushes_after_the_lease_of_the_first() {
    let (bed, begun) = (PushTestBed::start(), Instant::now());
    let one = bed.process(1);
    sleep(Duration::from_millis(10)).await;
    let _other = bed.process(2);
    sleep(Duration::from_millis(2_500)).await;
    bed.version.store(6, Ordering::SeqCst);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(bed.pushed(begun), [(0, 5), (3, 6)], "each change once");
    one.abort();
    bed.version.store(7, Ordering::SeqCst);
    sleep(PUSH_LEASE + PUSH_INTERVAL).await;
    let [.., (_, 7)] = bed.pushed(begun)[..] else { panic!("{:?}", bed.pushed(begun)) };
    assert_eq!(bed.pushed(begun).len(), 3);
}

#[tokio::test(start_paused = true)]
async fn failing_edge_is_retried_with_backoff() {
    let (bed, begun) = (PushTestBed::start(), Instant::now());
    bed.fails.store(true, Ordering::SeqCst);
    let _process = bed.process(1);
    sleep(Duration::from_secs(70)).await;
    let tried: Vec<_> = bed.pushed(begun).iter().map(|(at, _)| *at).collect();
    assert!(
        tried.windows(2).skip(1).all(|w| w[1] - w[0] <= (2 * MAX_PUSH_BACKOFF + PUSH_INTERVAL).as_secs()),
        "{tried:?}"
    );
    assert!((5..9).contains(&tried.len()), "{tried:?}");
    bed.fails.store(false, Ordering::SeqCst);
    bed.version.store(9, Ordering::SeqCst);
    sleep(2 * MAX_PUSH_BACKOFF + PUSH_INTERVAL).await;
    assert_eq!(bed.pushed(begun).last().map(|(_, version)| *version), Some(9), "what is then");
    let before = bed.pushed(begun).len();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(bed.pushed(begun).len(), before);
}

#[tokio::test(start_paused = true)]
async fn stale_page_is_pushed_again() {
    let (bed, begun) = (PushTestBed::start(), Instant::now());
    bed.behind.store(1, Ordering::SeqCst);
    let _process = bed.process(1);
    sleep(Duration::from_millis(500)).await;
    bed.behind.store(0, Ordering::SeqCst);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(bed.pushed(begun), [(0, 4), (1, 5)]);
}

#[tokio::test(start_paused = true)]
async fn dictionary_is_pushed_at_the_start_and_hourly() {
    let (bed, begun) = (PushTestBed::start(), Instant::now());
    let _process = bed.process(1);
    for _ in 0..2 * 360 + 10 {
        advance(Duration::from_secs(10)).await;
        sleep(Duration::from_millis(200)).await;
    }
    let pushes = bed.pushes.lock().unwrap();
    let dictionary = pushes.iter().filter(|(_, keys)| keys.iter().any(|(key, _)| key == DICTIONARY_LEASE_NAME));
    let hours: Vec<_> = dictionary.map(|(at, _)| (*at - begun).as_secs() / 3_600).collect();
    assert_eq!(hours, [0, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn spent_budget_ends_pushes_of_pages_until_the_next_day() {
    let (bed, begun) = (PushTestBed::start(), Instant::now());
    bed.writes.store(MAX_WRITES - 4, Ordering::SeqCst);
    let _process = bed.process(1);
    sleep(Duration::from_millis(2_500)).await;
    assert_eq!(bed.pushed(begun), [(0, 5)], "three pages and the dictionary");
    bed.version.store(6, Ordering::SeqCst);
    sleep(Duration::from_secs(7_300)).await;
    assert_eq!(bed.pushed(begun), [(0, 5)]);
    let is_dictionary = |(_, keys): &&Push| keys.iter().any(|(key, _)| key == DICTIONARY_LEASE_NAME);
    assert_eq!(bed.pushes.lock().unwrap().iter().filter(is_dictionary).count(), 3, "hourly, as ever");
    bed.writes.store(0, Ordering::SeqCst);
    sleep(Duration::from_secs(3)).await;
    assert_eq!(bed.pushed(begun).last().map(|(_, version)| *version), Some(6));
}

#[tokio::test(start_paused = true)]
async fn large_pages_are_pushed_in_parts_and_too_large_ones_never() {
    let check = async |sizes: [usize; 2], expected: &[usize]| {
        let bed = PushTestBed::start();
        for (size, place) in sizes.into_iter().zip(&bed.sizes) {
            place.store(size, Ordering::SeqCst);
        }
        let process = bed.process(1);
        sleep(Duration::from_secs(1)).await;
        process.abort();
        let pushes = bed.pushes.lock().unwrap();
        let pages = pushes.iter().map(|(_, keys)| keys.iter().filter(|(key, _)| key != DICTIONARY_LEASE_NAME).count());
        assert_eq!(pages.filter(|count| *count > 0).collect::<Vec<_>>(), expected, "{sizes:?}");
    };
    check([10, 10], &[3]).await;
    check([MAX_PUSH_BYTES, 10], &[1, 2]).await;
    check([MAX_PUSH_BYTES - 10, 10], &[2, 1]).await;
    check([MAX_PUSH_BYTES + 1, 10], &[2]).await;
}

#[test]
fn keys_are_those_of_the_edge() {
    let check = |key: &str, lists: ReadLists, expected: &[&str]| {
        let subject = SubjectKey::new("video", key).unwrap();
        assert_eq!(keys(&subject, lists), expected, "{key}");
    };
    let some = ReadLists::DEFAULT_LIST
        .and(ReadLists::of(Sort::Hot, 50, ListView::Full))
        .and(ReadLists::of(Sort::New, 20, ListView::Full))
        .and(ReadLists::of(Sort::New, 100, ListView::Compact))
        .and(ReadLists::ELEMENT_LIST);
    check(
        "2",
        some,
        &[
            "/v1/subjects/video/2/comments",
            "/v1/subjects/video/2/comments?limit=50",
            "/v1/subjects/video/2/comments?sort=new",
            "/v1/subjects/video/2/comments?view=compact",
            "/v1/subjects/video/2/comments?sort=new&limit=100&view=compact",
            "/v1/subjects/video/2",
            "/v1/counts?subject=video%2F2",
        ],
    );
    check(
        "a/b 中?~",
        ReadLists::default(),
        &["/v1/subjects/video/a%2Fb%20%E4%B8%AD%3F~", "/v1/counts?subject=video%2Fa%2Fb%20%E4%B8%AD%3F~"],
    );
    check("..", some, &[]);
}
