//! `/v1/unsubscribe`: ends the mails to a member, by the address that is in each of them.
//!
//! A page with a button for a reader who opens the address, and the one click of a mail program (RFC 8058), which is a
//! `POST`: a `GET` changes nothing, since programs open links before readers do.

use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use gailou_shared::id::MemberId;
use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::wire::Code;
use maud::{DOCTYPE, Markup, html};
use utoipa::openapi::Required;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::{IntoParams, PartialSchema as _};

use crate::http::cached_page::PRIVATE_CACHING;
use crate::http::extract::{CountedRead, QueryParameters, UnreadBody, accepted_language};
use crate::http::openapi::parameters;
use crate::http::openapi::responses::PublicRefusals;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::http::unsubscribe_words::UnsubscribeWords;
use crate::service::notifications;
use crate::state::AppState;

const PAGE_POLICY: &str = "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A page that ends the mails to a member.
///
/// The address is in every mail.
#[utoipa::path(
    get, path = "/v1/unsubscribe", tag = "me",
    params(UnsubscribeQuery),
    responses((status = 200, description = "A page with a button.", body = String, content_type = "text/html"), PublicRefusals),
)]
pub(super) async fn show_unsubscribe(_: CountedRead, _: UnsubscribeQuery, headers: HeaderMap) -> Response {
    let language = accepted_language(&headers);
    let words = UnsubscribeWords::of(language);
    page(
        language,
        &html! {
            p { (words.question) }
            form method="post" { button { (words.stop) } }
        },
    )
}

/// End the mails to a member.
///
/// Also by the one click of a mail program. It may be repeated.
#[utoipa::path(
    post, path = "/v1/unsubscribe", tag = "me",
    params(UnsubscribeQuery),
    responses((status = 200, description = "A page that says so.", body = String, content_type = "text/html"), PublicRefusals),
)]
pub(super) async fn unsubscribe(
    State(app): State<Arc<AppState>>,
    _: CountedRead,
    UnsubscribeQuery(member): UnsubscribeQuery,
    headers: HeaderMap,
    _: UnreadBody,
) -> Result<Response, Refusal> {
    notifications::unsubscribe(&app, member).await?;
    let language = accepted_language(&headers);
    Ok(page(language, &html! { p { (UnsubscribeWords::of(language).stopped) } }))
}

fn page(language: ReaderLanguage, content: &Markup) -> Response {
    let document = html! {
        (DOCTYPE)
        html lang=(language.tag()) dir=(language.direction()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width";
                meta name="robots" content="noindex";
                title { (UnsubscribeWords::of(language).title) }
            }
            body { main { (content) } }
        }
    };
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
        // The address is a secret of its reader.
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    ([(header::CACHE_CONTROL, PRIVATE_CACHING)], headers, document.into_string()).into_response()
}

/// The member of an address that this installation has signed; of another one, `403 forbidden`.
#[derive(Debug)]
pub(super) struct UnsubscribeQuery(MemberId);

impl FromRequestParts<HttpState> for UnsubscribeQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let member = query.get("member").and_then(|id| id.parse().ok());
        let member = member.ok_or_else(|| Refusal::field("member", "must be the id of a member"))?;
        let signature = query.get("signature").unwrap_or_default();
        if state.app.unsubscribe_key.verify(member, signature) {
            return Ok(Self(member));
        }
        Err(Refusal::new(Code::Forbidden, "this address is not one of this installation's mails"))
    }
}

impl IntoParams for UnsubscribeQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let signature = parameters::text().pattern(Some("^[0-9a-f]{64}$"));
        vec![
            parameters::query("member", "The member.", MemberId::schema()).required(Required::True).build(),
            parameters::query("signature", "As it is in the mail.", signature).required(Required::True).build(),
        ]
    }
}
