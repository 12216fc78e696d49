//! The port to a provider that knows who a visitor is.
//!
//! Promise: an identity is one that the provider itself has confirmed for this visit, and an address in it is one that
//! the provider has verified. Calls end within the time limit of the adapter.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::domain::email_address::EmailAddress;
use crate::ports::failure::Failure;

/// What is secret in a visit to a provider, and where it ends.
#[derive(Debug, Clone)]
pub struct VisitSecrets {
    pub state: String,
    pub nonce: String,
    pub pkce_verifier: String,
    /// The address that the provider redirects to.
    pub redirect_url: String,
}

/// Who a visitor is at a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderIdentity {
    /// What the provider calls them, for ever.
    pub subject: String,
    pub name: Option<String>,
    pub avatar: Option<String>,
    pub email: Option<EmailAddress>,
}

/// Why a provider confirms nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ProviderError {
    /// It does not know the code, or its answer is no proof: the visitor begins again.
    #[error("the provider did not confirm it: {0}")]
    Refused(Failure),
    #[error("the provider does not answer: {0}")]
    Away(Failure),
}

/// A provider.
#[async_trait]
pub trait IdentityProvider: Send + Sync + Debug {
    /// Where a visitor is sent to.
    async fn authorize_url(&self, visit: &VisitSecrets) -> Result<String, ProviderError>;
    /// Who the visitor is that the provider has sent back with this code.
    async fn identify(&self, code: String, visit: &VisitSecrets) -> Result<ProviderIdentity, ProviderError>;
}
