//! The page that a window shows when a reader comes back from a provider or a mail.
//!
//! Promise: the token is handed to the opener at the site that the visit began for, and to no other: a browser delivers
//! the message to a page of that origin alone. Nothing runs in the page but its own script.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gailou_shared::page_language::ReaderLanguage;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::json;

use crate::domain::email_address::EmailAddress;
use crate::http::auth::private_headers;
use crate::service::sign_in::SignedIn;

const PAGE_STYLE: &str = "body{font:1rem/1.5 system-ui,sans-serif;max-width:28rem;margin:15vh auto;padding:0 1rem}\
     :root{color-scheme:light dark}";

const fn choose(language: ReaderLanguage, english: &'static str, chinese: &'static str) -> &'static str {
    match language {
        ReaderLanguage::English => english,
        ReaderLanguage::Chinese => chinese,
    }
}

/// Why the reader is not signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SignInFailure {
    /// The link was used, or it took too long, or it began in another browser.
    Over,
    /// The provider confirms nothing.
    NotConfirmed,
    /// The page's site may not write here (any more).
    SiteNotAllowed,
}

/// The page that a mailed link leads to: its button opens the link.
pub(super) fn question(email: &EmailAddress, site: &str, language: ReaderLanguage) -> Response {
    let body = html! {
        h1 { (choose(language, "Sign in", "登录")) }
        p { (choose(language, "To comment on", "评论网站")) " " strong { (site) } " " (choose(language, "as", "，身份为")) " " strong { (email) } }
        form method="post" { button { (choose(language, "Sign in", "登录")) } }
        p { (choose(language, "If you have not asked for it, close this page.", "如果不是您本人操作，请关闭本页。")) }
    };
    page(StatusCode::OK, language, &body, None)
}

/// The page of who is signed in, for a page of this site.
pub(super) fn success(signed_in: &SignedIn, site: &str, code: &str, language: ReaderLanguage) -> Response {
    let SignedIn { session, page: asking, .. } = signed_in;
    let message = json!({
        "type": "gailou:signed-in", "token": session.token, "expires_at": session.expires_at, "code": code,
    });
    let way_back = asking.as_ref().map(|(page, state)| format!("{page}#gailou-code={code}&gailou-state={state}"));
    let script = format!(
        "if(window.opener){{window.opener.postMessage({},{});window.close()}}else if({3}){{location.replace({2})}}",
        script_json(&message),
        script_json(&json!(site)),
        script_json(&json!(way_back)),
        way_back.is_some(),
    );
    let body = html! {
        h1 { (choose(language, "You are signed in", "登录成功")) }
        p { a href=(site) { (choose(language, "Go back to", "返回")) " " (site) } }
    };
    page(StatusCode::OK, language, &body, Some(&script))
}

/// The page of who is not.
pub(super) fn failure(outcome: SignInFailure, language: ReaderLanguage) -> Response {
    let text = match outcome {
        SignInFailure::Over => choose(
            language,
            "This link was used already, or it is too old. Go back to the page where you wanted to comment, and sign in again.",
            "链接已经用过或已过期。请回到您要评论的页面，重新登录。",
        ),
        SignInFailure::NotConfirmed => choose(
            language,
            "The provider has not confirmed who you are. Go back to the page where you wanted to comment, and try again.",
            "登录服务未能确认您的身份。请回到您要评论的页面，再试一次。",
        ),
        SignInFailure::SiteNotAllowed => choose(
            language,
            "The site that you come from may not take comments here. Its owner can allow it.",
            "您来自的网站未被允许在此评论，请联系网站管理员。",
        ),
    };
    let body = html! {
        h1 { (choose(language, "You are not signed in", "未能登录")) }
        p { (text) }
    };
    page(StatusCode::BAD_REQUEST, language, &body, None)
}

/// JSON as a script can have it: no text in it ends the element.
fn script_json(value: &serde_json::Value) -> String {
    let text = value.to_string();
    text.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn page(status: StatusCode, language: ReaderLanguage, body: &Markup, script: Option<&str>) -> Response {
    let nonce = STANDARD.encode(rand::random::<[u8; 16]>());
    let document = html! {
        (DOCTYPE)
        html lang=(language.name()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex";
                title { "Gailou" }
                style nonce=(nonce) { (PreEscaped(PAGE_STYLE)) }
            }
            body {
                main { (body) }
                @if let Some(script) = script {
                    script nonce=(nonce) { (PreEscaped(script)) }
                }
            }
        }
    };
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; base-uri 'none'; form-action 'self'; \
         frame-ancestors 'none'"
    );
    let policy = HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"));
    let headers: [(HeaderName, HeaderValue); 2] = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    (status, private_headers(), headers, document.into_string()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_the_script() {
        let text = script_json(&json!({"name": "</script><script>alert(1)</script>\u{2028}"}));
        assert!(!text.contains('<') && !text.contains('\u{2028}'), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap()["name"].as_str().unwrap().len(), 34 + 3);
    }
}
