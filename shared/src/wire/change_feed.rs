//! A page of the change feed, which the edge polls: `GET /v1/edge/changes`.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::CommentId;
use crate::slot_set::SlotSet;

/// The version of [`ChangeFeedPage`] that is written and read.
const DOCUMENT_VERSION: u8 = 2;

/// The published comments that were edited, removed or restored, as far as the tables were read at `now`.
/// All times are by the origin's clock. Where they are too many, a subject stands for its comments.
///
/// ```
/// use gailou_shared::wire::{ChangeFeedPage, ChangedComment};
/// let text = concat!(
///     r#"{"v":2,"now":1700000000000,"since":1699999880000,"behind":40,"words":3,"#,
///     r#""rows":[["77","12"]],"subjects":[["5","9"]]}"#,
/// );
/// let document = ChangeFeedPage::parse(text.as_bytes()).unwrap();
/// assert_eq!(document.rows, [ChangedComment { id: "77".parse().unwrap(), version: 12 }]);
/// assert_eq!((document.subjects[0].tag, document.subjects[0].before), (5, 9));
/// assert_eq!(document.to_json(), text);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(
    feature = "openapi",
    schema(
        description = "The published comments that were edited, removed or restored, as far as the tables were read at `now`."
    )
)]
pub struct ChangeFeedPage {
    /// The version of this document.
    #[cfg_attr(feature = "openapi", schema(minimum = 2, maximum = 2))]
    v: u8,
    /// Everything committed before this moment is known, in Unix milliseconds.
    pub now: u64,
    /// Everything committed from this moment on is in `rows` or `subjects`, in Unix milliseconds. A page whose rows were
    /// read earlier may show a comment that has changed without a row here.
    pub since: u64,
    /// How far `now` was behind the clock when the document was written, in milliseconds. It grows
    /// while the tables, or some of them, cannot be read.
    #[cfg_attr(feature = "openapi", schema(required = true))]
    #[serde(default)]
    pub behind: u64,
    /// The version of the dictionary in force.
    pub words: u64,
    /// Each comment once, with the version of its last change.
    #[cfg_attr(feature = "openapi", schema(max_items = 10000))]
    pub rows: Vec<ChangedComment>,
    /// Each subject that stands for changed comments of its own once, with the largest version of these changes.
    #[cfg_attr(feature = "openapi", schema(max_items = 10000))]
    pub subjects: Vec<VoidSubject>,
    /// Slots of which more is known than `now` and `since` say, because a database of other slots is away or has gone
    /// back; usually absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<SlotsAhead>,
}

/// Slots with times of their own. A page that shows only comments of these may be judged by them; a comment's id
/// has its slot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(
    feature = "openapi",
    schema(
        description = "Slots with times of their own. A page that shows only comments of these may be judged by them; a comment's id has its slot."
    )
)]
pub struct SlotsAhead {
    /// The slots, as ranges `[first, last]` in ascending order.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Vec<u16>>))]
    pub slots: SlotSet,
    /// The document's `now`, for these slots.
    pub now: u64,
    /// The document's `since`, for these slots.
    pub since: u64,
    /// The document's `behind`, for these slots.
    pub behind: u64,
}

impl ChangeFeedPage {
    /// The path at which the origin answers it; `?day=1` asks for everything that is kept.
    pub const ROUTE_PATH: &str = "/v1/edge/changes";
    /// Most rows and subjects of one page together.
    pub const MAX_ROWS: usize = 10_000;

    /// A page with the current version.
    #[must_use]
    pub fn new(now: u64, since: u64, behind: u64, words: u64, rows: Vec<ChangedComment>) -> Self {
        Self { v: DOCUMENT_VERSION, now, since, behind, words, rows, subjects: Vec::new(), ahead: None }
    }

    /// The page with these subjects.
    #[must_use]
    pub fn with_subjects(self, subjects: Vec<VoidSubject>) -> Self {
        Self { subjects, ..self }
    }

    /// The page with these slots ahead.
    #[must_use]
    pub fn with_ahead(self, ahead: Option<SlotsAhead>) -> Self {
        Self { ahead, ..self }
    }

    /// The latest moment before which everything of some slots is known.
    #[must_use]
    pub fn latest(&self) -> u64 {
        self.ahead.as_ref().map_or(self.now, |ahead| ahead.now.max(self.now))
    }

    /// Parses an answer of the origin; `None` for anything else, for another version, and for more rows
    /// and subjects than [`ChangeFeedPage::MAX_ROWS`].
    #[must_use]
    pub fn parse(json: &[u8]) -> Option<Self> {
        let document: Self = serde_json::from_slice(json).ok()?;
        let length = document.rows.len() + document.subjects.len();
        (document.v == DOCUMENT_VERSION && length <= Self::MAX_ROWS).then_some(document)
    }

