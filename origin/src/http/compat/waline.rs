//! `/compat/waline`: what `@waline/client` 3 calls.
//!
//! Every answer is `{"errno","errmsg","data"}`, and the widget looks at no status. A root must not have the key `rid`, and
//! needs `children`; ids are texts. It shows `comment` as HTML, so that is ours. A guest sends `Bearer undefined`, which is
//! no token. Page views, reactions to pages, levels, and logins have no counterpart.

use std::sync::{Arc, LazyLock};

use axum::Json;
use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, put};
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::page_key::{page_key, subject_segments};
use gailou_shared::rank::Sort;
use gailou_shared::wire::{Code, Comment, CommentState, Reaction};
use percent_encoding::percent_decode_str;
use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ForeignAnswer, Visitor, WrittenComment, id_of, is_pinned, page_of, picture_of, subject_of};
use crate::domain::operation::ReactionChange;
use crate::http::cached_page::CacheableRead;
use crate::http::extract::{JsonBody, QueryParameters};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::numbered_page::{NumberedPage, RepliedRoot, read_page};
use crate::service::{latest, subject};
use crate::state::AppState;

/// The page size that the widget has by default, and the largest.
const PAGE_SIZE: usize = 10;
const MAX_PAGE_SIZE: usize = 100;
/// The highest number of a page.
const MAX_PAGE: usize = 10_000;
/// Pages whose comments are counted at once.
const MAX_COUNTED_PAGES: usize = 100;
/// Comments of a list of the newest.
const RECENT_COMMENTS: usize = 10;
const MAX_RECENT_COMMENTS: usize = 50;
/// Kinds of reactions that are asked for at once.
const MAX_ARTICLE_COUNTERS: usize = 50;

/// An emoji that the widget has written as a picture: its name is left.
static EMOJI_PICTURE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"<img class="wl-emoji" src="[^"<>]*" alt="([^"<>]*)">"#).ok());

pub(super) fn routes() -> Router<HttpState> {
    Router::new()
        .route("/compat/waline/api/comment", get(read_comments).post(post_comment))
        .route("/compat/waline/api/comment/rss", get(go_to_feed))
        .route("/compat/waline/api/comment/{id}", put(change_comment).delete(refuse_login))
        .route("/compat/waline/api/article", get(read_counters).post(count_nothing))
        .route("/compat/waline/api/user", get(async || data(json!([]))))
        .route("/compat/waline/token", get(async || data(json!({}))))
        .route("/compat/waline/ui/{page}", get(refuse_login))
}

#[derive(Serialize)]
struct Envelope<T> {
    errno: u32,
    errmsg: &'static str,
    data: T,
}

const fn envelope<T>(data: T) -> Envelope<T> {
    Envelope { errno: 0, errmsg: "", data }
}

fn data(data: impl Serialize) -> Response {
    Json(envelope(data)).into_response()
}

/// A comment as the widget reads it.
#[derive(Serialize)]
struct CommentForWaline {
    #[serde(rename = "objectId")]
    id: CommentId,
    status: &'static str,
    time: u64,
    comment: String,
    like: u64,
    nick: String,
    link: &'static str,
    avatar: String,
    browser: &'static str,
    os: &'static str,
    addr: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(flatten)]
    place: Place,
}

/// What a root has and what a reply has.
#[derive(Serialize)]
#[serde(untagged)]
enum Place {
    Root { sticky: bool, children: Vec<CommentForWaline> },
    Reply { pid: CommentId, rid: CommentId, reply_user: Value },
}

fn comment_of(app: &AppState, comment: &Comment, children: Vec<CommentForWaline>) -> CommentForWaline {
    let place = match comment.parent_id {
        None => Place::Root { sticky: is_pinned(comment), children },
        Some(pid) => {
            let answered = comment.reply_to.as_ref().map_or("", |member| member.name.as_str());
            Place::Reply { pid, rid: comment.root_id, reply_user: json!({"nick": answered, "link": "", "avatar": ""}) }
        }
    };
    let author = comment.author.as_ref();
    CommentForWaline {
        id: comment.id,
        status: if comment.state == CommentState::Review { "waiting" } else { "approved" },
        time: comment.created_at,
        comment: comment.html.clone(),
        like: comment.likes,
        nick: author.map_or_else(String::new, |author| author.name.clone()),
        link: "",
        avatar: author.map_or_else(String::new, |author| picture_of(app, author)),
        browser: "",
        os: "",
        addr: "",
        url: None,
        place,
    }
}

