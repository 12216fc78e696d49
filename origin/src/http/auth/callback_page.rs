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
use crate::http::auth::callback_words::{CallbackWords, SignInFailure};
use crate::http::auth::private_headers;
use crate::service::sign_in::SignedIn;

const PAGE_STYLE: &str = "body{font:1rem/1.5 system-ui,sans-serif;max-width:28rem;margin:15vh auto;padding:0 1rem}\
     :root{color-scheme:light dark}";

/// The page that a mailed link leads to: its button opens the link.
pub(super) fn question(email: &EmailAddress, site: &str, language: ReaderLanguage) -> Response {
    let words = CallbackWords::of(language);
    let body = html! {
        h1 { (words.sign_in) }
        p { (words.site) " " strong { bdi { (site) } } br; (words.address) " " strong { bdi { (email) } } }
        form method="post" { button { (words.sign_in) } }
        p { (words.not_asked) }
    };
    page(StatusCode::OK, language, &body, None)
}

/// The page of who is signed in, for a page of this site.
pub(super) fn success(signed_in: &SignedIn, site: &str, code: &str, language: ReaderLanguage) -> Response {
    let SignedIn { session, page: asking, .. } = signed_in;
    let words = CallbackWords::of(language);
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
        h1 { (words.signed_in) }
        p { a href=(site) { (words.back_to) " " bdi { (site) } } }
    };
    page(StatusCode::OK, language, &body, Some(&script))
}

/// The page of who is not.
pub(super) fn failure(outcome: SignInFailure, language: ReaderLanguage) -> Response {
    let words = CallbackWords::of(language);
    let body = html! {
        h1 { (words.not_signed_in) }
        p { (words.reason(outcome)) }
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
        html lang=(language.tag()) dir=(language.direction()) {
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
