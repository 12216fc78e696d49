//! The event streams of this process: how many may be open, in all and for one network, and when they end.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Open streams of one process. Each is a task and a few kilobytes.
const MAX_EVENT_STREAMS: usize = 1_000;
/// Open streams of one network. Readers beyond them poll.
const MAX_EVENT_STREAMS_PER_NETWORK: usize = 200;

/// The event streams of this process.
#[derive(Debug, Default)]
pub(super) struct OpenEventStreams {
    open: Mutex<StreamCounts>,
    shutdown: CancellationToken,
}

#[derive(Debug, Default)]
struct StreamCounts {
    all: usize,
    by_network: HashMap<IpAddr, usize>,
}

/// An open stream; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct EventStreamPermit {
    streams: Arc<OpenEventStreams>,
    network: Option<IpAddr>,
}

impl OpenEventStreams {
    /// The right to one more stream, until it is dropped; `None` when too many are open. What the edge asks
    /// for itself has no network, and counts for none.
    pub(super) fn try_open(self: &Arc<Self>, network: Option<IpAddr>) -> Option<EventStreamPermit> {
        let mut open = self.open.lock();
        let of_network = network.and_then(|network| open.by_network.get(&network)).copied().unwrap_or(0);
        if open.all >= MAX_EVENT_STREAMS || of_network >= MAX_EVENT_STREAMS_PER_NETWORK {
            return None;
        }
        open.all += 1;
        if let Some(network) = network {
            *open.by_network.entry(network).or_default() += 1;
        }
        Some(EventStreamPermit { streams: self.clone(), network })
    }

    /// Is cancelled when every stream has to end.
    pub(super) fn shutdown(&self) -> CancellationToken {
        self.shutdown.clone()
    }

    /// Ends every stream, because the server waits until each answer is complete.
    pub(super) fn shut_down(&self) {
        self.shutdown.cancel();
    }
}

impl Drop for EventStreamPermit {
    fn drop(&mut self) {
        let mut open = self.streams.open.lock();
        open.all -= 1;
        if let Some(network) = self.network
            && let Some(count) = open.by_network.get_mut(&network)
        {
            *count -= 1;
            if *count == 0 {
                open.by_network.remove(&network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_network_cannot_take_all_streams() {
        let streams = Arc::new(OpenEventStreams::default());
        let network = |n: u8| Some(IpAddr::from([192, 0, 2, n]));
        let mut open: Vec<_> = std::iter::from_fn(|| streams.try_open(network(1))).collect();
        assert_eq!(open.len(), MAX_EVENT_STREAMS_PER_NETWORK);
        open.push(streams.try_open(network(2)).expect("another network"));
        open.extend(std::iter::from_fn(|| streams.try_open(None)));
        assert_eq!(open.len(), MAX_EVENT_STREAMS);
        assert!(streams.try_open(network(3)).is_none());
        drop(open);
        assert!(streams.try_open(network(1)).is_some() && streams.open.lock().by_network.is_empty());
    }
}
