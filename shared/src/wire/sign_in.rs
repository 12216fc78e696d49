//! Signing in to accounts of the installation, and the member of a token.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{MemberId, PasskeyId};
use crate::token::Role;
use crate::wire::NotifyChoice;

/// How a provider is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// OpenID Connect.
    Oidc,
    /// OAuth 2, in GitHub's manner.
    Oauth2,
    /// A link by mail.
    Email,
}

/// A way to sign in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SignInProvider {
    /// What it is called in addresses.
    pub id: String,
    /// What readers know it by.
    pub name: String,
    /// How it is spoken to.
    pub kind: ProviderKind,
}

/// The ways to sign in; none where the host signs tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SignInProviders {
    /// In the order of the configuration, mail first.
    pub data: Vec<SignInProvider>,
}

/// A token to write with, for some minutes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AccessToken {
    /// The token.
    pub token: String,
    /// When it expires, in Unix milliseconds.
    pub expires_at: u64,
    /// What the next token is for; where the former one was in the body.
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
}

/// A passkey of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Passkey {
    /// The passkey.
    pub id: PasskeyId,
    /// What its owner calls it.
    pub name: String,
    /// When it was added, in Unix milliseconds.
    pub created_at: u64,
    /// When it signed in last; null before the first time.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub used_at: Option<u64>,
}

/// The passkeys of an account.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PasskeyList {
    /// In the order in which they were added.
    pub data: Vec<Passkey>,
}

/// What a browser asks an authenticator for. It can be answered once, for 5 minutes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PasskeyChallenge {
    /// What the answer is sent with.
    pub challenge: String,
    /// `publicKey` of `navigator.credentials.create` or `navigator.credentials.get`, as WebAuthn writes it in JSON:
    /// bytes are in base64 for addresses.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub options: Value,
}

/// The member of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct OwnProfile {
    /// The member.
    pub id: MemberId,
    /// The name; empty where none is chosen yet.
    pub name: String,
    /// Address of a picture.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub avatar: Option<String>,
    /// The level.
    #[cfg_attr(feature = "openapi", schema(maximum = 255))]
    pub level: u8,
    /// What the member may do.
    pub role: Role,
    /// Whether they have no account.
    pub guest: bool,
    /// Where mails go.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub email: Option<String>,
    /// How often mails come.
    pub notify: NotifyChoice,
    /// The language that they have chosen.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub language: Option<String>,
}
