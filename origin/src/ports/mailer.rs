//! The port to the server that sends mail.
//!
//! Promise: `Ok` means that the server has taken the mail. It is not known to have arrived. Nothing is sent twice by one
//! call, and a call ends within the time limits of the adapter. No error shows an address or a text.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::domain::email_address::EmailAddress;
use crate::ports::failure::Failure;

/// A mail to one reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// What it is known by, the same when it is sent again: letters, digits, `-` and `.`, 1 to 64 of them.
    pub id: String,
    pub to: EmailAddress,
    pub subject: String,
    /// The text for who reads no HTML.
    pub text: String,
    pub html: Option<String>,
    /// The address that ends such mails by a `POST` (RFC 8058).
    pub unsubscribe_url: Option<String>,
}

/// Why a mail is not sent.
#[derive(Debug, Clone, thiserror::Error)]
pub enum MailError {
    /// The server refuses it, or it cannot be written: it is not sent again.
    #[error("the mail is refused: {0}")]
    Refused(Failure),
    /// The server did not answer, or asks to try later.
    #[error("the mail server did not take the mail: {0}")]
    Away(Failure),
}

/// The server.
#[async_trait]
pub trait Mailer: Send + Sync + Debug {
    /// Hands a mail to the server.
    ///
    /// # Errors
    /// [`MailError::Away`] where the mail may be sent later; it may have been taken nevertheless.
    async fn send(&self, mail: &Mail) -> Result<(), MailError>;
}
