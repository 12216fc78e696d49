//! The only error of the domain: stored data, or a batch, that breaks the product's own rules.

/// What is wrong, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DamagedData(String);

impl DamagedData {
    pub fn new(what: impl std::fmt::Display) -> Self {
        Self(what.to_string())
    }
}

pub(crate) type Result<T> = std::result::Result<T, DamagedData>;
