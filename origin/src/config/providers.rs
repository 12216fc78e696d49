//! The providers that readers sign in with.
//!
//! Connects to nothing. Promise: a provider has everything that it needs, a name of its own, and addresses that are
//! encrypted, or of this machine.

use documented::DocumentedFields;
use gailou_shared::wire::ProviderKind;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::values::{parse, parse_optional, service_url};
use crate::config::{ConfigError, Password};

/// Most providers.
const MAX_PROVIDERS: usize = 16;
/// Longest id of a provider.
const MAX_PROVIDER_ID_BYTES: usize = 32;
/// Ids that addresses of sign-in have for themselves.
const OWN_IDS: [&str; 5] = ["email", "admin", "providers", "session", "passkeys"];
const GITHUB_URL: &str = "https://github.com";
const GITHUB_API_URL: &str = "https://api.github.com";

/// `auth.providers`: in the file, one `[[auth.providers]]` each.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderSettings {
    /// What it is called in addresses, such as `github`: 1 to 32 lower-case letters, digits and `-`. It never changes: who
    /// has signed in with it would be another one.
    #[serde(deserialize_with = "provider_id")]
    pub id: String,
    /// What readers know it by, such as `GitHub`.
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// `oidc` for OpenID Connect, such as Google, or `oauth2` for GitHub and what speaks like it.
    #[serde(deserialize_with = "kind")]
    pub kind: ProviderKind,
    /// The issuer of `oidc`, such as `https://accounts.google.com`; of `oauth2` the server, without it GitHub.
    #[serde(deserialize_with = "address")]
    pub issuer: Option<String>,
    /// The id that the provider has given this installation.
    #[serde(deserialize_with = "text")]
    pub client_id: String,
    /// The secret that it has given this installation.
    #[serde(deserialize_with = "Password::optional", skip_serializing)]
    pub client_secret: Option<Password>,
    /// Of `oauth2`, where it is not as at GitHub: where readers are sent.
    #[serde(deserialize_with = "address")]
    pub authorize_url: Option<String>,
    /// Of `oauth2`: where codes are exchanged.
    #[serde(deserialize_with = "address")]
    pub token_url: Option<String>,
    /// Of `oauth2`: where a reader's `id`, `login`, `name` and `avatar_url` are read.
    #[serde(deserialize_with = "address")]
    pub user_url: Option<String>,
    /// Of `oauth2`: where a reader's addresses are read, a list of `email`, `primary` and `verified`.
    #[serde(deserialize_with = "address")]
    pub emails_url: Option<String>,
}

impl Default for ProviderSettings {
    fn default() -> Self {
        Self {
            id: String::new(),
            name: String::new(),
            kind: ProviderKind::Oidc,
            issuer: None,
            client_id: String::new(),
            client_secret: None,
            authorize_url: None,
            token_url: None,
            user_url: None,
            emails_url: None,
        }
    }
}

/// The addresses of a provider that speaks like GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oauth2Urls {
    pub authorize: String,
    pub token: String,
    pub user: String,
    pub emails: String,
}

impl ProviderSettings {
    /// The addresses of `oauth2`: those that are given, else as GitHub and its servers for companies have them.
    #[must_use]
    pub fn oauth2_urls(&self) -> Oauth2Urls {
        let server = self.issuer.as_deref().unwrap_or(GITHUB_URL).trim_end_matches('/');
        let api = if server == GITHUB_URL { GITHUB_API_URL.to_owned() } else { format!("{server}/api/v3") };
        let user = self.user_url.clone().unwrap_or_else(|| format!("{api}/user"));
        Oauth2Urls {
            authorize: self.authorize_url.clone().unwrap_or_else(|| format!("{server}/login/oauth/authorize")),
            token: self.token_url.clone().unwrap_or_else(|| format!("{server}/login/oauth/access_token")),
            emails: self.emails_url.clone().unwrap_or_else(|| format!("{user}/emails")),
            user,
        }
    }
}

