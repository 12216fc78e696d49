//! `/compat/twikoo`: what `twikoo` 1.7 calls: one address, and an event in the body of each `POST`.
//!
//! Every answer has the status 200, and `code` or `message` where it is a refusal. A browser is known by the token that the
//! first answers give it, and that it sends with every event: so it deletes what it has written. The widget sends
//! HTML, which becomes Markdown, and shows HTML, which is ours. Pages of a list come from memory as those of the contract;
//! what is the browser's own is added to them. Visits, uploads and the panel have no counterpart.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::page_key::page_key;
use gailou_shared::rank::Sort;
use gailou_shared::token::Member;
use gailou_shared::wire::{Comment, CommentState, Overlay, Reaction, SubjectState};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{ForeignAnswer, Visitor, is_pinned, page_of, picture_of, subject_of};
use crate::domain::visitor::VisitorMark;
use crate::http::cached_page::get_or_build;
use crate::http::dialect::TWIKOO_REFUSAL;
use crate::http::extract::JsonBody;
use crate::http::html::text::is_web_address;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::importers::markdown_of_html;
use crate::service::numbered_page::{NumberedPage, RepliedRoot, read_older, read_page};
use crate::service::{ServiceError, edit, latest, member, publish, subject};
use crate::state::AppState;
use crate::state::rate_limits::WriteKind;

/// Roots of a page; the widget does not ask for a number.
const PAGE_SIZE: usize = 10;
/// What follows the first page in another order than the newest first: all of it at once, since the widget names no place.
const MAX_FOLLOWING: usize = 100;
/// Pages whose comments are counted at once.
const MAX_COUNTED_PAGES: usize = 100;
/// Comments of a list of the newest.
const RECENT_COMMENTS: usize = 10;
const MAX_RECENT_COMMENTS: usize = 50;
/// Characters of a token that this server takes for one of its own.
const TOKEN_CHARS: std::ops::RangeInclusive<usize> = 32..=128;

/// The numbers of refusals, as the widget knows them.
const UNKNOWN_EVENT: u32 = 1_001;
const NO_EVENT: u32 = 100;
const LOGIN_NEEDED: u32 = 1_024;
const UPLOAD_FAILED: u32 = 1_040;

pub(super) fn routes() -> Router<HttpState> {
    Router::new().route("/compat/twikoo", post(take_event)).route("/compat/twikoo/", post(take_event))
}

fn refused(code: u32, message: &str) -> Response {
    Json(json!({"code": code, "message": message})).into_response()
}

/// The body of an event: what the events that are known have, all of it optional.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct TwikooEvent {
    event: String,
    access_token: Option<String>,
    url: String,
    sort: String,
    before: Option<u64>,
    id: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    nick: String,
    comment: String,
    pid: Option<String>,
    urls: Vec<String>,
    include_reply: bool,
    page_size: Option<usize>,
}

/// A browser, and the token that it is known by.
struct Browser {
    visitor: Visitor,
    token: String,
    /// Whether the token is given to it now.
    is_new: bool,
}

async fn take_event(visitor: Visitor, JsonBody(body): JsonBody) -> Result<Response, Refusal> {
    let event: TwikooEvent =
        serde_json::from_slice(&body).map_err(|error| Refusal::field("body", error.to_string()))?;
    let known = event.access_token.clone().filter(|token| TOKEN_CHARS.contains(&token.chars().count()));
    let is_new = known.is_none();
    let token = known.unwrap_or_else(|| hex::encode(rand::random::<[u8; 16]>()));
    let browser = Browser { visitor, token, is_new };
    match event.event.as_str() {
        "GET_CONFIG" => Ok(browser.answer(json!({"code": 0, "config": browser.settings()}))),
        "COMMENT_GET" => browser.list_comments(&event).await,
        "COMMENT_SUBMIT" => browser.post_comment(&event).await,
        "COMMENT_LIKE" => browser.react(&event).await,
        "COMMENT_DELETE_FOR_USER" => browser.delete_comment(&event).await,
        "GET_COMMENTS_COUNT" => browser.count_comments(&event).await,
        "GET_RECENT_COMMENTS" => browser.list_recent(&event).await,
        "COUNTER_GET" => Ok(browser.answer(json!({"data": {}, "time": 0, "updated": 0}))),
        "GET_QQ_NICK" => Ok(refused(TWIKOO_REFUSAL, "QQ is not asked here")),
        "UPLOAD_IMAGE" => {
            Ok(Json(json!({"code": UPLOAD_FAILED, "err": "this form takes no pictures"})).into_response())
        }
        "GET_PASSWORD_STATUS" => Ok(browser.answer(json!({"code": 0, "status": true, "credentials": false}))),
        "LOGIN" | "SET_PASSWORD" => {
            Ok(refused(TWIKOO_REFUSAL, "signing in with Twikoo is not possible here; sign in to the console of Gailou"))
        }
        "" => Ok(refused(NO_EVENT, "an address for Twikoo's widget")),
        event if event.ends_with("_FOR_ADMIN") || matches!(event, "SET_CONFIG" | "EMAIL_TEST") => {
            Ok(refused(LOGIN_NEEDED, "sign in to the console of Gailou"))
        }
        _ => Ok(refused(UNKNOWN_EVENT, "this event is not known here")),
    }
}

