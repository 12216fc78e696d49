//! Writes the deliveries of events to webhooks, and sends them.
//!
//! A delivery is sent by one process at a time: it is leased before it is sent. Promise: each is sent at least once, unless
//! its webhook is removed, its comment is gone, or no try of a day succeeds; one that is sent again, because its answer or
//! the process was lost, has the same id. A receiver that is slow or does not answer delays no other: each has places of
//! its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use gailou_shared::id::WebhookId;
use gailou_shared::wire::WebhookDeliveryStatus;
use metrics::{counter, gauge};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::domain::event::Event;
use crate::domain::webhook::{DeliveryProgress, DeliveryRow, NewDelivery, WebhookRow, webhook_event};
use crate::domain::webhook_address::WebhookUrl;
use crate::outage_log::OutageLog;
use crate::ports::failure::Failure;
use crate::ports::store::{StoreError, WebhookRows};
use crate::ports::webhook_sender::{WebhookCall, WebhookSender};
use crate::service::{ServiceError, webhook_message};
use crate::state::{AppState, WEBHOOK_DROPPED_COUNT, WEBHOOK_TRY_COUNT, WEBHOOKS_FAILING};

/// How often due deliveries are looked for. After a delivery the next one of its webhook is looked for at once.
const DELIVERY_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Deliveries to one webhook at a time; to all of them at most 80.
const TRIES_PER_WEBHOOK: usize = 4;
/// For how long a process has a delivery that it sends: the 10 s of a try, and 5 s for the rows before and after it. If the
/// process dies, another one sends it then.
const DELIVERY_LEASE_MS: u64 = 15_000;

/// Writes the deliveries of these events to the webhooks that asked for them before they happened. Done again, it changes
/// nothing.
///
/// # Errors
/// The store's; some deliveries may be written.
pub async fn queue(tables: &(impl WebhookRows + ?Sized), events: &[Event], now: u64) -> Result<(), StoreError> {
    if events.is_empty() {
        return Ok(());
    }
    for webhook in tables.list_webhooks().await? {
        let is_asked =
            |event: &&Event| event.at >= webhook.created_at && webhook.events.contains(&webhook_event(event.kind));
        let asked = events.iter().filter(is_asked);
        let deliveries: Vec<NewDelivery> = asked.map(|event| NewDelivery::new(event, webhook.id, now)).collect();
        if deliveries.is_empty() {
            continue;
        }
        let dropped = tables.insert_deliveries(webhook.id, &deliveries).await?;
        if dropped > 0 {
            counter!(WEBHOOK_DROPPED_COUNT).increment(dropped as u64);
            let webhook = webhook.id.get();
            tracing::warn!(webhook, dropped, "Dropped {dropped} events for webhook {webhook}: too many are waiting");
        }
    }
    Ok(())
}

