//! Members who post, answer, like and delete while something is broken, and note what they are told.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use gailou_tests::{Answer, Client, Who, id, who};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;

use crate::oracle::{Deleted, Fate, Mark, Post, Pulse, Reaction, Thought};

/// Comments that are answered, liked and deleted: the first that are acknowledged.
const TARGETS: usize = 200;
/// Between two tries of the same request.
const PAUSE: Duration = Duration::from_millis(100);

/// What the members of a round share.
pub(crate) struct Round {
    /// Subjects nobody has written to before.
    pub(crate) subjects: Vec<String>,
    pub(crate) stop: AtomicBool,
    pub(crate) pulse: Mutex<Pulse>,
    targets: Mutex<Vec<Target>>,
    /// Answers that no fault explains.
    pub(crate) strange: Mutex<Vec<String>>,
}

#[derive(Debug, Clone)]
struct Target {
    subject: String,
    id: String,
}

impl Round {
    pub(crate) fn new(number: usize) -> Self {
        Self {
            subjects: ["article", "topic", "video", "post"].map(|kind| format!("{kind}/round-{number}")).into(),
            stop: AtomicBool::new(false),
            pulse: Mutex::new(Pulse::new(Instant::now())),
            targets: Mutex::default(),
            strange: Mutex::default(),
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn beat(&self) {
        self.pulse.lock().unwrap_or_else(PoisonError::into_inner).beat(Instant::now());
    }

    fn target(&self, rng: &mut StdRng) -> Option<Target> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner).choose(rng).cloned()
    }

    fn add_target(&self, subject: &str, id: &str) {
        let mut targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
        if targets.len() < TARGETS {
            targets.push(Target { subject: subject.to_owned(), id: id.to_owned() });
        }
    }

    pub(crate) fn complain(&self, complaint: String) {
        self.strange.lock().unwrap_or_else(PoisonError::into_inner).push(complaint);
    }
}

/// What came of a call.
enum Word {
    Yes(Answer),
    /// A refusal of the contract: it was not carried out.
    No(Answer),
    /// 503: the server does not know.
    Unknown,
    /// No answer: not even whether it still goes on is known.
    Silence,
}

/// One member, and everything it knows.
pub(crate) struct Actor {
    pub(crate) me: Who,
    rng: StdRng,
    pub(crate) posts: Vec<Post>,
    pub(crate) thoughts: BTreeMap<String, Thought>,
    pub(crate) acknowledged_reactions: u64,
    /// Calls whose outcome was not told, or that were refused for want of something.
    pub(crate) unanswered: u64,
}

impl Actor {
    pub(crate) fn new(round: usize, number: usize) -> Self {
        let member = 10_000 + 1_000 * round + number;
        Self {
            me: who(member as u64, "M", "member"),
            rng: StdRng::seed_from_u64(member as u64),
            posts: vec![],
            thoughts: BTreeMap::new(),
            acknowledged_reactions: 0,
            unanswered: 0,
        }
    }

    /// Works until the round is stopped.
    pub(crate) async fn work(&mut self, clients: &[Client; 2], round: &Round) {
        while !round.stopped() {
            match self.rng.random_range(0..100) {
                0..45 => self.post(clients, round).await,
                45..85 => self.mark(clients, round).await,
                85..88 => self.delete(clients, round).await,
                _ => self.read(clients, round).await,
            }
        }
    }

