//! How many streams an isolate has, in all and for each network. No IO and no clock of its own here.
//!
//! **Promise.** A stream counts once, from its opening until it is dropped. The platform gives no signal
//! when a client disconnects, so a stream that is never dropped counts until it has sent no heartbeat
//! for a whole window.
//!
//! **Bound.** A network is kept only while one of its streams counts.

use std::collections::HashMap;
use std::net::IpAddr;

/// Most streams of an isolate: about 10 kB each, a sixth of its memory.
pub const MAX_STREAMS: u32 = 2_000;
/// Most streams of one network: enough for an office's readers, and a small part of an isolate's.
pub const MAX_STREAMS_PER_NETWORK: u32 = 50;
/// A stream without heartbeats counts until the end of the next window of this length, in milliseconds.
pub const WINDOW_MS: u64 = 20_000;

/// The limit that leaves no room for another stream.
#[derive(Debug, PartialEq, Eq)]
pub enum StreamLimitReached {
    /// That of the isolate.
    Isolate,
    /// That of the network.
    Network,
}

/// The streams that sent a heartbeat in this window, and those that did in the previous one and not
/// since.
#[derive(Debug, Default)]
pub struct StreamLimits {
    window: u64,
    current: WindowCounts,
    previous: WindowCounts,
}

#[derive(Debug, Default)]
struct WindowCounts {
    all: u32,
    by_network: HashMap<IpAddr, u32>,
}

impl WindowCounts {
    fn of_network(&self, network: IpAddr) -> u32 {
        self.by_network.get(&network).copied().unwrap_or(0)
    }

    fn add(&mut self, network: Option<IpAddr>) {
        self.all = self.all.saturating_add(1);
        if let Some(network) = network {
            let count = self.by_network.entry(network).or_default();
            *count = count.saturating_add(1);
        }
    }

    fn remove(&mut self, network: Option<IpAddr>) {
        self.all = self.all.saturating_sub(1);
        let Some(network) = network else { return };
        if let Some(count) = self.by_network.get_mut(&network) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.by_network.remove(&network);
            }
        }
    }
}

impl StreamLimits {
    fn advance_window(&mut self, now_ms: u64) {
        let window = now_ms / WINDOW_MS;
        if window != self.window {
            let current = std::mem::take(&mut self.current);
            self.previous = if window == self.window + 1 { current } else { WindowCounts::default() };
            self.window = window;
        }
    }

    /// Counts a new stream and returns the window of its first heartbeat.
    ///
    /// # Errors
    /// The limit that leaves no room for it.
    pub fn acquire(&mut self, network: Option<IpAddr>, now_ms: u64) -> Result<u64, StreamLimitReached> {
        self.advance_window(now_ms);
        if self.current.all.saturating_add(self.previous.all) >= MAX_STREAMS {
            return Err(StreamLimitReached::Isolate);
        }
        let of_network = |network| self.current.of_network(network).saturating_add(self.previous.of_network(network));
        if network.is_some_and(|network| of_network(network) >= MAX_STREAMS_PER_NETWORK) {
            return Err(StreamLimitReached::Network);
        }
        self.current.add(network);
        Ok(self.window)
    }

    /// Records a heartbeat of a stream whose last one was in the window `last`, and updates `last`.
    pub fn record_heartbeat(&mut self, network: Option<IpAddr>, last: &mut u64, now_ms: u64) {
        self.advance_window(now_ms);
        if *last != self.window {
            self.release(network, *last);
            self.current.add(network);
            *last = self.window;
        }
    }

    /// Removes a stream whose last heartbeat was in the window `last`.
    pub fn release(&mut self, network: Option<IpAddr>, last: u64) {
        if last == self.window {
            self.current.remove(network);
        } else if last.saturating_add(1) == self.window {
            self.previous.remove(network);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate_limits::network_of;

    #[test]
    fn isolate_limit_counts_silent_streams_for_two_windows() {
        let mut limits = StreamLimits::default();
        let mut last: Vec<_> = (0..MAX_STREAMS).map(|_| limits.acquire(None, WINDOW_MS).unwrap()).collect();
        assert_eq!(limits.acquire(None, WINDOW_MS), Err(StreamLimitReached::Isolate));
        // Half of them send heartbeats, and the others still count.
        for _ in 0..2 {
            last.iter_mut().step_by(2).for_each(|last| limits.record_heartbeat(None, last, 2 * WINDOW_MS));
            assert_eq!(limits.acquire(None, 2 * WINDOW_MS), Err(StreamLimitReached::Isolate));
        }
        // The other half disconnected without a signal.
        let room = (0..MAX_STREAMS).take_while(|_| limits.acquire(None, 3 * WINDOW_MS).is_ok()).count();
        assert_eq!(room, MAX_STREAMS as usize / 2);
        assert!(limits.acquire(None, 5 * WINDOW_MS).is_ok());
    }

    #[test]
    fn network_limit_leaves_room_for_other_networks() {
        let (one, other) = (network_of(Some("192.0.2.1")), network_of(Some("192.0.2.2")));
        let mut limits = StreamLimits::default();
        let mut last: Vec<_> = (0..MAX_STREAMS_PER_NETWORK).map(|_| limits.acquire(one, WINDOW_MS).unwrap()).collect();
        assert_eq!(limits.acquire(one, WINDOW_MS), Err(StreamLimitReached::Network));
        assert!(limits.acquire(other, WINDOW_MS).is_ok() && limits.acquire(None, WINDOW_MS).is_ok());
        // A new window gives no room, with or without heartbeats.
        assert_eq!(limits.acquire(one, 2 * WINDOW_MS), Err(StreamLimitReached::Network));
        last.iter_mut().for_each(|last| limits.record_heartbeat(one, last, 2 * WINDOW_MS));
        assert_eq!(limits.acquire(one, 2 * WINDOW_MS), Err(StreamLimitReached::Network));
        // A dropped stream makes room for one.
        limits.release(one, last[0]);
        assert!(limits.acquire(one, 2 * WINDOW_MS).is_ok());
        assert_eq!(limits.acquire(one, 2 * WINDOW_MS), Err(StreamLimitReached::Network));
        // Networks without streams are not kept.
        limits.advance_window(4 * WINDOW_MS);
        assert!(limits.current.by_network.is_empty() && limits.previous.by_network.is_empty());
        let last = limits.acquire(one, 4 * WINDOW_MS).unwrap();
        limits.release(one, last);
        assert!(limits.current.by_network.is_empty() && limits.current.all == 0);
    }

    #[test]
    fn network_is_an_ipv4_address_or_an_ipv6_64() {
        let of = |client| network_of(Some(client)).unwrap();
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_ne!(of("0.0.0.0"), of("::"));
        assert_eq!((network_of(None), network_of(Some("not an address"))), (None, None));
    }
}
