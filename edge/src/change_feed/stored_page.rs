//! A page of the change feed as the colo's cache and the global store hold it.

use bytes::Bytes;
use gailou_shared::wire::ChangeFeedPage;

/// How far ahead of this machine's clock a stored time may be, in milliseconds. The clocks of a colo's
/// machines differ by a few milliseconds; a time ahead is clamped, which makes the difference harmless.
pub(super) const MAX_STORED_SKEW_MS: u64 = 1_000;

/// A page of the change feed and the time at which it was requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFeedPage {
    /// When the origin was asked for it, in Unix milliseconds by the edge's clock.
    pub asked_ms: u64,
    /// What the origin answered.
    pub document: ChangeFeedPage,
}

impl StoredFeedPage {
    /// The moment up to which the page is complete, by the edge's clock, or a little earlier.
    pub(super) fn as_of_ms(&self) -> u64 {
        self.asked_ms.saturating_sub(self.document.behind)
    }

    /// The same for the slots of which it says most.
    pub(super) fn latest_as_of_ms(&self) -> u64 {
        let behind = self.document.ahead.as_ref().map(|ahead| ahead.behind);
        self.asked_ms.saturating_sub(behind.unwrap_or(u64::MAX).min(self.document.behind))
    }

    /// The stored form: the time, a line break, the page as JSON.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        format!("{}\n{}", self.asked_ms, self.document.to_json()).into()
    }

    /// What [`StoredFeedPage::encode`] wrote; `None` for anything else, and for a time in the future.
    #[must_use]
    pub fn decode(bytes: &[u8], now_ms: u64) -> Option<Self> {
        let (asked_ms, document) = Self::split(bytes)?;
        let document = ChangeFeedPage::parse(document)?;
        (asked_ms <= now_ms + MAX_STORED_SKEW_MS).then(|| Self { asked_ms: asked_ms.min(now_ms), document })
    }

    /// The time at which a stored page was requested, without parsing the page.
    pub(super) fn stored_asked_ms(bytes: &[u8]) -> Option<u64> {
        Self::split(bytes).map(|(asked_ms, _)| asked_ms)
    }

    fn split(bytes: &[u8]) -> Option<(u64, &[u8])> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        Some((std::str::from_utf8(bytes.get(..end)?).ok()?.parse().ok()?, bytes.get(end + 1..)?))
    }
}
