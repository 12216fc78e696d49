//! The live events of a subject, for readers who watch it.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::SubjectCounts;
#[cfg(feature = "openapi")]
use super::openapi::SubjectVersion;
use crate::id::CommentId;

/// The events since a version of a subject: `GET /v1/subjects/{type}/{key}/events?after=N`.
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
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(description = "What happened on a subject after a version."))]
pub struct LiveEventPage {
    /// The version from which to continue.
    #[cfg_attr(feature = "openapi", schema(value_type = SubjectVersion))]
    #[serde(with = "decimal")]
    pub version: u64,
    /// Events are missing that the origin no longer has: the client must load what it shows again. There are
    /// no events then.
    pub reset: bool,
    /// In the order of their commits. An event may be sent twice.
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
    /// A comment is published or edited.
    Comment(CommentLocation),
    /// A comment is removed.
    Removed(RemovedComment),
    /// The subject's counts change.
    Counts(SubjectCounts),
}

/// A comment and its place in the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CommentLocation {
    /// The comment.
    pub id: CommentId,
    /// The root of its thread; for a root, its own id.
    pub root_id: CommentId,
    /// The comment it answers, where that is known.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub parent_id: Option<CommentId>,
}

/// A removed comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RemovedComment {
    /// The comment.
    pub id: CommentId,
}

impl LiveEventKind {
    /// The name, as in `type` and in the `event` field of server-sent events.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Comment(_) => "comment",
            Self::Removed(_) => "removed",
            Self::Counts(_) => "counts",
        }
    }

    /// The JSON, as in `data`: one line.
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
