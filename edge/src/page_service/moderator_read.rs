//! Reads of moderators, who see hidden subjects: answered by the origin, which decides what they see.
//!
//! **Promise.** No copy is served to a read with a moderator's token while the origin answers it, and its
//! answer is stored nowhere and answers no other request. The token has no part in any cache key. When the
//! origin fails, a moderator gets what every reader gets, marked stale.
//!
//! Only a token that is verified here counts. Any other (a member's, an expired or forged one, and every
//! token where the Worker has no key) is ignored, as a token on a public read always is.

use std::sync::Arc;

use axum::response::Response;
use gailou_shared::http_headers::bearer_token;
use gailou_shared::token::Role;
use http::StatusCode;
use http::header::{AUTHORIZATION, CACHE_CONTROL, HeaderMap, HeaderValue};

use super::fetch::{ask_origin, is_about_page};
use super::page_response::mark_stale;
use super::{PageRequest, answer_page};
use crate::forward::{self, OriginOutcome};
use crate::ports::Ports;
use crate::response::allow_every_site;
use crate::{Isolate, rate_limits};

/// The pages that show more to moderators. Counts, a member's history and pages as HTML are the same for all.
const MODERATED_PATHS: [&str; 2] = ["/v1/subjects/", "/v1/comments/"];

/// Whether this value of `Authorization` makes the read of the page under `key` a moderator's. A read
/// without the header costs nothing, another one a signature check.
#[must_use]
pub fn is_moderator_read(isolate: &Isolate, key: &str, authorization: Option<&str>, now_ms: u64) -> bool {
    let token = authorization.and_then(bearer_token);
    let (Some(token), Some(keys)) = (token, &isolate.config.member_keys) else { return false };
    MODERATED_PATHS.iter().any(|prefix| key.starts_with(prefix))
        && keys
            .verify(token, &isolate.config.audience, now_ms / 1_000)
            .is_ok_and(|member| member.role >= Role::Moderator)
}

/// Answers a read with a moderator's token, which `authorization` is.
pub async fn answer_moderator(
    isolate: &Arc<Isolate>,
    ports: &Ports,
    request: PageRequest,
    authorization: HeaderValue,
) -> Response {
    // An origin that failed a moment ago is not waited for.
    if !isolate.origin_health.is_down(ports.clock.now_ms()) {
        if let Err(exceeded) = rate_limits::count_read(ports, &request.requester).await {
            return rate_limits::refuse(exceeded, &request.requester.id);
        }
        // Without `If-None-Match`: the client's tag may be that of the page that every reader gets.
        let headers = HeaderMap::from_iter([(AUTHORIZATION, authorization)]);
        if let OriginOutcome::Answered(answer) = ask_origin(isolate, ports, &request, headers).await
            && is_about_page(answer.status)
        {
            let mut response = forward::client_response(answer, &request.requester.id);
            // Also where the origin takes the member for none of its moderators.
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
            allow_every_site(response.headers_mut());
            return response;
        }
    }
    let mut response = answer_page(isolate, ports, request).await;
    if matches!(response.status(), StatusCode::OK | StatusCode::NOT_MODIFIED) {
        mark_stale(response.headers_mut());
    }
    response
}
