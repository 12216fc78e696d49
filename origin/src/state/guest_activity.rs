//! What guests of a network have written lately, to find those who answer a challenge first.
//!
//! One process knows what was written through it, in memory. Promise: a fixed number of networks, and a few bytes for each.

use std::net::IpAddr;

use gailou_shared::id::MemberId;
use moka::ops::compute::Op;
use moka::sync::Cache;

/// How long a network is remembered, from its first write on, in milliseconds.
const ACTIVITY_WINDOW_MS: u64 = 10 * 60_000;
/// Writes of guests that a network has in a window without suspicion: two minutes at the default rate of one guest.
const MAX_UNSUSPICIOUS_WRITES: u32 = 10;
/// Guests of a network that write in a window without suspicion.
const MAX_UNSUSPICIOUS_GUESTS: usize = 2;
/// Networks that are remembered: about 10 MB.
const MAX_ACTIVE_NETWORKS: u64 = 50_000;

/// Who shares a fate: a network, or one guest where the network is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum ActivityKey {
    Network(IpAddr),
    Guest(MemberId),
}

/// What a network did since its window began.
#[derive(Debug, Clone, Default)]
struct NetworkActivity {
    since_ms: u64,
    writes: u32,
    /// The first ones.
    guests: Vec<MemberId>,
    /// When the word filter last found something.
    filtered_ms: Option<u64>,
}

/// What guests of each network have written lately.
#[derive(Debug)]
pub struct GuestActivity {
    networks: Cache<ActivityKey, NetworkActivity>,
}

impl Default for GuestActivity {
    fn default() -> Self {
        Self { networks: Cache::new(MAX_ACTIVE_NETWORKS) }
    }
}

impl GuestActivity {
    /// Records a write of a guest. Returns whether it is suspicious: in the last 10 minutes its network had more than
    /// 10 writes of guests, or writes of more than 2, or a text in which the word filter found something that it refuses
    /// or holds.
    pub fn record_write(&self, network: Option<IpAddr>, guest: MemberId, now_ms: u64) -> bool {
        let mut is_suspicious = false;
        self.change(network, guest, now_ms, |activity| {
            activity.writes = activity.writes.saturating_add(1);
            if activity.guests.len() <= MAX_UNSUSPICIOUS_GUESTS && !activity.guests.contains(&guest) {
                activity.guests.push(guest);
            }
            is_suspicious = activity.writes > MAX_UNSUSPICIOUS_WRITES
                || activity.guests.len() > MAX_UNSUSPICIOUS_GUESTS
                || activity.filtered_ms.is_some_and(|at| now_ms < at.saturating_add(ACTIVITY_WINDOW_MS));
        });
        is_suspicious
    }

    /// Records that the word filter refused or held a text of a guest.
    pub fn record_filtered(&self, network: Option<IpAddr>, guest: MemberId, now_ms: u64) {
        self.change(network, guest, now_ms, |activity| activity.filtered_ms = Some(now_ms));
    }

    fn change(&self, network: Option<IpAddr>, guest: MemberId, now_ms: u64, change: impl FnOnce(&mut NetworkActivity)) {
        let key = network.map_or(ActivityKey::Guest(guest), ActivityKey::Network);
        self.networks.entry(key).and_compute_with(|entry| {
            let known = entry.map(moka::Entry::into_value);
            let mut activity = match known {
                Some(known) if now_ms < known.since_ms.saturating_add(ACTIVITY_WINDOW_MS) => known,
                known => NetworkActivity {
                    since_ms: now_ms,
                    filtered_ms: known.and_then(|known| known.filtered_ms),
                    ..NetworkActivity::default()
                },
            };
            change(&mut activity);
            Op::Put(activity)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000_000;

    fn network(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    fn guest(id: u64) -> MemberId {
        MemberId::guest(id)
    }

    #[test]
    fn many_writes_of_a_network_are_suspicious_until_its_window_is_over() {
        let activity = GuestActivity::default();
        let write = |last, at| activity.record_write(network(last), guest(1), at);
        assert!((0..10).all(|n| !write(1, NOW + n)));
        assert!(write(1, NOW + ACTIVITY_WINDOW_MS - 1) && !write(2, NOW));
        assert!(!write(1, NOW + ACTIVITY_WINDOW_MS));
    }

    #[test]
    fn third_guest_of_a_network_makes_it_suspicious() {
        let activity = GuestActivity::default();
        let write = |last, id| activity.record_write(network(last), guest(id), NOW);
        assert!(!write(1, 1) && !write(1, 2) && !write(1, 1) && !write(2, 3));
        assert!(write(1, 3) && write(1, 1));
    }

    #[test]
    fn filtered_text_is_remembered_for_ten_minutes() {
        let activity = GuestActivity::default();
        let write = |last, at| activity.record_write(network(last), guest(1), at);
        assert!(!write(1, NOW));
        // Near the end of the window of the network.
        let filtered_at = NOW + ACTIVITY_WINDOW_MS - 5;
        activity.record_filtered(network(1), guest(1), filtered_at);
        assert!(write(1, filtered_at) && write(1, filtered_at + ACTIVITY_WINDOW_MS - 1) && !write(2, filtered_at));
        assert!(!write(1, filtered_at + ACTIVITY_WINDOW_MS));
    }

    #[test]
    fn guests_of_unknown_networks_share_nothing() {
        let activity = GuestActivity::default();
        activity.record_filtered(None, guest(1), NOW);
        assert!(activity.record_write(None, guest(1), NOW));
        assert!((2..9).all(|id| !activity.record_write(None, guest(id), NOW)));
    }
}
