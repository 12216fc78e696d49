//! How many streams an isolate has, in all and of one network. No IO and no clock of its own here.
//!
//! **Promise.** Each stream counts once, from its opening until it is dropped; one that is never
//! dropped, until it has given no sign for a whole window. The platform does not say when a client
//! is gone, so nothing that must not grow counts on being told.
//!
//! **Bounds.** A network is kept only while one of its streams counts.

use std::collections::HashMap;

/// Streams of an isolate: some 10 kB each, a sixth of its memory.
pub const STREAMS: u32 = 2_000;
/// Streams of one network: an office's readers, and a small part of an isolate's.
pub const STREAMS_NETWORK: u32 = 50;
/// A stream that gave no sign counts to the end of the next window, in milliseconds.
pub const WINDOW_MS: u64 = 20_000;

/// What has no room for one more.
#[derive(Debug, PartialEq, Eq)]
pub enum Full {
    /// The isolate.
    Isolate,
    /// What the network may have of it.
    Network,
}

/// The streams that gave a sign in this window, and those that did in the one before and not since.
#[derive(Debug, Default)]
pub struct Load {
    window: u64,
    now: Signs,
    before: Signs,
}

#[derive(Debug, Default)]
struct Signs {
    all: u32,
    networks: HashMap<u128, u32>,
}

impl Signs {
    fn of(&self, network: u128) -> u32 {
        self.networks.get(&network).copied().unwrap_or(0)
    }

    fn add(&mut self, network: Option<u128>) {
        self.all = self.all.saturating_add(1);
        if let Some(network) = network {
            let count = self.networks.entry(network).or_default();
            *count = count.saturating_add(1);
        }
    }

    fn remove(&mut self, network: Option<u128>) {
        self.all = self.all.saturating_sub(1);
        let Some(network) = network else { return };
        if let Some(count) = self.networks.get_mut(&network) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.networks.remove(&network);
            }
        }
    }
}

impl Load {
    fn turn(&mut self, now_ms: u64) {
        let window = now_ms / WINDOW_MS;
        if window != self.window {
            let now = std::mem::take(&mut self.now);
            self.before = if window == self.window + 1 { now } else { Signs::default() };
            self.window = window;
        }
    }

    /// Counts one more: the window of its first sign.
    ///
    /// # Errors
    /// There is no room for it.
    pub fn enter(&mut self, network: Option<u128>, now_ms: u64) -> Result<u64, Full> {
        self.turn(now_ms);
        if self.now.all.saturating_add(self.before.all) >= STREAMS {
            return Err(Full::Isolate);
        }
        let of = |network| self.now.of(network).saturating_add(self.before.of(network));
        if network.is_some_and(|network| of(network) >= STREAMS_NETWORK) {
            return Err(Full::Network);
        }
        self.now.add(network);
        Ok(self.window)
    }

    /// A sign of a stream that gave its last one in the window `last`.
    pub fn sign(&mut self, network: Option<u128>, last: &mut u64, now_ms: u64) {
        self.turn(now_ms);
        if *last != self.window {
            self.leave(network, *last);
            self.now.add(network);
            *last = self.window;
        }
    }

    /// A stream that gave its last sign in the window `last` counts no longer.
    pub fn leave(&mut self, network: Option<u128>, last: u64) {
        if last == self.window {
            self.now.remove(network);
        } else if last.saturating_add(1) == self.window {
            self.before.remove(network);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::prefix;

    #[test]
    fn an_isolate_has_room_for_so_many() {
        let mut load = Load::default();
        let mut last: Vec<_> = (0..STREAMS).map(|_| load.enter(None, WINDOW_MS).unwrap()).collect();
        assert_eq!(load.enter(None, WINDOW_MS), Err(Full::Isolate));
        // Half of them give a sign, more than once, and the others are still counted.
        for _ in 0..2 {
            last.iter_mut().step_by(2).for_each(|last| load.sign(None, last, 2 * WINDOW_MS));
            assert_eq!(load.enter(None, 2 * WINDOW_MS), Err(Full::Isolate));
        }
        // They are gone, and nobody said so.
        let room = (0..STREAMS).take_while(|_| load.enter(None, 3 * WINDOW_MS).is_ok()).count();
        assert_eq!(room, STREAMS as usize / 2);
        assert!(load.enter(None, 5 * WINDOW_MS).is_ok());
    }

    #[test]
    fn a_network_has_room_for_so_many_and_leaves_the_rest() {
        let (one, other) = (prefix(Some("192.0.2.1")), prefix(Some("192.0.2.2")));
        let mut load = Load::default();
        let mut last: Vec<_> = (0..STREAMS_NETWORK).map(|_| load.enter(one, WINDOW_MS).unwrap()).collect();
        assert_eq!(load.enter(one, WINDOW_MS), Err(Full::Network));
        assert!(load.enter(other, WINDOW_MS).is_ok() && load.enter(None, WINDOW_MS).is_ok());
        // At the turn of a window nothing is gained, whether they have given their sign or not.
        assert_eq!(load.enter(one, 2 * WINDOW_MS), Err(Full::Network));
        last.iter_mut().for_each(|last| load.sign(one, last, 2 * WINDOW_MS));
        assert_eq!(load.enter(one, 2 * WINDOW_MS), Err(Full::Network));
        // One that is dropped makes room for one.
        load.leave(one, last[0]);
        assert!(load.enter(one, 2 * WINDOW_MS).is_ok());
        assert_eq!(load.enter(one, 2 * WINDOW_MS), Err(Full::Network));
        // What is not there is not kept.
        load.turn(4 * WINDOW_MS);
        assert!(load.now.networks.is_empty() && load.before.networks.is_empty());
        let last = load.enter(one, 4 * WINDOW_MS).unwrap();
        load.leave(one, last);
        assert!(load.now.networks.is_empty() && load.now.all == 0);
    }

    #[test]
    fn a_network_is_what_one_household_has() {
        let of = |client| prefix(Some(client)).unwrap();
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_ne!(of("0.0.0.0"), of("::"));
        assert_eq!((prefix(None), prefix(Some("nobody"))), (None, None));
    }
}