    async fn post(&mut self, clients: &[Client; 2], round: &Round) {
        let target = round.target(&mut self.rng).filter(|_| self.rng.random_bool(0.6));
        let (subject, parent) = match target {
            Some(target) => (target.subject, Some(target.id)),
            None => (round.subjects.choose(&mut self.rng).expect("some").clone(), None),
        };
        let key = format!("{}-{}", self.me.id, self.posts.len());
        let mut post = Post { subject, key, parent, fate: Fate::Unknown, deleted: Deleted::No };
        // Some are left as they are: what became of them is asked when all is well again.
        let tries = if self.rng.random_bool(0.2) { 1 } else { usize::MAX };
        for _ in 0..tries {
            self.try_post(clients, round, &mut post).await;
            if post.fate != Fate::Unknown || round.stopped() {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        if let Fate::Made(id) = &post.fate {
            round.add_target(&post.subject, id);
        }
        self.posts.push(post);
    }

    /// Sends a post once, with its key.
    pub(crate) async fn try_post(&mut self, clients: &[Client; 2], round: &Round, post: &mut Post) {
        let line = format!("POST /v1/subjects/{}/comments", post.subject);
        let body = json!({"content": post.key, "parent_id": post.parent});
        let send = |client: &Client| client.call(&line).key(&post.key).json(&body);
        post.fate = match self.call(clients, round, send).await {
            Word::Yes(answer) => {
                round.beat();
                Fate::Made(id(&answer.json).to_owned())
            }
            Word::No(answer) => Fate::Refused(answer.text),
            Word::Unknown | Word::Silence => Fate::Unknown,
        };
    }

    async fn mark(&mut self, clients: &[Client; 2], round: &Round) {
        let Some(target) = round.target(&mut self.rng) else { return };
        if self.thoughts.get(&target.id).is_some_and(Thought::is_open) {
            return;
        }
        let mark = Mark::ALL[[0, 0, 0, 1, 2, 3].choose(&mut self.rng).copied().unwrap_or_default()];
        let line = format!("{} /v1/comments/{}/{}", mark.method, target.id, mark.what);
        let word = self.call(clients, round, |client| client.call(&line)).await;
        let thought = self.thoughts.entry(target.id.clone()).or_default();
        match word {
            Word::Yes(answer) => {
                round.beat();
                self.acknowledged_reactions += 1;
                let before = thought.clone();
                if !thought.acknowledged(mark, reaction(&answer.json["reaction"])) {
                    round.complain(format!("{mark:?} after {before:?} was answered {}", answer.text));
                }
            }
            // The comment was deleted meanwhile.
            Word::No(_) => {}
            Word::Unknown => thought.unknown(mark, false),
            Word::Silence => thought.unknown(mark, true),
        }
    }

    async fn delete(&mut self, clients: &[Client; 2], round: &Round) {
        let own = |post: &Post| matches!(post.fate, Fate::Made(_)) && post.deleted == Deleted::No;
        let own: Vec<usize> = (0..self.posts.len()).filter(|n| own(&self.posts[*n])).collect();
        let Some(n) = own.choose(&mut self.rng).copied() else { return };
        let Fate::Made(id) = &self.posts[n].fate else { return };
        let line = format!("DELETE /v1/comments/{id}");
        let word = self.call(clients, round, |client| client.call(&line)).await;
        self.posts[n].deleted = match word {
            Word::Yes(_) => Deleted::Yes,
            Word::No(answer) => {
                round.complain(format!("{line} of an own comment was refused: {}", answer.text));
                Deleted::Maybe
            }
            Word::Unknown | Word::Silence => Deleted::Maybe,
        };
        if self.posts[n].deleted == Deleted::Yes {
            round.beat();
        }
    }

    /// Readers who come while things change are what puts old pages into caches.
    async fn read(&mut self, clients: &[Client; 2], round: &Round) {
        let subject = round.subjects.choose(&mut self.rng).expect("some");
        let sort = ["hot", "new", "old"].choose(&mut self.rng).expect("some");
        let path = format!("GET /v1/subjects/{subject}/comments?sort={sort}&limit=10");
        // What a page shows is looked at when all is well.
        let _ = self.client(clients).call(&path).attempt().await;
    }

    fn client<'c>(&mut self, clients: &'c [Client; 2]) -> &'c Client {
        clients.choose(&mut self.rng).expect("two")
    }

    async fn call(
        &mut self,
        clients: &[Client; 2],
        round: &Round,
        call: impl Fn(&Client) -> gailou_tests::Call,
    ) -> Word {
        let answer = call(self.client(clients)).by(&self.me).attempt().await;
        match answer {
            Ok(answer) if answer.status < 300 => Word::Yes(answer),
            Ok(answer) if matches!(answer.status, 404 | 409) => Word::No(answer),
            Ok(answer) => {
                if answer.status != 503 {
                    round.complain(format!("{} {}", answer.status, answer.text));
                }
                self.unanswered += 1;
                // A 5xx promises nothing.
                Word::Unknown
            }
            Err(_) => {
                self.unanswered += 1;
                Word::Silence
            }
        }
    }
}

/// A reaction as answers have it.
pub(crate) fn reaction(value: &serde_json::Value) -> Reaction {
    match value.as_str() {
        Some("like") => Some("like"),
        Some("dislike") => Some("dislike"),
        _ => None,
    }
}
