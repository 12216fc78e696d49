//! Which sites may write: a list of web origins.
//!
//! Answers no request: the HTTP layer does. Promise: an origin matches by scheme, host and port; a
//! rule never matches part of a host name.

use std::fmt;

use documented::DocumentedFields;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::config::values;

/// An allow-list of web origins.
#[derive(Clone, PartialEq, Eq)]
pub struct AllowedOrigins(Vec<OriginRule>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum OriginRule {
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
        Self(rules.map(OriginRule::AnyPort).collect())
    }

    /// The rules with these texts, or the first text that is not a rule.
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

    /// Whether they are the default, this machine alone.
    #[must_use]
    pub fn is_localhost(&self) -> bool {
        *self == Self::localhost()
    }

    /// The rules as they are written.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(OriginRule::to_string).collect()
    }

    /// Whether a rule names this origin: `*` names none.
    #[must_use]
    pub fn name(&self, origin: &str) -> bool {
        let named = self.0.iter().filter(|rule| **rule != OriginRule::Every).cloned().collect();
        Self(named).allow(origin)
    }

    /// Whether a page of `origin` (the value of the header) may write.
    ///
    /// ```
    /// use gailou::config::AllowedOrigins;
    /// let origins = AllowedOrigins::localhost();
    /// assert!(origins.allow("http://localhost:5173") && origins.allow("https://127.0.0.1"));
    /// assert!(!origins.allow("http://localhost.example.com"));
    /// ```
    #[must_use]
    pub fn allow(&self, origin: &str) -> bool {
        self.0.iter().any(|rule| match rule {
            OriginRule::Every => true,
            OriginRule::One(one) => one == origin,
            OriginRule::AnyPort(base) => match origin.strip_prefix(base.as_str()) {
                Some("") => true,
                Some(rest) => rest.strip_prefix(':').is_some_and(is_port),
                None => false,
            },
        })
    }
}

fn rule(text: &str) -> Option<OriginRule> {
    if text == "*" {
        return Some(OriginRule::Every);
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
        Some("*") => Some(OriginRule::AnyPort(format!("{scheme}://{host}"))),
        // A browser leaves the default port out.
        Some(port) if port == default_port => Some(OriginRule::One(format!("{scheme}://{host}"))),
        Some(port) if !is_port(port) => None,
        _ => Some(OriginRule::One(text)),
    }
}

fn is_port(text: &str) -> bool {
    (1..=5).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

impl fmt::Display for OriginRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every => f.write_str("*"),
            Self::One(origin) => f.write_str(origin),
            Self::AnyPort(base) => write!(f, "{base}:*"),
        }
    }
}

impl fmt::Debug for AllowedOrigins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(OriginRule::to_string)).finish()
    }
}

impl Serialize for AllowedOrigins {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(OriginRule::to_string))
    }
}

impl<'de> Deserialize<'de> for AllowedOrigins {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "origins such as https://example.com or http://localhost:*, a list in a file, separated by \
                        commas in a variable";
        let parse = |text: &str| Self::parse(text.split(',').filter(|part| !part.trim().is_empty())).ok();
        values::parse(deserializer, expected, parse)
    }
}

/// `cors`: which sites may write.
#[derive(Debug, Clone, Default, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct CorsSettings {
    /// Sites that may write, unless the subject type says otherwise: `https://blog.example`,
    /// `http://localhost:*` or `*`; a list in the file, separated by commas in the variable.
    pub origins: AllowedOrigins,
}

impl Default for AllowedOrigins {
    fn default() -> Self {
        Self::localhost()
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
    fn invalid_origin_is_returned_in_the_error() {
        for text in ["", "example.com", "ftp://a", "https://", "https://a/b", "https://a:port", "https://a b", "null"] {
            assert_eq!(AllowedOrigins::parse([text]), Err(text.to_owned()));
        }
    }
}
