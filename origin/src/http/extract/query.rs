//! Query parameters by name.

use std::borrow::Cow;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use gailou_shared::cursor::Cursor;
use gailou_shared::wire::FieldError;
use percent_encoding::percent_decode_str;

use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::state::AppState;

/// Query parameters, decoded; a value that is not UTF-8 is `400 invalid_request` on its name.
#[derive(Debug)]
pub(in crate::http) struct QueryParameters(Vec<(String, String)>);

impl FromRequestParts<HttpState> for QueryParameters {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &HttpState) -> Result<Self, Refusal> {
        Self::parse(parts.uri.query().unwrap_or(""))
    }
}

impl QueryParameters {
    /// The fields of a query, or of a form.
    pub(in crate::http) fn parse(raw: &str) -> Result<Self, Refusal> {
        let mut parameters = Vec::new();
        for pair in raw.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decoded = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8().map(Cow::into_owned);
            // Names that are not UTF-8 are ignored: no parameter has one.
            let Ok(name) = decoded(name) else { continue };
            let value = decoded(value).map_err(|_| Refusal::field(name.clone(), "must be percent-encoded UTF-8"))?;
            parameters.push((name, value));
        }
        Ok(Self(parameters))
    }

    /// The value of this name; the last one, if there are several.
    pub(in crate::http) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// Every value of this name.
    pub(in crate::http) fn all<'q>(&'q self, name: &'q str) -> impl Iterator<Item = &'q str> {
        self.0.iter().filter(move |(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// A whole number from 1 to `max`; `default` where it is left out.
    pub(in crate::http) fn number(&self, name: &'static str, max: usize, default: usize) -> Result<usize, FieldError> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let number = text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        number
            .filter(|number| (1..=max).contains(number))
            .ok_or_else(|| FieldError::new(name, format!("must be a whole number from 1 to {max}")))
    }

    /// The parameter `cursor`, else `400 bad_cursor`.
    pub(in crate::http) fn cursor(&self, app: &AppState) -> Result<Option<Cursor>, Refusal> {
        let parse = |text| app.cursor_key.decode(text).map_err(|error| Refusal::bad_cursor(error.to_string()));
        self.get("cursor").map(parse).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(raw: &str) -> QueryParameters {
        QueryParameters::parse(raw).unwrap()
    }

    #[test]
    fn parameters_are_decoded() {
        let check =
            |raw: &str, name: &str, expected: Option<&str>| assert_eq!(parsed(raw).get(name), expected, "{raw}");
        check("a=1&b=2", "b", Some("2"));
        check("a=1&a=2", "a", Some("2"));
        check("a", "a", Some(""));
        check("a=x+y%20z%2B", "a", Some("x y z+"));
        check("a=b=c", "a", Some("b=c"));
        check("&&%FF=1&a=1", "a", Some("1"));
        check("", "a", None);
        assert_eq!(parsed("a=1&b=2&a=3").all("a").collect::<Vec<_>>(), ["1", "3"]);
    }

    #[test]
    fn value_that_is_no_utf8_is_refused() {
        assert!(QueryParameters::parse("a=%FF").is_err());
    }

    #[test]
    fn numbers_have_bounds() {
        let check =
            |raw: &str, expected: Option<usize>| assert_eq!(parsed(raw).number("n", 100, 20).ok(), expected, "{raw}");
        check("", Some(20));
        check("n=1", Some(1));
        check("n=100", Some(100));
        for wrong in ["n=0", "n=101", "n=", "n=-1", "n=%2B1", "n=1.0", "n=99999999999999999999999"] {
            check(wrong, None);
        }
    }
}
