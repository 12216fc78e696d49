//! How far a database has applied a partition of the broker, and how the partition is known again.

use gailou_shared::id::Slot;
use sha2::{Digest as _, Sha256};

/// Samples of a partition: with half of them, each as far from the last as all later ones together, 16
/// samples reach 65,536 batches back.
const MAX_SAMPLES: usize = 32;
/// Bytes of one sample: offset and hash.
const SAMPLE_BYTES: usize = 16;

/// How far a database has applied a partition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checkpoint {
    /// Everything before this offset that belongs to the database's slots is applied.
    pub next: u64,
    /// Slots that came to the database from another one.
    pub moves: u64,
    /// Of the log, also beyond `next`: of what was applied out of order.
    pub samples: LogSamples,
}

/// A checkpoint that is to be written.
#[derive(Debug, Clone)]
pub struct CheckpointAdvance {
    pub partition: u32,
    /// What the database has at least, unless it has gone back.
    pub known_next: u64,
    /// What the database has exactly, unless a slot came to it.
    pub known_moves: u64,
    pub next: u64,
    /// Slots of the database with records beyond its checkpoint that are applied, and the position that each has at
    /// least, unless the database has gone back: its checkpoint does not say so.
    pub applied: Vec<(Slot, u64)>,
    pub samples: LogSamples,
}

/// What a partition held at some offsets, the earlier ones further apart. A log that was truncated, or
/// created again, or belongs to another cluster, holds something else there, however long it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogSamples(Vec<LogSample>);

/// What a partition held at one offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSample {
    pub offset: u64,
    /// The first bytes of the SHA-256 of the record.
    pub hash: [u8; 8],
}

impl LogSample {
    pub fn new(offset: u64, payload: &[u8]) -> Self {
        let digest = Sha256::digest(payload);
        let mut hash = [0; 8];
        hash.copy_from_slice(&digest[..8]);
        Self { offset, hash }
    }
}

impl LogSamples {
    /// The samples, the earliest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &LogSample> {
        self.0.iter()
    }

    /// Adds a sample that is later than all others; any other is left out.
    pub fn push(&mut self, sample: LogSample) {
        if self.0.last().is_some_and(|last| last.offset >= sample.offset) {
            return;
        }
        self.0.push(sample);
        if self.0.len() > MAX_SAMPLES {
            self.0.remove(self.least_useful());
        }
    }

    /// The sample without which the distances grow least, measured by the distance from the last one.
    fn least_useful(&self) -> usize {
        let last = self.0.last().map_or(0, |sample| sample.offset);
        let gap = |index: &usize| {
            let (before, after) = (self.0[index - 1].offset, self.0[index + 1].offset);
            // In thousandths; the last but one has a distance of 1 at least.
            (after - before).saturating_mul(1_000) / (last - self.0[*index].offset).max(1)
        };
        (1..self.0.len() - 1).min_by_key(gap).unwrap_or(0)
    }

    /// Takes these, unless they end before its own: they were taken earlier.
    pub fn replace_by(&mut self, other: &Self) {
        if other.0.last().map(|last| last.offset) >= self.0.last().map(|last| last.offset) {
            self.clone_from(other);
        }
    }

    /// The samples as a column stores them.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|sample| [sample.offset.to_be_bytes(), sample.hash].concat()).collect()
    }

    /// Reads [`Self::to_bytes`]. What cannot be samples is left out: fewer of them find less.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut samples = Self::default();
        for bytes in bytes.as_chunks::<SAMPLE_BYTES>().0 {
            let (offset, hash) = bytes.split_at(8);
            if let (Ok(offset), Ok(hash)) = (offset.try_into(), hash.try_into()) {
                samples.push(LogSample { offset: u64::from_be_bytes(offset), hash });
            }
        }
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_dense_at_the_end_and_reach_far_back() {
        let mut samples = LogSamples::default();
        for offset in 0..200_000 {
            samples.push(LogSample::new(offset, b"x"));
        }
        samples.push(LogSample::new(5, b"earlier"));
        let offsets: Vec<u64> = samples.iter().map(|sample| sample.offset).collect();
        assert_eq!((offsets.len(), offsets[0], *offsets.last().unwrap()), (MAX_SAMPLES, 0, 199_999));
        assert!(offsets[MAX_SAMPLES - 5] > 199_980, "{offsets:?}");
        assert!(offsets.windows(2).all(|pair| pair[1] - pair[0] <= 2 * (200_000 - pair[1])), "{offsets:?}");
        assert_eq!(LogSamples::from_bytes(&samples.to_bytes()), samples);
        assert_eq!(LogSamples::from_bytes(&samples.to_bytes()[..40]).iter().count(), 2);
        assert_ne!(LogSample::new(1, b"a"), LogSample::new(1, b"b"));
        let mut earlier = LogSamples::default();
        earlier.push(LogSample::new(199_998, b"x"));
        let mut stored = samples.clone();
        stored.replace_by(&earlier);
        assert_eq!(stored, samples);
        stored = earlier;
        stored.replace_by(&samples);
        assert_eq!(stored, samples);
    }
}
