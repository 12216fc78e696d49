//! Webhooks and their deliveries: rows, signatures, and when a delivery is tried again.
//!
//! Pure. Not here: where a webhook may lead ([`crate::domain::webhook_address`]), and what is sent to it.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use gailou_shared::id::{CommentId, WebhookId};
use gailou_shared::wire::{WebhookDeliveryStatus, WebhookEvent, WebhookTemplate};
use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::domain::event::{Event, EventKind};

/// Most webhooks of an installation.
pub const MAX_WEBHOOKS: usize = 20;
/// Deliveries of one webhook that may wait: those of an hour with 3 events a second. What comes beyond them is dropped
/// and counted.
pub const MAX_PENDING_DELIVERIES: usize = 10_000;
/// Deliveries of one webhook that are kept, the newest: with [`MAX_WEBHOOKS`], 80 MB.
pub const MAX_KEPT_DELIVERIES: usize = 20_000;
/// How long a delivery is kept: 7 days.
pub const DELIVERY_RETENTION_MS: u64 = 7 * 86_400_000;
/// How long a delivery is tried: a day.
pub const DELIVERY_LIFETIME_MS: u64 = 86_400_000;

/// How long after the first failures a delivery is tried again: 5 s, 30 s, 5 min, 30 min.
const FIRST_RETRY_DELAYS_MS: [u64; 4] = [5_000, 30_000, 300_000, 1_800_000];
/// The same after every later one: 2 h. A day has 16 tries.
const LATER_RETRY_DELAY_MS: u64 = 7_200_000;
/// How long a delivery waits whose comment could not be read.
const POSTPONEMENT_MS: u64 = 60_000;

const SECRET_BYTES: usize = 32;
const SECRET_PREFIX: &str = "whsec_";
const DELIVERY_ID_PREFIX: &str = "msg_";
/// Bytes of the hash in the id of a delivery.
const DELIVERY_HASH_BYTES: usize = 16;

/// An address to which events are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRow {
    pub id: WebhookId,
    /// Accepted by [`crate::domain::webhook_address`] when it was made.
    pub url: String,
    pub events: Vec<WebhookEvent>,
    pub template: Option<WebhookTemplate>,
    pub secret: WebhookSecret,
    /// Unix milliseconds.
    pub created_at: u64,
    /// Since when no try was a success, in Unix milliseconds.
    pub failing_since: Option<u64>,
    /// How many events there was no room for.
    pub dropped: u64,
}

/// What signs the deliveries of one webhook. No `Debug` output contains it.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookSecret([u8; SECRET_BYTES]);

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(…)")
    }
}

impl WebhookSecret {
    /// The secret of these bytes, which are random.
    pub const fn new(bytes: [u8; SECRET_BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes. Never print them.
    pub const fn expose(&self) -> &[u8; SECRET_BYTES] {
        &self.0
    }

    /// The secret as receivers are given it.
    pub fn to_text(&self) -> String {
        format!("{SECRET_PREFIX}{}", BASE64_STANDARD.encode(self.0))
    }

    /// The header `webhook-signature` of a delivery that is sent at this time (Unix seconds), as the Standard Webhooks
    /// specify it.
    pub fn sign(&self, id: &str, timestamp: u64, body: &[u8]) -> String {
        // A key of any length is one.
        let Ok(mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return String::new() };
        let mac = mac.chain_update(format!("{id}.{timestamp}.")).chain_update(body);
        format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
    }
}

/// What a webhook calls an event of this kind.
pub const fn webhook_event(kind: EventKind) -> WebhookEvent {
    match kind {
        EventKind::Published => WebhookEvent::Created,
        EventKind::Held => WebhookEvent::Held,
        EventKind::Reported => WebhookEvent::Reported,
        EventKind::Decided(_) | EventKind::Dismissed | EventKind::Undone => WebhookEvent::Decided,
    }
}

/// Whether a text has the form of a delivery's id.
pub fn is_delivery_id(text: &str) -> bool {
    let hash = text.strip_prefix(DELIVERY_ID_PREFIX);
    hash.is_some_and(|hash| {
        hash.len() == 2 * DELIVERY_HASH_BYTES && hash.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    })
}

/// A delivery before it is written. It is due at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    pub id: String,
    pub comment: CommentId,
    pub event: WebhookEvent,
    pub event_at: u64,
    pub created_at: u64,
}

impl NewDelivery {
    /// The delivery of an event to a webhook, from now on (Unix milliseconds). Made twice, it has the same id.
    pub fn new(event: &Event, webhook: WebhookId, now: u64) -> Self {
        let hash = Sha256::digest(format!("{webhook} {} {}", event.id, event.comment));
        Self {
            id: format!("{DELIVERY_ID_PREFIX}{}", hex::encode(&hash[..DELIVERY_HASH_BYTES])),
            comment: event.comment,
            event: webhook_event(event.kind),
            event_at: event.at,
            created_at: now,
        }
    }

    /// Until when it is tried.
    pub fn expires_at(&self) -> u64 {
        self.created_at.saturating_add(DELIVERY_LIFETIME_MS)
    }
}

/// A delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRow {
    /// Grows with each delivery.
    pub number: u64,
    pub id: String,
    pub comment: CommentId,
    pub event: WebhookEvent,
    pub event_at: u64,
    pub created_at: u64,
    /// Until when it is tried.
    pub expires_at: u64,
    pub progress: DeliveryProgress,
}