/// A page of a list, as the widget names it: not at all but by the time of what it has.
#[derive(Debug, Clone, Copy)]
struct AskedPage {
    sort: Sort,
    before: Option<u64>,
}

impl Browser {
    fn app(&self) -> &Arc<AppState> {
        &self.visitor.app
    }

    /// An answer with the token, where it is new.
    fn answer(&self, mut value: Value) -> Response {
        if let Some(fields) = value.as_object_mut().filter(|_| self.is_new) {
            fields.insert("accessToken".into(), self.token.clone().into());
        }
        Json(value).into_response()
    }

    async fn guest(&self, name: &str) -> Result<Member, Refusal> {
        self.visitor.guest_of(VisitorMark::Token { name, token: &self.token }).await
    }

    fn settings(&self) -> Value {
        let app = self.app();
        json!({
            "SITE_NAME": "", "SITE_URL": "", "IS_ADMIN": false,
            // The panel is for who gives this name, and refuses them.
            "HIDE_ADMIN_CRYPT": "gailou-console",
            "SHOW_EMOTION": "false", "HIGHLIGHT": "false", "LIGHTBOX": "false", "IMAGE_CDN": "", "CAPTCHA_PROVIDER": "",
            "SHOW_ORDER": "true", "SHOW_DISLIKE": "true", "DISPLAYED_FIELDS": "nick,mail", "REQUIRED_FIELDS": "nick",
            "LIMIT_LENGTH": publish::max_chars(app, &app.config.compat.subject_type).to_string(),
        })
    }

    fn subject(&self, url: &str) -> Result<SubjectKey, Refusal> {
        subject_of(self.app(), "url", url)
    }

    async fn list_comments(&self, event: &TwikooEvent) -> Result<Response, Refusal> {
        let (app, key) = (self.app(), self.subject(&event.url)?);
        let sort = match event.sort.as_str() {
            "oldest" => Sort::Old,
            "popular" => Sort::Top,
            _ => Sort::New,
        };
        let asked = AskedPage { sort, before: event.before };
        let parameters = [
            ("url", Some(event.url.clone())),
            ("sort", Some(sort.name().to_owned())),
            ("before", event.before.map(|before| before.to_string())),
        ];
        let build = || async {
            let (found, has_more) = read_asked(app, &key, asked).await?;
            let roots: Vec<Value> = found.roots.iter().map(|replied| root_of(app, replied)).collect();
            let value = json!({"data": roots, "more": has_more, "count": found.subject.roots});
            ForeignAnswer::of_page(value, &found, &key).build()
        };
        let name = page_key("/compat/twikoo", &parameters);
        let page = get_or_build(app, self.visitor.source.network, &name, build).await?;
        let mut value: Value = serde_json::from_slice(&page.body).unwrap_or_default();
        if !self.is_new {
            self.add_own(&mut value, &key, asked).await?;
        }
        Ok(self.answer(value))
    }

