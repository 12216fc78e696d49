//! The server that sends mail.
//!
//! Connects to nothing. Promise: no password, and no reader's address, goes to another machine without encryption unless
//! the operator has written so.

use std::path::PathBuf;

use documented::DocumentedFields;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::values::{file, is_loopback, parse_optional};
use crate::config::{ConfigError, Password};
use crate::domain::email_address::EmailAddress;

/// `mail`: the server that sends mail.
#[derive(Debug, Clone, Default, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct MailSettings {
    /// The mail server: `smtps://USER:PASSWORD@HOST:465`, or `smtp://USER:PASSWORD@HOST:587`, which begins with STARTTLS and
    /// sends nothing without it, but on this machine; `?tls=opportunistic` after it sends without where the server
    /// has none. Special characters of the password are percent-encoded. Without a server no mail is sent, and
    /// readers cannot sign in by mail.
    #[serde(deserialize_with = "url", skip_serializing)]
    pub url: Option<Password>,
    /// The path of a file (PEM) with the certificates of the authority that signed the mail server's certificate; without
    /// it, the public ones that browsers trust. It goes with `smtps://`, or STARTTLS that is not opportunistic.
    #[serde(deserialize_with = "file")]
    pub ca: Option<PathBuf>,
    /// Who mails come from: an address that the server may send for, such as `comments@example.com`. Without it,
    /// `comments@` the host of `public_url`.
    #[serde(deserialize_with = "from")]
    pub from: Option<String>,
    /// Who is mailed of every new comment, and of those that wait for a moderator: at most 20 mails in an hour, and what
    /// comes beyond them is one mail at the next full hour. Without an address, the console alone shows them.
    #[serde(deserialize_with = "from")]
    pub owner: Option<String>,
}

/// What a mail server's address may say of encryption.
const TLS_QUERIES: [&str; 3] = ["tls=required", "tls=opportunistic", ""];

/// An address of a mail server, as it is used: with encryption where none is named and it is another machine.
fn server_url(text: &str) -> Option<String> {
    let uri: http::Uri = text.parse().ok()?;
    let query = uri.query().unwrap_or_default();
    let is_known = TLS_QUERIES.contains(&query) && uri.path().trim_start_matches('/').is_empty();
    match uri.scheme_str().filter(|_| is_known)? {
        "smtps" => Some(text.to_owned()),
        "smtp" if query.is_empty() && !is_loopback(uri.host()?) => {
            Some(format!("{}?tls=required", text.trim_end_matches(['?', '/'])))
        }
        "smtp" => Some(text.to_owned()),
        _ => None,
    }
}

fn url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Password>, D::Error> {
    parse_optional(
        deserializer,
        "smtp://HOST:PORT or smtps://HOST:PORT, with USER:PASSWORD@ where it is needed",
        |text| Password::new(&server_url(text)?),
    )
}

fn from<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    parse_optional(deserializer, "an address of mail, such as comments@example.com", |text| {
        EmailAddress::parse(text).map(|address| address.to_string())
    })
}

impl MailSettings {
    /// Refuses a sender, or who is mailed, without a server, and certificates without encryption.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.ca.is_some() && !self.is_encrypted() {
            return Err(ConfigError::new("GAILOU_MAIL__CA", "is for a mail.url of which encryption is required"));
        }
        if (self.from.is_some() || self.owner.is_some()) && self.url.is_none() {
            return Err(ConfigError::new("GAILOU_MAIL__URL", "must be given if mail.from or mail.owner is"));
        }
        Ok(())
    }

    /// Whether nothing goes to the server without encryption.
    fn is_encrypted(&self) -> bool {
        let url = self.url.as_ref().map_or("", Password::expose);
        url.starts_with("smtps:") || url.ends_with("?tls=required")
    }

    /// Who mails come from.
    #[must_use]
    pub fn sender(&self, public_url: Option<&str>) -> String {
        let host = || public_url?.parse::<http::Uri>().ok()?.host().map(str::to_owned);
        self.from.clone().unwrap_or_else(|| format!("comments@{}", host().unwrap_or_else(|| "localhost".into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_machine_is_sent_nothing_without_encryption_unless_it_is_written() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(server_url(text).as_deref(), expected, "{text}");
        check("smtps://a:b@mail.example", Some("smtps://a:b@mail.example"));
        check("smtp://a:b@mail.example:587", Some("smtp://a:b@mail.example:587?tls=required"));
        check("smtp://mail.example/", Some("smtp://mail.example?tls=required"));
        check("smtp://mail.example?tls=opportunistic", Some("smtp://mail.example?tls=opportunistic"));
        check("smtp://127.0.0.1:1025", Some("smtp://127.0.0.1:1025"));
        check("smtp://localhost", Some("smtp://localhost"));
        for wrong in ["mail.example:25", "http://mail.example", "smtp://", "smtp://h/helo", "smtp://h?tls=no", ""] {
            check(wrong, None);
        }
    }

    #[test]
    fn sender_is_of_the_host_that_readers_know() {
        let settings = MailSettings::default();
        assert_eq!(settings.sender(Some("https://comments.example.com:8443")), "comments@comments.example.com");
        assert_eq!(settings.sender(None), "comments@localhost");
        let settings = MailSettings { from: Some("a@b.example".into()), ..settings };
        assert_eq!(settings.sender(None), "a@b.example");
    }

    #[test]
    fn certificates_are_for_a_connection_with_encryption() {
        let check = |url: Option<&str>, is_right: bool| {
            let url = url.map(|url| Password::new(&server_url(url).expect("an address")).expect("not empty"));
            let settings = MailSettings { url, ca: Some("/ca.pem".into()), ..MailSettings::default() };
            assert_eq!(settings.check().is_ok(), is_right, "{:?}", settings.url);
        };
        check(Some("smtps://mail.example"), true);
        check(Some("smtp://mail.example"), true);
        check(Some("smtp://127.0.0.1?tls=required"), true);
        check(Some("smtp://mail.example?tls=opportunistic"), false);
        check(Some("smtp://127.0.0.1"), false);
        check(None, false);
    }
}
