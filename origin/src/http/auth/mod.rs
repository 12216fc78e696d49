//! `/v1/auth`: signing in to accounts of this installation.
//!
//! A page of a site opens `/v1/auth/{provider}` in a window of its own; what the window shows in the end is a page of
//! this origin ([`callback_page`]) that hands the token to its opener. A mailed link leads to a page with a button: programs
//! open links before readers do, and what a stranger makes a browser load signs no one in. Browsers keep who is signed in
//! in a cookie ([`cookies`]) that no script reads and that is sent to `/v1/auth` alone, for each site another one: a page
//! gets its own by exchanging a code.

mod callback_page;
mod callback_words;
mod cookies;
pub(super) mod passkeys;
pub(super) mod sessions;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use gailou_shared::content::parse_object;
use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::wire::{Code, FieldError, SignInProviders};
use serde_json::Value;

use crate::domain::email_address::EmailAddress;
use crate::http::auth::callback_words::SignInFailure;
use crate::http::cached_page::PRIVATE_CACHING;
use crate::http::extract::{CountedRead, JsonBody, QueryParameters, RequestClient, UnreadBody, accepted_language};
use crate::http::middleware::is_own_page;
use crate::http::openapi::bodies::MailedLinkRequest;
use crate::http::openapi::responses::{BodyRefusals, NotFound, PublicRefusals};
use crate::http::problem::Refusal;
use crate::service::sign_in::{self, ADMIN_PROVIDER, EMAIL_PROVIDER, MailedLink, SignedIn};
use crate::service::{ServiceError, ServiceResult};
use crate::state::AppState;

/// Where the administrator goes on.
const CONSOLE_PATH: &str = "/console";

/// The ways to sign in.
///
/// None where the host signs the tokens of its members.
#[utoipa::path(
    get, path = "/v1/auth/providers", tag = "signing in",
    responses((status = 200, description = "The providers.", body = SignInProviders), PublicRefusals),
)]
pub(super) async fn list_providers(
    State(app): State<Arc<AppState>>,
) -> ([(HeaderName, HeaderValue); 1], Json<SignInProviders>) {
    ([(header::CACHE_CONTROL, PRIVATE_CACHING)], Json(sign_in::list_providers(&app)))
}

/// Go to a provider.
///
/// To be opened in a window: what it shows in the end hands the token to its opener, a page of `site`.
#[utoipa::path(
    get, path = "/v1/auth/{provider}", tag = "signing in",
    params(
        ("provider" = String, Path, description = "The provider's `id`.", min_length = 1, max_length = 32),
        ("site" = String, Query, description = "The origin of the page that gets the token."),
    ),
    responses(
        (
            status = 302, description = "To the provider.",
            headers(("Location" = String, description = "The provider's address."))
        ),
        PublicRefusals, NotFound,
    ),
)]
pub(super) async fn go_to_provider(
    State(app): State<Arc<AppState>>,
    Path(provider): Path<String>,
    query: QueryParameters,
    _: CountedRead,
) -> Result<Response, Refusal> {
    let site = query.get("site").ok_or_else(|| Refusal::field("site", "must be the origin of your page"))?;
    let visit = sign_in::begin_visit(&app, &provider, site).await?;
    let location = HeaderValue::try_from(visit.url).map_err(|_| Refusal::new(Code::Unavailable, PROVIDER_DETAIL))?;
    let mut response = (StatusCode::FOUND, private_headers()).into_response();
    response.headers_mut().insert(header::LOCATION, location);
    response.headers_mut().append(header::SET_COOKIE, cookies::visit(&app, &visit.cookie));
    Ok(response)
}

const PROVIDER_DETAIL: &str = "the provider does not answer, or not as it should; try again later";