/// Sends due deliveries until the state is dropped.
pub async fn run(state: Weak<AppState>, sender: Arc<dyn WebhookSender>) {
    let outage = OutageLog::default();
    let mut tick = tokio::time::interval(DELIVERY_POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut receivers = BTreeMap::<WebhookId, Arc<DeliveryTarget>>::new();
    let mut tries = JoinSet::new();
    loop {
        let ended = tokio::select! {
            biased;
            // First, since it comes once a second at most: tries that end all the time would keep it waiting.
            _ = tick.tick() => None,
            Some(ended) = tries.join_next() => Some(ended.ok()),
        };
        let Some(state) = state.upgrade() else { return };
        let done = match ended {
            Some(Some((webhook, tried))) => {
                let next = match receivers.get(&webhook) {
                    Some(receiver) => start_due(&state, &sender, receiver, &mut tries).await,
                    None => Ok(()),
                };
                tried.and(next)
            }
            // A try that panicked has logged it; its lease ends by itself.
            Some(None) => Ok(()),
            None => start_all_due(&state, &sender, &mut receivers, &mut tries).await,
        };
        match done {
            Ok(()) => outage.end(|| tracing::info!("Webhooks are sent again")),
            Err(error) => outage.begin(|| {
                let retry_s = DELIVERY_POLL_INTERVAL.as_secs();
                tracing::warn!(retry_s, %error, "Could not read or write the deliveries of webhooks; retrying every {retry_s} s");
            }),
        }
    }
}

/// A webhook, as this process sends to it.
#[derive(Debug)]
struct DeliveryTarget {
    webhook: WebhookRow,
    /// One for each delivery that is being sent.
    places: Arc<Semaphore>,
    outage: Arc<OutageLog>,
}

/// The tries in progress; each ends with its webhook, and with an error where its outcome could not be stored.
type Tries = JoinSet<(WebhookId, Result<(), StoreError>)>;

/// Reads the webhooks, and begins to send what is due of each.
async fn start_all_due(
    state: &Arc<AppState>,
    sender: &Arc<dyn WebhookSender>,
    receivers: &mut BTreeMap<WebhookId, Arc<DeliveryTarget>>,
    tries: &mut Tries,
) -> Result<(), StoreError> {
    let webhooks = state.tables.list_webhooks().await?;
    gauge!(WEBHOOKS_FAILING).set(webhooks.iter().filter(|webhook| webhook.failing_since.is_some()).count() as f64);
    let ids: BTreeSet<WebhookId> = webhooks.iter().map(|webhook| webhook.id).collect();
    receivers.retain(|id, _| ids.contains(id));
    for webhook in webhooks {
        let known = receivers.get(&webhook.id);
        let places = known.map_or_else(|| Arc::new(Semaphore::new(TRIES_PER_WEBHOOK)), |known| known.places.clone());
        let outage = known.map_or_else(Arc::default, |known| known.outage.clone());
        let receiver = Arc::new(DeliveryTarget { webhook, places, outage });
        start_due(state, sender, &receiver, tries).await?;
        receivers.insert(receiver.webhook.id, receiver);
    }
    Ok(())
}

/// Begins to send what is due of a webhook, as much as there are places for.
async fn start_due(
    state: &Arc<AppState>,
    sender: &Arc<dyn WebhookSender>,
    receiver: &Arc<DeliveryTarget>,
    tries: &mut Tries,
) -> Result<(), StoreError> {
    let id = receiver.webhook.id;
    let free = receiver.places.available_permits();
    if free == 0 {
        return Ok(());
    }
    for delivery in state.tables.list_due_deliveries(id, state.now(), free).await? {
        let Ok(place) = receiver.places.clone().try_acquire_owned() else { break };
        let leased_until = state.now().saturating_add(DELIVERY_LEASE_MS);
        if state.tables.lease_delivery(&delivery, leased_until).await? {
            let (state, sender, receiver) = (state.clone(), sender.clone(), receiver.clone());
            tries.spawn(async move {
                (id, try_delivery(&state, &*sender, &receiver, &delivery, leased_until, place).await)
            });
        }
    }
    Ok(())
}

/// Sends a leased delivery once, and stores what became of it.
async fn try_delivery(
    state: &AppState,
    sender: &dyn WebhookSender,
    receiver: &DeliveryTarget,
    delivery: &DeliveryRow,
    leased_until: u64,
    _place: OwnedSemaphorePermit,
) -> Result<(), StoreError> {
    let webhook = &receiver.webhook;
    let store = |progress: DeliveryProgress| async move {
        state.tables.put_progress(delivery.number, leased_until, &progress).await
    };
    // The operator may have closed private addresses since it was made.
    let url = WebhookUrl::parse(&webhook.url, webhook.template, state.config.webhooks.allow_private);
    let answered = match url {
        Ok(url) => match webhook_message::body(state, webhook, &url, delivery).await {
            Ok(Some(body)) => {
                let timestamp = state.now() / 1_000;
                let signature = webhook.secret.sign(&delivery.id, timestamp, &body);
                sender.send(WebhookCall { url: &url, id: &delivery.id, timestamp, signature, body }).await
            }
            Ok(None) => return store(delivery.given_up()).await,
            // Nothing was sent, so it is no try. Until its database answers, others have its place.
            Err(ServiceError::Store(error)) if !matches!(error, StoreError::Damaged(_)) => {
                store(delivery.postponed(state.now())).await?;
                return Err(error);
            }
            Err(error) => Err(Failure::from(format!("its comment cannot be read: {error}"))),
        },
        Err(why) => Err(Failure::from(format!("its address {why}"))),
    };
    let progress = delivery.after_try(answered.as_ref().ok().copied(), state.now());
    let is_delivered = progress.status == WebhookDeliveryStatus::Delivered;
    log_try(receiver, &answered, is_delivered);
    counter!(WEBHOOK_TRY_COUNT, "outcome" => if is_delivered { "delivered" } else { "failed" }).increment(1);
    store(progress).await?;
    if is_delivered == webhook.failing_since.is_some() {
        let since = (!is_delivered).then(|| state.now());
        state.tables.put_failing_since(webhook.id, since).await?;
    }
    Ok(())
}

fn log_try(receiver: &DeliveryTarget, answered: &Result<u16, Failure>, is_delivered: bool) {
    let webhook = receiver.webhook.id.get();
    if is_delivered {
        receiver.outage.end(|| tracing::info!(webhook, "Webhook {webhook} takes deliveries again"));
        return;
    }
    let why = match answered {
        Ok(status) => format!("it answered {status}"),
        Err(failure) => failure.to_string(),
    };
    receiver.outage.begin(|| {
        tracing::warn!(webhook, why, "Could not deliver to webhook {webhook}: {why}; retrying each delivery for a day");
    });
}
