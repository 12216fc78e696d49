//! Reads fields of comments and pages, and builds the paths of their lists.

use serde_json::Value;

/// The id of the comment.
#[track_caller]
pub fn id(comment: &Value) -> &str {
    comment["id"].as_str().unwrap_or_else(|| panic!("not a comment: {comment}"))
}

/// The ids of the comments, in their order.
pub fn ids(comments: &[Value]) -> Vec<String> {
    comments.iter().map(|comment| id(comment).to_owned()).collect()
}

/// The comments of a page.
#[track_caller]
pub fn comments_on(page: &Value) -> &[Value] {
    page["data"].as_array().unwrap_or_else(|| panic!("not a page: {page}"))
}

/// The floors of the comments, in their order.
#[track_caller]
pub fn floors(comments: &[Value]) -> Vec<u64> {
    let floor = |comment: &Value| comment["floor"].as_u64().unwrap_or_else(|| panic!("no floor: {comment}"));
    comments.iter().map(floor).collect()
}

/// Checks that the floors of a list by `sort=old` count from 1 without a gap.
#[track_caller]
pub fn assert_floors_have_no_gap(list: &str, comments: &[Value]) {
    assert_eq!(floors(comments), (1..=comments.len() as u64).collect::<Vec<_>>(), "floors of {list}");
}

/// The path of the list of roots of the subject `type/key`.
pub fn comments_path(subject: &str) -> String {
    format!("/v1/subjects/{subject}/comments")
}

/// The path of the list of everything below the comment.
pub fn replies_path(comment: &Value) -> String {
    format!("/v1/comments/{}/replies", id(comment))
}

/// The path of the page that begins at the cursor.
pub fn with_cursor(path: &str, cursor: &str) -> String {
    format!("{path}{}cursor={cursor}", if path.contains('?') { '&' } else { '?' })
}
