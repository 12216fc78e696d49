//! A provider that speaks OpenID Connect: the authorization code flow with PKCE (S256), a nonce, and an ID token whose
//! signature, issuer, audience and time are verified.
//!
//! What the provider says of itself is read when it is first needed, and again after an hour, or when a signature is of a
//! key that it does not name: keys change. While it cannot be read, what was read before counts.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use openidconnect::core::{CoreAuthenticationFlow, CoreClient, CoreProviderMetadata, CoreUserInfoClaims};
use openidconnect::{
    AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret, CsrfToken, DiscoveryError, EndUserEmail,
    EndUserName, EndUserPictureUrl, EndUserUsername, IssuerUrl, LocalizedClaim, Nonce, OAuth2TokenResponse as _,
    PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RequestTokenError, Scope, SubjectIdentifier, TokenResponse as _,
};
use tokio::sync::Mutex;

use crate::adapters::provider_http::{CallFailure, ProviderHttp};
use crate::config::ProviderSettings;
use crate::domain::email_address::EmailAddress;
use crate::ports::failure::Failure;
use crate::ports::identity_provider::{IdentityProvider, ProviderError, ProviderIdentity, VisitSecrets};

/// How long the provider's description of itself counts.
const METADATA_TTL: Duration = Duration::from_secs(3_600);
/// The same where a signature fits none of its keys: many such ones make no request for each.
const KEYS_TTL: Duration = Duration::from_secs(60);
/// How long it is not asked again after it did not answer.
const METADATA_RETRY_PAUSE: Duration = Duration::from_secs(30);

/// A provider at its issuer's address.
#[derive(Debug)]
pub struct OidcProvider {
    http: ProviderHttp,
    issuer: IssuerUrl,
    client_id: ClientId,
    client_secret: Option<ClientSecret>,
    /// Held while it is read: it is read once, however many wait for it.
    description: Mutex<Description>,
}

/// What a provider says of itself.
#[derive(Debug, Default)]
struct Description {
    metadata: Option<CoreProviderMetadata>,
    /// When it was asked, and why that failed.
    asked_at: Option<Instant>,
    failure: Option<Failure>,
}

impl OidcProvider {
    /// The provider of these settings.
    ///
    /// # Errors
    /// When its issuer is no address.
    pub fn new(settings: &ProviderSettings) -> Result<Self, Failure> {
        let issuer = settings.issuer.clone().unwrap_or_default();
        Ok(Self {
            http: ProviderHttp::new(),
            issuer: IssuerUrl::new(issuer).map_err(Failure::with_causes)?,
            client_id: ClientId::new(settings.client_id.clone()),
            client_secret: settings.client_secret.as_ref().map(|secret| ClientSecret::new(secret.expose().to_owned())),
            description: Mutex::default(),
        })
    }

    /// What it says of itself, asked again where that is older.
    async fn metadata(&self, max_age: Duration) -> Result<CoreProviderMetadata, ProviderError> {
        let mut known = self.description.lock().await;
        let max_age = if known.failure.is_some() { METADATA_RETRY_PAUSE } else { max_age };
        if known.asked_at.is_none_or(|at| at.elapsed() >= max_age) {
            let found = self.discover().await;
            known.asked_at = Some(Instant::now());
            match found {
                Ok(found) => (known.metadata, known.failure) = (Some(found), None),
                Err(failure) => known.failure = Some(failure),
            }
        }
        let failure = || known.failure.clone().unwrap_or_else(|| "it has not said what it is".into());
        known.metadata.clone().ok_or_else(|| ProviderError::Away(failure()))
    }

    async fn discover(&self) -> Result<CoreProviderMetadata, Failure> {
        let http = self.http.caller();
        CoreProviderMetadata::discover_async(self.issuer.clone(), &http).await.map_err(|error| match error {
            DiscoveryError::Request(CallFailure(failure)) => failure,
            other => Failure::with_causes(Described(other.to_string())),
        })
    }
}

/// An error of the library in words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Described(String);

fn refused(error: impl std::fmt::Display) -> ProviderError {
    ProviderError::Refused(error.to_string().into())
}

