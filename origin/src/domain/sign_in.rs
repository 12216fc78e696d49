//! Accounts of this installation, and how their owners sign in: identities, refresh tokens, addresses that sign in
//! once.
//!
//! Pure: no clock, no randomness, no IO. What is secret is stored as a digest that needs the installation's key, so
//! a copy of the tables signs in to no account.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gailou_shared::id::MemberId;
use gailou_shared::token::Role;
use hmac::{Hmac, Mac as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::domain::email_address::EmailAddress;

/// How long a browser stays signed in without being used, in milliseconds (30 days).
pub const REFRESH_IDLE_MS: u64 = 30 * 86_400_000;
/// How long it stays signed in at most, in milliseconds (a year).
pub const REFRESH_LIFETIME_MS: u64 = 365 * 86_400_000;
/// Browsers and apps that one account is signed in at; the one that was idle the longest is signed out for another.
pub const MAX_FAMILIES_PER_ACCOUNT: usize = 20;
/// How long an address signs in, in milliseconds (15 minutes).
pub const LINK_LIFETIME_MS: u64 = 15 * 60_000;

/// An account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnAccount {
    pub id: MemberId,
    /// Empty until its owner has chosen one.
    pub name: String,
    pub avatar: Option<String>,
    pub role: Role,
    /// Unix milliseconds.
    pub created_at: u64,
}

/// 32 bytes that stand for something secret or personal.
pub type SignInDigest = [u8; 32];

/// Who a person is at a provider: the digest by which their account is found.
pub fn identity_digest(provider: &str, subject: &str) -> SignInDigest {
    let parts = Sha256::new().chain_update(b"gailou identity\0").chain_update(provider).chain_update(b"\0");
    parts.chain_update(subject).finalize().into()
}

/// What can be used once: an address that signs in, or a challenge that a passkey answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SignInLink {
    /// The owner of this mailbox, for a page of this site: where the page asked for the link, it gets a code there, with the
    /// `state` that it gave.
    Email {
        email: String,
        site: String,
        #[serde(default)]
        page: Option<String>,
        #[serde(default)]
        state: Option<String>,
    },
    /// An account that has just signed in, for a page of this site, until this moment (Unix milliseconds).
    Code { account: MemberId, site: String, expires_at: u64 },
    /// The installation's own administrator.
    Admin,
    /// The answer adds a passkey to this account, until `expires_at`. What it has to be is in `state`.
    PasskeyRegistration { account: MemberId, state: Value, expires_at: u64 },
    /// The answer signs in the account of the passkey that gives it, until `expires_at`.
    PasskeySignIn { state: Value, expires_at: u64 },
}

/// A browser or an app that is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefreshFamily {
    pub account: MemberId,
    pub id: u64,
    /// The digest of its newest token.
    pub digest: SignInDigest,
    /// When it was signed in, in Unix milliseconds.
    pub created_at: u64,
    /// When it has got its newest token.
    pub used_at: u64,
}

/// What becomes of a family whose token is presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PresentedToken {
    /// It is the newest: it is exchanged for another.
    Newest,
    /// It was used before, or the family is too old: the family ends.
    Ends,
}

impl RefreshFamily {
    /// What a token with this digest is at `now`. Who has a token that was used before has stolen it, or it was stolen
    /// and used by another: nothing says which, so neither stays signed in.
    pub fn present(&self, digest: &SignInDigest, now: u64) -> PresentedToken {
        let is_over = now.saturating_sub(self.used_at) > REFRESH_IDLE_MS
            || now.saturating_sub(self.created_at) > REFRESH_LIFETIME_MS;
        if is_over || self.digest != *digest { PresentedToken::Ends } else { PresentedToken::Newest }
    }
}

/// Bytes of a refresh token before its secret: the account and the family.
const TOKEN_HEAD_BYTES: usize = 16;
/// Bytes of a refresh token.
const TOKEN_BYTES: usize = TOKEN_HEAD_BYTES + 32;

/// A refresh token. It names its family, so that it is found when it was used before.
#[derive(Clone, Copy)]
pub struct RefreshToken {
    pub account: MemberId,
    pub family: u64,
    pub secret: [u8; 32],
}

impl std::fmt::Debug for RefreshToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RefreshToken").field("account", &self.account).finish_non_exhaustive()
    }
}