fn root_of(app: &AppState, replied: &RepliedRoot) -> CommentForWaline {
    let children = replied.replies.iter().map(|reply| comment_of(app, reply, vec![])).collect();
    comment_of(app, &replied.root, children)
}

/// A page that the widget names, which it has decoded or not.
fn waline_subject(app: &AppState, field: &'static str, path: &str) -> Result<SubjectKey, Refusal> {
    let decoded = percent_decode_str(path).decode_utf8();
    subject_of(app, field, decoded.as_deref().unwrap_or(path))
}

fn subjects_of(app: &AppState, field: &'static str, paths: &str) -> Result<Vec<SubjectKey>, Refusal> {
    let keys = paths.split(',').map(|path| waline_subject(app, field, path)).collect::<Result<Vec<_>, _>>()?;
    let is_few = keys.len() <= MAX_COUNTED_PAGES;
    if is_few { Ok(keys) } else { Err(Refusal::field(field, format!("names at most {MAX_COUNTED_PAGES} pages"))) }
}

async fn read_comments(
    State(app): State<Arc<AppState>>,
    query: QueryParameters,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    match query.get("type") {
        Some("count") => count_comments(&app, &query, &read).await,
        Some("recent") => read_recent(&app, &query, &read).await,
        _ => read_list(&app, &query, &read).await,
    }
}

async fn read_list(app: &AppState, query: &QueryParameters, read: &CacheableRead) -> Result<Response, Refusal> {
    let path = query.get("path").unwrap_or_default();
    let key = waline_subject(app, "path", path)?;
    let number = |name, max, default| query.number(name, max, default).map_err(|error| Refusal::fields(vec![error]));
    let (page, size) = (number("page", MAX_PAGE, 1)?, number("pageSize", MAX_PAGE_SIZE, PAGE_SIZE)?);
    let (sort, sort_name) = match query.get("sortBy") {
        Some("insertedAt_asc") => (Sort::Old, "insertedAt_asc"),
        Some("like_desc") => (Sort::Top, "like_desc"),
        _ => (Sort::New, "insertedAt_desc"),
    };
    let parameters = [
        ("path", Some(path.to_owned())),
        ("pageSize", Some(size.to_string())),
        ("page", Some(page.to_string())),
        ("sortBy", Some(sort_name.to_owned())),
    ];
    let build = || async {
        let found: NumberedPage = read_page(app, &key, sort, (page - 1) * size, size).await?;
        let roots: Vec<CommentForWaline> = found.roots.iter().map(|replied| root_of(app, replied)).collect();
        let pages = found.subject.roots.div_ceil(size as u64);
        let value = json!({
            "page": page, "totalPages": pages, "pageSize": size, "count": found.subject.comments, "data": roots,
        });
        ForeignAnswer::of_page(envelope(value), &found, &key).build()
    };
    read.answer(&page_key(read.path(), &parameters), build).await
}

async fn count_comments(app: &AppState, query: &QueryParameters, read: &CacheableRead) -> Result<Response, Refusal> {
    let paths = query.get("url").unwrap_or_default();
    let keys = subjects_of(app, "url", paths)?;
    let build = || async {
        let counts = subject::count_subjects(app, &keys).await?;
        let counts: Vec<u64> =
            keys.iter().map(|key| counts.get(&key.to_string()).map_or(0, |counts| counts.comments)).collect();
        ForeignAnswer::of_counts(envelope(counts), keys.clone()).build()
    };
    read.answer(&page_key(read.path(), &[("type", Some("count")), ("url", Some(paths))]), build).await
}

