//! `/v1/admin`: what moderators read and decide, a file for each resource.

pub(super) mod audit;
pub(super) mod comments;
pub(super) mod export;
pub(super) mod import;
pub(super) mod members;
pub(super) mod queue;
pub(super) mod rejected;
pub(super) mod search;
pub(super) mod settings;
pub(super) mod stats;
pub(super) mod subjects;
pub(super) mod webhooks;
pub(super) mod words;

use axum::Json;
use axum::http::{HeaderName, HeaderValue, header};
use gailou_shared::id::CommentId;
use gailou_shared::wire::FieldError;
use serde_json::{Map, Value};

use crate::domain::import_line::MAX_SUBJECT_TEXT_CHARS;
use crate::http::cached_page::PRIVATE_CACHING;
use crate::http::problem::Refusal;

/// Longest reason, title or address of a subject, in characters.
const MAX_TEXT_CHARS: usize = MAX_SUBJECT_TEXT_CHARS;
/// Most comments that one call names.
const MAX_IDS: usize = 100;

/// An answer that no cache keeps.
pub(super) type PrivateAnswer<T> = Result<([(HeaderName, HeaderValue); 1], Json<T>), Refusal>;

pub(super) fn private<T>(answer: T) -> PrivateAnswer<T> {
    Ok(([(header::CACHE_CONTROL, PRIVATE_CACHING)], Json(answer)))
}

/// A text that may be left out (`None`) or taken away (`Some(None)`).
pub(super) fn optional_text(
    fields: &Map<String, Value>,
    name: &'static str,
    errors: &mut Vec<FieldError>,
) -> Option<Option<String>> {
    match fields.get(name)? {
        Value::Null => Some(None),
        Value::String(text) if text.chars().count() <= MAX_TEXT_CHARS && !text.chars().any(char::is_control) => {
            Some(Some(text.clone()))
        }
        _ => {
            let detail = format!("must be text of at most {MAX_TEXT_CHARS} characters, or null");
            errors.push(FieldError::new(name, detail));
            None
        }
    }
}

/// The comments of the field `ids`, each once.
fn comment_ids(fields: &Map<String, Value>, errors: &mut Vec<FieldError>) -> Vec<CommentId> {
    let parse = |value: &Value| value.as_str()?.parse::<CommentId>().ok();
    let ids = fields.get("ids").and_then(Value::as_array).filter(|ids| (1..=MAX_IDS).contains(&ids.len()));
    match ids.and_then(|ids| ids.iter().map(parse).collect::<Option<Vec<_>>>()) {
        Some(ids) => {
            let mut each: Vec<CommentId> = Vec::with_capacity(ids.len());
            for id in ids {
                if !each.contains(&id) {
                    each.push(id);
                }
            }
            each
        }
        None => {
            errors.push(FieldError::new("ids", format!("must be 1 to {MAX_IDS} comment ids")));
            vec![]
        }
    }
}