impl RefreshToken {
    /// Its text, as a cookie has it.
    pub fn to_text(self) -> String {
        let mut bytes = [0; TOKEN_BYTES];
        bytes[..8].copy_from_slice(&self.account.get().to_be_bytes());
        bytes[8..TOKEN_HEAD_BYTES].copy_from_slice(&self.family.to_be_bytes());
        bytes[TOKEN_HEAD_BYTES..].copy_from_slice(&self.secret);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The token with this text; `None` where it is none.
    pub fn parse(text: &str) -> Option<Self> {
        // Four characters have three bytes.
        let bytes = (text.len() == TOKEN_BYTES * 4 / 3).then(|| URL_SAFE_NO_PAD.decode(text).ok()).flatten()?;
        let (account, rest) = bytes.split_first_chunk::<8>()?;
        let (family, secret) = rest.split_first_chunk::<8>()?;
        Some(Self {
            account: MemberId::new(u64::from_be_bytes(*account)).ok()?,
            family: u64::from_be_bytes(*family),
            secret: secret.try_into().ok()?,
        })
    }
}

/// A visit to a provider, from the redirect to it until it redirects back. The browser keeps it in a cookie: nothing
/// is stored for strangers who begin and never come back, and who comes back is the one who began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderVisit {
    /// The `state` of the request.
    pub state: String,
    pub provider: String,
    /// Whose page gets the token.
    pub site: String,
    /// Unix milliseconds.
    pub expires_at: u64,
}

/// Bytes of the proof that this installation has made the address of a picture.
const PICTURE_SIGNATURE_BYTES: usize = 16;

/// The key of everything that signs in.
#[derive(Clone)]
pub struct SignInKey(Hmac<Sha256>);

impl std::fmt::Debug for SignInKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SignInKey(…)")
    }
}

impl SignInKey {
    /// A key made of a secret of the installation. Another secret ends everything that is signed in.
    pub fn new(secret: &[u8]) -> Self {
        let block = Sha256::new().chain_update(b"gailou sign-in, version 1\0").chain_update(secret).finalize();
        let mut key = hmac::digest::generic_array::GenericArray::default();
        key[..block.len()].copy_from_slice(&block);
        Self(<Hmac<Sha256> as hmac::digest::KeyInit>::new(&key))
    }

    fn mac(&self, label: &str, bytes: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(label.as_bytes());
        mac.update(b"\0");
        mac.update(bytes);
        mac
    }

    fn digest(&self, label: &str, bytes: &[u8]) -> SignInDigest {
        self.mac(label, bytes).finalize().into_bytes().into()
    }

    /// What is stored of a refresh token.
    pub fn token_digest(&self, token: &RefreshToken) -> SignInDigest {
        let bytes = [&token.account.get().to_be_bytes()[..], &token.family.to_be_bytes(), &token.secret].concat();
        self.digest("refresh token", &bytes)
    }

    /// What is stored of an address that is opened once.
    pub fn link_digest(&self, secret: &str) -> SignInDigest {
        self.digest("link", secret.as_bytes())
    }

    /// What is stored of a challenge that a passkey answers once.
    pub fn challenge_digest(&self, challenge: &str) -> SignInDigest {
        self.digest("challenge", challenge.as_bytes())
    }

    /// What proves that this installation has made the address of a picture.
    pub fn sign_picture(&self, picture: &[u8]) -> [u8; PICTURE_SIGNATURE_BYTES] {
        self.digest("picture", picture).first_chunk().copied().unwrap_or_default()
    }

    /// Whether it has. Takes the same time for every signature of this length.
    pub fn verify_picture(&self, picture: &[u8], signature: &[u8]) -> bool {
        signature.len() == PICTURE_SIGNATURE_BYTES
            && self.mac("picture", picture).verify_truncated_left(signature).is_ok()
    }

    /// What proves that this installation has named the address of a picture to readers.
    pub fn sign_address(&self, address: &str) -> [u8; PICTURE_SIGNATURE_BYTES] {
        self.digest("picture address", address.as_bytes()).first_chunk().copied().unwrap_or_default()
    }

    /// The whole digest of the address, which only this installation knows, where the signature is its own. Takes the same
    /// time for every signature of its length.
    pub fn verify_address(&self, address: &str, signature: &[u8]) -> Option<[u8; 32]> {
        let label = "picture address";
        let is_own = signature.len() == PICTURE_SIGNATURE_BYTES
            && self.mac(label, address.as_bytes()).verify_truncated_left(signature).is_ok();
        is_own.then(|| self.digest(label, address.as_bytes()))
    }

    /// The PKCE verifier of a visit, which the provider learns at its end (RFC 7636: 43 characters).
    pub fn pkce_verifier(&self, state: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.digest("pkce", state.as_bytes()))
    }

    /// The nonce of a visit, which the provider signs.
    pub fn nonce(&self, state: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.digest("nonce", state.as_bytes()))
    }

    /// The text of a visit, as its cookie has it.
    pub fn seal(&self, visit: &ProviderVisit) -> String {
        let json = serde_json::to_vec(visit).unwrap_or_default();
        format!("{}.{}", URL_SAFE_NO_PAD.encode(&json), URL_SAFE_NO_PAD.encode(self.digest("visit", &json)))
    }

    /// The visit with this text; `None` where it is another's, is over, or has another `state` than the answer.
    pub fn open(&self, text: &str, state: &str, now: u64) -> Option<ProviderVisit> {
        let (json, mac) = text.split_once('.')?;
        let (json, mac) = (URL_SAFE_NO_PAD.decode(json).ok()?, URL_SAFE_NO_PAD.decode(mac).ok()?);
        self.mac("visit", &json).verify_slice(&mac).ok()?;
        let visit: ProviderVisit = serde_json::from_slice(&json).ok()?;
        (visit.state == state && now < visit.expires_at).then_some(visit)
    }
}

