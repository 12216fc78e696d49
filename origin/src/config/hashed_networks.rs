//! Networks that are blocked without their addresses: what a moderator blocks by a comment.

use chrono::{NaiveDate, NaiveTime};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::config::values::parse;
use crate::domain::network_digest::NetworkDigest;

/// Most of them: of `rules.blocked.networks` there are no more.
const MAX_HASHED_NETWORKS: usize = 1_000;
/// `2026-12-27`
const DATE_FORMAT: &str = "%Y-%m-%d";

/// A network by its digest, and the last day, in UTC, on which it is blocked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashedNetwork {
    pub digest: NetworkDigest,
    pub last_day: NaiveDate,
}

impl HashedNetwork {
    /// The network, blocked until a moment at least, in Unix milliseconds.
    pub fn new(digest: NetworkDigest, until_ms: u64) -> Option<Self> {
        let until = chrono::DateTime::from_timestamp_millis(i64::try_from(until_ms).ok()?)?;
        Some(Self { digest, last_day: until.date_naive() })
    }

    /// When it is blocked no more, in Unix milliseconds.
    pub fn ends_at(&self) -> u64 {
        let midnight = self.last_day.succ_opt().unwrap_or(self.last_day).and_time(NaiveTime::MIN).and_utc();
        u64::try_from(midnight.timestamp_millis()).unwrap_or(0)
    }

    fn parse(text: &str) -> Option<Self> {
        let (digest, day) = text.trim().split_once(' ')?;
        Some(Self { digest: digest.parse().ok()?, last_day: NaiveDate::parse_from_str(day.trim(), DATE_FORMAT).ok()? })
    }

    fn text(&self) -> String {
        format!("{} {}", self.digest, self.last_day.format(DATE_FORMAT))
    }
}

/// Networks by their digests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HashedNetworks(Vec<HashedNetwork>);

impl HashedNetworks {
    /// Whether this one is blocked at `now`, in Unix milliseconds.
    pub fn contain(&self, digest: NetworkDigest, now: u64) -> bool {
        self.0.iter().any(|blocked| blocked.digest == digest && now < blocked.ends_at())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// These and one more, without those that are over at `now`, in Unix milliseconds.
    #[must_use]
    pub fn with(&self, added: HashedNetwork, now: u64) -> Self {
        let stay = self.0.iter().filter(|blocked| blocked.digest != added.digest && now < blocked.ends_at());
        Self(stay.copied().chain([added]).collect())
    }
}

impl Serialize for HashedNetworks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(HashedNetwork::text))
    }
}

impl<'de> Deserialize<'de> for HashedNetworks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "at most 1,000 entries such as 9f86d081884c7d659a2feaa0c55ad015 2026-12-27, a list in a file, \
                        separated by commas in a variable";
        parse(deserializer, expected, |text| {
            let entries = text.split(',').filter(|entry| !entry.trim().is_empty());
            let networks: Vec<_> = entries.map(HashedNetwork::parse).collect::<Option<_>>()?;
            (networks.len() <= MAX_HASHED_NETWORKS).then_some(Self(networks))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: u64 = 86_400_000;

    fn digest(byte: u8) -> NetworkDigest {
        NetworkDigest::from_bytes([byte; 16])
    }

    #[test]
    fn network_is_blocked_until_its_day_is_over() {
        let now = 10 * DAY_MS + 5;
        let one = HashedNetwork::new(digest(1), now + DAY_MS).unwrap();
        let blocked = HashedNetworks::default().with(one, now);
        assert!(blocked.contain(digest(1), now) && blocked.contain(digest(1), 12 * DAY_MS - 1));
        assert!(!blocked.contain(digest(1), 12 * DAY_MS) && !blocked.contain(digest(2), now));
        let two = HashedNetwork::new(digest(2), now + 9 * DAY_MS).unwrap();
        assert_eq!(blocked.with(two, now).0, [one, two]);
        assert_eq!(blocked.with(two, 12 * DAY_MS).0, [two], "what is over leaves the list");
        assert_eq!(blocked.with(two, now).with(one, now).0, [two, one], "none is there twice");
    }

    #[test]
    fn entries_are_read_as_they_are_written() {
        let networks = HashedNetworks::default().with(HashedNetwork::new(digest(0xab), 20_814 * DAY_MS).unwrap(), 0);
        let json = serde_json::to_value(&networks).unwrap();
        assert_eq!(json, serde_json::json!([format!("{} 2026-12-27", "ab".repeat(16))]));
        assert_eq!(serde_json::from_value::<HashedNetworks>(json).unwrap(), networks);
        for wrong in ["ab 2026-12-27", "2026-12-27", &"ab".repeat(16), &format!("{} 27.12.2026", "ab".repeat(16))] {
            assert!(serde_json::from_value::<HashedNetworks>(serde_json::json!([wrong])).is_err(), "{wrong}");
        }
    }
}
