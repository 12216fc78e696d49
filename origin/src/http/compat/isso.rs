//! `/compat/isso`: what the client of Isso 0.14 calls, `embed.min.js` and `count.min.js`.
//!
//! It sends every call with credentials and a content type, so each has a preflight and names its origin; no call here has a
//! cookie. It reads the clock from `Date`. Texts and names are HTML to it. Threads have two levels, and a reply names its
//! root. Refusals are plain texts: it shows none, and takes the fields of an object for counts. Its forms for changing and
//! deleting are there for who has a cookie of this server, which it gives none.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use gailou_shared::content;
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::page_key::{page_key, subject_segments};
use gailou_shared::rank::Sort;
use gailou_shared::wire::{Code, Comment, CommentState, Reaction};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ForeignAnswer, Visitor, WrittenComment, hash_of, id_of, page_of, picture_of, subject_of};
use crate::domain::operation::ReactionChange;
use crate::http::cached_page::CacheableRead;
use crate::http::extract::{JsonBody, QueryParameters};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::numbered_page::{MAX_SKIPPED_ROOTS, NumberedPage, RepliedRoot, read_page, read_thread};
use crate::service::{latest, preview, subject};
use crate::state::AppState;
use crate::state::rate_limits::WriteKind;

/// The most roots, or replies of a root, in an answer; the widget asks for the others when its reader does.
const MAX_SHOWN: usize = 100;
/// Pages whose comments are counted at once.
const MAX_COUNTED_PAGES: usize = 100;
/// Comments of a list of the newest.
const LATEST_COMMENTS: usize = 20;
const MAX_LATEST_COMMENTS: usize = 50;
/// Digits of the hash that decides a drawing.
const HASH_DIGITS: usize = 12;

/// The numbers by which the widget knows the state of a comment.
const PUBLIC_MODE: u8 = 1;
const HELD_MODE: u8 = 2;
const DELETED_MODE: u8 = 4;

/// What a page that has no style of its own for the widget gets.
const STYLE_SHEET: &str = include_str!("isso.css");

pub(super) fn routes() -> Router<HttpState> {
    Router::new()
        .route("/compat/isso/", get(list_comments))
        .route("/compat/isso/config", get(async || Json(json!({"config": settings()}))))
        .route("/compat/isso/new", post(post_comment))
        .route("/compat/isso/preview", post(preview_comment))
        .route("/compat/isso/count", post(count_comments))
        .route("/compat/isso/latest", get(list_latest))
        .route("/compat/isso/feed", get(go_to_feed))
        .route(
            "/compat/isso/css/isso.css",
            get(async || ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE_SHEET)),
        )
        .route("/compat/isso/id/{id}", any(refuse_change))
        .route("/compat/isso/id/{id}/{reaction}", post(react))
}

/// What the widget has to know of this server.
fn settings() -> Value {
    json!({
        "reply-to-self": true, "require-email": false, "require-author": false, "reply-notifications": false,
        "gravatar": true, "avatar": false, "feed": true,
    })
}

/// A comment as the widget reads it.
#[derive(Serialize)]
struct CommentForIsso<'a> {
    id: CommentId,
    parent: Option<CommentId>,
    /// In seconds.
    created: f64,
    modified: Option<f64>,
    mode: u8,
    text: &'a str,
    author: Option<String>,
    website: Option<&'static str>,
    likes: u64,
    dislikes: u64,
    notification: u8,
    hash: String,
    gravatar_image: String,
    #[serde(flatten)]
    replies: Option<RepliesForIsso<'a>>,
}

/// Some replies of a root.
#[derive(Serialize)]
struct RepliesForIsso<'a> {
    total_replies: usize,
    hidden_replies: usize,
    replies: Vec<CommentForIsso<'a>>,
}

fn seconds(ms: u64) -> f64 {
    std::time::Duration::from_millis(ms).as_secs_f64()
}

fn comment_of<'a>(app: &AppState, comment: &'a Comment, replies: Option<RepliesForIsso<'a>>) -> CommentForIsso<'a> {
    let author = comment.author.as_ref();
    let hash = author.map_or_else(String::new, |author| hash_of(author).to_string());
    CommentForIsso {
        id: comment.id,
        parent: comment.parent_id.map(|_| comment.root_id),
        created: seconds(comment.created_at),
        modified: comment.edited_at.map(seconds),
        mode: match comment.state {
            CommentState::Published => PUBLIC_MODE,
            CommentState::Review => HELD_MODE,
            _ => DELETED_MODE,
        },
        text: &comment.html,
        author: author.map(|author| ammonia::clean_text(&author.name)),
        website: None,
        likes: comment.likes,
        dislikes: comment.dislikes,
        notification: 0,
        hash: hash.chars().take(HASH_DIGITS).collect(),
        gravatar_image: author.map_or_else(String::new, |author| ammonia::clean_text(&picture_of(app, author))),
        replies,
    }
}

