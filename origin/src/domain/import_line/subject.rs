//! A line that says what is known of a subject: its title and its address.

use gailou_shared::id::SubjectKey;
use serde::Serialize;

use crate::domain::import_line::fields::Fields;

/// Longest title or address of a subject, in characters.
pub(crate) const MAX_SUBJECT_TEXT_CHARS: usize = 1_000;

/// What is known of a subject: at least one of the two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SubjectDescription {
    pub(crate) subject: SubjectKey,
    pub(crate) title: Option<String>,
    pub(crate) url: Option<String>,
}

impl SubjectDescription {
    pub(super) fn from_fields(fields: &Fields) -> Result<Self, String> {
        Ok(Self { subject: fields.subject()?, title: fields.subject_text("title")?, url: fields.subject_text("url")? })
    }

    /// Writes the line, without a line break.
    pub(crate) fn to_json(&self) -> String {
        let line = WrittenDescription {
            subject: format_args!("{}:{}", self.subject.kind(), self.subject.key()),
            title: self.title.as_deref(),
            url: self.url.as_deref(),
        };
        serde_json::to_string(&line).expect("texts")
    }
}

#[derive(Serialize)]
struct WrittenDescription<'a> {
    subject: std::fmt::Arguments<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::import_line::ParsedLine;

    #[test]
    fn line_without_a_comment_describes_its_subject() {
        let check = |fields: &str, expected: Result<(Option<&str>, Option<&str>), &str>| {
            let line = format!("{{\"subject\":\"article:a:b\",{fields}}}");
            match (ParsedLine::parse(line.as_bytes()), expected) {
                (Ok(ParsedLine::Subject(found)), Ok(expected)) => {
                    assert_eq!((found.title.as_deref(), found.url.as_deref()), expected, "{fields}");
                    assert_eq!(found.subject.key(), "a:b");
                }
                (Err(reason), Err(expected)) => assert!(reason.contains(expected), "{fields}: {reason}"),
                (found, _) => panic!("{fields}: {found:?}"),
            }
        };
        check(r#""title":"盖楼""#, Ok((Some("盖楼"), None)));
        check(r#""title":null,"url":"https://e.example/""#, Ok((None, Some("https://e.example/"))));
        check(r#""title":"","url":"u""#, Ok((None, Some("u"))));
        check(r#""title":7"#, Err("`title` must be a string"));
        check(r#""title":"a\nb""#, Err("`title` contains control characters"));
        check(&format!("\"url\":{:?}", "x".repeat(1_001)), Err("`url` is longer than 1000 characters"));
        check(r#""title":"x","id":"1""#, Err("`author` is missing"));
        check(r#""author":"x""#, Err("`id` is missing"));
    }

    proptest! {
        #[test]
        fn written_description_is_read_as_the_same_one(
            key in "[^\\p{C}]{1,100}",
            title in proptest::option::of("[^\\p{C}]{1,1000}"),
            url in "[^\\p{C}]{1,1000}",
        ) {
            let description = SubjectDescription { subject: SubjectKey::new("article", &key).unwrap(), title, url: Some(url) };
            let json = description.to_json();
            prop_assert_eq!(ParsedLine::parse(json.as_bytes()), Ok(ParsedLine::Subject(description)));
        }
    }
}
