//! `/write/{type}/{key}`: a form that posts a comment where no script runs.
//!
//! As a guest alone: the form has a guest's token of its own and no cookie is read, so nothing is ever posted in the
//! name of who is signed in. A page of another site cannot send it: its browser names that site, and the middleware
//! refuses it. What is true of a comment by the API is true of one by the form: limits, the word filter, rules,
//! idempotency. A challenge cannot be answered without JavaScript, and the page says so.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gailou_shared::content;
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::token::Member;
use gailou_shared::wire::{Code, Comment, FieldError};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::domain::row::IdempotencyKey;
use crate::http::cached_page::PRIVATE_CACHING;
use crate::http::extract::{
    AddressedSubject, ChallengedWrite, CountedRead, KnownSubject, QueryParameters, RequestClient, RequestLanguage,
    read_body, verified_member,
};
use crate::http::html::markup::{FormFields, FormNotice, FormPage, PageLinks};
use crate::http::html::{FORM_POLICY, HTML_TYPE};
use crate::http::openapi::parameters;
use crate::http::openapi::responses::{Conflict, MemberRefusals, NotFound, PublicRefusals, Unprocessable};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::challenge::WriteSource;
use crate::service::publish::Published;
use crate::service::subject::SubjectAudience;
use crate::service::{guest, publish, thread};
use crate::state::AppState;

/// The form for a comment, as a page without a script.
#[utoipa::path(
    get, path = "/write/{type}/{key}", tag = "subjects",
    params(KnownSubject, RequestLanguage, AnsweredComment),
    responses(
        (status = 200, description = "The form.", body = String, content_type = "text/html"),
        PublicRefusals, NotFound,
    ),
)]
pub(in crate::http) async fn show_form(
    State(app): State<Arc<AppState>>,
    AddressedSubject { name, subject: key }: AddressedSubject,
    RequestLanguage { language, .. }: RequestLanguage,
    AnsweredComment(to): AnsweredComment,
    client: RequestClient,
    _: CountedRead,
) -> Result<Response, Refusal> {
    let answered = read_answered(&app, &key, to).await?;
    let form = FormFields { to, key: new_key(), ..FormFields::default() };
    let token = match guest::check_allowed(&app) {
        Ok(()) => guest::create(&app, client.network, None).await.map(|guest| guest.token),
        Err(refusal) => Err(refusal),
    };
    let (form, notice) = match token {
        Ok(token) => (Some(FormFields { token, ..form }), None),
        Err(refusal) => (None, Some(Refusal::from(refusal))),
    };
    Ok(page(&app, StatusCode::OK, &name, language, form.as_ref(), answered.as_ref(), notice.as_ref()))
}

/// Publish what the form has.
///
/// The fields are those of the form: `name`, `content`, `to` (the comment that it answers), `key` (for idempotency) and
/// `token`.
#[utoipa::path(
    post, path = "/write/{type}/{key}", tag = "subjects",
    params(KnownSubject, RequestLanguage),
    request_body(content = String, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "The comment is held for a moderator.", body = String, content_type = "text/html"),
        (status = 303, description = "The comment is published; `Location` is its page."),
        MemberRefusals, NotFound, Conflict, Unprocessable,
    ),
)]
pub(in crate::http) async fn send_form(
    State(app): State<Arc<AppState>>,
    AddressedSubject { name, subject: key }: AddressedSubject,
    RequestLanguage { language, .. }: RequestLanguage,
    ChallengedWrite(source): ChallengedWrite,
    form: FormFields,
) -> Response {
    match post(&app, &key, &form, source).await {
        Ok(Published { held: false, comment, .. }) => {
            let address = PageLinks::of(name.kind(), name.key(), language).comment(comment.id);
            let location = HeaderValue::try_from(address.unwrap_or_default()).unwrap_or(HeaderValue::from_static("/"));
            (StatusCode::SEE_OTHER, [(header::LOCATION, location), (header::CACHE_CONTROL, PRIVATE_CACHING)])
                .into_response()
        }
        Ok(_) => {
            let held = FormPage { form: None, answered: None, notice: Some(FormNotice::Held) };
            send(StatusCode::OK, &held.document(name.kind(), name.key(), language))
        }
        Err(refusal) => {
            let status = StatusCode::from_u16(refusal.code_and_status().1).unwrap_or(StatusCode::BAD_REQUEST);
            let answered = read_answered(&app, &key, form.to).await.unwrap_or_default();
            page(&app, status, &name, language, Some(&form), answered.as_ref(), Some(&refusal))
        }
    }
}

