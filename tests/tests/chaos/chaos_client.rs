//! Members who post, reply, like and delete during a fault, and note the response to each request.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use gailou_tests::{ApiClient, ApiRequest, ApiResponse, TestMember, comments_path, id, member};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};
use serde_json::json;

use crate::oracle::{
    DeletionState, LogLoss, MemberReaction, PauseMeter, PossibleReactions, PostOutcome, PostRecord, ReactionRequest,
};

/// Comments that get replies and reactions: the first that are acknowledged.
const MAX_TARGETS: usize = 200;
/// The pause before a request is repeated.
pub(crate) const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// The state that the members of a round share.
pub(crate) struct ChaosRound {
    /// Subjects of this round alone.
    pub(crate) subjects: Vec<String>,
    pub(crate) stop: AtomicBool,
    pub(crate) pauses: Mutex<PauseMeter>,
    targets: Mutex<Vec<TargetComment>>,
    /// Later comments get no replies and no reactions: the broker may lose them.
    pub(crate) are_targets_fixed: AtomicBool,
    /// What is answered since then may be lost by the broker.
    pub(crate) loss_begins: OnceLock<Instant>,
    pub(crate) log_loss: OnceLock<LogLoss>,
    /// The log contradicts the tables, and servers do not know it yet: an answer to a reaction may show the one before.
    pub(crate) is_log_contradicting: AtomicBool,
    /// The broker is stopped, and everything else is there: nothing may be appended, and everything can be read.
    pub(crate) is_broker_stopped: AtomicBool,
    /// Requests that were refused meanwhile.
    pub(crate) refused_while_stopped: AtomicU64,
    /// Acknowledged requests that appended a record.
    pub(crate) appended: AtomicU64,
    /// Responses that no fault explains.
    pub(crate) unexplained: Mutex<Vec<String>>,
    /// Each 404 for an acknowledged comment: its id, and the request with its answer.
    pub(crate) not_found: Mutex<Vec<(String, String)>>,
}

#[derive(Debug, Clone)]
struct TargetComment {
    subject: String,
    id: String,
}

impl ChaosRound {
    pub(crate) fn new(number: usize) -> Self {
        Self {
            subjects: ["article", "topic", "video", "post"].map(|kind| format!("{kind}/round-{number}")).into(),
            stop: AtomicBool::new(false),
            pauses: Mutex::new(PauseMeter::new(Instant::now())),
            targets: Mutex::default(),
            are_targets_fixed: AtomicBool::new(false),
            loss_begins: OnceLock::new(),
            log_loss: OnceLock::new(),
            is_log_contradicting: AtomicBool::new(false),
            is_broker_stopped: AtomicBool::new(false),
            refused_while_stopped: AtomicU64::new(0),
            appended: AtomicU64::new(0),
            unexplained: Mutex::default(),
            not_found: Mutex::default(),
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn note_acknowledgement(&self) {
        let mut pauses = self.pauses.lock().unwrap_or_else(PoisonError::into_inner);
        pauses.note_acknowledgement(Instant::now());
    }

    fn is_broker_stopped(&self) -> bool {
        self.is_broker_stopped.load(Ordering::SeqCst)
    }

    /// Whether a record that is appended now may be lost, and it is not known yet which ones are.
    fn expects_loss(&self) -> bool {
        self.loss_begins.get().is_some() && self.log_loss.get().is_none()
    }

    fn random_target(&self, rng: &mut StdRng) -> Option<TargetComment> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner).choose(rng).cloned()
    }

    fn add_target(&self, subject: &str, id: &str) {
        if self.are_targets_fixed.load(Ordering::SeqCst) {
            return;
        }
        let mut targets = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
        if targets.len() < MAX_TARGETS {
            targets.push(TargetComment { subject: subject.to_owned(), id: id.to_owned() });
        }
    }

