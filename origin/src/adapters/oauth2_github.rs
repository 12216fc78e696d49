//! A provider that speaks OAuth 2 in GitHub's manner: the authorization code flow with PKCE (S256), and then who the
//! visitor is by a call of the provider's own interface.
//!
//! An access token is used for two calls, and forgotten.

use async_trait::async_trait;
use axum::http::{Request, StatusCode, header};
use oauth2::basic::{BasicClient, BasicErrorResponseType};
use oauth2::{
    AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointNotSet, EndpointSet, PkceCodeChallenge,
    PkceCodeVerifier, RedirectUrl, RequestTokenError, Scope, StandardErrorResponse, TokenResponse as _, TokenUrl,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::adapters::provider_http::{CallFailure, ProviderHttp};
use crate::config::ProviderSettings;
use crate::domain::email_address::EmailAddress;
use crate::ports::failure::Failure;
use crate::ports::identity_provider::{IdentityProvider, ProviderError, ProviderIdentity, VisitSecrets};

type ReadyClient = BasicClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

/// A provider at its addresses.
#[derive(Debug)]
pub struct Oauth2Provider {
    http: ProviderHttp,
    client: ReadyClient,
    user_url: String,
    emails_url: String,
}

/// What the provider says of the visitor.
#[derive(Debug, Deserialize)]
struct ProviderUser {
    /// A number that is never given again, unlike the name of an account.
    id: u64,
    login: Option<String>,
    name: Option<String>,
    avatar_url: Option<String>,
}

/// One of their addresses.
#[derive(Debug, Deserialize)]
struct ProviderEmail {
    email: String,
    #[serde(default)]
    primary: bool,
    #[serde(default)]
    verified: bool,
}

impl Oauth2Provider {
    /// The provider of these settings.
    ///
    /// # Errors
    /// When an address is none.
    pub fn new(settings: &ProviderSettings) -> Result<Self, Failure> {
        let urls = settings.oauth2_urls();
        let client = BasicClient::new(ClientId::new(settings.client_id.clone()))
            .set_auth_uri(AuthUrl::new(urls.authorize).map_err(Failure::with_causes)?)
            .set_token_uri(TokenUrl::new(urls.token).map_err(Failure::with_causes)?)
            // GitHub reads the secret in the body; others take it there too.
            .set_auth_type(oauth2::AuthType::RequestBody);
        let client = match &settings.client_secret {
            Some(secret) => client.set_client_secret(ClientSecret::new(secret.expose().to_owned())),
            None => client,
        };
        Ok(Self { http: ProviderHttp::new(), client, user_url: urls.user, emails_url: urls.emails })
    }

    /// What the provider's interface answers to who has this access token.
    async fn read<T: DeserializeOwned>(&self, url: &str, access_token: &str) -> Result<T, ProviderError> {
        let request = Request::get(url)
            .header(header::AUTHORIZATION, format!("Bearer {access_token}"))
            .header(header::ACCEPT, "application/json")
            .body(Vec::new())
            .map_err(refused)?;
        let answer = self.http.call(request).await.map_err(|CallFailure(failure)| ProviderError::Away(failure))?;
        match answer.status() {
            StatusCode::OK => {
                serde_json::from_slice(answer.body()).map_err(|_| refused("its answer is not understood"))
            }
            status if status.is_server_error() => Err(ProviderError::Away(format!("it answered {status}").into())),
            status => Err(refused(format_args!("it answered {status}"))),
        }
    }
}

fn refused(error: impl std::fmt::Display) -> ProviderError {
    ProviderError::Refused(error.to_string().into())
}

#[async_trait]
impl IdentityProvider for Oauth2Provider {
    async fn authorize_url(&self, visit: &VisitSecrets) -> Result<String, ProviderError> {
        let redirect = RedirectUrl::new(visit.redirect_url.clone()).map_err(refused)?;
        let state = visit.state.clone();
        let verifier = PkceCodeVerifier::new(visit.pkce_verifier.clone());
        let (url, _) = self
            .client
            .authorize_url(move || CsrfToken::new(state))
            .add_scopes(["read:user", "user:email"].map(|scope| Scope::new(scope.into())))
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier))
            .set_redirect_uri(std::borrow::Cow::Owned(redirect))
            .url();
        Ok(url.into())
    }

    async fn identify(&self, code: String, visit: &VisitSecrets) -> Result<ProviderIdentity, ProviderError> {
        let redirect = RedirectUrl::new(visit.redirect_url.clone()).map_err(refused)?;
        let http = self.http.caller();
        let answer = self
            .client
            .exchange_code(AuthorizationCode::new(code))
            .set_pkce_verifier(PkceCodeVerifier::new(visit.pkce_verifier.clone()))
            .set_redirect_uri(std::borrow::Cow::Owned(redirect))
            .request_async(&http)
            .await
            .map_err(exchange_error)?;
        let access_token = answer.access_token().secret();
        let user: ProviderUser = self.read(&self.user_url, access_token).await?;
        // Without the right to read them there is none: the account has no address.
        let emails: Vec<ProviderEmail> = match self.read(&self.emails_url, access_token).await {
            Err(ProviderError::Refused(_)) => Vec::new(),
            emails => emails?,
        };
        let email = emails.iter().filter(|email| email.verified).max_by_key(|email| email.primary);
        Ok(ProviderIdentity {
            subject: user.id.to_string(),
            name: user.name.filter(|name| !name.trim().is_empty()).or(user.login),
            avatar: user.avatar_url,
            email: email.and_then(|email| EmailAddress::parse(&email.email)),
        })
    }
}

type ExchangeError = RequestTokenError<CallFailure, StandardErrorResponse<BasicErrorResponseType>>;

fn exchange_error(error: ExchangeError) -> ProviderError {
    match error {
        RequestTokenError::Request(CallFailure(failure)) => ProviderError::Away(failure),
        RequestTokenError::ServerResponse(said) => refused(said.error()),
        // GitHub answers a wrong code with 200 and no token. What it says is not repeated.
        RequestTokenError::Parse(..) => refused("its answer has no access token"),
        RequestTokenError::Other(said) => refused(said),
    }
}