    /// The page as it is sent.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Numbers and strings of digits: it cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A comment and the subject's version with its last change, written as two strings of digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangedComment {
    /// The comment.
    pub id: CommentId,
    /// A page that shows it at a smaller version is void.
    pub version: u64,
}

/// A subject that stands for its changed comments, written as two strings of digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VoidSubject {
    /// Its number ([`crate::id::subject_tag`]).
    pub tag: u64,
    /// A page that shows one of its comments at a smaller version is void.
    pub before: u64,
}

impl Serialize for ChangedComment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.id, Digits(self.version)).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ChangedComment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (id, Digits(version)) = Deserialize::deserialize(deserializer)?;
        Ok(Self { id, version })
    }
}

impl Serialize for VoidSubject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (Digits(self.tag), Digits(self.before)).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for VoidSubject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (Digits(tag), Digits(before)) = Deserialize::deserialize(deserializer)?;
        Ok(Self { tag, before })
    }
}

/// A number as a string of digits.
struct Digits(u64);

impl Serialize for Digits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Digits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = alloc::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let number = text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        number.map(Self).ok_or_else(|| serde::de::Error::custom("a number is a decimal string"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use proptest::prelude::*;

    #[test]
    fn nothing_else_is_a_document() {
        let check = |json: &str, good: bool| {
            assert_eq!(ChangeFeedPage::parse(json.as_bytes()).is_some(), good, "{json}");
        };
        let with = |rows: &str| format!(r#"{{"v":2,"now":5,"since":1,"words":0,"rows":{rows},"subjects":[]}}"#);
        check(&with("[]"), true);
        check(&with(r#"[["1","0"],["9223372036854775807","18446744073709551615"]]"#), true);
        check(&with("[]").replace(r#""v":2"#, r#""v":1"#), false);
        check(&with("[]").replace(r#","subjects":[]"#, ""), false);
        check(&with("[]").replace(r#""subjects":[]"#, r#""subjects":[["0","18446744073709551615"]]"#), true);
        check(&with("[]").replace(r#""subjects":[]"#, r#""subjects":[["-1","1"]]"#), false);
        check(&with("[]").replace(r#""since":1,"#, ""), false);
        let ahead = |ahead: &str| with("[]").replace(r#""subjects":[]"#, &format!(r#""subjects":[],"ahead":{ahead}"#));
        check(&ahead(r#"{"slots":[[0,511]],"now":9,"since":2,"behind":0}"#), true);
        check(&ahead(r#"{"slots":[[0,5],[4,511]],"now":9,"since":2,"behind":0}"#), false);
        check(&ahead(r#"{"slots":[[0,511]],"now":9,"since":2}"#), false);
        for row in [r#"["0","1"]"#, r#"["1","-1"]"#, r#"["1",""]"#, r#"["1","+1"]"#, "[1,1]", r#"["1"]"#, "{}"] {
            check(&with(&format!("[{row}]")), false);
        }
        let rows = |n: usize| with(&format!("[{}]", alloc::vec![r#"["1","1"]"#; n].join(",")));
        check(&rows(ChangeFeedPage::MAX_ROWS), true);
        check(&rows(ChangeFeedPage::MAX_ROWS + 1), false);
        check(&rows(ChangeFeedPage::MAX_ROWS).replace(r#""subjects":[]"#, r#""subjects":[["1","1"]]"#), false);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(times: (u64, u64, u64, u64), rows: Vec<(u64, u64)>, subjects: Vec<(u64, u64)>, slots: Option<Vec<u16>>) {
            let subjects = subjects.into_iter().map(|(tag, before)| VoidSubject { tag, before }).collect();
            let rows = rows.into_iter().filter_map(|(id, version)| Some(ChangedComment { id: CommentId::new(id).ok()?, version }));
            let document = ChangeFeedPage::new(times.0, times.1, times.2, times.3, rows.collect()).with_subjects(subjects);
            let slots = slots.map(|slots| slots.into_iter().filter_map(crate::id::Slot::new).collect());
            let ahead = slots.map(|slots| SlotsAhead { slots, now: times.1, since: times.2, behind: times.3 });
            let document = document.with_ahead(ahead);
            prop_assert_eq!(ChangeFeedPage::parse(document.to_json().as_bytes()), Some(document));
        }

        #[test]
        fn noise_does_no_harm(json: Vec<u8>) {
            prop_assert_eq!(ChangeFeedPage::parse(&json), None);
        }
    }
}
