//! Addresses of mail, in the one form that is stored and compared.
//!
//! Whether a mailbox exists is known to its server alone.

use std::fmt;

use email_address::Options;
use sha2::{Digest as _, Sha256};

/// An address of at most 254 bytes (RFC 5321, section 4.5.3.1), in lower case.
///
/// Servers may notify `Ann@` from `ann@`, and none does: two accounts of one mailbox would be the worse mistake.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EmailAddress(String);

/// Longest address, in bytes.
const MAX_ADDRESS_BYTES: usize = 254;

impl EmailAddress {
    /// The address with this text; `None` where it is none that mail can be sent to.
    pub fn parse(text: &str) -> Option<Self> {
        let options = Options::default().with_required_tld().without_display_text().without_domain_literal();
        let address = text.trim();
        if address.len() > MAX_ADDRESS_BYTES || !address.is_ascii() {
            return None;
        }
        email_address::EmailAddress::parse_with_options(address, options).ok()?;
        // A quoted name may contain what separates addresses in a header.
        let is_plain = |b: u8| b.is_ascii_graphic() && !b"\"(),:;<>[\\]".contains(&b);
        address.bytes().all(is_plain).then(|| Self(address.to_ascii_lowercase()))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What limits and memory know it by, without having it.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::new().chain_update(b"gailou e-mail address\0").chain_update(&self.0).finalize().into()
    }
}

impl fmt::Display for EmailAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_one_that_a_header_can_have() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(EmailAddress::parse(text).as_ref().map(EmailAddress::as_str), expected, "{text:?}");
        };
        check("Ann@Example.com", Some("ann@example.com"));
        check(" ann.b+tag@mail.example.co.uk\n", Some("ann.b+tag@mail.example.co.uk"));
        for wrong in [
            "",
            "ann",
            "@example.com",
            "ann@",
            "ann@localhost",
            "ann@example.com, bo@example.com",
            "Ann <ann@example.com>",
            "\"a b\"@example.com",
            "ann@[127.0.0.1]",
            "ann@example.com\r\nBcc: bo@example.com",
            "änn@example.com",
            "a..b@example.com",
        ] {
            check(wrong, None);
        }
        check(&format!("a@{}.com", "b.".repeat(130)), None);
    }
}
