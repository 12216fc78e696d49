//! Why a server did not answer: in words, with the number it gave and the error behind it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// A failure in words, with the error of a driver or of another port if there is one.
///
/// Its text includes that of the error, so it is shown with [`fmt::Display`] and the error is no link
/// of the chain of sources: `{:#}` would print the same words twice.
#[derive(Debug, Clone)]
pub struct Failure {
    text: Arc<str>,
    code: Option<u16>,
    driver: Option<Arc<dyn Error + Send + Sync>>,
}

impl Failure {
    /// The failure of a driver.
    pub fn of_driver(error: impl Error + Send + Sync + 'static) -> Self {
        Self { text: error.to_string().into(), code: None, driver: Some(Arc::new(error)) }
    }

    /// The failure of a driver whose server answered with an error number.
    pub fn of_server(error: impl Error + Send + Sync + 'static, code: u16) -> Self {
        Self { code: Some(code), ..Self::of_driver(error) }
    }

    /// The failure of a driver whose error does not repeat its causes: they are added to the text.
    pub fn with_causes(error: impl Error + Send + Sync + 'static) -> Self {
        let causes = std::iter::successors(error.source(), |cause: &&(dyn Error + 'static)| (*cause).source());
        let text = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
        Self { text: text.into(), code: None, driver: Some(Arc::new(error)) }
    }

    /// The same failure, with its place in front.
    #[must_use]
    pub fn at(self, place: &str) -> Self {
        Self { text: format!("{place}: {}", self.text).into(), ..self }
    }

    /// The error number of the server, where it answered with one.
    pub fn code(&self) -> Option<u16> {
        self.code
    }

    /// The error behind it.
    pub fn driver(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.driver.as_deref()
    }
}

impl<T: AsRef<str>> From<T> for Failure {
    fn from(text: T) -> Self {
        Self { text: text.as_ref().into(), code: None, driver: None }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
