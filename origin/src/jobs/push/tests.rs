use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use tokio::task::JoinHandle;
use tokio::time::{advance, sleep};

use crate::jobs::push::*;
use crate::ports::edge::PushOutcome;
use crate::ports::popularity::Reads;

/// Keys with their versions, and when they came.
type Push = (Instant, Vec<(String, u64)>);

/// One subject, the edge that takes it, and who is to push it.
#[derive(Debug, Default)]
struct World {
    version: AtomicU64,
    /// How far pages are behind the row.
    behind: AtomicU64,
    /// Bytes of the default list, and of every other page.
    sizes: [AtomicUsize; 2],
    fails: AtomicBool,
    pushes: Mutex<Vec<Push>>,
    /// The lease: who, and until when.
    lease: Mutex<Option<(usize, Instant)>>,
}

fn subject() -> SubjectKey {
    SubjectKey::new("video", "2").unwrap()
}

#[async_trait]
impl PageSource for World {
    async fn versions(&self, subjects: &[SubjectKey]) -> Result<Vec<u64>, PushError> {
        Ok(vec![self.version.load(Ordering::SeqCst); subjects.len()])
    }

    async fn page(&self, path_query: &str) -> Result<Option<PushedPage>, PushError> {
        let size = self.sizes[usize::from(!path_query.ends_with("/comments"))].load(Ordering::SeqCst);
        let version = self.version.load(Ordering::SeqCst) - self.behind.load(Ordering::SeqCst);
        Ok(Some(PushedPage {
            key: path_query.to_owned(),
            headers: [].into(),
            body: "x".repeat(size),
            shows: String::new(),
            made: 1,
            version,
        }))
    }

    async fn words_version(&self) -> Result<u64, PushError> {
        Ok(1)
    }

    async fn words(&self) -> Result<PushedDictionary, PushError> {
        Ok(PushedDictionary { version: 1, terms: vec![] })
    }
}

#[async_trait]
impl EdgeClient for World {
    async fn push(&self, pages: &[PushedPage], words: Option<&PushedDictionary>) -> Result<PushOutcome, EdgeError> {
        let keys = pages.iter().map(|page| (page.key.clone(), page.version));
        let keys = keys.chain(words.map(|words| (DICTIONARY.to_owned(), words.version))).collect();
        self.pushes.lock().unwrap().push((Instant::now(), keys));
        sleep(Duration::from_millis(100)).await;
        let stored = PushOutcome { stored: pages.len() as u64, older: 0 };
        if self.fails.load(Ordering::SeqCst) { Err(EdgeError::Refused(500)) } else { Ok(stored) }
    }
}

/// One of the processes that could push.
#[derive(Debug)]
struct Process(Arc<World>, usize);

#[async_trait]
impl Popularity for Process {
    async fn add(&self, _: &[Reads]) -> Result<(), PopularityError> {
        Ok(())
    }

    async fn most_read(&self, _: usize) -> Result<Vec<PopularSubject>, PopularityError> {
        Ok(vec![PopularSubject { subject: subject(), heat: 1_000, lists: ReadLists::default() }])
    }

    async fn claim(&self, names: &[String], life: Duration) -> Result<Vec<bool>, PopularityError> {
        let mut lease = self.0.lease.lock().unwrap();
        let mine = lease.is_none_or(|(who, until)| who == self.1 || until <= Instant::now());
        if mine {
            *lease = Some((self.1, Instant::now() + life));
        }
        Ok(vec![mine; names.len()])
    }
}

impl World {
    fn start() -> Arc<Self> {
        let world = Self::default();
        world.version.store(5, Ordering::SeqCst);
        Arc::new(world)
    }

    fn process(self: &Arc<Self>, number: usize) -> JoinHandle<()> {
        tokio::spawn(run(Arc::new(Pusher {
            edge: self.clone(),
            heat: Arc::new(Process(self.clone(), number)),
            source: self.clone(),
            readers: Arc::default(),
            hot_per_minute: 1,
            fresh_for: 10,
            figures: Arc::default(),
        })))
    }

