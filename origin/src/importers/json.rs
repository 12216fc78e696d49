//! An array in a file of JSON, element by element.

use std::fmt;
use std::io::{BufReader, Read as _};

use anyhow::Context as _;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::importers::source::ExportSource;

/// What takes the elements: each as it should be, or what is wrong with it.
type Each<'a, T> = dyn FnMut(Result<T, String>) -> anyhow::Result<()> + 'a;

/// Reads each element of the array at this path: none for a file that is an array, names of fields for one that lies in an
/// object. An array that is not there has no elements.
///
/// # Errors
/// When the file is no JSON, or `each` takes no more.
pub(super) fn each<T: DeserializeOwned>(
    file: &ExportSource,
    path: &[&str],
    mut each: impl FnMut(Result<T, String>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut refused = None;
    let file = BufReader::new(file.open()?);
    let mut document = serde_json::Deserializer::from_reader(file);
    let at = ArrayAt { path, each: &mut each, refused: &mut refused };
    let read = at.deserialize(&mut document).and_then(|()| document.end());
    match refused {
        Some(error) => Err(error),
        None => read.context("the file is not the JSON that is expected"),
    }
}

/// Whether the file begins as an array does.
///
/// # Errors
/// When it cannot be read.
pub(super) fn is_array(file: &ExportSource) -> anyhow::Result<bool> {
    for byte in BufReader::new(file.peek()?).bytes() {
        let byte = byte?;
        if !byte.is_ascii_whitespace() {
            return Ok(byte == b'[');
        }
    }
    Ok(false)
}

/// The text of a value: systems write ids and numbers as texts or as what they are; nothing for `null`.
pub(super) fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

struct ArrayAt<'a, 'f, T> {
    path: &'a [&'a str],
    each: &'a mut Each<'f, T>,
    /// Why `each` takes no more.
    refused: &'a mut Option<anyhow::Error>,
}

impl<'de, T: DeserializeOwned> DeserializeSeed<'de> for ArrayAt<'_, '_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, T: DeserializeOwned> Visitor<'de> for ArrayAt<'_, '_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.first() {
            Some(name) => write!(f, "an object with the field `{name}`"),
            None => f.write_str("an array"),
        }
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let Some((name, rest)) = self.path.split_first() else {
            return Err(serde::de::Error::custom("an array is expected, and this is an object"));
        };
        while let Some(field) = object.next_key::<String>()? {
            if field == *name {
                object.next_value_seed(ArrayAt { path: rest, each: &mut *self.each, refused: &mut *self.refused })?;
            } else {
                object.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        if let Some(name) = self.path.first() {
            return Err(serde::de::Error::custom(format!("an object with `{name}` is expected, and this is an array")));
        }
        while let Some(element) = array.next_element::<Value>()? {
            let element = serde_json::from_value(element).map_err(|error| error.to_string());
            if let Err(error) = (self.each)(element) {
                *self.refused = Some(error);
                return Err(serde::de::Error::custom("it is read no further"));
            }
        }
        Ok(())
    }
}
