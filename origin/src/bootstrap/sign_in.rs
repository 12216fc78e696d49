//! Signing in: the providers of the configuration, the key, and the first administrator.

use std::sync::Arc;

use anyhow::Context as _;
use gailou_shared::wire::{ProviderKind, SignInProvider};

use crate::adapters::oauth2_github::Oauth2Provider;
use crate::adapters::oidc::OidcProvider;
use crate::bootstrap::token_secret::token_secret;
use crate::config::{Config, ProviderSettings};
use crate::domain::sign_in::SignInKey;
use crate::ports::identity_provider::IdentityProvider;
use crate::ports::store::Tables;
use crate::service::sign_in::make_admin_url;
use crate::state::AppState;
use crate::state::sign_in::{KnownProvider, SignIn};

/// What signing in needs. Its key is made of the secret of the tokens, so that another secret ends everything that is
/// signed in; where the host keeps its private key to itself, of the installation's own.
pub(super) async fn open(config: &Config, tables: &dyn Tables) -> anyhow::Result<SignIn> {
    let key = match &config.auth.token_public_key {
        Some(_) => SignInKey::new(&tables.read_secret("guest_secret", rand::random()).await?),
        None => SignInKey::new(token_secret(config)?.expose().as_bytes()),
    };
    let providers = config.auth.providers.iter().map(provider).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(SignIn::new(key, providers, config.public_url.as_deref(), config.bind))
}

fn provider(settings: &ProviderSettings) -> anyhow::Result<KnownProvider> {
    let ProviderSettings { id, name, kind, .. } = settings;
    let provider: Result<Arc<dyn IdentityProvider>, _> = match kind {
        ProviderKind::Oidc => OidcProvider::new(settings).map(|provider| Arc::new(provider) as _),
        _ => Oauth2Provider::new(settings).map(|provider| Arc::new(provider) as _),
    };
    let provider = provider.map_err(|failure| anyhow::anyhow!("{failure}"));
    let provider = provider.with_context(|| format!("the provider {id} (auth.providers)"))?;
    Ok(KnownProvider::new(SignInProvider { id: id.clone(), name: name.clone(), kind: *kind }, provider))
}

/// At the first start of an installation without an administrator: the address that makes who opens it the first.
/// `None` from the second start on.
///
/// # Errors
/// The tables'.
pub async fn first_admin_url(app: &AppState) -> anyhow::Result<Option<String>> {
    let mine = rand::random();
    // Of several processes, the one that has stored it first is at the first start.
    if app.tables.read_secret("first_start", mine).await? != mine || app.tables.has_admin().await? {
        return Ok(None);
    }
    Ok(Some(make_admin_url(app).await?))
}
