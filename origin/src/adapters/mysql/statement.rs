//! Statements as text, with their values written into it: numbers by their digits, everything else in a
//! form that can only be a value.
//!
//! Nothing is prepared on the server. The statements of all numbered tables would exceed the prepared
//! statements that a server keeps for its connections (16,382), and to close one costs a delayed
//! acknowledgement of 40 ms, since the driver leaves Nagle's algorithm on.

use crate::ports::store::{Result, StoreError};

/// A statement and the values of its `?`.
#[derive(Debug, Clone)]
pub(super) struct SqlStatement {
    text: String,
    values: Vec<String>,
}

/// A statement; every `?` is a value that is bound to it.
pub(super) fn sql(text: impl Into<String>) -> SqlStatement {
    SqlStatement { text: text.into(), values: Vec::new() }
}

impl SqlStatement {
    pub(super) fn bind(mut self, value: impl Into<SqlValue>) -> Self {
        self.values.push(value.into().0);
        self
    }

    /// The text with its values.
    ///
    /// # Errors
    /// When there are more values than `?`, or fewer.
    pub(super) fn finish(self) -> Result<String> {
        let mut parts = self.text.split('?');
        let mut text = parts.next().unwrap_or_default().to_owned();
        let mut values = self.values.iter();
        for part in parts {
            match values.next() {
                Some(value) => text.extend([value, part]),
                None => return Err(StoreError::Database(format!("a value is missing: {}", self.text).into())),
            }
        }
        match values.next() {
            None => Ok(text),
            Some(_) => Err(StoreError::Database(format!("a value is left: {}", self.text).into())),
        }
    }
}

/// A value as a statement contains it.
#[derive(Debug)]
pub(super) struct SqlValue(String);

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl From<$number> for SqlValue {
            fn from(number: $number) -> Self {
                Self(number.to_string())
            }
        })*
    };
}

numbers!(i16 i64 u16 u64);

impl From<&[u8]> for SqlValue {
    fn from(bytes: &[u8]) -> Self {
        Self(hex_literal(bytes))
    }
}

impl From<&str> for SqlValue {
    fn from(value: &str) -> Self {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-,.:[] ".contains(&b);
        if value.bytes().all(plain) {
            Self(format!("'{value}'"))
        } else {
            Self(format!("_utf8mb4 {}", hex_literal(value.as_bytes())))
        }
    }
}

impl From<Vec<u8>> for SqlValue {
    fn from(bytes: Vec<u8>) -> Self {
        bytes.as_slice().into()
    }
}

impl From<String> for SqlValue {
    fn from(value: String) -> Self {
        value.as_str().into()
    }
}

impl<T: Into<SqlValue>> From<Option<T>> for SqlValue {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(|| Self("NULL".into()), Into::into)
    }
}

/// Bytes as a literal that every server reads alike, whatever its settings for quotes and escapes.
pub(super) fn hex_literal(bytes: &[u8]) -> String {
    format!("X'{}'", hex::encode_upper(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_nothing_but_values() {
        let text = sql("a = ? AND b = ? AND c IN (?, ?) AND d = ?").bind(-7i64).bind("x' OR 'é?").bind(&b"'\\"[..]);
        let text = text.bind("video-1").bind(None::<u64>).finish().unwrap();
        assert_eq!(text, "a = -7 AND b = _utf8mb4 X'7827204F522027C3A93F' AND c IN (X'275C', 'video-1') AND d = NULL");
        assert!(sql("a = ?").finish().is_err());
        assert!(sql("a").bind(1i64).finish().is_err());
    }
}
