//! Why a server did not answer, in words and with the driver's error.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// A failure in words, with the driver's error if there is one.
///
/// Its text includes that of the driver's error, so it is shown with [`fmt::Display`] and the driver's
/// error is no link of the chain of sources: `{:#}` would print the same words twice.
#[derive(Debug, Clone)]
pub struct Failure {
    text: Arc<str>,
    driver: Option<Arc<dyn Error + Send + Sync>>,
}

impl Failure {
    /// The failure of a driver.
    pub fn of_driver(error: impl Error + Send + Sync + 'static) -> Self {
        Self { text: error.to_string().into(), driver: Some(Arc::new(error)) }
    }

    /// The failure of a driver whose error does not repeat its causes: they are added to the text.
    pub fn with_causes(error: impl Error + Send + Sync + 'static) -> Self {
        let causes = std::iter::successors(error.source(), |cause: &&(dyn Error + 'static)| (*cause).source());
        let text = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
        Self { text: text.into(), driver: Some(Arc::new(error)) }
    }

    /// The driver's error.
    pub fn driver(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.driver.as_deref()
    }
}

impl<T: AsRef<str>> From<T> for Failure {
    fn from(text: T) -> Self {
        Self { text: text.as_ref().into(), driver: None }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