/// Refuses providers that lack something, or that have one name.
pub(super) fn check(providers: &[ProviderSettings]) -> Result<(), ConfigError> {
    let refuse = |reason: String| Err(ConfigError::new("auth.providers", reason));
    if providers.len() > MAX_PROVIDERS {
        return refuse(format!("can be {MAX_PROVIDERS} at most"));
    }
    for (index, provider) in providers.iter().enumerate() {
        let ProviderSettings { id, name, kind, issuer, client_id, .. } = provider;
        let missing = [("id", id.is_empty()), ("name", name.is_empty()), ("client_id", client_id.is_empty())];
        if let Some((field, _)) = missing.into_iter().find(|(_, is_missing)| *is_missing) {
            return refuse(format!("must have {field}, each of them"));
        }
        if providers[..index].iter().any(|other| other.id == *id) {
            return refuse(format!("must have ids of their own; {id} is there twice"));
        }
        match kind {
            ProviderKind::Oidc if issuer.is_none() => {
                return refuse(format!("must have issuer where kind is oidc: {id}"));
            }
            ProviderKind::Email => return refuse(format!("can be oidc or oauth2; mail.url is for mail: {id}")),
            _ => {}
        }
    }
    Ok(())
}

fn provider_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    parse(
        deserializer,
        "1 to 32 lower-case letters, digits and -, and none of email, admin, providers, session and passkeys",
        |id| {
            let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            let is_id =
                (1..=MAX_PROVIDER_ID_BYTES).contains(&id.len()) && id.bytes().all(fits) && !OWN_IDS.contains(&id);
            is_id.then(|| id.to_owned())
        },
    )
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    parse(deserializer, "text that is not empty", |text| (!text.is_empty()).then(|| text.to_owned()))
}

fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ProviderKind, D::Error> {
    parse(deserializer, "oidc or oauth2", |text| match text {
        "oidc" => Some(ProviderKind::Oidc),
        "oauth2" => Some(ProviderKind::Oauth2),
        _ => None,
    })
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    parse_optional(deserializer, "an address by https, or by http on this machine", service_url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(id: &str, kind: ProviderKind, issuer: Option<&str>) -> ProviderSettings {
        ProviderSettings {
            id: id.into(),
            name: "N".into(),
            kind,
            issuer: issuer.map(str::to_owned),
            client_id: "c".into(),
            ..<_>::default()
        }
    }

    #[test]
    fn addresses_are_those_of_github_unless_others_are_given() {
        let urls = provider("github", ProviderKind::Oauth2, None).oauth2_urls();
        assert_eq!(urls.token, "https://github.com/login/oauth/access_token");
        assert_eq!((&*urls.user, &*urls.emails), ("https://api.github.com/user", "https://api.github.com/user/emails"));
        let own = provider("gh", ProviderKind::Oauth2, Some("https://git.example/"));
        assert_eq!(own.oauth2_urls().authorize, "https://git.example/login/oauth/authorize");
        let own = ProviderSettings { user_url: Some("https://git.example/me".into()), ..own };
        assert_eq!(own.oauth2_urls().emails, "https://git.example/me/emails");
    }

    #[test]
    fn provider_needs_everything_and_an_id_of_its_own() {
        let google = provider("google", ProviderKind::Oidc, Some("https://accounts.google.com"));
        let github = provider("github", ProviderKind::Oauth2, None);
        assert!(check(&[google.clone(), github.clone()]).is_ok() && check(&[]).is_ok());
        assert!(check(&[github.clone(), github.clone()]).is_err());
        assert!(check(&[ProviderSettings { issuer: None, ..google.clone() }]).is_err());
        assert!(check(&[ProviderSettings { client_id: String::new(), ..github.clone() }]).is_err());
        assert!(check(&[ProviderSettings { kind: ProviderKind::Email, ..github }]).is_err());
        let many = (0..=MAX_PROVIDERS).map(|n| ProviderSettings { id: format!("p{n}"), ..google.clone() });
        assert!(check(&many.collect::<Vec<_>>()).is_err());
    }
}