    /// Notes the answer to a request for an acknowledged comment, if it is a 404.
    fn note_answer(&self, id: &str, request: &str, answer: &ApiResponse) {
        if answer.status == 404 {
            let sentence = format!("{request} was answered 404 {}", answer.text);
            self.not_found.lock().unwrap_or_else(PoisonError::into_inner).push((id.to_owned(), sentence));
        }
    }

    /// Reports a read that failed although only the broker is stopped. `was_stopped`: before it was sent. A 404 is
    /// judged by [`Self::note_answer`].
    fn note_read(&self, was_stopped: bool, request: &str, answer: &ApiResponse) {
        if was_stopped && self.is_broker_stopped() && !matches!(answer.status, 200 | 404) {
            self.report(format!(
                "{request} was answered {} {} while the broker was stopped",
                answer.status, answer.text
            ));
        }
    }

    /// Counts the answer to a request that appends a record, and reports an acknowledgement although the broker is
    /// stopped. `was_stopped`: before it was sent.
    fn note_append(&self, was_stopped: bool, answer: &ApiResponse) {
        let is_stopped = was_stopped && self.is_broker_stopped();
        match answer.status {
            200..300 => {
                self.appended.fetch_add(1, Ordering::SeqCst);
                if is_stopped {
                    self.report(format!("{} {} while the broker was stopped", answer.status, answer.text));
                }
            }
            503 if is_stopped => _ = self.refused_while_stopped.fetch_add(1, Ordering::SeqCst),
            _ => {}
        }
    }

    pub(crate) fn report(&self, problem: String) {
        self.unexplained.lock().unwrap_or_else(PoisonError::into_inner).push(problem);
    }
}

/// The outcome of a request.
enum RequestOutcome {
    Accepted(ApiResponse),
    /// A refusal of the contract: the request was not executed.
    Refused(ApiResponse),
    /// A 503: the request may have been executed.
    Unknown,
    /// No response: the request may still be executed later.
    Silence,
}

impl RequestOutcome {
    /// For a report.
    fn name(&self) -> String {
        match self {
            Self::Accepted(answer) | Self::Refused(answer) => format!("{} {}", answer.status, answer.text),
            Self::Unknown => "503".to_owned(),
            Self::Silence => "no response".to_owned(),
        }
    }
}

/// One member, with everything that it has sent.
pub(crate) struct ChaosClient {
    pub(crate) me: TestMember,
    rng: StdRng,
    pub(crate) posts: Vec<PostRecord>,
    pub(crate) reactions: BTreeMap<String, PossibleReactions>,
    pub(crate) acknowledged_reactions: u64,
    /// Requests with a server error or without a response.
    pub(crate) failed_requests: u64,
    has_noted_loss: bool,
}

/// What a request needs of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestKind {
    /// It appends a record to the broker.
    Append,
    /// It writes to one database.
    Row,
}

impl ChaosClient {
    pub(crate) fn new(round: usize, number: usize) -> Self {
        let id = (10_000 + 1_000 * round + number) as u64;
        Self {
            me: member(id),
            rng: StdRng::seed_from_u64(id),
            posts: vec![],
            reactions: BTreeMap::new(),
            acknowledged_reactions: 0,
            failed_requests: 0,
            has_noted_loss: false,
        }
    }

    /// Sends requests until the round is stopped.
    pub(crate) async fn work(&mut self, clients: &[ApiClient; 2], round: &ChaosRound) {
        while !round.is_stopped() {
            match self.rng.random_range(0..100) {
                0..45 => self.post(clients, round).await,
                45..85 => self.react(clients, round).await,
                85..88 => self.delete(clients, round).await,
                _ => self.read(clients, round).await,
            }
        }
    }

