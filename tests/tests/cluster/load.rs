//! Members who post, answer, like and read until they are told to stop, and know what must be there.
//!
//! What is not acknowledged is sent again, with the same key, until it is: afterwards everything is
//! known exactly.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use gailou_tests::{Answer, Call, Client, Who, id, until, who};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

/// After this a write that is sent again and again counts as lost.
const GIVES_UP: Duration = Duration::from_secs(30);
/// A ready page of remembered rows may be so old.
const REMEMBERED: Duration = Duration::from_millis(600);
const PAUSE: Duration = Duration::from_millis(20);

#[derive(Debug, Clone)]
struct Made {
    id: String,
    text: String,
    subject: usize,
    root: Option<String>,
    /// When it was acknowledged.
    at: Instant,
}

#[derive(Debug, Default)]
pub(crate) struct Load {
    subjects: Vec<String>,
    /// Reads must succeed, and show no count that is smaller than what was acknowledged before.
    reads_hold: bool,
    stop: AtomicBool,
    /// Writes that were acknowledged.
    done: AtomicU64,
    made: Mutex<Vec<Made>>,
    /// When each like was acknowledged.
    likes: Mutex<BTreeMap<String, Vec<Instant>>>,
    /// When a like was acknowledged last in each subject, and the longest time without one.
    pauses: Mutex<Vec<(Option<Instant>, Duration)>>,
    problems: Mutex<Vec<String>>,
}

impl Load {
    pub(crate) fn new(subjects: Vec<String>) -> Self {
        let pauses = Mutex::new(vec![(None, Duration::ZERO); subjects.len()]);
        Self { subjects, pauses, ..Self::default() }
    }

    /// See the field: reads must hold as well.
    pub(crate) fn reading(self) -> Self {
        Self { reads_hold: true, ..self }
    }

    /// So many members work beside `meanwhile`, and finish what they have begun when it ends.
    pub(crate) async fn beside<T>(&self, clients: &[Client], members: u64, meanwhile: impl Future<Output = T>) -> T {
        self.stop.store(false, Ordering::SeqCst);
        let work = join_all((0..members).map(|member| self.work(clients, member)));
        let ended = async {
            let ended = meanwhile.await;
            self.stop.store(true, Ordering::SeqCst);
            ended
        };
        tokio::join!(ended, work).0
    }

    fn say(&self, problem: String) {
        self.problems.lock().expect("nobody panicked").push(problem);
    }

    fn some(&self, rng: &mut StdRng) -> Option<Made> {
        self.made.lock().expect("nobody panicked").choose(rng).cloned()
    }

    /// How many likes were acknowledged so long ago.
    fn likes_of(&self, id: &str, age: Duration) -> u64 {
        let likes = self.likes.lock().expect("nobody panicked");
        likes.get(id).map_or(0, |likes| likes.iter().filter(|at| at.elapsed() >= age).count() as u64)
    }

    /// Pauses count from now on.
    pub(crate) fn measure(&self) {
        self.pauses.lock().expect("nobody panicked").fill((Some(Instant::now()), Duration::ZERO));
    }

    /// The longest time in which no like was acknowledged in one of the subjects.
    pub(crate) fn longest_pause(&self) -> Duration {
        self.pauses.lock().expect("nobody panicked").iter().map(|(_, longest)| *longest).max().unwrap_or_default()
    }

    fn beat(&self, subject: usize) {
        let (last, longest) = &mut self.pauses.lock().expect("nobody panicked")[subject];
        let now = Instant::now();
        *longest = last.map_or(*longest, |last| (now - last).max(*longest));
        *last = Some(now);
    }

    async fn work(&self, clients: &[Client], member: u64) {
        let mut rng = StdRng::seed_from_u64(member);
        let mut number = 0;
        while !self.stop.load(Ordering::SeqCst) {
            number += 1;
            let client = clients.choose(&mut rng).expect("one");
            match (rng.random_range(0..100), self.some(&mut rng)) {
                (0..35, target) => self.post(clients, &mut rng, member, number, target).await,
                (35..80, Some(target)) => {
                    self.like(clients, &mut rng, &target, 1_000_000 * (member + 1) + number).await
                }
                (_, Some(target)) => self.read(client, &target).await,
                (_, None) => self.post(clients, &mut rng, member, number, None).await,
            }
        }
    }

    async fn post(&self, clients: &[Client], rng: &mut StdRng, member: u64, number: u64, target: Option<Made>) {
        let me = who(1_000 + member, "M", "member");
        let parent = target.filter(|_| rng.random_bool(0.5));
        let subject = parent.as_ref().map_or_else(|| rng.random_range(0..self.subjects.len()), |parent| parent.subject);
        let text = format!("{member}-{number}");
        let body = json!({"content": text, "parent_id": parent.as_ref().map(|parent| &parent.id)});
        let line = format!("POST /v1/subjects/{}/comments", self.subjects[subject]);
        let send = |client: &Client| client.call(&line).by(&me).key(&text).json(&body);
        let Some(answer) = self.acknowledged(clients, rng, parent.as_ref(), send).await else { return };
        let root = parent.map(|parent| parent.root.unwrap_or(parent.id));
        let made = Made { id: id(&answer.json).to_owned(), text, subject, root, at: Instant::now() };
        self.made.lock().expect("nobody panicked").push(made);
    }

