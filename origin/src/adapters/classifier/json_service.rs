//! A service that is asked in JSON and answers `{"verdict": "spam", "labels": ["…"]}`, as `docs/moderation.md` says.
//!
//! It gets no address of an author.

use axum::http::{HeaderValue, Request, StatusCode, header};
use bytes::Bytes;
use http_body_util::Full;
use serde::Deserialize;
use serde_json::json;

use crate::adapters::classifier::ServiceAnswer;
use crate::config::Password;
use crate::ports::classifier::{SpamVerdict, TextToClassify};
use crate::ports::failure::Failure;

/// Most labels of an answer.
const MAX_LABELS: usize = 20;
const MAX_LABEL_CHARS: usize = 64;
/// Labels that moderators see; an item of the queue has more reasons than these.
const MAX_SHOWN_LABELS: usize = 5;
/// What is spam without a label.
const DEFAULT_LABEL: &str = "spam";

/// What the service knows this program by.
#[derive(Debug)]
pub(super) struct JsonAccount {
    pub(super) key: Option<Password>,
}

/// What the service answers.
#[derive(Debug, Deserialize)]
struct JsonVerdict {
    verdict: VerdictName,
    #[serde(default)]
    labels: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum VerdictName {
    Spam,
    Ham,
}

impl JsonAccount {
    /// # Errors
    /// For a key that no header can have.
    pub(super) fn request(&self, url: &str, text: &TextToClassify) -> Result<Request<Full<Bytes>>, Failure> {
        let body = json!({
            "content": text.content,
            "author": {"name": text.author_name, "guest": text.is_guest},
            "subject": text.subject.to_string(),
            "page": text.page,
            "reply": text.is_reply,
            "edit": text.is_edit,
        });
        let mut request = Request::post(url).header(header::CONTENT_TYPE, "application/json");
        if let Some(key) = &self.key {
            let bearer = HeaderValue::try_from(format!("Bearer {}", key.expose()));
            let mut bearer = bearer.map_err(|_| "classifier.key has characters that no header can have")?;
            bearer.set_sensitive(true);
            request = request.header(header::AUTHORIZATION, bearer);
        }
        request.body(Full::from(body.to_string())).map_err(Failure::with_causes)
    }
}

/// # Errors
/// Where the answer is no verdict.
pub(super) fn verdict(answer: &ServiceAnswer) -> Result<SpamVerdict, Failure> {
    let parsed = serde_json::from_slice(&answer.body).ok().filter(|_| answer.status == StatusCode::OK);
    let Some(JsonVerdict { verdict, labels }) = parsed.filter(has_labels_to_show) else {
        return Err(format!("it answered {} and no verdict", answer.status).into());
    };
    match verdict {
        VerdictName::Ham => Ok(SpamVerdict::Ham),
        VerdictName::Spam => {
            let mut shown = Vec::new();
            for label in labels {
                if shown.len() < MAX_SHOWN_LABELS && !shown.contains(&label) {
                    shown.push(label);
                }
            }
            if shown.is_empty() {
                shown.push(DEFAULT_LABEL.into());
            }
            Ok(SpamVerdict::Spam(shown))
        }
    }
}

/// Whether the labels are few, short, and can be shown.
fn has_labels_to_show(answer: &JsonVerdict) -> bool {
    let can_be_shown = |label: &String| {
        let length = label.chars().count();
        (1..=MAX_LABEL_CHARS).contains(&length) && !label.chars().any(char::is_control)
    };
    answer.labels.len() <= MAX_LABELS && answer.labels.iter().all(can_be_shown)
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use proptest::prelude::*;

    use super::*;

    fn read(status: u16, body: &[u8]) -> Option<SpamVerdict> {
        let status = StatusCode::from_u16(status).unwrap();
        let answer = ServiceAnswer { status, headers: HeaderMap::new(), body: Bytes::copy_from_slice(body) };
        verdict(&answer).ok()
    }

    #[test]
    fn only_the_documented_shape_is_a_verdict() {
        let spam = |labels: &[&str]| Some(SpamVerdict::Spam(labels.iter().map(|&label| label.into()).collect()));
        let check = |body: &str, expected: Option<SpamVerdict>| {
            assert_eq!(read(200, body.as_bytes()), expected, "{body}");
            assert_eq!(read(302, body.as_bytes()), None, "{body}");
        };
        check(r#"{"verdict":"ham"}"#, Some(SpamVerdict::Ham));
        check(r#"{"verdict":"ham","labels":["x"],"score":0.1}"#, Some(SpamVerdict::Ham));
        check(r#"{"verdict":"spam"}"#, spam(&["spam"]));
        check(r#"{"verdict":"spam","labels":["赌博","ads","ads"]}"#, spam(&["赌博", "ads"]));
        check(r#"{"verdict":"spam","labels":["1","2","3","4","5","6"]}"#, spam(&["1", "2", "3", "4", "5"]));
        for wrong in [
            "",
            "spam",
            "{}",
            "[]",
            "<html>",
            r#"{"verdict":"maybe"}"#,
            r#"{"verdict":true}"#,
            r#"{"verdict":"spam","labels":"ads"}"#,
            r#"{"verdict":"spam","labels":[""]}"#,
            r#"{"verdict":"spam","labels":["a\u0000b"]}"#,
            r#"{"verdict":"spam"}{"verdict":"ham"}"#,
        ] {
            check(wrong, None);
        }
        check(&json!({"verdict": "spam", "labels": ["x".repeat(65)]}).to_string(), None);
        check(&json!({"verdict": "spam", "labels": vec!["x"; 21]}).to_string(), None);
    }

    proptest! {
        #[test]
        fn any_answer_is_a_short_verdict_or_none(status in 100_u16..600, body in any::<Vec<u8>>()) {
            prop_assert_eq!(read(status, &body), None);
        }

        #[test]
        fn any_labels_are_shown_or_refused(labels in prop::collection::vec(any::<String>(), 0..30)) {
            if let Some(SpamVerdict::Spam(shown)) = read(200, json!({"verdict": "spam", "labels": labels}).to_string().as_bytes()) {
                prop_assert!((1..=MAX_SHOWN_LABELS).contains(&shown.len()));
                prop_assert!(shown.iter().all(|label| label.chars().count() <= MAX_LABEL_CHARS));
            }
        }
    }
}
