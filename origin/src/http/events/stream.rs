//! A stream of server-sent events: documents of events, one after the other.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::Event;
use futures_util::{Stream, StreamExt as _, stream};
use gailou_shared::id::SubjectKey;
use gailou_shared::wire::{LiveEvent, LiveEventPage};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::http::event_streams::EventStreamPermit;
use crate::http::events::{RECONNECT_INTERVAL, document};
use crate::state::AppState;

/// A stream ends after this time, and its reader reconnects.
const EVENT_STREAM_LIFETIME: Duration = Duration::from_secs(900);
/// How often a stream polls for something new.
const EVENT_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A stream, as far as it has come.
struct SubjectStream {
    app: Arc<AppState>,
    key: SubjectKey,
    /// The version up to which everything is sent.
    sent: u64,
    until: Instant,
    shutdown: CancellationToken,
    _permit: EventStreamPermit,
}

/// The events after a version, beginning with those of `first`.
pub(super) fn events(
    app: Arc<AppState>,
    key: SubjectKey,
    after: Option<u64>,
    first: &LiveEventPage,
    permit: EventStreamPermit,
    shutdown: CancellationToken,
) -> impl Stream<Item = Result<Event, Infallible>> + use<> {
    // An id without data gives the reader the version to resume from, and nothing else.
    let hello = Event::default().retry(RECONNECT_INTERVAL).id(after.unwrap_or(first.version).to_string());
    let until = Instant::now() + EVENT_STREAM_LIFETIME;
    let subject = SubjectStream { app, key, sent: first.version, until, shutdown, _permit: permit };
    let later = stream::unfold(subject, |mut subject| async move {
        let news = subject.next().await?;
        Some((stream::iter(sent_events(&news)), subject))
    });
    stream::iter([hello]).chain(stream::iter(sent_events(first))).chain(later.flatten()).map(Ok)
}

/// A document as the events of a stream. Events of one commit share its version, and only the last of
/// them has it as its id: a reader whose stream breaks among them gets all of them again.
fn sent_events(document: &LiveEventPage) -> Vec<Event> {
    let version = document.version.to_string();
    if document.reset {
        return vec![Event::default().event("reset").id(&version).data(format!("{{\"version\":\"{version}\"}}"))];
    }
    let next_ids = document.events.iter().skip(1).map(|event| Some(event.id)).chain([None]);
    let mut events: Vec<_> = std::iter::zip(&document.events, next_ids)
        .map(|(LiveEvent { id, kind }, next_id)| {
            let event = Event::default().event(kind.name()).data(kind.data());
            if next_id == Some(*id) { event } else { event.id(id.to_string()) }
        })
        .collect();
    events.push(Event::default().id(version));
    events
}

impl SubjectStream {
    /// The next document with something in it; `None` when the stream is over.
    async fn next(&mut self) -> Option<LiveEventPage> {
        loop {
            tokio::select! {
                () = self.shutdown.cancelled() => return None,
                () = sleep_until(self.until) => return None,
                () = sleep(EVENT_POLL_INTERVAL) => {}
            }
            // While the events cannot be read, the reader waits.
            let Ok(document) = document(&self.app, &self.key, Some(self.sent)).await else { continue };
            let Ok(document) = serde_json::from_slice::<LiveEventPage>(&document) else { return None };
            if document.reset || document.version != self.sent {
                self.sent = document.version;
                return Some(document);
            }
        }
    }
}