    /// A like of somebody who never liked before.
    async fn like(&self, clients: &[Client], rng: &mut StdRng, target: &Made, member: u64) {
        let me: Who = who(member, "L", "member");
        let line = format!("PUT /v1/comments/{}/like", target.id);
        let before = self.likes_of(&target.id, Duration::ZERO);
        let send = |client: &Client| client.call(&line).by(&me);
        let Some(answer) = self.acknowledged(clients, rng, Some(target), send).await else { return };
        if answer.json["reaction"] != "like" || answer.json["likes"].as_u64() < Some(before + 1) {
            self.say(format!("{before} liked before, then: {}", answer.text));
        }
        self.likes.lock().expect("nobody panicked").entry(target.id.clone()).or_default().push(Instant::now());
        self.beat(target.subject);
        if self.reads_hold {
            let overlay = clients[0].call(&format!("GET /v1/me/overlay?ids={}", target.id)).by(&me).attempt().await;
            let reaction = overlay.as_ref().map(|overlay| &overlay.json["data"][&target.id]["reaction"]);
            if !matches!(reaction, Ok(reaction) if *reaction == "like") {
                self.say(format!("{member} liked {}, and then: {overlay:?}", target.id));
            }
        }
    }

    async fn read(&self, client: &Client, target: &Made) {
        let before = self.likes_of(&target.id, REMEMBERED);
        let path = format!("GET /v1/comments/{}", target.id);
        let list = format!("GET /v1/subjects/{}/comments?sort=new&limit=20", self.subjects[target.subject]);
        let (comment, list) = tokio::join!(client.call(&path).attempt(), client.call(&list).attempt());
        if !self.reads_hold {
            return;
        }
        match (comment, list) {
            (Ok(comment), Ok(list)) if (comment.status, list.status) == (200, 200) => {
                if comment.json["likes"].as_u64() < Some(before) {
                    self.say(format!("{before} like it: {}", comment.text));
                }
            }
            failed => self.say(format!("a read failed: {failed:?}")),
        }
    }

    /// Sends until it is acknowledged.
    async fn acknowledged(
        &self,
        clients: &[Client],
        rng: &mut StdRng,
        target: Option<&Made>,
        call: impl Fn(&Client) -> Call,
    ) -> Option<Answer> {
        let begun = Instant::now();
        loop {
            let said = match call(clients.choose(rng).expect("one")).attempt().await {
                Ok(answer) if answer.status < 300 => {
                    self.done.fetch_add(1, Ordering::SeqCst);
                    return Some(answer);
                }
                Ok(answer) if answer.status != 503 => {
                    let (age, took) = (target.map(|made| made.at.elapsed()), begun.elapsed());
                    self.say(format!("refused after {took:?}, its target is {age:?} old: {}", answer.text));
                    return None;
                }
                Ok(answer) => answer.text,
                Err(error) => error.to_string(),
            };
            if begun.elapsed() > GIVES_UP {
                self.say(format!("never acknowledged: {said}"));
                return None;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Everything that was acknowledged is there, once, counted right, with floors without gaps.
    pub(crate) async fn holds(&self, client: &Client) {
        let wrong = until(|| self.wrong(client), Vec::is_empty).await;
        let problems = std::mem::take(&mut *self.problems.lock().expect("nobody panicked"));
        let all: Vec<String> = problems.into_iter().chain(wrong).collect();
        let first: Vec<&String> = all.iter().take(10).collect();
        assert!(all.is_empty(), "{} problems: {first:#?}", all.len());
        assert!(self.done.load(Ordering::SeqCst) > 50, "too little was done to prove anything");
    }

    async fn wrong(&self, client: &Client) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut shown: BTreeMap<String, Value> = BTreeMap::new();
        for subject in &self.subjects {
            let path = format!("/v1/subjects/{subject}/comments?sort=old&limit=100");
            let page = client.page(&path).await;
            let about = page["subject"].clone();
            let roots = client.walk_on(&path, page).await;
            let mut all = roots.len();
            wrong.extend(floors(subject, &roots));
            for root in roots {
                let path = format!("/v1/comments/{}/replies?sort=old&limit=100", id(&root));
                let replies = if root["replies"] == 0 { vec![] } else { client.walk(&path).await };
                wrong.extend(floors(&path, &replies));
                if root["replies"] != replies.len() {
                    wrong.push(format!("{} replies below {root}", replies.len()));
                }
                all += replies.len();
                for comment in replies.into_iter().chain([root]) {
                    if let Some(twice) = shown.insert(id(&comment).to_owned(), comment) {
                        wrong.push(format!("shown twice: {twice}"));
                    }
                }
            }
            if about["comments"] != all {
                wrong.push(format!("{all} comments in {about}"));
            }
        }
        let made = self.made.lock().expect("nobody panicked").clone();
        if made.len() != shown.len() {
            wrong.push(format!("{} were acknowledged, {} are shown", made.len(), shown.len()));
        }
        for made in made {
            let right =
                |c: &Value| c["content"] == made.text.as_str() && c["likes"] == self.likes_of(&made.id, Duration::ZERO);
            if !shown.get(&made.id).is_some_and(right) {
                let (likes, shown) = (self.likes_of(&made.id, Duration::ZERO), shown.get(&made.id));
                wrong.push(format!("{made:?} with {likes} likes is shown as {shown:?}"));
            }
        }
        wrong
    }
}

/// Floors count up from 1 without a gap.
fn floors(list: &str, comments: &[Value]) -> Option<String> {
    let floors: Vec<u64> = comments.iter().filter_map(|comment| comment["floor"].as_u64()).collect();
    let right = floors.len() == comments.len() && floors.iter().zip(1..).all(|(floor, n)| *floor == n);
    (!right).then(|| format!("floors of {list}: {floors:?}"))
}
