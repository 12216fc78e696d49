//! The cookies of signing in: who is signed in, and a visit to a provider.
//!
//! Both are sent to `/v1/auth` alone, and read by no script. Where readers have an encrypted connection, the first is for
//! pages of other sites, partitioned by them; on this machine, where there is none, browsers take no such cookie, and it
//! is one for pages of the same site.

use axum::http::{HeaderMap, HeaderValue, header};

use crate::domain::sign_in::REFRESH_IDLE_MS;
use crate::service::sign_in::VISIT_LIFETIME_MS;
use crate::state::AppState;

pub(super) const REFRESH_COOKIE: &str = "gailou_refresh";
pub(super) const VISIT_COOKIE: &str = "gailou_visit";

/// Keeps a refresh token.
pub(super) fn refresh(app: &AppState, token: &str) -> HeaderValue {
    let reach = if app.sign_in.is_secure() { "Secure; SameSite=None; Partitioned" } else { "SameSite=Lax" };
    cookie(REFRESH_COOKIE, token, REFRESH_IDLE_MS / 1_000, reach)
}

/// Forgets it.
pub(super) fn no_refresh(app: &AppState) -> HeaderValue {
    let reach = if app.sign_in.is_secure() { "Secure; SameSite=None; Partitioned" } else { "SameSite=Lax" };
    cookie(REFRESH_COOKIE, "", 0, reach)
}

/// Keeps a visit. The provider leads back by a link, which `Lax` lets through.
pub(super) fn visit(app: &AppState, text: &str) -> HeaderValue {
    cookie(VISIT_COOKIE, text, VISIT_LIFETIME_MS / 1_000, visit_reach(app))
}

/// Forgets it.
pub(super) fn no_visit(app: &AppState) -> HeaderValue {
    cookie(VISIT_COOKIE, "", 0, visit_reach(app))
}

fn visit_reach(app: &AppState) -> &'static str {
    if app.sign_in.is_secure() { "Secure; SameSite=Lax" } else { "SameSite=Lax" }
}

/// Its value is of the base64 for addresses and `.`, which a cookie can have.
fn cookie(name: &str, value: &str, max_age_s: u64, reach: &str) -> HeaderValue {
    let text = format!("{name}={value}; Path=/v1/auth; Max-Age={max_age_s}; HttpOnly; {reach}");
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

/// The value of a cookie; the first one, as browsers send those first that have the longer path.
pub(super) fn read<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|list| list.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, value)| *found == name && !value.is_empty()).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookie_is_found_among_others() {
        let check = |lists: &[&'static str], expected: Option<&str>| {
            let headers = lists.iter().map(|list| (header::COOKIE, HeaderValue::from_static(list)));
            assert_eq!(read(&headers.collect(), REFRESH_COOKIE), expected, "{lists:?}");
        };
        check(&["a=b; gailou_refresh=x.y-z; c=d"], Some("x.y-z"));
        check(&["a=b", "gailou_refresh=x"], Some("x"));
        check(&["xgailou_refresh=x; gailou_refresh"], None);
        check(&["gailou_refresh="], None);
        check(&[], None);
    }
}
