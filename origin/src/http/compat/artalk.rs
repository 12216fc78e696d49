//! `/compat/artalk`: what `artalk` 2.9 calls, and the paths of votes of 2.10.
//!
//! Answers have no envelope, and a status that is not 2xx is an error, `{"msg"}`. Ids are texts, and the `rid` of a root is
//! the number 0. `content` is HTML of ours, which the widget cleans again. Its dates have no `-`, which it would replace.
//! Nothing is decided by who a reader says to be: page views, messages, logins and captchas have no counterpart.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use chrono::DateTime;
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::page_key::page_key;
use gailou_shared::rank::Sort;
use gailou_shared::wire::{Author, Code, Comment, CommentState, Reaction, SubjectState};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{ForeignAnswer, Visitor, WrittenComment, hash_of, id_of, is_pinned, page_of, subject_of};
use crate::domain::avatar::PICTURES_PATH;
use crate::http::cached_page::CacheableRead;
use crate::http::extract::{JsonBody, QueryParameters};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::numbered_page::{MAX_SKIPPED_ROOTS, read_page};
use crate::service::{latest, subject};
use crate::state::AppState;

/// The page size that the widget has by default, and the largest.
const PAGE_SIZE: usize = 20;
const MAX_PAGE_SIZE: usize = 100;
/// Pages whose comments are counted at once.
const MAX_COUNTED_PAGES: usize = 100;
/// Comments of a list of the newest.
const LATEST_COMMENTS: usize = 5;
const MAX_LATEST_COMMENTS: usize = 50;
/// What the widget shows no browser for; for an empty text it shows the reader's own.
const NO_BROWSER: &str = " ";

pub(super) fn routes() -> Router<HttpState> {
    let api = Router::new()
        .route("/conf", get(read_settings))
        .route("/comments", get(list_comments).post(post_comment))
        .route("/comments/{id}", any(refuse_login))
        .route("/votes/{kind}/{id}", post(vote))
        .route("/votes/comment/{id}/{choice}", post(vote_by_choice))
        .route("/pages/pv", post(async || Json(json!({"pv": 0}))))
        .route("/stats/{kind}", get(read_stats))
        .route("/notifies", get(async || Json(json!({"notifies": [], "count": 0}))))
        .route("/notifies/{id}/{key}", post(async || Json(json!({}))))
        .route(
            "/user",
            get(async || Json(json!({"user": null, "is_login": false, "notifies": [], "notifies_count": 0}))),
        )
        .route("/user/status", get(async || Json(json!({"is_admin": false, "is_login": false}))))
        .route("/user/access_token", post(refuse_login))
        .route("/upload", post(refuse_upload));
    Router::new().nest("/compat/artalk/api/v2", api).route(
        "/compat/artalk/sidebar/",
        get(async || Html("<!doctype html><title>Artalk</title><p>There are no messages here.</p>")),
    )
}

/// A comment as the widget reads it.
#[derive(Serialize)]
struct CommentForArtalk<'a> {
    id: CommentId,
    /// What it answers.
    rid: Answered,
    content: &'a str,
    nick: &'a str,
    email_encrypted: String,
    link: &'static str,
    ua: &'static str,
    date: String,
    is_collapsed: bool,
    is_pending: bool,
    is_pinned: bool,
    is_allow_reply: bool,
    is_verified: bool,
    badge_name: &'static str,
    badge_color: &'static str,
    visible: bool,
    vote_up: u64,
    vote_down: u64,
    page_key: &'a str,
    page_url: String,
    site_name: &'a str,
}

/// What a comment answers; a root answers the number 0.
#[derive(Serialize)]
#[serde(untagged)]
enum Answered {
    Nothing(u8),
    Comment(CommentId),
}

/// How a comment was asked for, which its answer repeats.
#[derive(Clone, Copy)]
struct NamedPage<'a> {
    key: &'a str,
    site: &'a str,
    is_open: bool,
}

fn comment_of<'a>(comment: &'a Comment, page: NamedPage<'a>) -> CommentForArtalk<'a> {
    let author = comment.author.as_ref();
    let is_pending = comment.state == CommentState::Review;
    CommentForArtalk {
        id: comment.id,
        rid: comment.parent_id.map_or(Answered::Nothing(0), Answered::Comment),
        content: &comment.html,
        nick: author.map_or("", |author| &author.name),
        email_encrypted: author.map_or_else(String::new, |author: &Author| hash_of(author).to_string()),
        link: "",
        ua: NO_BROWSER,
        date: date_of(comment.created_at),
        is_collapsed: false,
        is_pending,
        is_pinned: is_pinned(comment),
        is_allow_reply: page.is_open && !is_pending && comment.state == CommentState::Published,
        is_verified: author.is_some_and(|author| author.role.is_some()),
        badge_name: "",
        badge_color: "",
        visible: true,
        vote_up: comment.likes,
        vote_down: comment.dislikes,
        page_key: page.key,
        page_url: page_of(comment),
        site_name: page.site,
    }
}

