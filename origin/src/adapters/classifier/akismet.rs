//! Akismet's `comment-check`: a form, and `true` or `false`.
//!
//! It requires the address of the author; without one it is not asked. What it says about a refused request is logged
//! unless it repeats the key.

use axum::http::{Request, StatusCode, header};
use bytes::Bytes;
use http_body_util::Full;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::adapters::classifier::ServiceAnswer;
use crate::config::Password;
use crate::ports::classifier::{SpamVerdict, TextToClassify};
use crate::ports::failure::Failure;

/// With the value `discard`, the worst kind of spam.
const PRO_TIP_HEADER: &str = "x-akismet-pro-tip";
/// What is wrong with a request.
const DEBUG_HELP_HEADER: &str = "x-akismet-debug-help";
/// How much of it is logged.
const MAX_HELP_CHARS: usize = 200;

/// An account at Akismet.
#[derive(Debug)]
pub(super) struct AkismetAccount {
    pub(super) key: Password,
    /// The address of the site's front page.
    pub(super) site: String,
}

impl AkismetAccount {
    /// # Errors
    /// Where the address of the author is not known.
    pub(super) fn request(&self, url: &str, text: &TextToClassify) -> Result<Request<Full<Bytes>>, Failure> {
        let form = self.form(text).ok_or("it requires the author's address, which is not known")?;
        let request = Request::post(url).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let agent = concat!("Gailou/", env!("CARGO_PKG_VERSION"));
        let request = request.header(header::USER_AGENT, agent);
        request.body(Full::from(form)).map_err(Failure::with_causes)
    }

    fn form(&self, text: &TextToClassify) -> Option<String> {
        let address = text.network?.to_string();
        let fields = [
            ("api_key", Some(self.key.expose())),
            ("blog", Some(&*self.site)),
            ("blog_charset", Some("UTF-8")),
            ("user_ip", Some(&*address)),
            ("user_agent", text.user_agent.as_deref()),
            ("permalink", text.page.as_deref()),
            ("comment_type", Some(if text.is_reply { "reply" } else { "comment" })),
            ("comment_author", Some(&*text.author_name)),
            ("comment_content", Some(&*text.content)),
            ("recheck_reason", text.is_edit.then_some("edit")),
        ];
        let given = fields.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let pairs = given.map(|(name, value)| format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC)));
        Some(pairs.collect::<Vec<_>>().join("&"))
    }

    /// # Errors
    /// Where the answer is no verdict.
    pub(super) fn verdict(&self, answer: &ServiceAnswer) -> Result<SpamVerdict, Failure> {
        let header = |name: &str| answer.headers.get(name).and_then(|value| value.to_str().ok());
        match (answer.status, answer.body.trim_ascii()) {
            (StatusCode::OK, b"false") => Ok(SpamVerdict::Ham),
            (StatusCode::OK, b"true") => {
                let is_worst = header(PRO_TIP_HEADER).is_some_and(|tip| tip.trim() == "discard");
                Ok(SpamVerdict::Spam(vec![if is_worst { "blatant spam" } else { "spam" }.into()]))
            }
            (status, _) => {
                let help = header(DEBUG_HELP_HEADER).filter(|help| !help.contains(self.key.expose()));
                let help: String = help.unwrap_or("no help").chars().take(MAX_HELP_CHARS).collect();
                Err(format!("it answered {status} and no verdict ({help})").into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderName, HeaderValue};
    use gailou_shared::id::{MemberId, SubjectKey};
    use proptest::prelude::*;

    use super::*;

    fn account() -> AkismetAccount {
        AkismetAccount { key: Password::new("hidden").unwrap(), site: "https://blog.example".into() }
    }

    fn answer(status: u16, body: &[u8], headers: &[(&'static str, &str)]) -> ServiceAnswer {
        let header = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        ServiceAnswer {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::from_iter(headers.iter().map(header)),
            body: Bytes::copy_from_slice(body),
        }
    }

    #[test]
    fn only_true_and_false_are_verdicts() {
        let spam = |label: &str| Some(SpamVerdict::Spam(vec![label.into()]));
        let check = |answer: ServiceAnswer, expected: Option<SpamVerdict>| {
            assert_eq!(account().verdict(&answer).ok(), expected, "{answer:?}");
        };
        check(answer(200, b"true", &[]), spam("spam"));
        check(answer(200, b"true\n", &[("x-akismet-pro-tip", "discard")]), spam("blatant spam"));
        check(answer(200, b"true", &[("x-akismet-pro-tip", "keep")]), spam("spam"));
        check(answer(200, b"false", &[("x-akismet-pro-tip", "discard")]), Some(SpamVerdict::Ham));
        for body in ["", "invalid", "TRUE", "true true", "<html>true</html>", "1", "\"true\""] {
            check(answer(200, body.as_bytes(), &[]), None);
        }
        check(answer(301, b"true", &[]), None);
        check(answer(403, b"false", &[]), None);
    }

    #[test]
    fn what_it_says_of_a_request_is_repeated_without_the_key() {
        let said = |help: &str| {
            let refused = account().verdict(&answer(200, b"invalid", &[("x-akismet-debug-help", help)]));
            refused.unwrap_err().to_string()
        };
        assert!(said("Empty \"blog\" value").contains("Empty \"blog\" value"));
        assert!(!said("the key hidden is unknown").contains("hidden"));
        assert!(said(&"x".repeat(5_000)).len() < 300);
    }

    #[test]
    fn form_has_what_is_known_and_nothing_breaks_out_of_a_field() {
        let text = TextToClassify {
            content: "buy & sell=1 你好".into(),
            author: MemberId::new(7).unwrap(),
            author_name: "A&B".into(),
            is_guest: true,
            subject: SubjectKey::new("article", "x").unwrap(),
            page: None,
            is_reply: true,
            is_edit: true,
            network: Some("192.0.2.7".parse().unwrap()),
            user_agent: None,
        };
        let form = account().form(&text).unwrap();
        assert_eq!(
            form,
            "api_key=hidden&blog=https%3A%2F%2Fblog%2Eexample&blog_charset=UTF%2D8&user_ip=192%2E0%2E2%2E7\
             &comment_type=reply&comment_author=A%26B&comment_content=buy%20%26%20sell%3D1%20%E4%BD%A0%E5%A5%BD\
             &recheck_reason=edit"
        );
        let unknown = TextToClassify { network: None, ..text };
        assert!(account().request("https://a.example", &unknown).is_err());
    }

    proptest! {
        #[test]
        fn any_answer_is_a_verdict_or_none(status in 100_u16..600, body in any::<Vec<u8>>(), help in "[ -~]{0,300}") {
            let verdict = account().verdict(&answer(status, &body, &[("x-akismet-debug-help", &help)]));
            prop_assert!(verdict.is_err() || matches!(body.trim_ascii(), b"true" | b"false"));
        }
    }
}
