//! One line of an import or export as JSON: a comment, or what is known of a subject.
//!
//! Not here: threads. Promise: [`ParsedLine::parse`] reads what [`ImportLine::to_json`] and
//! [`SubjectDescription::to_json`] write as the same line.

mod fields;
mod subject;

use fields::{Fields, MAX_EXACT_NUMBER};
use gailou_shared::id::{MemberId, SubjectKey};
use gailou_shared::wire::{Author, StaffRole};
use serde::Serialize;
pub(crate) use subject::{MAX_SUBJECT_TEXT_CHARS, SubjectDescription};

/// Longest line that is read, in bytes: twice the longest comment with every character escaped,
/// and room for names.
pub(crate) const MAX_LINE_BYTES: usize = 256 * 1024;
/// Times below this are seconds (until the year 5138), others milliseconds (from March 1973).
const MIN_MILLISECONDS: u64 = 100_000_000_000;

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ParsedLine {
    Comment(ImportLine),
    Subject(SubjectDescription),
}

impl ParsedLine {
    /// Reads a line. The error names the field that is wrong.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, String> {
        let fields = Fields::parse(line)?;
        if fields.describe_subject() {
            SubjectDescription::from_fields(&fields).map(Self::Subject)
        } else {
            ImportLine::from_fields(&fields).map(Self::Comment)
        }
    }

    /// The subject that the line belongs to.
    pub(crate) const fn subject(&self) -> &SubjectKey {
        match self {
            Self::Comment(line) => &line.subject,
            Self::Subject(description) => &description.subject,
        }
    }
}

/// A comment of an import or an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ImportLine {
    pub(crate) subject: SubjectKey,
    /// Its id in the other system, unique in its subject.
    pub(crate) id: String,
    pub(crate) root: Option<String>,
    pub(crate) parent: Option<String>,
    pub(crate) author: Author,
    pub(crate) content: String,
    pub(crate) likes: u64,
    pub(crate) dislikes: u64,
    /// Unix milliseconds.
    pub(crate) created_at: u64,
    /// Unix milliseconds.
    pub(crate) edited_at: Option<u64>,
    pub(crate) deleted: bool,
    pub(crate) pinned: bool,
    /// Whether it waits for a moderator.
    pub(crate) held: bool,
    /// The addresses of its pictures where it comes from: here they are links in its content, or stand in links.
    pub(crate) pictures: Vec<String>,
}

impl ImportLine {
    /// Reads a line of a comment. The error names the field that is wrong.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, String> {
        Self::from_fields(&Fields::parse(line)?)
    }

    fn from_fields(fields: &Fields) -> Result<Self, String> {
        let deleted = fields.flag("deleted")?;
        let id = fields.required("id", Fields::source_id)?;
        Ok(Self {
            subject: fields.subject()?,
            // A root may name itself as its root.
            root: fields.source_id("root")?.filter(|root| *root != id),
            parent: fields.source_id("parent")?,
            author: fields.author(deleted)?,
            content: fields.required("content", Fields::content)?,
            likes: fields.number("likes", MAX_EXACT_NUMBER)?.unwrap_or(0),
            dislikes: fields.number("dislikes", MAX_EXACT_NUMBER)?.unwrap_or(0),
            created_at: fields.required("created_at", Fields::time)?,
            edited_at: fields.time("edited_at")?,
            deleted,
            pinned: fields.flag("pinned")?,
            held: fields.flag("held")?,
            pictures: fields.texts("pictures")?,
            id,
        })
    }

    /// Writes the line, without a line break. Fields with their default are left out.
    pub(crate) fn to_json(&self) -> String {
        let Author { id, name, avatar, level, role, .. } = &self.author;
        let line = WrittenLine {
            subject: format_args!("{}:{}", self.subject.kind(), self.subject.key()),
            id: &self.id,
            root: self.root.as_deref(),
            parent: self.parent.as_deref(),
            author: name,
            author_id: (*id != MemberId::imported(name)).then_some(*id),
            author_avatar: avatar.as_deref(),
            author_level: *level,
            author_role: *role,
            content: &self.content,
            likes: self.likes,
            dislikes: self.dislikes,
            created_at: written_time(self.created_at),
            edited_at: self.edited_at.map(written_time),
            deleted: self.deleted,
            pinned: self.pinned,
            held: self.held,
            pictures: &self.pictures,
        };
        serde_json::to_string(&line).expect("texts, numbers and flags")
    }
}

