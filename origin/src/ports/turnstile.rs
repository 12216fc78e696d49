//! The port to the service that verifies the tokens of Turnstile's widgets.
//!
//! Promise: an answer is the service's own, within the time limit of the adapter; whatever else happens is a
//! [`Failure`], and says nothing about the token.

use async_trait::async_trait;

use crate::ports::failure::Failure;

/// The service.
#[async_trait]
pub trait TurnstileVerifier: Send + Sync + std::fmt::Debug {
    /// Whether it answered lately, as far as this process knows.
    fn is_available(&self) -> bool;

    /// Whether a token is valid, which uses it up.
    async fn verify(&self, token: &str) -> Result<bool, Failure>;
}