    /// Adds to a list what this browser likes and has written, and before its first page what waits for a moderator.
    async fn add_own(&self, list: &mut Value, key: &SubjectKey, asked: AskedPage) -> Result<(), Refusal> {
        let Some(roots) = list["data"].as_array_mut() else { return Ok(()) };
        self.app().rate_limits.count_read(self.visitor.source.network).await?;
        let _place = self.app().reads.admit().await.map_err(ServiceError::from)?;
        let mut ids = BTreeSet::new();
        visit(roots, &mut |comment| {
            ids.extend(comment["id"].as_str().and_then(|id| id.parse::<CommentId>().ok()));
        });
        let (author, reader) = (self.guest("").await?, self.visitor.nameless().await?);
        let ids: Vec<CommentId> = ids.into_iter().collect();
        let overlay = member::read_overlay(self.app(), &author, &ids, None).await?;
        let liked = member::read_overlay(self.app(), &reader, &ids, None).await?;
        visit(roots, &mut |comment| add_own_marks(comment, &overlay, &liked));
        if asked.before.is_none() {
            let is_held = |comment: &&Comment| {
                comment.state == CommentState::Review && comment.parent_id.is_none() && comment.subject.key == key.key()
            };
            let held = overlay.pending.iter().filter(is_held).map(|comment| held_of(self.app(), comment));
            roots.splice(0..0, held.collect::<Vec<_>>());
        }
        Ok(())
    }

    async fn post_comment(&self, event: &TwikooEvent) -> Result<Response, Refusal> {
        let key = self.subject(&event.url)?;
        let member = self.guest(&super::name_of(&event.nick)?).await?;
        let parent = event.pid.as_deref().filter(|id| !id.is_empty()).map(super::id_of).transpose()?;
        let text = markdown_of_html(&event.comment);
        let published = self.visitor.publish(member, key, &text, parent).await?;
        Ok(self.answer(json!({"id": published.comment.id})))
    }

    async fn react(&self, event: &TwikooEvent) -> Result<Response, Refusal> {
        let reaction = if event.kind.as_deref() == Some("down") { Reaction::Dislike } else { Reaction::Like };
        let id = self.named_comment(event)?;
        self.visitor.toggle(id, reaction).await?;
        Ok(self.answer(json!({"updated": 1})))
    }

    async fn delete_comment(&self, event: &TwikooEvent) -> Result<Response, Refusal> {
        let member = self.guest("").await?;
        self.visitor.count(WriteKind::Deletion, &member).await?;
        edit::delete(self.app(), &member, self.named_comment(event)?).await?;
        self.visitor.note_write();
        Ok(self.answer(json!({"code": 0, "deleted": 1})))
    }

    fn named_comment(&self, event: &TwikooEvent) -> Result<CommentId, Refusal> {
        super::id_of(event.id.as_deref().unwrap_or_default())
    }

    async fn count_comments(&self, event: &TwikooEvent) -> Result<Response, Refusal> {
        if event.urls.len() > MAX_COUNTED_PAGES {
            return Err(Refusal::field("urls", format!("names at most {MAX_COUNTED_PAGES} pages")));
        }
        let keys = event.urls.iter().map(|url| self.subject(url)).collect::<Result<Vec<_>, _>>()?;
        self.app().rate_limits.count_read(self.visitor.source.network).await?;
        let counts = subject::count_subjects(self.app(), &keys).await?;
        let count = |key: &SubjectKey| {
            let counts = counts.get(&key.to_string());
            counts.map_or(0, |counts| if event.include_reply { counts.comments } else { counts.roots })
        };
        let counted = event.urls.iter().zip(&keys).map(|(url, key)| json!({"url": url, "count": count(key)}));
        Ok(self.answer(json!({"data": counted.collect::<Vec<_>>()})))
    }

    async fn list_recent(&self, event: &TwikooEvent) -> Result<Response, Refusal> {
        let count = event.page_size.unwrap_or(RECENT_COMMENTS).clamp(1, MAX_RECENT_COMMENTS);
        let (app, is_with_replies) = (self.app(), event.include_reply);
        let build = || async {
            let comments = latest::list_latest(app, Some(&app.config.compat.subject_type), count).await?;
            let shown = comments.iter().filter(|comment| is_with_replies || comment.parent_id.is_none());
            let recent: Vec<Value> = shown.map(|comment| recent_of(app, comment)).collect();
            ForeignAnswer::of_comments(json!({"data": recent}), &comments).build()
        };
        let name = format!("/compat/twikoo/recent?count={count}&replies={is_with_replies}");
        let page = get_or_build(app, self.visitor.source.network, &name, build).await?;
        Ok(self.answer(serde_json::from_slice(&page.body).unwrap_or_default()))
    }
}