/// A time as it is written. Milliseconds that would be read as seconds were read from seconds, so nothing is
/// lost.
fn written_time(ms: u64) -> u64 {
    if ms < MIN_MILLISECONDS { ms / 1_000 } else { ms }
}

#[derive(Serialize)]
struct WrittenLine<'a> {
    subject: std::fmt::Arguments<'a>,
    id: &'a str,
    root: Option<&'a str>,
    parent: Option<&'a str>,
    author: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    author_id: Option<MemberId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    author_avatar: Option<&'a str>,
    #[serde(skip_serializing_if = "is_zero")]
    author_level: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    author_role: Option<StaffRole>,
    content: &'a str,
    likes: u64,
    dislikes: u64,
    created_at: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    edited_at: Option<u64>,
    #[serde(skip_serializing_if = "is_false")]
    deleted: bool,
    #[serde(skip_serializing_if = "is_false")]
    pinned: bool,
    #[serde(skip_serializing_if = "is_false")]
    held: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pictures: &'a [String],
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(level: &u8) -> bool {
    *level == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    use super::*;

    const LINE: &str =
        r#"{"subject":"video:a:b","id":"1","root":null,"parent":null,"author":"Ann","content":"","created_at":5}"#;

    fn with(field: &str, value: &str) -> Result<ImportLine, String> {
        let mut fields: Map<String, Value> = serde_json::from_str(LINE).unwrap();
        fields.insert(field.into(), serde_json::from_str(value).unwrap());
        ImportLine::parse(serde_json::to_string(&fields).unwrap().as_bytes())
    }

    #[test]
    fn line_needs_only_the_required_fields() {
        let line = ImportLine::parse(LINE.as_bytes()).unwrap();
        assert_eq!((line.subject.kind(), line.subject.key()), ("video", "a:b"));
        assert_eq!((line.author.id, line.author.level), (MemberId::imported("Ann"), 0));
        assert_eq!((line.created_at, line.edited_at, line.likes), (5_000, None, 0));
        assert!(!line.deleted && !line.pinned && !line.held);
        assert_eq!(with("unknown", "1"), Ok(line));
    }

    #[test]
    fn fields_are_read_as_the_contract_says() {
        let check = |field: &str, value: &str, right: fn(&ImportLine) -> bool| {
            let line = with(field, value).unwrap();
            assert!(right(&line), "{field} {value}: {line:?}");
        };
        check("created_at", "99999999999", |l| l.created_at == 99_999_999_999_000);
        check("created_at", "100000000000", |l| l.created_at == 100_000_000_000);
        check("edited_at", "1700000000", |l| l.edited_at == Some(1_700_000_000_000));
        check("root", "\"1\"", |l| l.root.is_none());
        check("root", "\"2\"", |l| l.root.as_deref() == Some("2"));
        check("parent", "\"\"", |l| l.parent.is_none());
        check("parent", "\"ä\"", |l| l.parent.as_deref() == Some("ä"));
        check("author", "\" Bob \"", |l| l.author.name == "Bob" && l.author.id == MemberId::imported("Bob"));
        check("author_id", "\"7\"", |l| l.author.id.get() == 7);
        check("author_level", "6", |l| l.author.level == 6);
        check("author_avatar", "\"/v1/avatars/x\"", |l| l.author.avatar.as_deref() == Some("/v1/avatars/x"));
        check("author_avatar", "null", |l| l.author.avatar.is_none());
        check("author_role", "\"admin\"", |l| l.author.role == Some(StaffRole::Admin));
        check("content", "\"a\\r\\n\\tb\"", |l| l.content == "a\r\n\tb");
        check("likes", "null", |l| l.likes == 0);
        check("dislikes", "3", |l| l.dislikes == 3);
        check("deleted", "true", |l| l.deleted);
        check("pinned", "true", |l| l.pinned);
        check("held", "true", |l| l.held);
        check("pictures", "[\"https://e.example/a.png\"]", |l| l.pictures == ["https://e.example/a.png"]);
        check("pictures", "null", |l| l.pictures.is_empty());
    }

    #[test]
    fn error_names_the_wrong_field() {
        let check = |field: &str, value: &str| {
            let reason = with(field, value).unwrap_err();
            assert!(reason.starts_with(&format!("`{field}`")), "{field} {value}: {reason}");
        };
        for field in ["subject", "id", "author", "content", "created_at"] {
            check(field, "null");
            check(field, "[]");
        }
        check("subject", "\"video\"");
        check("subject", "\"Video:1\"");
        check("subject", "\"video:\"");
        check("id", "7");
        check("id", "\"\"");
        check("id", &format!("{:?}", "x".repeat(513)));
        check("root", "0");
        check("parent", "\"\\u0000\"");
        check("author", "\" \"");
        check("author", &format!("{:?}", "名".repeat(65)));
        check("author", "\"a\\nb\"");
        check("author_id", "7");
        check("author_id", "\"07\"");
        check("author_level", "256");
        check("author_role", "\"member\"");
        check("author_avatar", "\"javascript:x\"");
        check("author_avatar", "7");
        check("author_level", "-1");
        check("content", &format!("{:?}", "字".repeat(5_001)));
        check("content", "\"\\u0007\"");
        check("likes", "-1");
        check("likes", "1.5");
        check("likes", "\"1\"");
        check("created_at", "-1");
        check("created_at", "1e300");
        check("deleted", "1");
        check("pinned", "\"yes\"");
        check("held", "1");
        check("pictures", "\"x\"");
        check("pictures", "[1]");
    }

    #[test]
    fn line_that_is_no_object_is_bad() {
        for (line, reason) in [
            (&b"{"[..], "is not JSON"),
            (b"[]", "is not a JSON object"),
            (b"{\"id\":\"\xff\"}", "is not UTF-8 at byte 7"),
            (b"{} {}", "is not JSON"),
        ] {
            assert!(ImportLine::parse(line).unwrap_err().starts_with(reason), "{line:?}");
        }
    }

    #[test]
    fn tombstone_may_have_no_name() {
        let line = ImportLine::parse(LINE.replace("Ann\"", "\",\"deleted\":true").as_bytes()).unwrap();
        assert!(line.deleted && line.author.name.is_empty());
    }

    fn any_line() -> impl Strategy<Value = ImportLine> {
        let source = || proptest::option::of("[^\\p{C}]{1,20}");
        let time = || prop_oneof![(0u64..100_000_000).prop_map(|s| s * 1_000), MIN_MILLISECONDS..MAX_EXACT_NUMBER];
        let text = ("[a-z0-9_-]{1,32}", "[^\\p{C}]{1,100}", "[^\\p{C}]{1,100}", "[^\\p{Cc}]{0,200}|(\\r|\\n|\\t){1,9}");
        let role = proptest::option::of(prop_oneof![Just(StaffRole::Moderator), Just(StaffRole::Admin)]);
        let avatar = proptest::option::of("https://[a-z]{1,9}\\.example/[a-z\"]{0,9}");
        let names = (
            "[^\\p{C}\\p{Z}]([^\\p{C}]{0,62}[^\\p{C}\\p{Z}])?",
            proptest::option::of(1u64..1 << 62),
            any::<u8>(),
            role,
            avatar,
        );
        let more = (time(), proptest::option::of(time()), 0..MAX_EXACT_NUMBER, 0..MAX_EXACT_NUMBER, any::<[bool; 3]>());
        (text, (source(), source()), names, more).prop_map(
            |(text, (root, parent), (name, number, level, role, avatar), more)| {
                let (created_at, edited_at, likes, dislikes, [deleted, pinned, held]) = more;
                let member = number.map_or_else(|| MemberId::imported(&name), |n| MemberId::new(n).unwrap());
                ImportLine {
                    subject: SubjectKey::new(&text.0, &text.1).unwrap(),
                    pictures: parent.iter().cloned().collect(),
                    root: root.filter(|root| *root != text.2),
                    id: text.2,
                    parent,
                    author: Author::new(member, name, avatar, level, role),
                    content: text.3,
                    likes,
                    dislikes,
                    created_at,
                    edited_at,
                    deleted,
                    pinned,
                    held,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn written_line_is_read_as_the_same_line(line in any_line()) {
            let json = line.to_json();
            prop_assert!(!json.contains('\n') && json.len() <= MAX_LINE_BYTES);
            prop_assert_eq!(ImportLine::parse(json.as_bytes()), Ok(line));
        }
    }
}
