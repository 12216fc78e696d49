//! The keys of an installation: the host's for its members, and the installation's own for guests and accounts.
//!
//! Edge and origin choose between them by the id that a token claims, so a key verifies tokens of its own
//! kind alone: a guest's token never verifies under the host's secret, and the host signs for no guest and no account.

use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::id::{MemberId, MemberKind};
use crate::token::{Member, ParsedToken, TokenError, TokenKey, VerifiedToken, claimed_member};

/// Separates the installation's own key from everything else that a host may derive from its secret.
const GUEST_KEY_LABEL: &[u8] = b"gailou guests' tokens, version 1";

/// The host's key and, where it is known, the installation's own.
#[derive(Debug, Clone)]
pub struct MemberKeys {
    host: TokenKey,
    own: Option<TokenKey>,
}

impl MemberKeys {
    /// The keys of a host that shares this secret: the installation's own key is derived from it by HMAC-SHA256.
    /// `None` when the secret is shorter than [`TokenKey::MIN_SECRET_BYTES`].
    ///
    /// ```
    /// use gailou_shared::id::MemberId;
    /// use gailou_shared::member_keys::MemberKeys;
    /// use gailou_shared::token::{Member, Role, TokenKey};
    /// let secret = b"0123456789abcdef0123456789abcdef";
    /// let keys = MemberKeys::from_secret(secret).unwrap();
    /// let guest = Member { id: MemberId::guest(5), name: "Bo".into(), avatar: None, level: 0, role: Role::Member };
    /// let token = keys.own().unwrap().sign(&guest, "gailou", 1_800_000_000..1_800_000_060).unwrap();
    /// assert_eq!(keys.verify(&token, "gailou", 1_800_000_000), Ok(guest));
    /// assert!(TokenKey::secret(secret).unwrap().verify(&token, "gailou", 1_800_000_000).is_err());
    /// ```
    #[must_use]
    pub fn from_secret(secret: &[u8]) -> Option<Self> {
        let host = TokenKey::secret(secret)?;
        let mut derived = Hmac::<Sha256>::new_from_slice(secret).ok()?;
        derived.update(GUEST_KEY_LABEL);
        Some(Self { host, own: TokenKey::secret(&derived.finalize().into_bytes()) })
    }

    /// The keys of a host that signs with the private key of this public one. Tokens of guests and accounts cannot
    /// be verified without `own`.
    #[must_use]
    pub const fn from_public_key(host: TokenKey, own: Option<TokenKey>) -> Self {
        Self { host, own }
    }

    /// The key of the host's members.
    #[must_use]
    pub const fn host(&self) -> &TokenKey {
        &self.host
    }

    /// The key of guests and accounts, if it is known here.
    #[must_use]
    pub const fn own(&self) -> Option<&TokenKey> {
        self.own.as_ref()
    }

    /// Whether the key for this token is known here: false for a token of a guest or an account without the installation's own key.
    #[must_use]
    pub fn can_verify(&self, token: &str) -> bool {
        self.own.is_some() || !is_own(claimed_member(token))
    }

    /// Verifies a token by the key of the kind of member that it claims. See [`TokenKey::verify`].
    ///
    /// # Errors
    /// [`TokenError`]; [`TokenError::Signature`] also where the key is not known here.
    pub fn verify(&self, token: &str, audience: &str, now: u64) -> Result<Member, TokenError> {
        self.verify_token(token, audience, now).map(|verified| verified.member)
    }

    /// The same with what else the token says. See [`TokenKey::verify_token`].
    ///
    /// # Errors
    /// As [`MemberKeys::verify`].
    pub fn verify_token(&self, token: &str, audience: &str, now: u64) -> Result<VerifiedToken, TokenError> {
        let token = ParsedToken::parse(token)?;
        let key = if is_own(token.claimed_member()) { self.own.as_ref() } else { Some(&self.host) };
        key.ok_or(TokenError::Signature)?.verify_parsed(&token, audience, now)
    }
}

/// Whether the installation's own key signs for this member.
fn is_own(claimed: Option<MemberId>) -> bool {
    claimed.is_some_and(|id| matches!(id.kind(), MemberKind::Guest | MemberKind::Account))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::Role;

    const NOW: u64 = 1_800_000_000;
    const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

    fn token(key: &TokenKey, id: MemberId) -> alloc::string::String {
        let member = Member { id, name: "Bo".into(), avatar: None, level: 0, role: Role::Member };
        key.sign(&member, "gailou", NOW..NOW + 60).unwrap()
    }

    #[test]
    fn key_verifies_its_own_kind_alone() {
        let keys = MemberKeys::from_secret(SECRET).unwrap();
        let (host, guests) = (keys.host(), keys.own().unwrap());
        let (ann, guest, account) = (MemberId::new(7).unwrap(), MemberId::guest(5), MemberId::account(5));
        assert_eq!(keys.verify(&token(host, ann), "gailou", NOW).unwrap().id, ann);
        assert_eq!(keys.verify(&token(guests, guest), "gailou", NOW).unwrap().id, guest);
        assert_eq!(keys.verify(&token(guests, account), "gailou", NOW).unwrap().id, account);
        assert_eq!(keys.verify(&token(host, guest), "gailou", NOW), Err(TokenError::Signature));
        assert_eq!(keys.verify(&token(host, account), "gailou", NOW), Err(TokenError::Signature));
        assert_eq!(keys.verify(&token(guests, ann), "gailou", NOW), Err(TokenError::Signature));
        assert_eq!(host.verify(&token(guests, guest), "gailou", NOW), Err(TokenError::Signature));
        assert!(MemberKeys::from_secret(b"short").is_none());
    }

    #[test]
    fn guests_token_without_the_guests_key_is_left_to_the_origin() {
        let secret = MemberKeys::from_secret(SECRET).unwrap();
        let keys = MemberKeys::from_public_key(TokenKey::secret(SECRET).unwrap(), None);
        let guest = token(secret.own().unwrap(), MemberId::guest(5));
        assert!(!keys.can_verify(&guest) && keys.can_verify("no.jwt") && secret.can_verify(&guest));
        assert_eq!(keys.verify(&guest, "gailou", NOW), Err(TokenError::Signature));
        assert!(keys.can_verify(&token(secret.host(), MemberId::new(7).unwrap())));
    }
}