    /// Versions of the default list that were pushed, with the seconds at which that was.
    fn pushed(&self, since: Instant) -> Vec<(u64, u64)> {
        let pushes = self.pushes.lock().unwrap();
        let list = |(at, pages): &Push| {
            let page = pages.iter().find(|(key, _)| key.ends_with("/comments"))?;
            Some(((*at - since).as_secs(), page.1))
        };
        pushes.iter().filter_map(list).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_processes_one_pushes_and_the_other_goes_on_when_it_is_gone() {
    let (world, begun) = (World::start(), Instant::now());
    let one = world.process(1);
    sleep(Duration::from_millis(10)).await;
    let _other = world.process(2);
    sleep(Duration::from_millis(2_500)).await;
    world.version.store(6, Ordering::SeqCst);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(world.pushed(begun), [(0, 5), (3, 6)], "each change once, however long it stands");
    one.abort();
    world.version.store(7, Ordering::SeqCst);
    sleep(LEASE + EVERY).await;
    let [.., (_, 7)] = world.pushed(begun)[..] else { panic!("{:?}", world.pushed(begun)) };
    assert_eq!(world.pushed(begun).len(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_edge_that_fails_is_left_alone_for_longer_each_time() {
    let (world, begun) = (World::start(), Instant::now());
    world.fails.store(true, Ordering::SeqCst);
    let _process = world.process(1);
    sleep(Duration::from_secs(70)).await;
    let tried: Vec<_> = world.pushed(begun).iter().map(|(at, _)| *at).collect();
    assert!(tried.windows(2).skip(1).all(|w| w[1] - w[0] <= 2 * LONGEST_REST.as_secs()), "{tried:?}");
    assert!((5..9).contains(&tried.len()), "{tried:?}");
    world.fails.store(false, Ordering::SeqCst);
    world.version.store(9, Ordering::SeqCst);
    sleep(LONGEST_REST + EVERY).await;
    assert_eq!(world.pushed(begun).last().map(|(_, version)| *version), Some(9), "what is then");
    let before = world.pushed(begun).len();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(world.pushed(begun).len(), before);
}

#[tokio::test(start_paused = true)]
async fn a_page_that_was_behind_is_pushed_again() {
    let (world, begun) = (World::start(), Instant::now());
    world.behind.store(1, Ordering::SeqCst);
    let _process = world.process(1);
    sleep(Duration::from_millis(500)).await;
    world.behind.store(0, Ordering::SeqCst);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(world.pushed(begun), [(0, 4), (1, 5)]);
}

#[tokio::test(start_paused = true)]
async fn the_dictionary_goes_at_the_start_and_hourly() {
    let (world, begun) = (World::start(), Instant::now());
    let _process = world.process(1);
    for _ in 0..2 * 360 + 10 {
        advance(Duration::from_secs(10)).await;
        sleep(Duration::from_millis(200)).await;
    }
    let pushes = world.pushes.lock().unwrap();
    let words = pushes.iter().filter(|(_, keys)| keys.iter().any(|(key, _)| key == DICTIONARY));
    let hours: Vec<_> = words.map(|(at, _)| (*at - begun).as_secs() / 3_600).collect();
    assert_eq!(hours, [0, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn what_is_too_large_goes_in_parts_and_what_fits_nowhere_not_at_all() {
    let check = async |sizes: [usize; 2], expected: &[usize]| {
        let world = World::start();
        for (size, place) in sizes.into_iter().zip(&world.sizes) {
            place.store(size, Ordering::SeqCst);
        }
        let process = world.process(1);
        sleep(Duration::from_secs(1)).await;
        process.abort();
        let pushes = world.pushes.lock().unwrap();
        let pages = pushes.iter().map(|(_, keys)| keys.iter().filter(|(key, _)| key != DICTIONARY).count());
        assert_eq!(pages.filter(|count| *count > 0).collect::<Vec<_>>(), expected, "{sizes:?}");
    };
    check([10, 10], &[3]).await;
    check([TOGETHER, 10], &[1, 2]).await;
    check([TOGETHER - 10, 10], &[2, 1]).await;
    check([TOGETHER + 1, 10], &[2]).await;
}

#[test]
fn pages_have_the_names_the_edge_knows_them_by() {
    let check = |key: &str, lists: ReadLists, expected: &[&str]| {
        let subject = SubjectKey::new("video", key).unwrap();
        assert_eq!(keys(&subject, lists), expected, "{key}");
    };
    let some = ReadLists::DEFAULT
        .and(ReadLists::of(Sort::Hot, 50))
        .and(ReadLists::of(Sort::New, 20))
        .and(ReadLists::of(Sort::New, 100));
    check(
        "2",
        some,
        &[
            "/v1/subjects/video/2/comments",
            "/v1/subjects/video/2/comments?limit=50",
            "/v1/subjects/video/2/comments?sort=new",
            "/v1/subjects/video/2/comments?sort=new&limit=100",
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