/// The roots of a page, and whether more follow.
async fn read_asked(
    app: &AppState,
    key: &SubjectKey,
    asked: AskedPage,
) -> crate::service::ServiceResult<(NumberedPage, bool)> {
    let found = match asked {
        AskedPage { sort: Sort::New, before } => return read_older(app, key, before, PAGE_SIZE).await,
        AskedPage { sort, before: None } => read_page(app, key, sort, 0, PAGE_SIZE).await?,
        AskedPage { sort, before: Some(_) } => {
            return Ok((read_page(app, key, sort, PAGE_SIZE, MAX_FOLLOWING).await?, false));
        }
    };
    let has_more = found.subject.state != SubjectState::Hidden && found.subject.roots > found.roots.len() as u64;
    Ok((found, has_more))
}

fn visit(comments: &mut [Value], call: &mut dyn FnMut(&mut Value)) {
    for comment in comments {
        call(comment);
        if let Some(replies) = comment["replies"].as_array_mut() {
            replies.iter_mut().for_each(&mut *call);
        }
    }
}

fn add_own_marks(comment: &mut Value, overlay: &Overlay, liked: &Overlay) {
    let Some(id) = comment["id"].as_str().and_then(|id| id.parse::<CommentId>().ok()) else { return };
    let reaction = liked.data.get(&id).and_then(|own| own.reaction);
    comment["liked"] = (reaction == Some(Reaction::Like)).into();
    comment["disliked"] = (reaction == Some(Reaction::Dislike)).into();
    comment["isOwner"] = overlay.data.get(&id).is_some_and(|own| own.can_delete).into();
}

fn root_of(app: &AppState, replied: &RepliedRoot) -> Value {
    let replies: Vec<Value> = replied.replies.iter().map(|reply| comment_of(app, reply, &[])).collect();
    comment_of(app, &replied.root, &replies)
}

fn comment_of(app: &AppState, comment: &Comment, replies: &[Value]) -> Value {
    let author = comment.author.as_ref();
    let answered = comment.reply_to.as_ref().map(|member| member.name.as_str());
    json!({
        "id": comment.id,
        "nick": author.map_or("", |author| &author.name),
        "avatar": author.map_or_else(String::new, |author| picture_of(app, author)),
        "mailMd5": "", "link": "", "os": "", "browser": "", "ipRegion": "",
        "comment": comment.html,
        "master": author.is_some_and(|author| author.role.is_some()),
        "like": comment.likes, "ups": comment.likes, "downs": comment.dislikes,
        "liked": false, "disliked": false, "isOwner": false, "isSpam": false,
        "replies": replies,
        "rid": comment.parent_id.map(|_| comment.root_id),
        "pid": comment.parent_id,
        "ruser": answered,
        "top": is_pinned(comment) && comment.parent_id.is_none(),
        "created": comment.created_at,
        "updated": comment.edited_at.unwrap_or(comment.created_at),
    })
}

/// A comment that waits for a moderator.
fn held_of(app: &AppState, comment: &Comment) -> Value {
    let mut held = comment_of(app, comment, &[]);
    // The time of the last of a page says where the next one begins, so this one takes no part in that.
    (held["isSpam"], held["top"]) = (true.into(), true.into());
    held
}

fn recent_of(app: &AppState, comment: &Comment) -> Value {
    let url = page_of(comment);
    let author = comment.author.as_ref();
    json!({
        "id": comment.id,
        "url": if is_web_address(&url) || url.starts_with('/') { url } else { String::new() },
        "nick": author.map_or("", |author| &author.name),
        "avatar": author.map_or_else(String::new, |author| picture_of(app, author)),
        "mailMd5": "", "link": "",
        "comment": comment.html,
        "commentText": comment.content,
        "created": comment.created_at,
    })
}
