//! One line of an import or export: a comment as JSON.
//!
//! Not here: threads. Promise: [`ImportLine::parse`] reads what [`ImportLine::to_json`] writes as the same
//! line.

use gailou_shared::id::{MemberId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::token::is_avatar;
use gailou_shared::wire::{Author, StaffRole};
use serde::Serialize;
use serde_json::{Map, Value};

/// Longest line that is read, in bytes: twice the longest comment with every character escaped,
/// and room for names.
pub(crate) const MAX_LINE_BYTES: usize = 256 * 1024;
/// Longest id of another system, in bytes.
const MAX_SOURCE_ID_BYTES: usize = 512;
/// Times below this are seconds (until the year 5138), others milliseconds (from March 1973).
const MIN_MILLISECONDS: u64 = 100_000_000_000;
/// Largest count and largest time: every reader of JSON has it exactly.
const MAX_EXACT_NUMBER: u64 = (1 << 53) - 1;

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
}

impl ImportLine {
    /// Reads a line. The error names the field that is wrong.
    pub(crate) fn parse(line: &[u8]) -> Result<Self, String> {
        let text = str::from_utf8(line).map_err(|e| format!("is not UTF-8 at byte {}", e.valid_up_to()))?;
        let fields = match serde_json::from_str(text) {
            Ok(Value::Object(fields)) => Fields(fields),
            Ok(_) => return Err("is not a JSON object".into()),
            Err(error) => return Err(format!("is not JSON: {error}")),
        };
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
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(level: &u8) -> bool {
    *level == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// The fields of a line; `null` counts as missing.
struct Fields(Map<String, Value>);

impl Fields {
    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn required<T>(&self, name: &str, read: impl Fn(&Self, &str) -> Result<Option<T>, String>) -> Result<T, String> {
        read(self, name)?.ok_or_else(|| format!("`{name}` is missing"))
    }

    fn text(&self, name: &str) -> Result<Option<&str>, String> {
        let wrong = || format!("`{name}` must be a string");
        self.get(name).map(|value| value.as_str().ok_or_else(wrong)).transpose()
    }

    fn flag(&self, name: &str) -> Result<bool, String> {
        let wrong = || format!("`{name}` must be true or false");
        self.get(name).map_or(Ok(false), |value| value.as_bool().ok_or_else(wrong))
    }

    fn number(&self, name: &str, most: u64) -> Result<Option<u64>, String> {
        let wrong = || format!("`{name}` must be a whole number from 0 to {most}");
        let number = |value: &Value| value.as_u64().filter(|number| *number <= most).ok_or_else(wrong);
        self.get(name).map(number).transpose()
    }

    /// Unix milliseconds, from seconds or milliseconds.
    fn time(&self, name: &str) -> Result<Option<u64>, String> {
        let ms = |time| if time < MIN_MILLISECONDS { time * 1_000 } else { time };
        Ok(self.number(name, MAX_EXACT_NUMBER)?.map(ms))
    }

    /// An id of another system. An empty one counts as missing.
    fn source_id(&self, name: &str) -> Result<Option<String>, String> {
        match self.text(name)? {
            None | Some("") => Ok(None),
            Some(id) if id.len() > MAX_SOURCE_ID_BYTES => {
                Err(format!("`{name}` is longer than {MAX_SOURCE_ID_BYTES} bytes"))
            }
            Some(id) if id.chars().any(char::is_control) => Err(format!("`{name}` contains control characters")),
            Some(id) => Ok(Some(id.to_owned())),
        }
    }

    fn subject(&self) -> Result<SubjectKey, String> {
        let text = self.text("subject")?.ok_or("`subject` is missing")?;
        let (kind, key) = text.split_once(':').ok_or("`subject` must be TYPE:KEY")?;
        SubjectKey::new(kind, key).map_err(|e| format!("`subject`: the {} {e}", e.field()))
    }

    /// A tombstone may have no name.
    fn author(&self, deleted: bool) -> Result<Author, String> {
        let name = self.text("author")?.ok_or("`author` is missing")?.trim();
        if name.is_empty() && !deleted {
            return Err("`author` is empty".into());
        }
        if name.chars().count() > limits::MAX_NAME_CHARS {
            return Err(format!("`author` is longer than {} characters", limits::MAX_NAME_CHARS));
        }
        if name.chars().any(char::is_control) {
            return Err("`author` contains control characters".into());
        }
        let id = match self.text("author_id")? {
            Some(id) => id.parse().map_err(|e| format!("`author_id` {e}"))?,
            None => MemberId::imported(name),
        };
        let avatar = match self.text("author_avatar")? {
            Some(address) if !is_avatar(address) => {
                let most = limits::MAX_AVATAR_BYTES;
                return Err(format!(
                    "`author_avatar` must be an address by http(s) or a path, of at most {most} bytes"
                ));
            }
            address => address.map(str::to_owned),
        };
        let level = self.number("author_level", u8::MAX.into())?.unwrap_or(0);
        let role = match self.text("author_role")? {
            None => None,
            Some("moderator") => Some(StaffRole::Moderator),
            Some("admin") => Some(StaffRole::Admin),
            Some(_) => return Err("`author_role` must be moderator or admin".into()),
        };
        Ok(Author::new(id, name.to_owned(), avatar, u8::try_from(level).unwrap_or(u8::MAX), role))
    }

    /// Content may be empty: other systems have such comments.
    fn content(&self, name: &str) -> Result<Option<String>, String> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        if text.len() > limits::MAX_CONTENT_BYTES || text.chars().count() > limits::MAX_CONTENT_CHARS {
            let (chars, bytes) = (limits::MAX_CONTENT_CHARS, limits::MAX_CONTENT_BYTES);
            return Err(format!("`{name}` is longer than {chars} characters or {bytes} bytes"));
        }
        if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
            return Err(format!("`{name}` contains control characters other than line breaks and tabs"));
        }
        Ok(Some(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
        assert!(!line.deleted && !line.pinned);
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
        let more = (time(), proptest::option::of(time()), 0..MAX_EXACT_NUMBER, 0..MAX_EXACT_NUMBER, any::<[bool; 2]>());
        (text, (source(), source()), names, more).prop_map(
            |(text, (root, parent), (name, number, level, role, avatar), more)| {
                let (created_at, edited_at, likes, dislikes, [deleted, pinned]) = more;
                let member = number.map_or_else(|| MemberId::imported(&name), |n| MemberId::new(n).unwrap());
                ImportLine {
                    subject: SubjectKey::new(&text.0, &text.1).unwrap(),
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