    async fn post(&mut self, clients: &[ApiClient; 2], round: &ChaosRound) {
        let target = round.random_target(&mut self.rng).filter(|_| self.rng.random_bool(0.6));
        let (subject, parent) = match target {
            Some(target) => (target.subject, Some(target.id)),
            None => (round.subjects.choose(&mut self.rng).expect("some").clone(), None),
        };
        let key = format!("{}-{}", self.me.id, self.posts.len());
        let (outcome, deletion) = (PostOutcome::Unknown, DeletionState::No);
        let (acknowledged_at, may_be_lost) = (None, false);
        let mut post = PostRecord { subject, key, parent, outcome, acknowledged_at, may_be_lost, deletion };
        // Some posts are sent once: the check after the round finds their outcome.
        let tries = if self.rng.random_bool(0.2) { 1 } else { usize::MAX };
        for _ in 0..tries {
            self.try_post(clients, round, &mut post).await;
            if post.outcome != PostOutcome::Unknown || round.is_stopped() {
                break;
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
        if let PostOutcome::Acknowledged(id) = &post.outcome {
            round.add_target(&post.subject, id);
        }
        self.posts.push(post);
    }

    /// Sends a post once, with its key.
    pub(crate) async fn try_post(&mut self, clients: &[ApiClient; 2], round: &ChaosRound, post: &mut PostRecord) {
        let line = format!("POST {}", comments_path(&post.subject));
        let body = json!({"content": post.key, "parent_id": post.parent});
        let send = |client: &ApiClient| client.request(&line).idempotency_key(&post.key).json(&body);
        post.outcome = match self.send(clients, round, RequestKind::Append, send).await {
            RequestOutcome::Accepted(answer) => {
                round.note_acknowledgement();
                post.acknowledged_at = Some(Instant::now());
                PostOutcome::Acknowledged(id(&answer.json).to_owned())
            }
            RequestOutcome::Refused(answer) => {
                if let Some(parent) = &post.parent {
                    round.note_answer(parent, &format!("a reply to {parent}"), &answer);
                }
                PostOutcome::Refused(answer.text)
            }
            RequestOutcome::Unknown | RequestOutcome::Silence => PostOutcome::Unknown,
        };
    }

    async fn react(&mut self, clients: &[ApiClient; 2], round: &ChaosRound) {
        let Some(target) = round.random_target(&mut self.rng) else { return };
        if self.reactions.get(&target.id).is_some_and(PossibleReactions::is_open) {
            return;
        }
        let request = ReactionRequest::ALL[[0, 0, 0, 1, 2, 3].choose(&mut self.rng).copied().unwrap_or_default()];
        let line = format!("{} /v1/comments/{}/{}", request.method, target.id, request.what);
        let may_be_old = |round: &ChaosRound| round.is_log_contradicting.load(Ordering::SeqCst);
        let was_contradicting = may_be_old(round);
        let outcome = self.send(clients, round, RequestKind::Append, |client| client.request(&line)).await;
        let is_first = !self.reactions.contains_key(&target.id);
        let reactions = self.reactions.entry(target.id.clone()).or_default();
        if round.expects_loss() {
            reactions.expect_loss(is_first);
        }
        reactions.note_request(request, &outcome.name());
        match outcome {
            RequestOutcome::Accepted(answer) => {
                round.note_acknowledgement();
                self.acknowledged_reactions += 1;
                let before = reactions.clone();
                if was_contradicting || may_be_old(round) {
                    reactions.acknowledge_unseen(request);
                } else if !reactions.acknowledge(request, parse_reaction(&answer.json["reaction"])) {
                    round.report(format!("{request:?} after {before:?} was answered {}", answer.text));
                }
            }
            // Its author has deleted the comment, or nothing explains it.
            RequestOutcome::Refused(answer) => round.note_answer(&target.id, &line, &answer),
            RequestOutcome::Unknown => reactions.note_unknown(request, false),
            RequestOutcome::Silence => reactions.note_unknown(request, true),
        }
    }

    async fn delete(&mut self, clients: &[ApiClient; 2], round: &ChaosRound) {
        let own = |post: &PostRecord| {
            let is_settled = post.deletion == DeletionState::No && !post.may_be_lost;
            is_settled && matches!(post.outcome, PostOutcome::Acknowledged(_))
        };
        let own: Vec<usize> = (0..self.posts.len()).filter(|n| own(&self.posts[*n])).collect();
        let Some(n) = own.choose(&mut self.rng).copied() else { return };
        let PostOutcome::Acknowledged(id) = &self.posts[n].outcome else { return };
        let line = format!("DELETE /v1/comments/{id}");
        let outcome = self.send(clients, round, RequestKind::Row, |client| client.request(&line)).await;
        self.posts[n].deletion = match outcome {
            RequestOutcome::Accepted(_) => DeletionState::Yes,
            RequestOutcome::Refused(answer) => {
                round.report(format!("{line} of an own comment was refused: {}", answer.text));
                DeletionState::Maybe
            }
            RequestOutcome::Unknown | RequestOutcome::Silence => DeletionState::Maybe,
        };
        if self.posts[n].deletion == DeletionState::Yes {
            round.note_acknowledgement();
        }
    }

    /// Reads during changes put stale pages into caches. A comment that is read by its id was acknowledged.
    async fn read(&mut self, clients: &[ApiClient; 2], round: &ChaosRound) {
        if self.rng.random_bool(0.5) {
            let Some(target) = round.random_target(&mut self.rng) else { return };
            let line = format!("GET /v1/comments/{}", target.id);
            let is_stopped = round.is_broker_stopped();
            if let Ok(answer) = self.random_client(clients).request(&line).try_send().await {
                round.note_answer(&target.id, &line, &answer);
                round.note_read(is_stopped, &line, &answer);
            }
            return;
        }
        let subject = round.subjects.choose(&mut self.rng).expect("some");
        let sort = ["hot", "new", "old"].choose(&mut self.rng).expect("some");
        let path = format!("GET /v1/subjects/{subject}/comments?sort={sort}&limit=10");
        // The check after the round compares the pages.
        let is_stopped = round.is_broker_stopped();
        if let Ok(answer) = self.random_client(clients).request(&path).try_send().await {
            round.note_read(is_stopped, &path, &answer);
        }
    }

    fn random_client<'c>(&mut self, clients: &'c [ApiClient; 2]) -> &'c ApiClient {
        clients.choose(&mut self.rng).expect("two")
    }

