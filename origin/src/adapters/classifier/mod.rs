//! Services that say whether a text is spam: Akismet, and any that speaks the JSON of `docs/moderation.md`.
//!
//! Nothing is retried, a call takes no longer than the settings say, and none is made while the service does not answer.
//! An answer that is no verdict concerns its text alone, and so does a text that the service fails at or takes too long
//! for, until those of several authors in a row did. No log line has a text, the key, or the query of an address.

mod akismet;
mod json_service;

use std::time::{Duration, Instant};

use async_trait::async_trait;
use axum::http::{HeaderMap, Request, StatusCode};
use bytes::Bytes;
use gailou_shared::id::MemberId;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::adapters::https_client::{HttpsClient, https_client};
use crate::circuit_breaker::CircuitBreaker;
use crate::config::{ClassifierKind, ClassifierSettings};
use crate::outage_log::OutageLog;
use crate::ports::classifier::{Classifier, SpamVerdict, TextToClassify};
use crate::ports::failure::Failure;
use crate::telemetry::measure_bounded;

use self::akismet::AkismetAccount;
use self::json_service::JsonAccount;

/// Calls in progress; what comes beyond them is not asked.
const MAX_CLASSIFICATIONS: usize = 64;
/// Largest answer that is read; a verdict has about 100 bytes.
const MAX_VERDICT_BYTES: usize = 16 * 1_024;

/// A service at an address.
#[derive(Debug)]
pub struct ClassifierClient {
    client: HttpsClient,
    account: ClassifierAccount,
    url: String,
    /// The address without its query.
    server: String,
    max_wait: Duration,
    breaker: CircuitBreaker,
    running: Semaphore,
    /// Whose texts the service has failed at since its last answer: each counts once. Never held across an await.
    failed_authors: Mutex<Vec<MemberId>>,
    outage: OutageLog,
}

/// What is sent to the service, and how its answers are read.
#[derive(Debug)]
enum ClassifierAccount {
    Akismet(AkismetAccount),
    Json(JsonAccount),
}

/// What the service answered.
#[derive(Debug)]
struct ServiceAnswer {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

/// Why a call has no verdict.
#[derive(Debug)]
enum MissingVerdict {
    /// The service has answered, and gave none.
    Strange(Failure),
    /// There is no connection to it.
    Unreachable(Failure),
    /// It failed at this text, or took too long.
    Failed(Failure),
}

impl ClassifierClient {
    /// The service of these settings; `None` where there is none.
    pub fn new(settings: &ClassifierSettings) -> Option<Self> {
        let account = match settings.kind {
            ClassifierKind::Off => return None,
            ClassifierKind::Akismet => {
                let (key, site) = settings.key.clone().zip(settings.site.clone())?;
                ClassifierAccount::Akismet(AkismetAccount { key, site })
            }
            ClassifierKind::Json => ClassifierAccount::Json(JsonAccount { key: settings.key.clone() }),
        };
        let server = settings.shown_address()?;
        Some(Self {
            client: https_client(),
            account,
            url: settings.address()?.to_owned(),
            server: server.to_owned(),
            max_wait: settings.max_wait(),
            breaker: CircuitBreaker::new("classifier", server),
            running: Semaphore::new(MAX_CLASSIFICATIONS),
            failed_authors: Mutex::default(),
            outage: OutageLog::default(),
        })
    }

