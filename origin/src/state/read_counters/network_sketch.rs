//! About how many networks read one subject, in 512 bytes. No IO and no clock.
//!
//! Each network sets one of 4,096 bits, by a hash with a key of its own. A network that sets a bit counts for
//! itself and for those that would have found theirs set: 4,096 / (4,096 - bits set). The estimate is good to
//! a few percent for thousands of networks, and never more than 4,096 · (ln 4,096 + 0.58) = 36,400.

use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use gailou_shared::network::reader_network;

/// Words of 64 bits.
const SKETCH_WORDS: usize = 64;
/// Bits of a sketch.
const SKETCH_BITS: u64 = SKETCH_WORDS as u64 * u64::BITS as u64;
/// Parts of a network that are counted.
const PARTS_PER_NETWORK: u64 = 1_000;

/// The networks that were seen, and how many of them were not taken yet.
#[derive(Debug)]
pub(super) struct NetworkSketch {
    keys: RandomState,
    bits: [AtomicU64; SKETCH_WORDS],
    bits_set: AtomicU32,
    /// In parts of a network.
    parts: AtomicU64,
}

impl Default for NetworkSketch {
    fn default() -> Self {
        let bits = std::array::from_fn(|_| AtomicU64::new(0));
        Self { keys: RandomState::new(), bits, bits_set: AtomicU32::new(0), parts: AtomicU64::new(0) }
    }
}

impl NetworkSketch {
    /// Counts a network unless it was seen.
    pub(super) fn add(&self, network: Option<IpAddr>) {
        let place = self.keys.hash_one(network.map(reader_network)) % SKETCH_BITS;
        let (word, mask) = ((place / 64) as usize, 1 << (place % 64));
        let is_new = self.bits[word].load(Ordering::Relaxed) & mask == 0
            && self.bits[word].fetch_or(mask, Ordering::Relaxed) & mask == 0;
        if is_new {
            let before = u64::from(self.bits_set.fetch_add(1, Ordering::Relaxed)).min(SKETCH_BITS - 1);
            self.parts.fetch_add(PARTS_PER_NETWORK * SKETCH_BITS / (SKETCH_BITS - before), Ordering::Relaxed);
        }
    }

    /// The whole networks since the last call.
    pub(super) fn take_count(&self) -> u64 {
        let parts = self.parts.swap(0, Ordering::Relaxed);
        self.parts.fetch_add(parts % PARTS_PER_NETWORK, Ordering::Relaxed);
        parts / PARTS_PER_NETWORK
    }

    /// Forgets which networks were seen.
    pub(super) fn forget(&self) {
        for word in &self.bits {
            word.store(0, Ordering::Relaxed);
        }
        self.bits_set.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimate_is_good_to_a_few_percent() {
        for networks in [1_u32, 10, 600, 5_000, 10_000] {
            let sketch = NetworkSketch::default();
            for network in (0..networks).chain(0..networks) {
                sketch.add(Some(IpAddr::from(network.to_be_bytes())));
            }
            let (count, expected) = (sketch.take_count() as f64, f64::from(networks));
            assert!((count - expected).abs() <= (expected * 0.1).max(1.0), "{count} of {networks}");
        }
    }

    #[test]
    fn addresses_of_one_customer_count_once() {
        let sketch = NetworkSketch::default();
        for subnet in 0..1_000 {
            sketch.add(format!("2001:db8:7:{subnet:x}::1").parse().ok());
        }
        assert_eq!(sketch.take_count(), 1);
    }

    #[test]
    fn full_sketch_counts_no_more() {
        let sketch = NetworkSketch::default();
        for network in 0..200_000_u32 {
            sketch.add(Some(IpAddr::from(network.to_be_bytes())));
        }
        let count = sketch.take_count();
        assert!((20_000..=36_500).contains(&count), "{count}");
    }
}