    /// Notes, once, what the broker has lost.
    pub(crate) fn note_loss(&mut self, round: &ChaosRound) {
        let Some(loss) = round.log_loss.get().filter(|_| !self.has_noted_loss) else { return };
        self.has_noted_loss = true;
        for post in self.posts.iter_mut().filter(|post| loss.may_contain(post)) {
            post.may_be_lost = true;
        }
        let Some(stored) = &loss.reactions else { return };
        for (id, reactions) in &mut self.reactions {
            reactions.lose(stored.get(&(id.clone(), self.me.id.clone())).copied().flatten());
        }
    }

    async fn send(
        &mut self,
        clients: &[ApiClient; 2],
        round: &ChaosRound,
        kind: RequestKind,
        request: impl Fn(&ApiClient) -> ApiRequest,
    ) -> RequestOutcome {
        let was_stopped = round.is_broker_stopped();
        let response = request(self.random_client(clients)).by(&self.me).try_send().await;
        // Before this response is noted: it is of a request that was sent after the loss.
        self.note_loss(round);
        if let (Ok(response), RequestKind::Append) = (&response, kind) {
            round.note_append(was_stopped, response);
        }
        match response {
            Ok(response) if response.status < 300 => RequestOutcome::Accepted(response),
            Ok(response) if matches!(response.status, 404 | 409) => RequestOutcome::Refused(response),
            Ok(response) => {
                if response.status != 503 {
                    round.report(format!("{} {}", response.status, response.text));
                }
                self.failed_requests += 1;
                // A 5xx says nothing about the outcome.
                RequestOutcome::Unknown
            }
            Err(_) => {
                self.failed_requests += 1;
                RequestOutcome::Silence
            }
        }
    }
}

/// The reaction in a response.
pub(crate) fn parse_reaction(value: &serde_json::Value) -> MemberReaction {
    match value.as_str() {
        Some("like") => Some("like"),
        Some("dislike") => Some("dislike"),
        _ => None,
    }
}
