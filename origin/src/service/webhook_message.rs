//! What is sent to a webhook, made when it is sent.
//!
//! Promise: a comment that has been taken down since, and one of an erased member, leaves without its text and its author,
//! also when a delivery is tried again. The text of a comment that awaits a decision is sent: admins, who make webhooks, may
//! read it.

use gailou_shared::id::SubjectKey;
use gailou_shared::wire::{
    Author, Comment, CommentState, SubjectRef, SubjectState, WebhookEvent, WebhookMessage, WebhookMessageData,
};
use url::Url;

use crate::clock::rfc3339;
use crate::domain::chat_message::ChatNotice;
use crate::domain::row::SubjectRow;
use crate::domain::webhook::{DeliveryRow, WebhookRow};
use crate::domain::webhook_address::WebhookUrl;
use crate::service::{ServiceError, ServiceResult, comment_view};
use crate::state::AppState;

/// Characters of a comment that a chat is shown.
const EXCERPT_CHARS: usize = 500;

/// The body of a delivery; `None` where its comment is not there (any more).
///
/// # Errors
/// The store's.
pub async fn body(
    app: &AppState,
    webhook: &WebhookRow,
    url: &WebhookUrl,
    delivery: &DeliveryRow,
) -> ServiceResult<Option<Vec<u8>>> {
    let Some(comment) = read_comment(app, delivery).await? else { return Ok(None) };
    let body = match webhook.template {
        Some(template) => {
            let notice = chat_notice(delivery.event, &comment);
            serde_json::to_vec(&notice.body(template, url.chat().as_deref()))
        }
        None => {
            let timestamp = rfc3339(delivery.event_at);
            serde_json::to_vec(&WebhookMessage {
                r#type: delivery.event,
                timestamp,
                data: WebhookMessageData { comment },
            })
        }
    };
    body.map(Some).map_err(|error| ServiceError::Bug(error.to_string()))
}

/// The comment as its webhooks may see it now.
async fn read_comment(app: &AppState, delivery: &DeliveryRow) -> ServiceResult<Option<Comment>> {
    // No cache: what was taken down a moment ago must not leave.
    let ids = &[delivery.comment];
    let Some(mut row) = app.tables.read_comments(ids).await?.remove(&delivery.comment) else { return Ok(None) };
    app.erased_members.redact(&mut row);
    // A comment whose type is not configured any more is none.
    let Some(threading) = app.threading_of(row.subject.kind(), row.mode) else { return Ok(None) };
    let subject = read_subject(app, &row.subject).await?;
    let awaits_decision = row.state == CommentState::Review;
    let is_open = (row.state == CommentState::Published || awaits_decision) && subject.state != SubjectState::Hidden;
    let mut comment =
        if is_open { comment_view::for_author(app, &row, threading) } else { comment_view::tombstone(&row, threading) };
    if is_open && delivery.event == WebhookEvent::Held && !awaits_decision {
        let review = app.tables.read_reviews(ids).await?.remove(&row.id());
        // A new text that waits, unless it has been decided about.
        if let Some(edit) = review.and_then(|review| review.item.edit) {
            comment = comment_view::with_edit(comment, &edit);
        }
    }
    let (title, url) = (Some(subject.title), Some(subject.url));
    Ok(Some(Comment { subject: SubjectRef { title, url, ..SubjectRef::from(&row.subject) }, ..comment }))
}

async fn read_subject(app: &AppState, key: &SubjectKey) -> ServiceResult<SubjectRow> {
    let found = app.tables.read_subjects(std::slice::from_ref(key)).await?.pop().flatten();
    Ok(found.unwrap_or_else(|| SubjectRow::empty(key.clone())))
}

/// The same for people in a chat.
fn chat_notice(event: WebhookEvent, comment: &Comment) -> ChatNotice {
    let SubjectRef { r#type, key, title, url } = &comment.subject;
    let author = comment.author.as_ref().map_or("someone", |Author { name, .. }| name);
    let subject = title.as_ref().and_then(Option::as_deref).map_or_else(|| format!("{type}/{key}"), str::to_owned);
    let what = match event {
        WebhookEvent::Created => "New comment".to_owned(),
        WebhookEvent::Held => "Waiting for a decision".to_owned(),
        WebhookEvent::Reported => "Reported".to_owned(),
        WebhookEvent::Decided => format!("Decided, now {}", state_name(comment.state)),
    };
    let mut text = format!("{what}: {author} on “{subject}”");
    if !comment.content.is_empty() {
        let mut characters = comment.content.chars();
        let excerpt: String = characters.by_ref().take(EXCERPT_CHARS).collect();
        let end = if characters.next().is_some() { "…" } else { "" };
        text.extend(["\n", &excerpt, end]);
    }
    let link = url.as_ref().and_then(Option::as_deref).and_then(|address| link_to(address, comment));
    ChatNotice { text, link }
}

const fn state_name(state: CommentState) -> &'static str {
    match state {
        CommentState::Published => "published",
        CommentState::Review => "in review",
        CommentState::Rejected => "rejected",
        CommentState::Hidden => "hidden",
        CommentState::Deleted => "deleted",
    }
}

/// Where a comment is on its page, if the address of that is one of the web.
fn link_to(address: &str, comment: &Comment) -> Option<String> {
    let mut page = Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    page.set_fragment(Some(&format!("comment-{}", comment.id)));
    Some(page.into())
}