#[async_trait]
impl IdentityProvider for OidcProvider {
    async fn authorize_url(&self, visit: &VisitSecrets) -> Result<String, ProviderError> {
        let metadata = self.metadata(METADATA_TTL).await?;
        let redirect = RedirectUrl::new(visit.redirect_url.clone()).map_err(refused)?;
        let client = CoreClient::from_provider_metadata(metadata, self.client_id.clone(), self.client_secret.clone())
            .set_redirect_uri(redirect);
        let (state, nonce) = (visit.state.clone(), visit.nonce.clone());
        let verifier = PkceCodeVerifier::new(visit.pkce_verifier.clone());
        let (url, _, _) = client
            .authorize_url(
                CoreAuthenticationFlow::AuthorizationCode,
                move || CsrfToken::new(state),
                move || Nonce::new(nonce),
            )
            .add_scopes(["profile", "email"].map(|scope| Scope::new(scope.into())))
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier))
            .url();
        Ok(url.into())
    }

    async fn identify(&self, code: String, visit: &VisitSecrets) -> Result<ProviderIdentity, ProviderError> {
        let redirect = RedirectUrl::new(visit.redirect_url.clone()).map_err(refused)?;
        let client_of = |metadata| {
            CoreClient::from_provider_metadata(metadata, self.client_id.clone(), self.client_secret.clone())
                .set_redirect_uri(redirect.clone())
        };
        let mut client = client_of(self.metadata(METADATA_TTL).await?);
        let http = self.http.caller();
        let exchange = client.exchange_code(AuthorizationCode::new(code)).map_err(refused)?;
        let exchange = exchange.set_pkce_verifier(PkceCodeVerifier::new(visit.pkce_verifier.clone()));
        let answer = exchange.request_async(&http).await.map_err(|error| match error {
            RequestTokenError::Request(CallFailure(failure)) => ProviderError::Away(failure),
            RequestTokenError::ServerResponse(said) => refused(said.error()),
            other => refused(other),
        })?;
        let token = answer.id_token().ok_or_else(|| refused("its answer has no ID token"))?;
        let nonce = Nonce::new(visit.nonce.clone());
        let mut claims = token.claims(&client.id_token_verifier(), &nonce);
        if matches!(claims, Err(ClaimsVerificationError::SignatureVerification(_))) {
            client = client_of(self.metadata(KEYS_TTL).await?);
            claims = token.claims(&client.id_token_verifier(), &nonce);
        }
        let claims = claims.map_err(refused)?;
        if let Some(expected) = claims.access_token_hash() {
            let signing = token.signing_alg().map_err(refused)?;
            let verifier = client.id_token_verifier();
            let key = token.signing_key(&verifier).map_err(refused)?;
            let hash = openidconnect::AccessTokenHash::from_token(answer.access_token(), signing, key);
            if hash.map_err(refused)? != *expected {
                return Err(refused("its access token is another one's"));
            }
        }
        let subject = claims.subject().clone();
        let identity = identity(
            &subject,
            claims.name(),
            claims.preferred_username(),
            claims.picture(),
            claims.email().filter(|_| claims.email_verified() == Some(true)),
        );
        // Many providers say in the ID token who it is, and what they are called where they are asked for it.
        let is_whole = identity.name.is_some() && identity.email.is_some();
        let asked = client.user_info(answer.access_token().clone(), Some(subject.clone()));
        let Ok(request) = asked else { return Ok(identity) };
        if is_whole {
            return Ok(identity);
        }
        // Who it is, the ID token has proved.
        let said: Result<CoreUserInfoClaims, _> = request.request_async(&http).await;
        let Ok(said) = said else { return Ok(identity) };
        let added = self::identity(
            &subject,
            said.name(),
            said.preferred_username(),
            said.picture(),
            said.email().filter(|_| said.email_verified() == Some(true)),
        );
        Ok(ProviderIdentity {
            subject: identity.subject,
            name: identity.name.or(added.name),
            avatar: identity.avatar.or(added.avatar),
            email: identity.email.or(added.email),
        })
    }
}

