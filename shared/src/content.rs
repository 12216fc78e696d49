//! The rules for the text of a comment: request bodies are parsed into types here, and checked nowhere else.
//!
//! The errors name every wrong field, not only the first. Not here: the word filter
//! ([`crate::word_filter`]), what can be seen ([`crate::visible_text`]), and rendering, which is the origin's
//! work.

use alloc::string::String;
use alloc::vec::Vec;

use serde_json::Value;

use crate::id::{CommentId, MediaId, MemberId};
use crate::limits;
use crate::visible_text::{is_blank, text_problem};
use crate::wire::{FieldError, Visibility};

/// A new comment that follows the rules.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(description = "A comment to publish."))]
pub struct NewComment {
    /// The text as written: not blank; at most 5,000 characters and 20,000 bytes of UTF-8; no control
    /// characters other than line breaks and tabs, no bidirectional embeddings, overrides or isolates, and at most
    /// six combining marks on one letter. A subject type may allow less.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 5000))]
    pub content: String,
    /// The comment it answers, of the same subject.
    pub parent_id: Option<CommentId>,
    /// Members it mentions; duplicates are dropped.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<MemberId>>, max_items = 20))]
    pub mentions: Vec<MemberId>,
    /// The readers who may see it; `everyone` by default.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Visibility>))]
    pub visibility: Visibility,
    /// Pictures that its author has uploaded, in their order; duplicates are dropped.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<MediaId>>, max_items = 4))]
    pub media: Vec<MediaId>,
}

/// Parses the body of a new comment of at most `max_chars` characters.
///
/// # Errors
/// Every wrong field; the field `body` when it is not a JSON object.
///
/// ```
/// use gailou_shared::content::parse_new_comment;
/// assert_eq!(parse_new_comment(br#"{"content":"hi"}"#, 5000).unwrap().content, "hi");
/// let errors = parse_new_comment(br#"{"content":"","parent_id":7}"#, 5000).unwrap_err();
/// assert_eq!(errors.len(), 2);
/// ```
pub fn parse_new_comment(body: &[u8], max_chars: usize) -> Result<NewComment, Vec<FieldError>> {
    let fields = parse_object(body)?;
    let mut errors = Vec::new();
    let content = content(fields.get("content"), max_chars, &mut errors);
    let parent_id = match fields.get("parent_id") {
        None | Some(Value::Null) => None,
        Some(value) => id(value, "parent_id", &mut errors),
    };
    let mentions = ids(fields.get("mentions"), "mentions", limits::MAX_MENTIONS, &mut errors);
    let visibility = match fields.get("visibility") {
        None | Some(Value::Null) => Visibility::Everyone,
        Some(value) => match value.as_str() {
            Some("everyone") => Visibility::Everyone,
            Some("self") => Visibility::Author,
            _ => {
                errors.push(FieldError::new("visibility", "must be \"everyone\" or \"self\""));
                Visibility::Everyone
            }
        },
    };
    let media = ids(fields.get("media"), "media", limits::MAX_COMMENT_MEDIA, &mut errors);
    if errors.is_empty() { Ok(NewComment { content, parent_id, mentions, visibility, media }) } else { Err(errors) }
}

/// Parses the body of an edit and returns the new text, of at most `max_chars` characters.
///
/// # Errors
/// Every wrong field.
pub fn parse_edit(body: &[u8], max_chars: usize) -> Result<String, Vec<FieldError>> {
    let fields = parse_object(body)?;
    let mut errors = Vec::new();
    let content = content(fields.get("content"), max_chars, &mut errors);
    if errors.is_empty() { Ok(content) } else { Err(errors) }
}

/// Parses the body of a new guest and returns the name to show; `None` for a guest without a name. Which names
/// may be taken is not decided here.
///
/// # Errors
/// The field `name` when it is no text, empty, too long or holds control characters.
pub fn parse_guest_name(body: &[u8]) -> Result<Option<String>, Vec<FieldError>> {
    let fields = parse_object(body)?;
    let Some(name) = fields.get("name") else { return Ok(None) };
    let name = name.as_str().map(str::trim).unwrap_or_default();
    if name.is_empty() || name.chars().count() > limits::MAX_NAME_CHARS || name.chars().any(char::is_control) {
        let detail = alloc::format!("must be 1 to {} characters, without control characters", limits::MAX_NAME_CHARS);
        return Err(alloc::vec![FieldError::new("name", detail)]);
    }
    Ok(Some(name.into()))
}

/// The first [`limits::SUMMARY_CHARS`] characters of a text, with `…` when something is left out.
#[must_use]
pub fn summarize(text: &str) -> String {
    match text.char_indices().nth(limits::SUMMARY_CHARS) {
        None => text.into(),
        Some((end, _)) => text.get(..end).unwrap_or_default().chars().chain(['…']).collect(),
    }
}

/// Parses a body that must be a JSON object.
///
/// # Errors
/// The field `body`, with the position of the mistake.
pub fn parse_object(body: &[u8]) -> Result<serde_json::Map<String, Value>, Vec<FieldError>> {
    let wrong = |detail: String| alloc::vec![FieldError::new("body", detail)];
    let text =
        core::str::from_utf8(body).map_err(|e| wrong(alloc::format!("is not UTF-8 at byte {}", e.valid_up_to())))?;
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(wrong("must be a JSON object".into())),
        Err(e) => Err(wrong(alloc::format!("is not JSON: {e}"))),
    }
}

