//! Which sites may write: a list of web origins.
//!
//! Does not answer requests (the HTTP layer does). Promise: an origin matches by scheme, host and
//! port; a rule never matches part of a host name.

use std::fmt;

/// An allow-list of web origins.
#[derive(Clone, PartialEq, Eq)]
pub struct AllowedOrigins(Vec<Rule>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Rule {
    /// `*`
    Every,
    /// `https://example.com`, `https://example.com:8443`
    One(String),
    /// `http://localhost:*`
    AnyPort(String),
}

impl AllowedOrigins {
    /// Pages on the reader's own machine, whatever the port.
    #[must_use]
    pub fn localhost() -> Self {
        let hosts = ["localhost", "127.0.0.1", "[::1]"];
        let rules = hosts.iter().flat_map(|host| ["http", "https"].map(|scheme| format!("{scheme}://{host}")));
        Self(rules.map(Rule::AnyPort).collect())
    }

    /// The rules written so, or the first that is none.
    ///
    /// # Errors
    /// The text that is neither `*` nor `scheme://host`, `scheme://host:port`, `scheme://host:*`.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        texts
            .into_iter()
            .map(|text| rule(text.trim()).ok_or_else(|| text.to_owned()))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Whether a page of `origin` (as the header says it) may write.
    ///
    /// ```
    /// use gailou::config::Origins;
    /// let origins = Origins::localhost();
    /// assert!(origins.allow("http://localhost:5173") && origins.allow("https://127.0.0.1"));
    /// assert!(!origins.allow("http://localhost.example.com"));
    /// ```
    #[must_use]
    pub fn allow(&self, origin: &str) -> bool {
        self.0.iter().any(|rule| match rule {
            Rule::Every => true,
            Rule::One(one) => one == origin,
            Rule::AnyPort(base) => match origin.strip_prefix(base.as_str()) {
                Some("") => true,
                Some(rest) => rest.strip_prefix(':').is_some_and(is_port),
                None => false,
            },
        })
    }
}

fn rule(text: &str) -> Option<Rule> {
    if text == "*" {
        return Some(Rule::Every);
    }
    let text = text.strip_suffix('/').unwrap_or(text).to_ascii_lowercase();
    let (scheme, authority) = text.split_once("://")?;
    let default_port = match scheme {
        "http" => "80",
        "https" => "443",
        _ => return None,
    };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let host_ok = !host.is_empty()
        && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._[]:".contains(&b))
        && (host.starts_with('[') || !host.contains(':'));
    if !host_ok {
        return None;
    }
    match port {
        Some("*") => Some(Rule::AnyPort(format!("{scheme}://{host}"))),
        // A browser leaves the default port out.
        Some(port) if port == default_port => Some(Rule::One(format!("{scheme}://{host}"))),
        Some(port) if !is_port(port) => None,
        _ => Some(Rule::One(text)),
    }
}

fn is_port(text: &str) -> bool {
    (1..=5).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

impl fmt::Debug for AllowedOrigins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|rule| match rule {
                Rule::Every => "*".to_owned(),
                Rule::One(one) => one.clone(),
                Rule::AnyPort(base) => format!("{base}:*"),
            }))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_match_whole_origins() {
        let check = |rule: &str, origin: &str, expected: bool| {
            assert_eq!(AllowedOrigins::parse([rule]).unwrap().allow(origin), expected, "{rule} {origin}");
        };
        check("*", "https://a.example", true);
        check("https://a.example", "https://a.example", true);
        check("https://a.example/", "https://a.example", true);
        check("https://A.example:443", "https://a.example", true);
        check("https://a.example", "http://a.example", false);
        check("https://a.example", "https://a.example.evil.org", false);
        check("https://a.example", "https://a.example:8443", false);
        check("https://a.example:8443", "https://a.example:8443", true);
        check("http://localhost:*", "http://localhost:1", true);
        check("http://localhost:*", "http://localhost", true);
        check("http://localhost:*", "http://localhost:1@evil.org", false);
        check("http://localhost:*", "http://localhostess", false);
        check("http://[::1]:*", "http://[::1]:8080", true);
        check("http://[::1]", "http://[::1]", true);
    }

    #[test]
    fn what_is_no_origin_is_named() {
        for text in ["", "example.com", "ftp://a", "https://", "https://a/b", "https://a:port", "https://a b", "null"] {
            assert_eq!(AllowedOrigins::parse([text]), Err(text.to_owned()));
        }
    }
}