fn root_of<'a>(app: &AppState, replied: &'a RepliedRoot, nested_limit: usize) -> CommentForIsso<'a> {
    let total = replied.replies.len();
    let replies: Vec<_> = replied.replies.iter().take(nested_limit).map(|reply| comment_of(app, reply, None)).collect();
    let hidden_replies = total - replies.len();
    comment_of(app, &replied.root, Some(RepliesForIsso { total_replies: total, hidden_replies, replies }))
}

/// The parameters of a list.
struct ListParameters {
    uri: String,
    sort: Sort,
    /// Whether the order is named. An older client names none, and adds the replies of roots to their number itself.
    is_sorted: bool,
    offset: usize,
    limit: usize,
    nested_limit: usize,
    parent: Option<CommentId>,
}

impl ListParameters {
    fn parse(query: &QueryParameters) -> Result<Self, Refusal> {
        let number = |name: &'static str, max: usize, default: usize| match query.get(name) {
            Some("0") => Ok(0),
            _ => query.number(name, max, default).map_err(|error| Refusal::fields(vec![error])),
        };
        let sort = match query.get("sort") {
            Some("newest") => Sort::New,
            Some("upvotes") => Sort::Top,
            _ => Sort::Old,
        };
        Ok(Self {
            uri: query.get("uri").unwrap_or_default().to_owned(),
            sort,
            is_sorted: query.get("sort").is_some(),
            offset: number("offset", MAX_SKIPPED_ROOTS, 0)?,
            limit: number("limit", usize::MAX, MAX_SHOWN)?.min(MAX_SHOWN),
            nested_limit: number("nested_limit", usize::MAX, MAX_SHOWN)?.min(MAX_SHOWN),
            parent: query.get("parent").map(id_of).transpose()?,
        })
    }

    fn key(&self, path: &str) -> String {
        let parameters = [
            ("uri", Some(self.uri.clone())),
            ("sort", self.is_sorted.then(|| self.sort.name().to_owned())),
            ("parent", self.parent.map(|id| id.to_string())),
            ("offset", Some(self.offset.to_string())),
            ("limit", Some(self.limit.to_string())),
            ("nested_limit", Some(self.nested_limit.to_string())),
        ];
        page_key(path, &parameters)
    }
}

async fn list_comments(
    State(app): State<Arc<AppState>>,
    query: QueryParameters,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let asked = ListParameters::parse(&query)?;
    let key = isso_subject(&app, &asked.uri)?;
    let build = || async {
        let (found, value) = match asked.parent {
            None => {
                let found = read_page(&app, &key, asked.sort, asked.offset, asked.limit.max(1)).await?;
                let value = roots_of(&app, &found, &asked);
                (found, value)
            }
            Some(parent) => {
                let found = read_thread(&app, &key, parent).await?;
                let value = replies_of(&app, &found, parent, &asked);
                (found, value)
            }
        };
        ForeignAnswer::of_page(value, &found, &key).build()
    };
    read.answer(&asked.key(read.path()), build).await
}

fn roots_of(app: &AppState, found: &NumberedPage, asked: &ListParameters) -> Value {
    let shown: Vec<_> =
        found.roots.iter().take(asked.limit).map(|replied| root_of(app, replied, asked.nested_limit)).collect();
    let roots = usize::try_from(found.subject.roots).unwrap_or(usize::MAX);
    // A page that is not full is the last one, whatever the number of roots says.
    let is_full = shown.len() == asked.limit;
    let hidden = if is_full { roots.saturating_sub(asked.offset + shown.len()) } else { 0 };
    let total = if asked.is_sorted { found.subject.comments } else { found.subject.roots };
    json!({"id": null, "total_replies": total, "hidden_replies": hidden, "replies": shown, "config": settings()})
}

fn replies_of(app: &AppState, found: &NumberedPage, parent: CommentId, asked: &ListParameters) -> Value {
    let replies = found.roots.first().map_or(&[][..], |replied| &replied.replies);
    let shown: Vec<_> =
        replies.iter().skip(asked.offset).take(asked.limit).map(|reply| comment_of(app, reply, None)).collect();
    let hidden = replies.len().saturating_sub(asked.offset + shown.len());
    json!({
        "id": parent, "total_replies": replies.len(), "hidden_replies": hidden, "replies": shown, "config": settings(),
    })
}

fn isso_subject(app: &AppState, uri: &str) -> Result<SubjectKey, Refusal> {
    subject_of(app, "uri", uri)
}

