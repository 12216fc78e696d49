//! What happens on a subject, as readers who watch it are told.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::SubjectCounts;
use crate::id::CommentId;

/// What happened since a version of a subject: `GET /v1/subjects/{type}/{key}/events?after=N`.
///
/// ```
/// use gailou_shared::wire::{LiveEventPage, LiveEventKind};
/// let text = r#"{"version":"12","reset":false,"events":[{"id":"12","type":"removed","data":{"id":"77"}}]}"#;
/// let document: LiveEventPage = serde_json::from_str(text).unwrap();
/// assert_eq!((document.version, document.events[0].kind.name()), (12, "removed"));
/// assert_eq!(document.events[0].kind.data(), r#"{"id":"77"}"#);
/// assert_eq!(serde_json::to_string(&document).unwrap(), text);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveEventPage {
    /// Where to go on from.
    #[serde(with = "decimal")]
    pub version: u64,
    /// Something is missing that nobody knows any more: what is shown has to be loaded again.
    pub reset: bool,
    /// In the order they happened. One may be told twice.
    pub events: Vec<LiveEvent>,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveEvent {
    /// The subject's version with it: events of one commit share it.
    #[serde(with = "decimal")]
    pub id: u64,
    /// What happened.
    #[serde(flatten)]
    pub kind: LiveEventKind,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "lowercase")]
pub enum LiveEventKind {
    /// There is a comment to be read, or it reads differently now.
    Comment(CommentLocation),
    /// A comment cannot be read any more.
    Removed(RemovedComment),
    /// The subject's counts now.
    Counts(SubjectCounts),
}

/// A comment, and where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentLocation {
    /// The comment.
    pub id: CommentId,
    /// The root of its thread; of a root, itself.
    pub root_id: CommentId,
    /// The comment it answers, where that is known.
    pub parent_id: Option<CommentId>,
}

/// A comment that is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedComment {
    /// The comment.
    pub id: CommentId,
}

impl LiveEventKind {
    /// Its name, as in `type` and in the `event` field of server-sent events.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Comment(_) => "comment",
            Self::Removed(_) => "removed",
            Self::Counts(_) => "counts",
        }
    }

    /// Its JSON, as in `data`: one line.
    #[must_use]
    pub fn data(&self) -> String {
        let json = match self {
            Self::Comment(place) => serde_json::to_string(place),
            Self::Removed(gone) => serde_json::to_string(gone),
            Self::Counts(counts) => serde_json::to_string(counts),
        };
        // Ids and numbers: it cannot fail.
        json.unwrap_or_default()
    }
}

/// Numbers as decimal strings.
mod decimal {
    use alloc::borrow::Cow;

    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(number)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        let digits = text.bytes().all(|b| b.is_ascii_digit());
        let number = digits.then(|| text.parse().ok()).flatten();
        number.ok_or_else(|| de::Error::custom("a version is a decimal string"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn every_event_is_written_and_read() {
        let id = CommentId::new(7).unwrap();
        let all = [
            LiveEventKind::Comment(CommentLocation { id, root_id: id, parent_id: None }),
            LiveEventKind::Comment(CommentLocation { id, root_id: id, parent_id: Some(id) }),
            LiveEventKind::Removed(RemovedComment { id }),
            LiveEventKind::Counts(SubjectCounts { roots: 1, comments: 2 }),
        ];
        let expected = [
            r#"{"id":"7","root_id":"7","parent_id":null}"#,
            r#"{"id":"7","root_id":"7","parent_id":"7"}"#,
            r#"{"id":"7"}"#,
            r#"{"roots":1,"comments":2}"#,
        ];
        for (kind, data) in all.into_iter().zip(expected) {
            assert_eq!(kind.data(), data);
            let document = LiveEventPage { version: 9, reset: true, events: vec![LiveEvent { id: 8, kind }] };
            let json = serde_json::to_string(&document).unwrap();
            assert_eq!(serde_json::from_str::<LiveEventPage>(&json).unwrap(), document, "{json}");
        }
        for bad in [r#"{"version":9,"reset":false,"events":[]}"#, r#"{"version":"-1","reset":false,"events":[]}"#] {
            assert!(serde_json::from_str::<LiveEventPage>(bad).is_err(), "{bad}");
        }
    }
}