    async fn ask(&self, text: &TextToClassify) -> Result<SpamVerdict, Failure> {
        let request = match &self.account {
            ClassifierAccount::Akismet(account) => account.request(&self.url, text)?,
            ClassifierAccount::Json(account) => account.request(&self.url, text)?,
        };
        let Ok(_place) = self.running.try_acquire() else {
            return Err(format!("{MAX_CLASSIFICATIONS} calls are in progress").into());
        };
        if !self.breaker.try_call(Instant::now()) {
            return Err("it did not answer a moment ago".into());
        }
        let call = self.send(request);
        let answered =
            measure_bounded("classifier", self.operation(), self.max_wait, call).await.unwrap_or_else(|_| {
                Err(MissingVerdict::Failed(format!("no answer in {} ms", self.max_wait.as_millis()).into()))
            });
        self.report(text.author, answered.as_ref().err(), Instant::now());
        answered.map_err(|missing| match missing {
            MissingVerdict::Strange(why) | MissingVerdict::Unreachable(why) | MissingVerdict::Failed(why) => why,
        })
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<SpamVerdict, MissingVerdict> {
        let answer = self.client.request(request).await.map_err(|error| {
            let is_unreachable = error.is_connect();
            let why = Failure::with_causes(error);
            if is_unreachable { MissingVerdict::Unreachable(why) } else { MissingVerdict::Failed(why) }
        })?;
        let (head, body) = answer.into_parts();
        let body = Limited::new(body, MAX_VERDICT_BYTES).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() {
                MissingVerdict::Strange(format!("its answer is longer than {MAX_VERDICT_BYTES} bytes").into())
            } else {
                MissingVerdict::Failed(error.to_string().into())
            }
        })?;
        let answer = ServiceAnswer { status: head.status, headers: head.headers, body: body.to_bytes() };
        if answer.status.is_server_error() {
            return Err(MissingVerdict::Failed(format!("it answered {}", answer.status).into()));
        }
        let verdict = match &self.account {
            ClassifierAccount::Akismet(account) => account.verdict(&answer),
            ClassifierAccount::Json(_) => json_service::verdict(&answer),
        };
        verdict.map_err(MissingVerdict::Strange)
    }

    /// Lets the breaker know how a call went: what the texts of one author do to the service opens nothing.
    fn report(&self, author: MemberId, missing: Option<&MissingVerdict>, now: Instant) {
        let mut failed_authors = self.failed_authors.lock();
        match missing {
            None | Some(MissingVerdict::Strange(_)) => {
                self.breaker.record_success();
                failed_authors.clear();
            }
            Some(MissingVerdict::Unreachable(_)) => self.breaker.record_failure(now),
            Some(MissingVerdict::Failed(_)) if failed_authors.contains(&author) => {}
            Some(MissingVerdict::Failed(_)) => {
                failed_authors.push(author);
                self.breaker.record_failure(now);
            }
        }
        // Who tries it again counts again.
        if self.breaker.is_open(now) {
            failed_authors.clear();
        }
    }

    const fn operation(&self) -> &'static str {
        match self.account {
            ClassifierAccount::Akismet(_) => "akismet",
            ClassifierAccount::Json(_) => "json",
        }
    }
}

#[async_trait]
impl Classifier for ClassifierClient {
    async fn classify(&self, text: &TextToClassify) -> Result<SpamVerdict, Failure> {
        let answered = self.ask(text).await;
        let server = &self.server;
        match &answered {
            Ok(_) => self.outage.end(|| tracing::info!(server, "Texts are classified at {server} again")),
            Err(error) => self.outage.begin(|| {
                tracing::warn!(server, %error, "Could not classify a text at {server}; rules.unclassified says what becomes of it");
            }),
        }
        answered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> ClassifierClient {
        let url = Some("http://127.0.0.1:1/classify?token=hidden".to_owned());
        ClassifierClient::new(&ClassifierSettings { kind: ClassifierKind::Json, url, ..Default::default() }).unwrap()
    }

    #[test]
    fn texts_of_one_author_open_nothing_and_those_of_several_do() {
        let (client, now) = (client(), Instant::now());
        let failed = MissingVerdict::Failed("x".into());
        let author = |n| MemberId::new(n).unwrap();
        (0..10).for_each(|_| client.report(author(1), Some(&failed), now));
        client.report(author(2), Some(&failed), now);
        client.report(author(1), Some(&MissingVerdict::Strange("x".into())), now);
        (0..10).for_each(|_| client.report(author(1), Some(&failed), now));
        client.report(author(2), Some(&failed), now);
        assert!(!client.breaker.is_open(now), "an answer came between");
        client.report(author(3), Some(&failed), now);
        assert!(client.breaker.is_open(now));
        assert!(client.failed_authors.lock().is_empty());
    }

    #[test]
    fn service_without_a_connection_opens_it_for_one_author_too() {
        let (client, now) = (client(), Instant::now());
        let author = MemberId::new(1).unwrap();
        (0..3).for_each(|_| client.report(author, Some(&MissingVerdict::Unreachable("x".into())), now));
        assert!(client.breaker.is_open(now));
    }

    #[test]
    fn what_is_logged_has_no_query() {
        assert_eq!(client().server, "http://127.0.0.1:1/classify");
    }
}
