//! Why the tables could not answer.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::domain::damaged_data::DamagedData;

pub type Result<T> = std::result::Result<T, StoreError>;

/// Why a store could not answer. The reader is never at fault.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The database refused: what it was given is wrong for it, and a retry would not help.
    #[error("the database failed: {0}")]
    Database(StoreFailure),
    /// A row that breaks the rules of the tables.
    #[error("a row is damaged: {0}")]
    Damaged(#[from] DamagedData),
    /// The database could not be reached, did not answer in time, or gave up on a lock. A retry may
    /// succeed. Whether a write was committed is unknown.
    #[error("the database cannot be reached: {0}")]
    Unavailable(StoreFailure),
    /// The slot is in another database now, or on its way there: refresh the map and retry.
    #[error("the slot is moving")]
    Moved,
}

impl StoreError {
    /// Damaged rows, in words.
    pub fn damaged(what: impl fmt::Display) -> Self {
        Self::Damaged(DamagedData::new(what))
    }

    /// The error number of the database's server, where it answered with one.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Database(failure) | Self::Unavailable(failure) => failure.code,
            Self::Damaged(_) | Self::Moved => None,
        }
    }
}

/// A failure in words, with the driver's error where there was one.
///
/// Its text includes the driver's, so it is shown with [`fmt::Display`] and is no link of a chain of
/// sources: `{:#}` would print the same words twice.
#[derive(Debug, Clone)]
pub struct StoreFailure {
    text: String,
    code: Option<u16>,
    driver: Option<Arc<dyn Error + Send + Sync>>,
}

impl StoreFailure {
    /// The failure of a driver, and the number its server gave.
    pub fn of_driver(error: impl Error + Send + Sync + 'static, code: Option<u16>) -> Self {
        Self { text: error.to_string(), code, driver: Some(Arc::new(error)) }
    }

    /// The same failure, with its place in front.
    #[must_use]
    pub fn at(self, place: &str) -> Self {
        Self { text: format!("{place}: {}", self.text), ..self }
    }

    /// The driver's error.
    pub fn driver(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.driver.as_deref()
    }
}

impl<T: Into<String>> From<T> for StoreFailure {
    fn from(text: T) -> Self {
        Self { text: text.into(), code: None, driver: None }
    }
}

impl fmt::Display for StoreFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
