//! A page of comments as JSON-LD (schema.org), for search engines. Pure, no IO.

use std::fmt::Write as _;

use gailou_shared::content::summarize;
use gailou_shared::wire::{Comment, Subject};
use maud::{Markup, PreEscaped, html};
use serde_json::{Value, json};

use crate::clock::rfc3339;
use crate::http::html::text::{title, web_address};

/// The script element with the data of these roots and their shown replies.
pub(super) fn script(subject: &Subject, roots: &[&Comment]) -> Markup {
    let address = web_address(subject);
    let comments: Vec<_> = roots.iter().map(|root| comment(root, address)).collect();
    let posting = json!({"@context": "https://schema.org", "@type": "DiscussionForumPosting",
        "headline": title(subject), "url": address, "mainEntityOfPage": address, "commentCount": subject.comments,
        "comment": comments});
    html! { script type="application/ld+json" { (in_script(&posting)) } }
}

fn comment(comment: &Comment, address: Option<&str>) -> Value {
    let replies: Vec<_> = comment.top_replies.iter().flatten().map(|reply| self::comment(reply, address)).collect();
    let page = address.map(|address| address.split('#').next().unwrap_or_default());
    let mut value = json!({"@type": "Comment", "dateCreated": rfc3339(comment.created_at),
        "url": page.map(|page| format!("{page}#comment-{}", comment.id))});
    let more = match &comment.author {
        None => json!({"creativeWorkStatus": "Deleted"}),
        Some(author) => json!({"text": summarize(&comment.content), "dateModified": comment.edited_at.map(rfc3339),
            "upvoteCount": comment.likes, "downvoteCount": comment.dislikes,
            "author": {"@type": "Person", "name": author.name}}),
    };
    if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
        value.extend(more);
        if !replies.is_empty() {
            value.insert("comment".into(), replies.into());
        }
        value.retain(|_, member| !member.is_null());
    }
    value
}

/// JSON for a script element: nothing in it can end the element, begin a comment, or break a line
/// for a reader older than the current standard. All escapes are JSON's own.
fn in_script(value: &Value) -> PreEscaped<String> {
    let mut out = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    PreEscaped(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_leave_its_script() {
        let hostile = json!({"a": "</script><!-- & \u{2028}\u{2029}"});
        let PreEscaped(written) = in_script(&hostile);
        assert!(written.is_ascii() && !written.contains(['<', '>', '&']), "{written}");
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), hostile);
    }
}
