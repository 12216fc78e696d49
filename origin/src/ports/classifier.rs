//! The port to the service that says whether a text is spam.
//!
//! Promise: a verdict is the service's own, about this text, within the time limit of the adapter; whatever else happens
//! is a [`Failure`], and says nothing about the text.

use std::net::IpAddr;

use async_trait::async_trait;
use gailou_shared::id::{MemberId, SubjectKey};

use crate::ports::failure::Failure;

/// What the service is asked about.
#[derive(Debug, Clone)]
pub struct TextToClassify {
    /// The text as it was written.
    pub content: String,
    pub author: MemberId,
    pub author_name: String,
    pub is_guest: bool,
    pub subject: SubjectKey,
    /// The page of the subject, where its host has said it.
    pub page: Option<String>,
    pub is_reply: bool,
    /// Whether it takes the place of another text.
    pub is_edit: bool,
    /// Where it comes from, as far as it is known: an IPv4 address, or the /64 of an IPv6 address.
    pub network: Option<IpAddr>,
    pub user_agent: Option<String>,
}

/// What the service says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpamVerdict {
    Ham,
    /// Spam, for these reasons: a few short texts, each once, at least one.
    Spam(Vec<String>),
}

/// The service.
#[async_trait]
pub trait Classifier: Send + Sync + std::fmt::Debug {
    /// Whether a text is spam.
    async fn classify(&self, text: &TextToClassify) -> Result<SpamVerdict, Failure>;
}
