//! How a setting is written: a switch, a bounded number, a text with a meaning.
//!
//! In a variable everything is text; a file may also use TOML's own types. Promise: an error says
//! what a value must be, and never repeats the value.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use serde::Deserializer;
use serde::de::{Error, SeqAccess, Unexpected, Visitor};

/// Reads `on` or `off`, `true` or `false`.
pub(super) fn switch<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    deserializer.deserialize_any(SwitchVisitor)
}

struct SwitchVisitor;

impl Visitor<'_> for SwitchVisitor {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("on or off")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<bool, E> {
        Ok(value)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<bool, E> {
        match text {
            "on" | "true" => Ok(true),
            "off" | "false" => Ok(false),
            _ => Err(E::invalid_value(Unexpected::Other("text"), &self)),
        }
    }
}

/// Reads a whole number from `MIN_VALUE` to `MAX_VALUE`.
pub(super) fn within<'de, const MIN_VALUE: u64, const MAX_VALUE: u64, T: TryFrom<u64>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let number = deserializer.deserialize_any(NumberVisitor::<MIN_VALUE, MAX_VALUE>)?;
    T::try_from(number)
        .map_err(|_| D::Error::invalid_value(Unexpected::Other("a number"), &NumberVisitor::<MIN_VALUE, MAX_VALUE>))
}

/// A setting that may be absent, like [`within`]: `null` and an empty text are no number.
pub(super) fn optional_within<
    'de,
    const MIN_VALUE: u64,
    const MAX_VALUE: u64,
    T: TryFrom<u64>,
    D: Deserializer<'de>,
>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let number = deserializer.deserialize_option(OptionalVisitor::<MIN_VALUE, MAX_VALUE>)?;
    let expected = NumberVisitor::<MIN_VALUE, MAX_VALUE>;
    let convert =
        |number| T::try_from(number).map_err(|_| D::Error::invalid_value(Unexpected::Other("a number"), &expected));
    number.map(convert).transpose()
}

struct OptionalVisitor<const MIN_VALUE: u64, const MAX_VALUE: u64>;

impl<'de, const MIN_VALUE: u64, const MAX_VALUE: u64> Visitor<'de> for OptionalVisitor<MIN_VALUE, MAX_VALUE> {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        NumberVisitor::<MIN_VALUE, MAX_VALUE>.expecting(f)
    }

    fn visit_none<E: Error>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<u64>, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Option<u64>, E> {
        NumberVisitor::<MIN_VALUE, MAX_VALUE>.visit_u64(number).map(Some)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Option<u64>, E> {
        NumberVisitor::<MIN_VALUE, MAX_VALUE>.visit_i64(number).map(Some)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Option<u64>, E> {
        if text.is_empty() { Ok(None) } else { NumberVisitor::<MIN_VALUE, MAX_VALUE>.visit_str(text).map(Some) }
    }
}

struct NumberVisitor<const MIN_VALUE: u64, const MAX_VALUE: u64>;

impl<const MIN_VALUE: u64, const MAX_VALUE: u64> NumberVisitor<MIN_VALUE, MAX_VALUE> {
    fn check<E: Error>(self, number: Option<u64>) -> Result<u64, E> {
        let number = number.filter(|number| (MIN_VALUE..=MAX_VALUE).contains(number));
        number.ok_or_else(|| E::invalid_value(Unexpected::Other("a value outside of it"), &self))
    }
}

impl<const MIN_VALUE: u64, const MAX_VALUE: u64> Visitor<'_> for NumberVisitor<MIN_VALUE, MAX_VALUE> {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "from {MIN_VALUE} to {MAX_VALUE}")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        self.check(Some(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        self.check(number.try_into().ok())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        self.check(text.parse().ok())
    }
}

/// Reads a text (a list is joined by commas) that `parse` accepts.
pub(super) fn parse<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    expected: &'static str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<T, D::Error> {
    let text = deserializer.deserialize_any(TextVisitor { expected })?;
    parse(&text).ok_or_else(|| D::Error::invalid_value(Unexpected::Other("text"), &expected))
}

/// Like [`parse`], but an empty text is not a value.
pub(super) fn parse_optional<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    expected: &'static str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, D::Error> {
    self::parse(deserializer, expected, |text| if text.is_empty() { Some(None) } else { parse(text).map(Some) })
}

/// The path of a file; an empty text is not a value.
pub(super) fn file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
    parse_optional(deserializer, "the path of a file", |text| Some(text.into()))
}

/// The address of a server by `http` or `https`, without a path, a login, or a slash at the end; an empty text is not a
/// value.
pub(super) fn server_address<'de, D: Deserializer<'de>>(
    deserializer: D,
    expected: &'static str,
) -> Result<Option<String>, D::Error> {
    parse_optional(deserializer, expected, |url| {
        let url = url.strip_suffix('/').unwrap_or(url);
        let uri = web_address(url)?;
        (uri.path() == "/" && uri.query().is_none()).then(|| url.to_owned())
    })
}

/// An address by `http` or `https` without a login.
pub(super) fn web_address(url: &str) -> Option<http::Uri> {
    let uri: http::Uri = url.parse().ok()?;
    let is_known = matches!(uri.scheme_str(), Some("http" | "https"));
    (is_known && !uri.authority()?.as_str().contains('@')).then_some(uri)
}

/// The address of a service that is sent secrets, or what members write: by `https`, or by `http` on this machine.
pub(super) fn service_url(url: &str) -> Option<String> {
    let uri = web_address(url)?;
    let is_protected = uri.scheme_str() == Some("https") || is_loopback(uri.host()?);
    is_protected.then(|| url.to_owned())
}

/// Whether the connections to an address are not encrypted, and leave this machine.
#[must_use]
pub fn is_plain(url: &str) -> bool {
    let address = web_address(url);
    address.is_some_and(|uri| uri.scheme_str() == Some("http") && !uri.host().is_some_and(is_loopback))
}

/// Whether a host is this machine.
pub(super) fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

struct TextVisitor {
    expected: &'static str,
}

impl<'de> Visitor<'de> for TextVisitor {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<String, A::Error> {
        let mut parts: Vec<String> = Vec::new();
        while let Some(part) = list.next_element()? {
            parts.push(part);
        }
        Ok(parts.join(","))
    }
}