/// Come back from a provider, or from a mail.
///
/// A page that hands `{"type":"gailou:signed-in","token","expires_at","code"}` to its opener at the site where it began,
/// and to no other, and closes. Without an opener it says that one is signed in. For a mailed link, a page with a button,
/// which opens the link.
#[utoipa::path(
    get, path = "/v1/auth/{provider}/callback", tag = "signing in",
    params(
        ("provider" = String, Path, description = "The provider's `id`, or `email`.", min_length = 1, max_length = 32),
        ("code" = Option<String>, Query, description = "What the provider has given."),
        ("state" = Option<String>, Query, description = "What the provider was given."),
        ("token" = Option<String>, Query, description = "What is secret in a mail."),
    ),
    responses(
        (
            status = 200, description = "The page.", body = String, content_type = "text/html",
            headers(("Content-Security-Policy" = String, description = "Allows the page's own script and style alone.")),
        ),
        (status = 400, description = "A page that says why it did not work.", body = String, content_type = "text/html"),
        (status = 302, description = "To the console, for the administrator."),
    ),
)]
pub(super) async fn come_back(
    State(app): State<Arc<AppState>>,
    Path(provider): Path<String>,
    query: QueryParameters,
    headers: HeaderMap,
    client: RequestClient,
    method: Method,
) -> Result<Response, Refusal> {
    app.rate_limits.count_session(client.network).await?;
    // Programs ask for the head of a link before a reader opens it.
    if method == Method::HEAD {
        return Ok(private_headers().into_response());
    }
    let language = accepted_language(&headers);
    let secret = query.get("token").unwrap_or_default();
    let signed_in = match provider.as_str() {
        EMAIL_PROVIDER => {
            return Ok(match sign_in::find_mailed_link(&app, secret).await? {
                Some((email, site)) => callback_page::question(&email, &site, language),
                None => callback_page::failure(SignInFailure::Over, language),
            });
        }
        ADMIN_PROVIDER => open_link(&app, ADMIN_PROVIDER, secret, &headers).await,
        provider => end_visit(&app, provider, &query, &headers).await,
    };
    show_outcome(&app, signed_in, language)
}

/// Open a mailed link.
///
/// The button of the page that the link leads to. What it answers is what a reader sees who comes back from a provider;
/// where the page that asked for the link is known, the browser goes there, with the code in the fragment of the address.
#[utoipa::path(
    post, path = "/v1/auth/{provider}/callback", tag = "signing in",
    params(
        ("provider" = String, Path, description = "`email`.", min_length = 1, max_length = 32),
        ("token" = Option<String>, Query, description = "What is secret in the mail."),
    ),
    responses(
        (
            status = 200, description = "The page.", body = String, content_type = "text/html",
            headers(("Content-Security-Policy" = String, description = "Allows the page's own script and style alone.")),
        ),
        (status = 400, description = "A page that says why it did not work.", body = String, content_type = "text/html"),
    ),
)]
pub(super) async fn open_mailed_link(
    State(app): State<Arc<AppState>>,
    Path(provider): Path<String>,
    query: QueryParameters,
    headers: HeaderMap,
    client: RequestClient,
    uri: Uri,
    _: UnreadBody,
) -> Result<Response, Refusal> {
    app.rate_limits.count_session(client.network).await?;
    let language = accepted_language(&headers);
    // A page of a stranger would sign its readers in as the stranger.
    let site = headers.get(header::ORIGIN).and_then(|site| site.to_str().ok());
    let is_own = site.is_none_or(|site| is_own_page(site, &uri, &headers) || site == app.sign_in.public_url());
    if provider != EMAIL_PROVIDER || !is_own {
        return Ok(callback_page::failure(SignInFailure::Over, language));
    }
    let opened = open_link(&app, EMAIL_PROVIDER, query.get("token").unwrap_or_default(), &headers).await;
    show_outcome(&app, opened, language)
}

async fn open_link(app: &AppState, provider: &str, secret: &str, headers: &HeaderMap) -> ServiceResult<SignedIn> {
    sign_in::open_link(app, provider, secret, accepted_language(headers)).await?.ok_or(ServiceError::VisitOver)
}