/// The newest comments. The widget of the system itself, which names its language, reads them without the envelope, and
/// joins name and address into HTML as they are.
async fn read_recent(app: &AppState, query: &QueryParameters, read: &CacheableRead) -> Result<Response, Refusal> {
    let count = query.number("count", MAX_RECENT_COMMENTS, RECENT_COMMENTS);
    let count = count.map_err(|error| Refusal::fields(vec![error]))?;
    let is_bare = query.get("lang").is_some();
    let build = || async {
        let comments = latest::list_latest(app, Some(&app.config.compat.subject_type), count).await?;
        let recent = comments.iter().map(|comment| {
            let shown = comment_of(app, comment, vec![]);
            let url = page_of(comment);
            CommentForWaline { nick: ammonia::clean_text(&shown.nick), url: Some(ammonia::clean_text(&url)), ..shown }
        });
        let recent: Vec<CommentForWaline> = recent.collect();
        let value = if is_bare { json!(recent) } else { json!(envelope(recent)) };
        ForeignAnswer::of_comments(value, &comments).build()
    };
    let key = [
        ("type", Some("recent".to_owned())),
        ("count", Some(count.to_string())),
        ("lang", is_bare.then(|| "1".into())),
    ];
    read.answer(&page_key(read.path(), &key), build).await
}

/// The body of a new comment.
#[derive(Deserialize)]
struct PostFromWaline {
    comment: String,
    url: String,
    #[serde(default)]
    nick: String,
    #[serde(default)]
    mail: String,
    pid: Option<String>,
}

async fn post_comment(
    State(app): State<Arc<AppState>>,
    visitor: Visitor,
    JsonBody(body): JsonBody,
) -> Result<Response, Refusal> {
    let posted: PostFromWaline =
        serde_json::from_slice(&body).map_err(|error| Refusal::field("body", error.to_string()))?;
    let key = waline_subject(&app, "url", &posted.url)?;
    let text = match &*EMOJI_PICTURE {
        Some(emoji) => emoji.replace_all(&posted.comment, ":$1:"),
        None => posted.comment.as_str().into(),
    };
    let parent = posted.pid.as_deref().map(id_of).transpose()?;
    let written = WrittenComment { name: &posted.nick, email: &posted.mail, text: &text, parent };
    let published = visitor.post(key, written).await?;
    Ok(data(comment_of(&app, &published.comment, vec![])))
}

async fn change_comment(
    Path(id): Path<String>,
    visitor: Visitor,
    JsonBody(body): JsonBody,
) -> Result<Response, Refusal> {
    let change: Value = serde_json::from_slice(&body).map_err(|error| Refusal::field("body", error.to_string()))?;
    let Some(is_liked) = change.get("like").and_then(Value::as_bool) else { return refuse_login().await };
    let change = if is_liked { ReactionChange::Put(Reaction::Like) } else { ReactionChange::Take(Reaction::Like) };
    let (likes, _) = visitor.react(id_of(&id)?, change).await?;
    Ok(data(json!({"objectId": id, "like": likes})))
}

/// Page views and reactions to pages, which are not counted here.
async fn read_counters(query: QueryParameters) -> Response {
    let kinds = query.get("type").unwrap_or("time").split(',').take(MAX_ARTICLE_COUNTERS);
    let counters: Value = kinds.map(|kind| (kind.to_owned(), json!(0))).collect();
    let paths = query.get("path").unwrap_or_default().split(',').take(MAX_COUNTED_PAGES);
    data(paths.map(|_| counters.clone()).collect::<Vec<_>>())
}

async fn count_nothing() -> Response {
    data(json!([{"time": 0}]))
}

async fn go_to_feed(State(app): State<Arc<AppState>>, query: QueryParameters) -> Result<Response, Refusal> {
    let Some(path) = query.get("path") else { return Ok(Redirect::temporary("/v1/latest.atom").into_response()) };
    let segments = subject_segments(&waline_subject(&app, "path", path)?);
    let segments = segments.ok_or_else(|| Refusal::field("path", "has no feed"))?;
    Ok(Redirect::temporary(&format!("/v1/subjects/{segments}/feed.atom")).into_response())
}

async fn refuse_login() -> Result<Response, Refusal> {
    Err(Refusal::new(Code::Forbidden, "signing in with Waline is not possible here; sign in to the console of Gailou"))
}