fn content(value: Option<&Value>, max_chars: usize, errors: &mut Vec<FieldError>) -> String {
    let text = match value {
        Some(Value::String(text)) => text.as_str(),
        None => {
            errors.push(FieldError::new("content", "is missing"));
            return String::new();
        }
        Some(_) => {
            errors.push(FieldError::new("content", "must be a string"));
            return String::new();
        }
    };
    if text.chars().all(is_blank) {
        errors.push(FieldError::new("content", "must not be empty"));
    } else if let Some(too_long) = check_length(text, max_chars) {
        errors.push(too_long);
    } else if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        errors.push(FieldError::new("content", "must not hold control characters other than line breaks and tabs"));
    } else if let Some(problem) = text_problem(text) {
        errors.push(FieldError::new("content", problem));
    }
    text.into()
}

/// The error for a text of more than `max_chars` characters or [`limits::MAX_CONTENT_BYTES`] bytes; `None`
/// when its length is allowed.
#[must_use]
pub fn check_length(text: &str, max_chars: usize) -> Option<FieldError> {
    let (chars, bytes, max_bytes) = (text.chars().count(), text.len(), limits::MAX_CONTENT_BYTES);
    (chars > max_chars || bytes > max_bytes).then(|| {
        let detail = alloc::format!(
            "must be at most {max_chars} characters and {max_bytes} bytes, has {chars} characters and {bytes} bytes"
        );
        FieldError::new("content", detail)
    })
}

fn id<T: core::str::FromStr<Err = crate::id::InvalidId>>(
    value: &Value,
    field: &'static str,
    errors: &mut Vec<FieldError>,
) -> Option<T> {
    let id = value.as_str().and_then(|text| text.parse().ok());
    if id.is_none() {
        errors.push(FieldError::new(field, "must be an id: a string of decimal digits"));
    }
    id
}

/// A list of at most `max_count` ids, each once.
fn ids<T: core::str::FromStr<Err = crate::id::InvalidId> + PartialEq>(
    value: Option<&Value>,
    field: &'static str,
    max_count: usize,
    errors: &mut Vec<FieldError>,
) -> Vec<T> {
    let items = match value {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(items)) if items.len() <= max_count => items,
        Some(_) => {
            errors.push(FieldError::new(field, alloc::format!("must be a list of at most {max_count} ids")));
            return Vec::new();
        }
    };
    let mut ids = Vec::with_capacity(items.len());
    for item in items {
        match id(item, field, errors) {
            Some(id) if !ids.contains(&id) => ids.push(id),
            Some(_) => {}
            None => break,
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn errors_name_every_wrong_field() {
        let check = |body: &str, fields: &[&str]| {
            let errors = parse_new_comment(body.as_bytes(), 5_000).map(|_| Vec::new()).unwrap_or_else(|e| e);
            assert_eq!(errors.iter().map(|e| e.field.as_ref()).collect::<Vec<_>>(), fields, "{body}");
        };
        check(r#"{"content":"hi","parent_id":"5","mentions":["7","7"],"visibility":"self","media":[]}"#, &[]);
        check(r#"{"content":"hi","parent_id":null,"unknown":1}"#, &[]);
        check("", &["body"]);
        check("[]", &["body"]);
        check(r#"{"content":"\ud800"}"#, &["body"]);
        check("{}", &["content"]);
        check(r#"{"content":7}"#, &["content"]);
        check(r#"{"content":" \n\u200b"}"#, &["content"]);
        check(r#"{"content":"a\u0000b"}"#, &["content"]);
        check(r#"{"content":"a\r\n\tb"}"#, &[]);
        check(r#"{"content":"a\u202eb"}"#, &["content"]);
        check(
            r#"{"content":"","parent_id":5,"mentions":"7","visibility":"all","media":["x"]}"#,
            &["content", "parent_id", "mentions", "visibility", "media"],
        );
        check(r#"{"content":"x","mentions":["07"]}"#, &["mentions"]);
        check(r#"{"content":"x","media":["1","2","2","4"]}"#, &[]);
        check(r#"{"content":"x","media":["1","2","3","4","5"]}"#, &["media"]);
        check(r#"{"content":"x","media":"1"}"#, &["media"]);
        assert_eq!(parse_new_comment(b"{\"content\":\"\xff\"}", 5_000).unwrap_err()[0].field, "body");
    }

    #[test]
    fn length_counts_characters() {
        let of = |n: usize| parse_new_comment(format!(r#"{{"content":"{}"}}"#, "楼".repeat(n)).as_bytes(), 5_000);
        assert!(of(5_000).is_ok());
        assert_eq!(of(5_001).unwrap_err()[0].field, "content");
    }

    #[test]
    fn summary_does_not_split_a_character() {
        assert_eq!(summarize("楼"), "楼");
        assert_eq!(summarize(&"楼".repeat(500)), "楼".repeat(500));
        assert_eq!(summarize(&"楼".repeat(501)), "楼".repeat(500) + "…");
    }

    proptest! {
        #[test]
        fn arbitrary_body_does_not_panic(body: Vec<u8>) {
            let _ = parse_new_comment(&body, 5_000);
        }

        #[test]
        fn text_is_kept_as_written(text in "\\PC*[a-z]\\PC*") {
            let body = serde_json::json!({"content": text}).to_string();
            prop_assume!(!text.chars().any(char::is_control) && text_problem(&text).is_none());
            prop_assert_eq!(parse_new_comment(body.as_bytes(), 5_000).unwrap().content, text);
        }
    }
}