/// A time as every browser reads it.
fn date_of(at: u64) -> String {
    let time = i64::try_from(at).ok().and_then(DateTime::from_timestamp_millis).unwrap_or_default();
    time.format("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

/// What the widget has to know of this server: it takes no pictures, and has some of its own for everybody.
async fn read_settings(State(app): State<Arc<AppState>>) -> Response {
    let pictures = format!("{}{PICTURES_PATH}", app.sign_in.public_url());
    let pictures = pictures.trim_end_matches('/');
    let settings = json!({
        "imgUpload": false,
        "versionCheck": false,
        "flatMode": false,
        "gravatar": {"mirror": pictures, "params": ""},
    });
    Json(json!({"frontend_conf": settings})).into_response()
}

fn number(query: &QueryParameters, name: &'static str, max: usize, default: usize) -> Result<usize, Refusal> {
    query.number(name, max, default).map_err(|error| Refusal::fields(vec![error]))
}

async fn list_comments(
    State(app): State<Arc<AppState>>,
    query: QueryParameters,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let (page, site) = (query.get("page_key").unwrap_or_default(), query.get("site_name").unwrap_or_default());
    let key = artalk_subject(&app, page)?;
    let limit = number(&query, "limit", MAX_PAGE_SIZE, PAGE_SIZE)?;
    let offset = match query.get("offset") {
        None | Some("0") => 0,
        Some(_) => number(&query, "offset", MAX_SKIPPED_ROOTS, 0)?,
    };
    let (sort, sort_name) = match query.get("sort_by") {
        Some("date_asc") => (Sort::Old, "date_asc"),
        Some("vote") => (Sort::Top, "vote"),
        _ => (Sort::New, "date_desc"),
    };
    let is_of_staff = query.get("view_only_admin") == Some("true");
    let parameters = [
        ("page_key", Some(page.to_owned())),
        ("site_name", Some(site.to_owned())),
        ("limit", Some(limit.to_string())),
        ("offset", Some(offset.to_string())),
        ("sort_by", Some(sort_name.to_owned())),
        ("view_only_admin", is_of_staff.then(|| "true".to_owned())),
    ];
    let build = || async {
        let found = read_page(&app, &key, sort, offset, limit).await?;
        let is_open = found.subject.state == SubjectState::Open;
        let named = NamedPage { key: page, site, is_open };
        let is_shown =
            |root: &Comment| !is_of_staff || root.author.as_ref().is_some_and(|author| author.role.is_some());
        let shown = || found.roots.iter().filter(|replied| is_shown(&replied.root));
        let roots = shown().map(|replied| &replied.root);
        let comments: Vec<_> = roots
            .chain(shown().flat_map(|replied| &replied.replies))
            .map(|comment| comment_of(comment, named))
            .collect();
        let value = json!({
            "comments": comments,
            "count": found.subject.comments,
            "roots_count": found.subject.roots,
            "page": {
                "id": 0, "admin_only": !is_open, "key": page, "url": "", "title": found.subject.title, "site_name": site,
                "vote_up": 0, "vote_down": 0, "pv": 0,
            },
        });
        ForeignAnswer::of_page(value, &found, &key).build()
    };
    read.answer(&page_key(read.path(), &parameters), build).await
}

fn artalk_subject(app: &AppState, page: &str) -> Result<SubjectKey, Refusal> {
    subject_of(app, "page_key", page)
}

/// The body of a new comment.
#[derive(Deserialize)]
struct PostFromArtalk {
    content: String,
    page_key: String,
    #[serde(default)]
    site_name: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    email: String,
    #[serde(default)]
    rid: Value,
}

async fn post_comment(
    State(app): State<Arc<AppState>>,
    visitor: Visitor,
    JsonBody(body): JsonBody,
) -> Result<Response, Refusal> {
    let posted: PostFromArtalk =
        serde_json::from_slice(&body).map_err(|error| Refusal::field("body", error.to_string()))?;
    let key = artalk_subject(&app, &posted.page_key)?;
    let parent = match &posted.rid {
        Value::String(id) if id != "0" => Some(id_of(id)?),
        Value::Number(id) if id.as_u64() != Some(0) => Some(id_of(&id.to_string())?),
        _ => None,
    };
    let written = WrittenComment { name: &posted.name, email: &posted.email, text: &posted.content, parent };
    let published = visitor.post(key, written).await?;
    let named = NamedPage { key: &posted.page_key, site: &posted.site_name, is_open: true };
    Ok(Json(comment_of(&published.comment, named)).into_response())
}

async fn vote(Path((kind, id)): Path<(String, String)>, visitor: Visitor) -> Result<Response, Refusal> {
    let reaction = match kind.as_str() {
        "comment_up" => Reaction::Like,
        "comment_down" => Reaction::Dislike,
        _ => return Err(Refusal::new(Code::NotFound, "only comments are voted for here")),
    };
    let (up, down) = visitor.toggle(id_of(&id)?, reaction).await?;
    Ok(Json(json!({"up": up, "down": down})).into_response())
}

async fn vote_by_choice(Path((id, choice)): Path<(String, String)>, visitor: Visitor) -> Result<Response, Refusal> {
    let reaction = match choice.as_str() {
        "up" => Reaction::Like,
        "down" => Reaction::Dislike,
        _ => return Err(Refusal::field("choice", "must be up or down")),
    };
    let (up, down) = visitor.toggle(id_of(&id)?, reaction).await?;
    Ok(Json(json!({"up": up, "down": down})).into_response())
}

async fn read_stats(
    Path(kind): Path<String>,
    State(app): State<Arc<AppState>>,
    query: QueryParameters,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    match kind.as_str() {
        "page_comment" => count_comments(&app, &query, &read).await,
        "page_pv" => {
            let views = named_pages(&query)?.into_iter().map(|page| (page.to_owned(), json!(0)));
            Ok(Json(json!({"data": views.collect::<Map<String, Value>>()})).into_response())
        }
        "latest_comments" => list_latest(&app, &query, &read).await,
        "site_pv" => Ok(Json(json!({"data": 0})).into_response()),
        _ => Ok(Json(json!({"data": []})).into_response()),
    }
}

fn named_pages(query: &QueryParameters) -> Result<Vec<&str>, Refusal> {
    let pages: Vec<&str> = query.get("page_keys").unwrap_or_default().split(',').collect();
    let is_few = pages.len() <= MAX_COUNTED_PAGES;
    if is_few {
        Ok(pages)
    } else {
        Err(Refusal::field("page_keys", format!("names at most {MAX_COUNTED_PAGES} pages")))
    }
}

async fn count_comments(app: &AppState, query: &QueryParameters, read: &CacheableRead) -> Result<Response, Refusal> {
    let pages = named_pages(query)?;
    let keys = pages.iter().map(|page| artalk_subject(app, page)).collect::<Result<Vec<_>, _>>()?;
    let build = || async {
        let counts = subject::count_subjects(app, &keys).await?;
        let count = |key: &SubjectKey| counts.get(&key.to_string()).map_or(0, |counts| counts.comments);
        let counted = pages.iter().zip(&keys).map(|(page, key)| ((*page).to_owned(), json!(count(key))));
        let value = json!({"data": counted.collect::<Map<String, Value>>()});
        ForeignAnswer::of_counts(value, keys.clone()).build()
    };
    read.answer(&page_key(read.path(), &[("page_keys", Some(pages.join(",")))]), build).await
}

async fn list_latest(app: &AppState, query: &QueryParameters, read: &CacheableRead) -> Result<Response, Refusal> {
    let limit = number(query, "limit", MAX_LATEST_COMMENTS, LATEST_COMMENTS)?;
    let build = || async {
        let comments = latest::list_latest(app, Some(&app.config.compat.subject_type), limit).await?;
        let shown: Vec<_> = comments
            .iter()
            .map(|comment| comment_of(comment, NamedPage { key: &comment.subject.key, site: "", is_open: false }))
            .collect();
        ForeignAnswer::of_comments(json!({"data": shown}), &comments).build()
    };
    read.answer(&page_key(read.path(), &[("limit", Some(limit.to_string()))]), build).await
}

async fn refuse_login() -> Refusal {
    Refusal::new(Code::Forbidden, "signing in with Artalk is not possible here; sign in to the console of Gailou")
}

async fn refuse_upload() -> Refusal {
    Refusal::new(Code::Forbidden, "this form takes no pictures")
}