impl SignInLink {
    /// The address that is signed in, where it is one.
    pub fn email(&self) -> Option<EmailAddress> {
        match self {
            Self::Email { email, .. } => EmailAddress::parse(email),
            Self::Admin | Self::Code { .. } | Self::PasskeyRegistration { .. } | Self::PasskeySignIn { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: u64 = 1_700_000_000_000;

    fn token(family: u64, secret: u8) -> RefreshToken {
        RefreshToken { account: MemberId::account(7), family, secret: [secret; 32] }
    }

    fn family(digest: SignInDigest) -> RefreshFamily {
        RefreshFamily { account: MemberId::account(7), id: 1, digest, created_at: NOW, used_at: NOW }
    }

    #[test]
    fn token_that_was_used_before_ends_its_family() {
        let key = SignInKey::new(b"secret");
        let (first, second) = (key.token_digest(&token(1, 1)), key.token_digest(&token(1, 2)));
        let mut family = family(first);
        assert_eq!(family.present(&first, NOW), PresentedToken::Newest);
        family.digest = second;
        assert_eq!(family.present(&second, NOW + 5), PresentedToken::Newest);
        assert_eq!(family.present(&first, NOW + 5), PresentedToken::Ends);
    }

    #[test]
    fn family_ends_when_it_was_idle_for_a_month_and_after_a_year() {
        let mut family = family([1; 32]);
        let check = |family: &RefreshFamily, after: u64, expected| {
            assert_eq!(family.present(&[1; 32], NOW + after), expected, "after {after} ms");
        };
        check(&family, REFRESH_IDLE_MS, PresentedToken::Newest);
        check(&family, REFRESH_IDLE_MS + 1, PresentedToken::Ends);
        family.used_at = NOW + REFRESH_LIFETIME_MS;
        check(&family, REFRESH_LIFETIME_MS, PresentedToken::Newest);
        check(&family, REFRESH_LIFETIME_MS + 1, PresentedToken::Ends);
    }

    #[test]
    fn digests_depend_on_the_key_and_on_what_they_are_of() {
        let (one, other) = (SignInKey::new(b"one"), SignInKey::new(b"other"));
        let text = "the same text";
        let digests = [
            one.link_digest(text),
            other.link_digest(text),
            one.challenge_digest(text),
            one.token_digest(&token(1, 1)),
            one.token_digest(&token(2, 1)),
            identity_digest("a", text),
            identity_digest("athe", " same text"),
        ];
        let distinct: std::collections::BTreeSet<_> = digests.iter().collect();
        assert_eq!(distinct.len(), digests.len());
        assert_ne!(one.nonce(text), one.pkce_verifier(text));
        assert_eq!(one.pkce_verifier(text).len(), 43);
    }

    #[test]
    fn visit_ends_where_it_began_and_in_time() {
        let key = SignInKey::new(b"secret");
        let visit = ProviderVisit {
            state: "s".into(),
            provider: "github".into(),
            site: "https://blog.example".into(),
            expires_at: NOW,
        };
        let text = key.seal(&visit);
        assert_eq!(key.open(&text, "s", NOW - 1), Some(visit.clone()));
        assert_eq!(key.open(&text, "s", NOW), None);
        assert_eq!(key.open(&text, "t", NOW - 1), None);
        assert_eq!(SignInKey::new(b"another").open(&text, "s", NOW - 1), None);
        let forged = key.seal(&ProviderVisit { site: "https://evil.example".into(), ..visit });
        let (json, _) = forged.split_once('.').unwrap();
        let (_, mac) = text.split_once('.').unwrap();
        assert_eq!(key.open(&format!("{json}.{mac}"), "s", NOW - 1), None);
    }

    proptest! {
        #[test]
        fn token_is_read_as_it_was_written(account in 0u64..1 << 51, family: u64, secret: [u8; 32]) {
            let token = RefreshToken { account: MemberId::account(account), family, secret };
            let read = RefreshToken::parse(&token.to_text()).unwrap();
            prop_assert_eq!((read.account, read.family, read.secret), (token.account, family, secret));
        }

        #[test]
        fn no_text_but_a_token_is_one(text in "\\PC{0,80}") {
            prop_assert!(RefreshToken::parse(&text).is_none_or(|token| token.to_text() == text));
            prop_assert_eq!(SignInKey::new(b"secret").open(&text, "s", 0), None);
        }
    }
}