/// What became of a delivery so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryProgress {
    pub status: WebhookDeliveryStatus,
    pub attempts: u32,
    /// The status of the last answer; `None` where there was none.
    pub last_status: Option<u16>,
    /// When it is due; while a process sends it, until when it has it.
    pub next_at: u64,
}

impl DeliveryRow {
    /// Its progress after a try that ended now with this status, or without an answer.
    pub fn after_try(&self, answered: Option<u16>, now: u64) -> DeliveryProgress {
        let attempts = self.progress.attempts.saturating_add(1);
        let next_at = now.saturating_add(retry_delay_ms(attempts));
        let status = match answered {
            Some(200..=299) => WebhookDeliveryStatus::Delivered,
            _ if next_at > self.expires_at => WebhookDeliveryStatus::Failed,
            _ => WebhookDeliveryStatus::Pending,
        };
        DeliveryProgress { status, attempts, last_status: answered, next_at }
    }

    /// Its progress where it could not be written now: no try.
    pub fn postponed(&self, now: u64) -> DeliveryProgress {
        let next_at = now.saturating_add(POSTPONEMENT_MS);
        let status =
            if next_at > self.expires_at { WebhookDeliveryStatus::Failed } else { WebhookDeliveryStatus::Pending };
        DeliveryProgress { status, next_at, ..self.progress }
    }

    /// Its progress where there is nothing to send any more.
    pub fn given_up(&self) -> DeliveryProgress {
        DeliveryProgress { status: WebhookDeliveryStatus::Failed, ..self.progress }
    }
}

/// How long to wait after so many failures.
fn retry_delay_ms(attempts: u32) -> u64 {
    let index = attempts.saturating_sub(1) as usize;
    FIRST_RETRY_DELAYS_MS.get(index).copied().unwrap_or(LATER_RETRY_DELAY_MS)
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::Slot;

    use super::*;

    const NOW: u64 = 1_700_000_000_000;

    fn event(at: u64) -> Event {
        Event::new(CommentId::from_parts(NOW, Slot::FIRST, 0, 0), EventKind::Held, None, at)
    }

    fn row() -> DeliveryRow {
        let new = NewDelivery::new(&event(NOW), WebhookId::new(7).unwrap(), NOW);
        let status = WebhookDeliveryStatus::Pending;
        let (expires_at, progress) =
            (new.expires_at(), DeliveryProgress { status, attempts: 0, last_status: None, next_at: NOW });
        let NewDelivery { id, comment, event, event_at, created_at } = new;
        DeliveryRow { number: 1, id, comment, event, event_at, created_at, expires_at, progress }
    }

    /// The example of the specification's reference implementations.
    #[test]
    fn signature_is_that_of_the_specification() {
        let mut key = [0; SECRET_BYTES];
        key[..24].copy_from_slice(&BASE64_STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap());
        // HMAC fills a short key up with zeros, so this one signs as the 24 bytes of the example do.
        let signed =
            WebhookSecret::new(key).sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn secret_is_shown_to_its_receiver_alone() {
        let secret = WebhookSecret::new([7; SECRET_BYTES]);
        assert_eq!(secret.to_text(), "whsec_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=");
        assert_eq!(format!("{secret:?}"), "WebhookSecret(…)");
    }

    #[test]
    fn delivery_of_an_event_to_a_webhook_has_one_id() {
        let to = |webhook, at| NewDelivery::new(&event(at), WebhookId::new(webhook).unwrap(), NOW).id;
        assert_eq!(to(7, 1), to(7, 1));
        assert!(is_delivery_id(&to(7, 1)));
        assert_ne!(to(7, NOW), to(8, NOW));
        assert_ne!(to(7, NOW), to(7, NOW + 1));
        for wrong in ["", "msg_", "msg_0123456789abcdef0123456789abcdeF", "0123456789abcdef0123456789abcdef"] {
            assert!(!is_delivery_id(wrong), "{wrong}");
        }
    }

    #[test]
    fn delivery_is_tried_for_a_day() {
        let (mut row, mut now, mut delays) = (row(), NOW, vec![]);
        loop {
            row.progress = row.after_try(Some(500), now);
            if row.progress.status != WebhookDeliveryStatus::Pending {
                break;
            }
            delays.push((row.progress.next_at - now) / 1_000);
            now = row.progress.next_at;
        }
        assert_eq!(delays[..6], [5, 30, 300, 1_800, 7_200, 7_200]);
        assert_eq!((row.progress.status, row.progress.attempts), (WebhookDeliveryStatus::Failed, 16));
        assert!(now <= NOW + DELIVERY_LIFETIME_MS && now + LATER_RETRY_DELAY_MS > NOW + DELIVERY_LIFETIME_MS);
    }

    #[test]
    fn only_2xx_is_delivered() {
        let check = |answered, expected| assert_eq!(row().after_try(answered, NOW).status, expected, "{answered:?}");
        for status in [200, 204, 299] {
            check(Some(status), WebhookDeliveryStatus::Delivered);
        }
        for status in [None, Some(101), Some(199), Some(300), Some(302), Some(404), Some(410), Some(500)] {
            check(status, WebhookDeliveryStatus::Pending);
        }
    }
}