/// The body of a new comment.
#[derive(Deserialize)]
struct PostFromIsso {
    text: String,
    author: Option<String>,
    email: Option<String>,
    #[serde(default)]
    parent: Value,
}

async fn post_comment(
    State(app): State<Arc<AppState>>,
    query: QueryParameters,
    visitor: Visitor,
    JsonBody(body): JsonBody,
) -> Result<Response, Refusal> {
    let key = isso_subject(&app, query.get("uri").unwrap_or_default())?;
    let posted: PostFromIsso =
        serde_json::from_slice(&body).map_err(|error| Refusal::field("body", error.to_string()))?;
    let parent = match &posted.parent {
        Value::String(id) => Some(id_of(id)?),
        Value::Number(id) => Some(id_of(&id.to_string())?),
        _ => None,
    };
    let (name, email) = (posted.author.as_deref().unwrap_or_default(), posted.email.as_deref().unwrap_or_default());
    let published = visitor.post(key, WrittenComment { name, email, text: &posted.text, parent }).await?;
    let status = if published.held { StatusCode::ACCEPTED } else { StatusCode::CREATED };
    Ok((status, Json(comment_of(&app, &published.comment, None))).into_response())
}

async fn preview_comment(visitor: Visitor, JsonBody(body): JsonBody) -> Result<Response, Refusal> {
    let fields = content::parse_object(&body).map_err(Refusal::fields)?;
    let written = json!({"content": fields.get("text")}).to_string();
    let text = content::parse_edit(written.as_bytes(), limits::MAX_CONTENT_CHARS).map_err(Refusal::fields)?;
    visitor.count(WriteKind::Preview, &visitor.nameless().await?).await?;
    let html = preview::preview(&visitor.app, text).await?.html;
    Ok(Json(json!({"text": html})).into_response())
}

async fn count_comments(visitor: Visitor, JsonBody(body): JsonBody) -> Result<Response, Refusal> {
    let uris: Vec<String> = serde_json::from_slice(&body).map_err(|error| Refusal::field("body", error.to_string()))?;
    if uris.len() > MAX_COUNTED_PAGES {
        return Err(Refusal::field("body", format!("names at most {MAX_COUNTED_PAGES} pages")));
    }
    let app = &visitor.app;
    let keys = uris.iter().map(|uri| isso_subject(app, uri)).collect::<Result<Vec<_>, _>>()?;
    app.rate_limits.count_read(visitor.source.network).await?;
    let counts = subject::count_subjects(app, &keys).await?;
    let counts: Vec<u64> =
        keys.iter().map(|key| counts.get(&key.to_string()).map_or(0, |counts| counts.comments)).collect();
    Ok(Json(counts).into_response())
}

async fn list_latest(
    State(app): State<Arc<AppState>>,
    query: QueryParameters,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let limit = query.number("limit", MAX_LATEST_COMMENTS, LATEST_COMMENTS);
    let limit = limit.map_err(|error| Refusal::fields(vec![error]))?;
    let build = || async {
        let comments = latest::list_latest(&app, Some(&app.config.compat.subject_type), limit).await?;
        let shown: Vec<Value> = comments
            .iter()
            .map(|comment| {
                let mut shown = json!(comment_of(&app, comment, None));
                shown["uri"] = page_of(comment).into();
                shown
            })
            .collect();
        ForeignAnswer::of_comments(shown, &comments).build()
    };
    read.answer(&page_key(read.path(), &[("limit", Some(limit.to_string()))]), build).await
}

async fn react(Path((id, reaction)): Path<(String, String)>, visitor: Visitor) -> Result<Response, Refusal> {
    let reaction = match reaction.as_str() {
        "like" => Reaction::Like,
        "dislike" => Reaction::Dislike,
        _ => return Err(Refusal::new(Code::NotFound, "there is nothing at this address")),
    };
    let (likes, dislikes) = visitor.react(id_of(&id)?, ReactionChange::Put(reaction)).await?;
    Ok(Json(json!({"likes": likes, "dislikes": dislikes})).into_response())
}

async fn go_to_feed(State(app): State<Arc<AppState>>, query: QueryParameters) -> Result<Response, Refusal> {
    let segments = subject_segments(&isso_subject(&app, query.get("uri").unwrap_or_default())?);
    let segments = segments.ok_or_else(|| Refusal::field("uri", "has no feed"))?;
    Ok(Redirect::temporary(&format!("/v1/subjects/{segments}/feed.atom")).into_response())
}

async fn refuse_change() -> Refusal {
    Refusal::new(Code::Forbidden, "a comment that was written with this form cannot be changed with it")
}
