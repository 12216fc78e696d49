//! `/v1/admin/webhooks`: addresses to which events are sent, and what became of the deliveries.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use gailou_shared::content::parse_object;
use gailou_shared::id::WebhookId;
use gailou_shared::wire::{
    FieldError, Webhook, WebhookDelivery, WebhookDeliveryPage, WebhookEvent, WebhookList, WebhookTemplate,
};
use serde_json::Value;

use crate::http::admin::{PrivateAnswer, private};
use crate::http::extract::{Admin, AdminRead, JsonBody, PathDelivery, PathId, PlainPageQuery, UnreadBody};
use crate::http::openapi::bodies::WebhookRequest;
use crate::http::openapi::responses::{BodyRefusals, Conflict, MemberRefusals, NotFound};
use crate::http::problem::Refusal;
use crate::service::webhooks::{self, NewWebhook};
use crate::state::AppState;

/// All webhooks.
///
/// Only admins may. Their secrets are not shown.
#[utoipa::path(
    get, path = "/v1/admin/webhooks", tag = "admin",
    responses((status = 200, description = "The webhooks.", body = WebhookList), MemberRefusals),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn list_webhooks(
    State(app): State<Arc<AppState>>,
    _: AdminRead,
) -> PrivateAnswer<WebhookList> {
    let _place = app.reads.admit().await?;
    private(webhooks::list(&app).await?)
}

/// Make a webhook.
///
/// Only admins may. From now on, these events are sent to the address, signed by `secret` as the Standard Webhooks say;
/// the secret is in this answer and in no other. The address is public and begins with `https://`, unless
/// `webhooks.allow_private` is on. `409 version_conflict` where there are 20 webhooks.
#[utoipa::path(
    post, path = "/v1/admin/webhooks", tag = "admin",
    request_body(content = WebhookRequest, examples(
        ("all" = (value = json!({"url": "https://blog.example/hook", "events": ["comment.created", "comment.held"]}))),
        ("slack" = (value = json!({
            "url": "https://hooks.slack.com/services/T0/B0/X0", "events": ["comment.reported"], "template": "slack",
        }))),
    )),
    responses(
        (status = 201, description = "The webhook with its secret.", body = Webhook),
        MemberRefusals, Conflict, BodyRefusals,
    ),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn add_webhook(
    State(app): State<Arc<AppState>>,
    Admin(admin): Admin,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<Webhook>), Refusal> {
    let new = new_webhook(&body).map_err(Refusal::fields)?;
    Ok((StatusCode::CREATED, Json(webhooks::add(&app, &admin, new).await?)))
}

/// Remove a webhook.
///
/// Only admins may. Its deliveries go with it; what is being sent may still arrive.
#[utoipa::path(
    delete, path = "/v1/admin/webhooks/{id}", tag = "admin",
    params(PathId<WebhookId>),
    responses((status = 204, description = "The webhook is removed."), MemberRefusals, NotFound),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn remove_webhook(
    State(app): State<Arc<AppState>>,
    Admin(admin): Admin,
    _: UnreadBody,
    PathId(id): PathId<WebhookId>,
) -> Result<StatusCode, Refusal> {
    webhooks::remove(&app, &admin, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The deliveries of a webhook.
///
/// Only admins may. The newest comes first; they are kept for 7 days.
#[utoipa::path(
    get, path = "/v1/admin/webhooks/{id}/deliveries", tag = "admin",
    params(PathId<WebhookId>, PlainPageQuery),
    responses(
        (status = 200, description = "A page of the deliveries.", body = WebhookDeliveryPage),
        MemberRefusals, NotFound,
    ),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn list_deliveries(
    State(app): State<Arc<AppState>>,
    _: AdminRead,
    PathId(id): PathId<WebhookId>,
    query: PlainPageQuery,
) -> PrivateAnswer<WebhookDeliveryPage> {
    let _place = app.reads.admit().await?;
    private(webhooks::list_deliveries(&app, id, query.limit, query.cursor).await?)
}

/// Deliver again.
///
/// Only admins may. The delivery is due at once, whatever became of it, and is tried for another day. It has the same id.
#[utoipa::path(
    post, path = "/v1/admin/webhooks/{id}/deliveries/{delivery}/retry", tag = "admin",
    params(PathDelivery),
    responses((status = 200, description = "The delivery, pending.", body = WebhookDelivery), MemberRefusals, NotFound),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn retry_delivery(
    State(app): State<Arc<AppState>>,
    _: Admin,
    _: UnreadBody,
    PathDelivery { webhook, delivery }: PathDelivery,
) -> Result<Json<WebhookDelivery>, Refusal> {
    Ok(Json(webhooks::retry(&app, webhook, &delivery).await?))
}

/// The webhook in a body, or every field that is wrong.
fn new_webhook(body: &[u8]) -> Result<NewWebhook, Vec<FieldError>> {
    let fields = parse_object(body)?;
    let mut errors = Vec::new();
    let url = fields.get("url").and_then(Value::as_str).map(str::to_owned).unwrap_or_else(|| {
        errors.push(FieldError::new("url", "must be a web address"));
        String::new()
    });
    let events = fields.get("events").cloned().map(serde_json::from_value::<Vec<WebhookEvent>>);
    let mut events = events.and_then(Result::ok).unwrap_or_default();
    events.sort_unstable();
    events.dedup();
    if events.is_empty() {
        let names = "comment.created, comment.held, comment.reported, comment.decided";
        errors.push(FieldError::new("events", format!("must be some of {names}")));
    }
    let template = fields.get("template").cloned().map_or(Ok(None), serde_json::from_value::<Option<WebhookTemplate>>);
    let template = template.unwrap_or_else(|_| {
        errors.push(FieldError::new("template", "must be one of slack, telegram, lark, dingtalk, discord, or null"));
        None
    });
    if errors.is_empty() { Ok(NewWebhook { url, events, template }) } else { Err(errors) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wrong_field_of_a_webhook_is_named() {
        let check = |body: &str, expected: &[&str]| {
            let wrong = new_webhook(body.as_bytes()).err().unwrap_or_default();
            let names: Vec<_> = wrong.into_iter().map(|error| error.field.into_owned()).collect();
            assert_eq!(names, expected, "{body}");
        };
        check(r#"{"url":"https://a.example","events":["comment.held"]}"#, &[]);
        check(r#"{"url":"https://a.example","events":["comment.held"],"template":null}"#, &[]);
        check("{}", &["url", "events"]);
        check(r#"{"url":7,"events":[],"template":"irc"}"#, &["url", "events", "template"]);
        check(r#"{"url":"a","events":["comment.held","comment.read"]}"#, &["events"]);
        check(r#"{"url":"a","events":"comment.held"}"#, &["events"]);
        let body = br#"{"url":"a","events":["comment.held","comment.created","comment.held"],"template":"slack"}"#;
        let new = new_webhook(body).unwrap();
        assert_eq!(new.events, [WebhookEvent::Created, WebhookEvent::Held]);
        assert_eq!(new.template, Some(WebhookTemplate::Slack));
    }
}