async fn post(app: &AppState, key: &SubjectKey, form: &FormFields, source: WriteSource) -> Result<Published, Refusal> {
    guest::check_allowed(app)?;
    let body = json!({"content": form.content, "parent_id": form.to.map(|id| id.to_string())}).to_string();
    let new = content::parse_new_comment(body.as_bytes(), publish::max_chars(app, key.kind()));
    let name = content::parse_guest_name(json!({"name": form.name}).to_string().as_bytes());
    let (new, name) = match (new, name) {
        (Ok(new), Ok(Some(name))) => (new, name),
        (new, name) => {
            let missing = vec![FieldError::new("name", "is missing")];
            let wrong = [new.err(), name.err()].into_iter().flatten().flatten().collect::<Vec<_>>();
            return Err(Refusal::fields(if wrong.is_empty() { missing } else { wrong }));
        }
    };
    let guest = verified_member(app, &form.token)?;
    let named = guest::rename(app, &guest, source.network, name).await?;
    let guest = Member { name: named.member.name, ..guest };
    Ok(publish::publish(app, &guest, &source, key.clone(), new, form.idempotency_key(key)).await?)
}

/// The comment that is answered, if one is and every reader may read it.
async fn read_answered(app: &AppState, key: &SubjectKey, to: Option<CommentId>) -> Result<Option<Comment>, Refusal> {
    let Some(id) = to else { return Ok(None) };
    let row = thread::read_readable_row(app, id, SubjectAudience::EveryReader).await?;
    if row.subject != *key {
        return Err(Refusal::new(Code::CommentNotFound, "this subject has no such comment"));
    }
    Ok(Some(thread::show_comment(app, &row)?))
}

fn page(
    app: &AppState,
    status: StatusCode,
    name: &SubjectKey,
    language: ReaderLanguage,
    form: Option<&FormFields>,
    answered: Option<&Comment>,
    refusal: Option<&Refusal>,
) -> Response {
    let max_chars = publish::max_chars(app, name.kind());
    let notice =
        refusal.map(|refusal| FormNotice::Refused { code: refusal.code(), errors: refusal.errors(), max_chars });
    send(status, &FormPage { form, answered, notice }.document(name.kind(), name.key(), language))
}

fn send(status: StatusCode, document: &str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(HTML_TYPE)),
        (header::CACHE_CONTROL, PRIVATE_CACHING),
        (header::CONTENT_SECURITY_POLICY, FORM_POLICY.clone()),
        // The token is in no address, but the text of a page is its reader's.
        (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    ];
    (status, headers, document.to_owned()).into_response()
}

fn new_key() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 16]>())
}

impl FormFields {
    fn idempotency_key(&self, subject: &SubjectKey) -> Option<IdempotencyKey> {
        let is_good = (1..=limits::MAX_IDEMPOTENCY_KEY_BYTES).contains(&self.key.len())
            && self.key.bytes().all(|b| b.is_ascii_graphic());
        let to = self.to.map(|id| id.to_string()).unwrap_or_default();
        let mut hasher = Sha256::new();
        for part in ["form", subject.kind(), subject.key(), &self.name, &self.content, &to] {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        is_good.then(|| IdempotencyKey { key: self.key.clone(), request: hasher.finalize().into() })
    }
}

impl FromRequest<HttpState> for FormFields {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &HttpState) -> Result<Self, Refusal> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if !kind.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(Refusal::new(Code::UnsupportedMediaType, "send application/x-www-form-urlencoded"));
        }
        let body = read_body(request.into_body(), limits::MAX_BODY_BYTES).await?;
        let body = std::str::from_utf8(&body).map_err(|_| Refusal::field("body", "must be UTF-8"))?;
        let fields = QueryParameters::parse(body)?;
        let text = |name| fields.get(name).unwrap_or_default().to_owned();
        // A form ends lines as mails do.
        let content = text("content").replace("\r\n", "\n");
        let to = answered_id(&fields)?;
        Ok(Self { name: text("name"), content, to, key: text("key"), token: text("token") })
    }
}

/// The comment that the form answers, if it answers one.
#[derive(Debug)]
pub(in crate::http) struct AnsweredComment(Option<CommentId>);

impl FromRequestParts<HttpState> for AnsweredComment {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        Ok(Self(answered_id(&QueryParameters::from_request_parts(parts, state).await?)?))
    }
}

fn answered_id(fields: &QueryParameters) -> Result<Option<CommentId>, Refusal> {
    let id = fields.get("to").filter(|id| !id.is_empty()).map(str::parse).transpose();
    id.map_err(|_| Refusal::field("to", "must be the id of a comment"))
}

impl IntoParams for AnsweredComment {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![parameters::query("to", "The comment that is answered.", parameters::text()).build()]
    }
}
