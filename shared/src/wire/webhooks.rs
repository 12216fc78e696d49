//! Webhooks: addresses to which events are sent, as admins see them, and what is sent.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::id::WebhookId;
use crate::wire::{Comment, ListPageInfo};

/// What is sent to webhooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum WebhookEvent {
    /// A comment was published for the first time, at once or by a moderator.
    #[serde(rename = "comment.created")]
    Created,
    /// A comment, or an edit of one, waits for a moderator.
    #[serde(rename = "comment.held")]
    Held,
    /// A reader has reported a comment.
    #[serde(rename = "comment.reported")]
    Reported,
    /// A moderator has decided about a comment.
    #[serde(rename = "comment.decided")]
    Decided,
}

/// Chat services whose own form is sent instead of the event's JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the services' own names")]
pub enum WebhookTemplate {
    Slack,
    Telegram,
    Lark,
    Dingtalk,
    Discord,
}

/// An address to which events are sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Webhook {
    /// Its id.
    pub id: WebhookId,
    /// The address.
    pub url: String,
    /// What is sent to it.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 4))]
    pub events: Vec<WebhookEvent>,
    /// The form of what is sent; `null` for the event's JSON.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub template: Option<WebhookTemplate>,
    /// When it was made, in Unix milliseconds.
    pub created_at: u64,
    /// Since when no try was a success, in Unix milliseconds; `null` after one.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub failing_since: Option<u64>,
    /// How many events were left out because too many were waiting.
    pub dropped: u64,
    /// What signs its deliveries: only in the answer of the call that made it.
    #[cfg_attr(feature = "openapi", schema(nullable = false, pattern = "^whsec_[A-Za-z0-9+/]+=*$"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// All webhooks, in the order in which they were made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WebhookList {
    /// The webhooks.
    #[cfg_attr(feature = "openapi", schema(max_items = 20))]
    pub data: Vec<Webhook>,
}

/// What became of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum WebhookDeliveryStatus {
    /// It is tried, or tried again.
    Pending,
    /// An answer was 2xx.
    Delivered,
    /// It is not tried any more.
    Failed,
}

/// An event that is sent to one webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WebhookDelivery {
    /// Its id, which is the header `webhook-id` of every try.
    #[cfg_attr(feature = "openapi", schema(pattern = "^msg_[0-9a-f]{32}$"))]
    pub id: String,
    /// The event.
    pub event: WebhookEvent,
    /// What became of it.
    pub status: WebhookDeliveryStatus,
    /// How often it was tried.
    pub attempts: u32,
    /// The status of the last answer; `null` where there was none.
    #[cfg_attr(feature = "openapi", schema(required, minimum = 100, maximum = 999))]
    pub last_status: Option<u16>,
    /// When it is tried next, in Unix milliseconds; `null` where it is not.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub next_at: Option<u64>,
    /// When it was made, in Unix milliseconds.
    pub created_at: u64,
}

/// A page of the deliveries of a webhook, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WebhookDeliveryPage {
    /// The deliveries.
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub data: Vec<WebhookDelivery>,
    /// Its place in the list.
    pub page: ListPageInfo,
}

/// What a webhook without a template receives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookMessage {
    /// The event.
    pub r#type: WebhookEvent,
    /// When it happened, as RFC 3339 writes it.
    pub timestamp: String,
    /// What it is about.
    pub data: WebhookMessageData,
}

/// What an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookMessageData {
    /// The comment as it is when it is sent: without text and author where it is no longer public and awaits no
    /// decision.
    pub comment: Comment,
}
