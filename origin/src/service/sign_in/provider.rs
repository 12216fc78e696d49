//! Signing in with a provider: a visitor is sent there, and comes back with a code.
//!
//! Promise: a visit ends in the browser that began it, once it is over it is void, and the site that it began for
//! gets the token, alone.

use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::token::Role;

use crate::domain::sign_in::{ProviderVisit, identity_digest};
use crate::ports::identity_provider::{ProviderError, VisitSecrets};
use crate::service::sign_in::{NewIdentity, SignedIn, check_return_site, find_or_make, session};
use crate::service::{ServiceError, ServiceResult};
use crate::state::AppState;
use crate::state::admission::NotAdmitted;

/// How long a visit may take, in milliseconds (10 minutes).
pub const VISIT_LIFETIME_MS: u64 = 10 * 60_000;

/// Where a visitor is sent to, and what the browser keeps meanwhile.
#[derive(Debug)]
pub struct ProviderRedirect {
    pub url: String,
    pub cookie: String,
}

/// Begins a visit to a provider.
///
/// # Errors
/// [`ServiceError::NotFound`] without this provider, `SiteNotAllowed`, or `Provider` where it does not answer.
pub async fn begin_visit(app: &AppState, provider: &str, site: &str) -> ServiceResult<ProviderRedirect> {
    let known = app.sign_in.provider(provider).ok_or(ServiceError::NotFound("there is no such provider here"))?;
    check_return_site(app, site)?;
    let state = hex::encode(rand::random::<[u8; 16]>());
    let _place = known.identifications.try_acquire().map_err(|_| ServiceError::from(NotAdmitted))?;
    let url =
        known.asked.authorize_url(&secrets(app, provider, &state)).await.map_err(|error| failed(provider, &error))?;
    let visit = ProviderVisit {
        state,
        provider: provider.to_owned(),
        site: site.to_owned(),
        expires_at: app.now() + VISIT_LIFETIME_MS,
    };
    Ok(ProviderRedirect { url, cookie: app.sign_in.key.seal(&visit) })
}

/// Ends a visit: the visitor has come back with a `state` and a code, in a browser with this cookie and language.
///
/// # Errors
/// [`ServiceError::NotFound`] without this provider, `VisitOver` for what is no visit of this browser, `Provider` where
/// the provider confirms nothing, or the store's.
pub async fn end_visit(
    app: &AppState,
    provider: &str,
    cookie: &str,
    (state, code): (&str, String),
    language: ReaderLanguage,
) -> ServiceResult<SignedIn> {
    let known = app.sign_in.provider(provider).ok_or(ServiceError::NotFound("there is no such provider here"))?;
    let visit = app.sign_in.key.open(cookie, state, app.now()).filter(|visit| visit.provider == provider);
    let visit = visit.ok_or(ServiceError::VisitOver)?;
    // The sites may be others by now.
    check_return_site(app, &visit.site)?;
    let _place = known.identifications.try_acquire().map_err(|_| ServiceError::from(NotAdmitted))?;
    let found = known.asked.identify(code, &secrets(app, provider, &visit.state)).await;
    let found = found.map_err(|error| failed(provider, &error))?;
    let identity = NewIdentity {
        digest: identity_digest(provider, &found.subject),
        name: found.name,
        avatar: found.avatar,
        email: found.email,
        role: Role::Member,
    };
    let account = find_or_make(app, identity, language).await?;
    session::begin(app, account, Some(visit.site), None).await
}

fn secrets(app: &AppState, provider: &str, state: &str) -> VisitSecrets {
    let key = &app.sign_in.key;
    VisitSecrets {
        state: state.to_owned(),
        nonce: key.nonce(state),
        pkce_verifier: key.pkce_verifier(state),
        redirect_url: format!("{}/v1/auth/{provider}/callback", app.sign_in.public_url()),
    }
}

fn failed(provider: &str, error: &ProviderError) -> ServiceError {
    match error {
        // A code that a stranger has made up is no reason to look into it.
        ProviderError::Refused(_) => {
            tracing::info!(provider, %error, "A visit to {provider} ended without a sign-in: {error}")
        }
        ProviderError::Away(_) => tracing::warn!(provider, %error, "Could not sign in with {provider}: {error}"),
    }
    ServiceError::Provider
}
