//! Where a write comes from, and the headers `X-Gailou-Challenge` and `X-Gailou-Refused`.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use gailou_shared::edge_protocol::REFUSED_HEADER;
use gailou_shared::limits::MAX_CHALLENGE_ANSWER_BYTES;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::extract::client::RequestClient;
use crate::http::openapi::parameters;
use crate::http::state::HttpState;
use crate::service::challenge::WriteSource;

/// The header with the answer to a challenge.
const CHALLENGE_HEADER: &str = "x-gailou-challenge";
/// How much of the name of a browser is kept.
const MAX_USER_AGENT_CHARS: usize = 256;

/// The sender of a write that may need the answer to a challenge. What cannot be an answer is a wrong one.
#[derive(Debug)]
pub(in crate::http) struct ChallengedWrite(pub(in crate::http) WriteSource);

impl FromRequestParts<HttpState> for ChallengedWrite {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Infallible> {
        let RequestClient { network, .. } = RequestClient::from_request_parts(parts, state).await?;
        let answer = parts.headers.get(CHALLENGE_HEADER).map(|value| value.to_str().unwrap_or_default());
        let challenge_answer =
            answer.map(|answer| if answer.len() > MAX_CHALLENGE_ANSWER_BYTES { "" } else { answer }.to_owned());
        let user_agent = parts.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
        let user_agent = user_agent.map(|agent| agent.chars().take(MAX_USER_AGENT_CHARS).collect());
        let is_refused = parts.headers.contains_key(REFUSED_HEADER);
        Ok(Self(WriteSource { network, challenge_answer, user_agent, is_refused }))
    }
}

impl IntoParams for ChallengedWrite {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let description = "The answer to the `challenge` of a `403 challenge_required`: ALTCHA's payload in base64, or \
                           Turnstile's token. It counts once.";
        let answer = parameters::text().max_length(Some(MAX_CHALLENGE_ANSWER_BYTES));
        vec![parameters::header("X-Gailou-Challenge", description, answer)]
    }
}

/// The header by which the edge passes on a text that it has refused, for the documents; [`ChallengedWrite`] reads it.
#[derive(Debug)]
pub(in crate::http) struct RefusedHeader;

impl IntoParams for RefusedHeader {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let description = "With any value nothing is written: a text that the word filter refuses is kept for moderators \
                           and answered `422 content_rejected`, every other one `409 version_conflict`.";
        vec![parameters::header("X-Gailou-Refused", description, parameters::text().max_length(Some(1)))]
    }
}
