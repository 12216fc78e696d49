//! The fields of a line, each as its type or with what is wrong with it.

use gailou_shared::id::{MemberId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::token::is_avatar;
use gailou_shared::wire::{Author, StaffRole};
use serde_json::{Map, Value};

use crate::domain::import_line::{MAX_SUBJECT_TEXT_CHARS, MIN_MILLISECONDS};

/// Longest id of another system, in bytes.
const MAX_SOURCE_ID_BYTES: usize = 512;
/// Largest count and largest time: every reader of JSON has it exactly.
pub(super) const MAX_EXACT_NUMBER: u64 = (1 << 53) - 1;

/// The fields of a line; `null` counts as missing.
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    /// # Errors
    /// When the line is no object.
    pub(super) fn parse(line: &[u8]) -> Result<Self, String> {
        let text = str::from_utf8(line).map_err(|e| format!("is not UTF-8 at byte {}", e.valid_up_to()))?;
        match serde_json::from_str(text) {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            Ok(_) => Err("is not a JSON object".into()),
            Err(error) => Err(format!("is not JSON: {error}")),
        }
    }

    /// Whether they are those of a subject: a title or an address, and nothing of a comment.
    pub(super) fn describe_subject(&self) -> bool {
        let has_one = |names: &[&str]| names.iter().any(|name| self.get(name).is_some());
        has_one(&["title", "url"]) && !has_one(&["id", "content"])
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn required<T>(
        &self,
        name: &str,
        read: impl Fn(&Self, &str) -> Result<Option<T>, String>,
    ) -> Result<T, String> {
        read(self, name)?.ok_or_else(|| format!("`{name}` is missing"))
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, String> {
        let wrong = || format!("`{name}` must be a string");
        self.get(name).map(|value| value.as_str().ok_or_else(wrong)).transpose()
    }

    /// A title or an address of a subject. An empty one counts as missing.
    pub(super) fn subject_text(&self, name: &str) -> Result<Option<String>, String> {
        match self.text(name)? {
            None | Some("") => Ok(None),
            Some(text) if text.chars().count() > MAX_SUBJECT_TEXT_CHARS => {
                Err(format!("`{name}` is longer than {MAX_SUBJECT_TEXT_CHARS} characters"))
            }
            Some(text) if text.chars().any(char::is_control) => Err(format!("`{name}` contains control characters")),
            Some(text) => Ok(Some(text.to_owned())),
        }
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, String> {
        let wrong = || format!("`{name}` must be true or false");
        self.get(name).map_or(Ok(false), |value| value.as_bool().ok_or_else(wrong))
    }

    /// A list of texts; one that is missing is empty.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        let wrong = || format!("`{name}` must be a list of strings");
        let Some(list) = self.get(name) else { return Ok(Vec::new()) };
        let texts = list.as_array().ok_or_else(wrong)?.iter();
        texts.map(|text| text.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
    }

    pub(super) fn number(&self, name: &str, most: u64) -> Result<Option<u64>, String> {
        let wrong = || format!("`{name}` must be a whole number from 0 to {most}");
        let number = |value: &Value| value.as_u64().filter(|number| *number <= most).ok_or_else(wrong);
        self.get(name).map(number).transpose()
    }

    /// Unix milliseconds, from seconds or milliseconds.
    pub(super) fn time(&self, name: &str) -> Result<Option<u64>, String> {
        let ms = |time| if time < MIN_MILLISECONDS { time * 1_000 } else { time };
        Ok(self.number(name, MAX_EXACT_NUMBER)?.map(ms))
    }

    /// An id of another system. An empty one counts as missing.
    pub(super) fn source_id(&self, name: &str) -> Result<Option<String>, String> {
        match self.text(name)? {
            None | Some("") => Ok(None),
            Some(id) if id.len() > MAX_SOURCE_ID_BYTES => {
                Err(format!("`{name}` is longer than {MAX_SOURCE_ID_BYTES} bytes"))
            }
            Some(id) if id.chars().any(char::is_control) => Err(format!("`{name}` contains control characters")),
            Some(id) => Ok(Some(id.to_owned())),
        }
    }

    pub(super) fn subject(&self) -> Result<SubjectKey, String> {
        let text = self.text("subject")?.ok_or("`subject` is missing")?;
        let (kind, key) = text.split_once(':').ok_or("`subject` must be TYPE:KEY")?;
        SubjectKey::new(kind, key).map_err(|e| format!("`subject`: the {} {e}", e.field()))
    }

    /// A tombstone may have no name.
    pub(super) fn author(&self, deleted: bool) -> Result<Author, String> {
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
    pub(super) fn content(&self, name: &str) -> Result<Option<String>, String> {
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