/// Who these claims are of. `email` is one that the provider has verified.
fn identity(
    subject: &SubjectIdentifier,
    name: Option<&LocalizedClaim<EndUserName>>,
    username: Option<&EndUserUsername>,
    picture: Option<&LocalizedClaim<EndUserPictureUrl>>,
    email: Option<&EndUserEmail>,
) -> ProviderIdentity {
    let first = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
    let name = name.and_then(|name| name.get(None)).map(|name| name.as_str());
    ProviderIdentity {
        subject: subject.as_str().to_owned(),
        name: first(name).or_else(|| first(username.map(|name| name.as_str()))),
        avatar: picture.and_then(|picture| picture.get(None)).map(|picture| picture.as_str().to_owned()),
        email: email.and_then(|email| EmailAddress::parse(email.as_str())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

    use axum::extract::State;
    use axum::routing::{get, post};
    use axum::{Json, Router};
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use openidconnect::core::{
        CoreEdDsaPrivateSigningKey, CoreIdToken, CoreIdTokenClaims, CoreJsonWebKeySet, CoreJwsSigningAlgorithm,
    };
    use openidconnect::{Audience, EmptyAdditionalClaims, PrivateSigningKey as _, StandardClaims};
    use serde_json::{Value, json};
    use tokio::net::TcpListener;

    use super::*;
    use crate::clock::Clock;

    const NONCE: &str = "a nonce";
    const CLIENT_ID: &str = "the-client";
    /// What is before the 32 bytes of a key of Ed25519 in PKCS #8 (RFC 8410).
    const KEY_HEAD: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

    /// A provider that has one key, and counts how often it is asked what it is.
    #[derive(Debug)]
    struct FakeProvider {
        issuer: String,
        /// Each number is another key.
        key: AtomicU8,
        asked: AtomicUsize,
    }

    impl FakeProvider {
        async fn start() -> Arc<Self> {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let issuer = format!("http://{}", listener.local_addr().unwrap());
            let provider = Arc::new(Self { issuer, key: AtomicU8::new(1), asked: AtomicUsize::new(0) });
            let routes = Router::new()
                .route("/.well-known/openid-configuration", get(describe))
                .route("/keys", get(list_keys))
                .route("/token", post(exchange))
                .with_state(provider.clone());
            tokio::spawn(async move { axum::serve(listener, routes).await });
            provider
        }

        fn signing_key(&self) -> CoreEdDsaPrivateSigningKey {
            let bytes = [KEY_HEAD.as_slice(), &[self.key.load(Ordering::Relaxed); 32]].concat();
            let body = BASE64_STANDARD.encode(bytes);
            let label = "PRIVATE KEY";
            let pem = format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n");
            CoreEdDsaPrivateSigningKey::from_ed25519_pem(&pem, None).unwrap()
        }
    }

    async fn describe(State(provider): State<Arc<FakeProvider>>) -> Json<Value> {
        provider.asked.fetch_add(1, Ordering::Relaxed);
        let issuer = &provider.issuer;
        Json(json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "jwks_uri": format!("{issuer}/keys"),
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["EdDSA"],
        }))
    }

    async fn list_keys(State(provider): State<Arc<FakeProvider>>) -> Json<CoreJsonWebKeySet> {
        Json(CoreJsonWebKeySet::new(vec![provider.signing_key().as_verification_key()]))
    }

    async fn exchange(State(provider): State<Arc<FakeProvider>>) -> Json<Value> {
        let at = |ms: u64| chrono::DateTime::from_timestamp_millis(ms.try_into().unwrap()).unwrap();
        let now = Clock::system().now();
        let claims = CoreIdTokenClaims::new(
            IssuerUrl::new(provider.issuer.clone()).unwrap(),
            vec![Audience::new(CLIENT_ID.into())],
            at(now + 60_000),
            at(now),
            StandardClaims::new(SubjectIdentifier::new("ann".into())),
            EmptyAdditionalClaims {},
        );
        let claims = claims.set_nonce(Some(Nonce::new(NONCE.into())));
        let token = CoreIdToken::new(claims, &provider.signing_key(), CoreJwsSigningAlgorithm::EdDsa, None, None);
        Json(json!({"access_token": "x", "token_type": "bearer", "id_token": token.unwrap()}))
    }

    #[tokio::test]
    async fn provider_that_has_changed_its_keys_is_asked_for_them_once_a_minute() {
        let server = FakeProvider::start().await;
        let issuer = Some(server.issuer.clone());
        let settings = ProviderSettings { issuer, client_id: CLIENT_ID.into(), ..ProviderSettings::default() };
        let provider = OidcProvider::new(&settings).unwrap();
        let visit = VisitSecrets {
            state: "a state".into(),
            nonce: NONCE.into(),
            pkce_verifier: "v".repeat(43),
            redirect_url: "https://comments.example/back".into(),
        };
        let sign_in = async || provider.identify("a code".into(), &visit).await.map(|identity| identity.subject);
        let asked = || server.asked.load(Ordering::Relaxed);
        let pass_a_minute = async || {
            let mut known = provider.description.lock().await;
            known.asked_at = known.asked_at.and_then(|at| at.checked_sub(KEYS_TTL));
        };
        assert_eq!((sign_in().await.unwrap().as_str(), asked()), ("ann", 1));
        pass_a_minute().await;
        assert_eq!((sign_in().await.unwrap().as_str(), asked()), ("ann", 1), "its key is known");
        server.key.store(2, Ordering::Relaxed);
        for _ in 0..3 {
            assert_eq!((sign_in().await.unwrap().as_str(), asked()), ("ann", 2), "the new key is read once");
        }
        // Tokens of further keys make no request for each.
        server.key.store(3, Ordering::Relaxed);
        for _ in 0..3 {
            assert!(matches!(sign_in().await, Err(ProviderError::Refused(_))));
        }
        assert_eq!(asked(), 2);
        pass_a_minute().await;
        assert_eq!((sign_in().await.unwrap().as_str(), asked()), ("ann", 3));
    }
}
