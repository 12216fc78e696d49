//! Challenges: what a guest answers before a comment, an edit or a report is taken.
//!
//! Members answer none. Promise: an answer counts once, in a cluster over all processes that reach Redis. While Turnstile
//! cannot be asked, guests get a proof of work in its place, which needs no other service; so an answer to a proof of work
//! is right whatever the kind is now: only this program makes them.

use std::net::IpAddr;

use gailou_shared::id::{MemberId, MemberKind};
use gailou_shared::token::Member;
use gailou_shared::wire::{Challenge, CommentState, TurnstileChallenge};
use metrics::counter;

use crate::config::{ChallengeKind, ChallengedGuests};
use crate::domain::altcha::{AltchaAnswer, AltchaSeed, AnswerId, WrongAnswer};
use crate::service::filter::FilteredText;
use crate::service::{ServiceError, ServiceResult};
use crate::state::{AppState, CHALLENGE_COUNT};

/// Where a write comes from, and what it answers.
#[derive(Debug, Clone, Default)]
pub struct WriteSource {
    pub network: Option<IpAddr>,
    /// The answer to a challenge; an empty text is none.
    pub challenge_answer: Option<String>,
    /// The program that it is written with, for the classifier.
    pub user_agent: Option<String>,
    /// Whether the edge has refused its text, so that it is only judged: it may be kept, and nothing is written.
    pub is_refused: bool,
}

/// Whether a write is let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChallengeGate<'a> {
    Open,
    /// There is no answer.
    Closed,
    Answered(&'a str),
}

/// Why a challenge is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChallengeReason {
    NoAnswer,
    Wrong(WrongAnswer),
    UsedBefore,
    /// The answer could not be verified.
    Unverified,
}

impl ChallengeReason {
    const fn text(self) -> &'static str {
        match self {
            Self::NoAnswer => "answer the challenge and send this again, with the answer in X-Gailou-Challenge",
            Self::Wrong(WrongAnswer::NotTheNumber) => "the answer is wrong; answer this challenge and send this again",
            Self::Wrong(WrongAnswer::Expired) => "the answer came too late; answer this challenge and send this again",
            Self::Wrong(WrongAnswer::OtherGuest) => {
                "the answer is that of another guest; answer this challenge and send this again"
            }
            Self::UsedBefore => "the answer was used before; answer this challenge and send this again",
            Self::Unverified => {
                "the answer cannot be verified for the moment; answer this challenge and send this again"
            }
        }
    }
}

/// Whether a write of this member needs an answer. It is recorded as one that was tried.
pub(super) fn gate<'a>(app: &AppState, member: &Member, source: &'a WriteSource) -> ChallengeGate<'a> {
    if member.id.kind() != MemberKind::Guest {
        return ChallengeGate::Open;
    }
    let is_needed = match app.settings().values.challenge.guests {
        ChallengedGuests::Never => false,
        ChallengedGuests::Suspicious => app.guest_activity.record_write(source.network, member.id, app.now()),
        ChallengedGuests::Always => true,
    };
    match &source.challenge_answer {
        _ if !is_needed => ChallengeGate::Open,
        Some(answer) => ChallengeGate::Answered(answer),
        None => ChallengeGate::Closed,
    }
}

/// Lets a write through where its answer is right and was never used.
///
/// # Errors
/// [`ServiceError::ChallengeRequired`] with a challenge to answer.
pub(super) async fn pass(app: &AppState, member: &Member, gate: ChallengeGate<'_>) -> ServiceResult<()> {
    let reason = match gate {
        ChallengeGate::Open => return Ok(()),
        ChallengeGate::Closed => ChallengeReason::NoAnswer,
        ChallengeGate::Answered(answer) => match verify(app, member.id, answer).await {
            Ok(id) if app.rate_limits.use_answer(id).await => {
                count("answered");
                return Ok(());
            }
            Ok(_) => ChallengeReason::UsedBefore,
            Err(reason) => reason,
        },
    };
    count(if reason == ChallengeReason::NoAnswer { "made" } else { "refused" });
    let challenge = Box::new(challenge_for(app, member.id, reason));
    Err(ServiceError::ChallengeRequired { reason: reason.text(), challenge })
}

/// The same for a write that is counted already.
///
/// # Errors
/// As [`pass`].
pub(super) async fn check(app: &AppState, member: &Member, source: &WriteSource) -> ServiceResult<()> {
    pass(app, member, gate(app, member, source)).await
}

/// Records what the word filter made of a text, for [`ChallengedGuests::Suspicious`].
pub(super) fn record_filtered(
    app: &AppState,
    member: &Member,
    network: Option<IpAddr>,
    filtered: &ServiceResult<FilteredText>,
) {
    let is_found = match filtered {
        Ok(text) => text.state == CommentState::Review,
        Err(error) => matches!(error, ServiceError::ContentRejected(_)),
    };
    let is_asked = app.settings().values.challenge.guests == ChallengedGuests::Suspicious;
    if is_found && is_asked && member.id.kind() == MemberKind::Guest {
        app.guest_activity.record_filtered(network, member.id, app.now());
    }
}

async fn verify(app: &AppState, guest: MemberId, answer: &str) -> Result<AnswerId, ChallengeReason> {
    if let Some(answer) = AltchaAnswer::parse(answer) {
        return app.altcha_key.verify(&answer, guest, app.now() / 1_000).map_err(ChallengeReason::Wrong);
    }
    let wrong = ChallengeReason::Wrong(WrongAnswer::NotTheNumber);
    let Some(turnstile) = app.turnstile.as_ref().filter(|_| kind(app) == ChallengeKind::Turnstile) else {
        return Err(wrong);
    };
    match turnstile.verify(answer).await {
        Ok(true) => Ok(AnswerId::of(answer.as_bytes())),
        Ok(false) => Err(wrong),
        // The adapter logs it.
        Err(_) => Err(ChallengeReason::Unverified),
    }
}

fn kind(app: &AppState) -> ChallengeKind {
    app.settings().values.challenge.kind
}

fn challenge_for(app: &AppState, guest: MemberId, reason: ChallengeReason) -> Challenge {
    let may_be_asked = kind(app) == ChallengeKind::Turnstile
        && reason != ChallengeReason::Unverified
        && app.turnstile.as_ref().is_some_and(|turnstile| turnstile.is_available());
    match app.config.turnstile.site_key.clone().filter(|_| may_be_asked) {
        Some(sitekey) => Challenge::Turnstile(TurnstileChallenge { sitekey }),
        None => {
            let max_number = app.settings().values.challenge.altcha_max_number;
            let seed = AltchaSeed { salt: rand::random(), number: rand::random() };
            Challenge::Altcha(app.altcha_key.challenge(guest, app.now() / 1_000, max_number, seed))
        }
    }
}

/// Counts what became of a challenge: `made` for a request without an answer, `answered`, `refused`.
fn count(outcome: &'static str) {
    counter!(CHALLENGE_COUNT, "outcome" => outcome).increment(1);
}