/// The page of who has signed in, or of who has not.
fn show_outcome(
    app: &AppState,
    signed_in: ServiceResult<SignedIn>,
    language: ReaderLanguage,
) -> Result<Response, Refusal> {
    let signed_in = match signed_in {
        Ok(signed_in) => signed_in,
        Err(error) => {
            let outcome = match error {
                ServiceError::VisitOver | ServiceError::NotFound(_) => SignInFailure::Over,
                ServiceError::SiteNotAllowed(_) => SignInFailure::SiteNotAllowed,
                ServiceError::Provider => SignInFailure::NotConfirmed,
                other => return Err(other.into()),
            };
            return Ok(callback_page::failure(outcome, language));
        }
    };
    let cookie = cookies::refresh(app, &signed_in.session.refresh_token);
    let mut response = match &signed_in.site {
        Some((site, code)) => callback_page::success(&signed_in, site, code, language),
        None => (StatusCode::FOUND, private_headers(), [(header::LOCATION, CONSOLE_PATH)]).into_response(),
    };
    response.headers_mut().append(header::SET_COOKIE, cookie);
    response.headers_mut().append(header::SET_COOKIE, cookies::no_visit(app));
    Ok(response)
}

async fn end_visit(
    app: &AppState,
    provider: &str,
    query: &QueryParameters,
    headers: &HeaderMap,
) -> ServiceResult<SignedIn> {
    let visit = cookies::read(headers, cookies::VISIT_COOKIE).unwrap_or_default();
    // Who has changed their mind comes back with an error.
    let (Some(code), Some(state)) = (query.get("code"), query.get("state")) else {
        return Err(ServiceError::VisitOver);
    };
    sign_in::end_visit(app, provider, visit, (state, code.to_owned()), accepted_language(headers)).await
}

/// Have a link mailed that signs in.
///
/// The answer is the same whether the address has an account or not.
#[utoipa::path(
    post, path = "/v1/auth/email", tag = "signing in",
    request_body(content = MailedLinkRequest, examples(
        ("link" = (value = json!({"email": "ann@example.com", "site": "https://blog.example"}))),
        ("page" = (value = json!({
            "email": "ann@example.com", "site": "https://blog.example", "page": "https://blog.example/post", "state": "x7",
        }))),
    )),
    responses(
        (status = 202, description = "A mail is sent; its link is good once, for 15 minutes."),
        PublicRefusals, BodyRefusals, NotFound,
    ),
)]
pub(super) async fn mail_link(
    State(app): State<Arc<AppState>>,
    client: RequestClient,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<Response, Refusal> {
    let fields = parse_object(&body).map_err(Refusal::fields)?;
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let email = text("email").and_then(EmailAddress::parse);
    let site = text("site");
    let is_text_or_none = |name: &str| fields.get(name).is_none_or(|value| value.is_string() || value.is_null());
    let wrong = [
        email.is_none().then(|| FieldError::new("email", "must be an address of mail")),
        site.is_none().then(|| FieldError::new("site", "must be the origin of your page")),
        (!is_text_or_none("page")).then(|| FieldError::new("page", "must be the address of your page")),
        (!is_text_or_none("state")).then(|| FieldError::new("state", "must be text")),
    ];
    if !(is_text_or_none("page") && is_text_or_none("state")) {
        return Err(Refusal::fields(wrong.into_iter().flatten().collect()));
    }
    let (Some(email), Some(site)) = (email, site) else {
        return Err(Refusal::fields(wrong.into_iter().flatten().collect()));
    };
    let language = accepted_language(&headers);
    let (page, state) = (text("page").map(str::to_owned), text("state").map(str::to_owned));
    let link = MailedLink { email, site: site.to_owned(), page, state, language };
    sign_in::request_mail(&app, client.network, link).await?;
    Ok((StatusCode::ACCEPTED, private_headers()).into_response())
}

/// The headers of an answer to one reader.
fn private_headers() -> [(HeaderName, HeaderValue); 2] {
    [
        (header::CACHE_CONTROL, PRIVATE_CACHING),
        // The address has a secret in it, and a form of the page says where it comes from.
        (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
    ]
}
