//! The member's token: its claims, and the verification that edge and origin share.
//!
//! The token is a JWT signed by the host site, with HS256 and a shared secret or with EdDSA (Ed25519) and
//! a key pair. A [`TokenKey`] has one algorithm, so a token cannot choose a weaker one. Signing is for
//! guests and for development. The time is a parameter; there is no list of revoked tokens here.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use jwt_compact::alg::{Ed25519, Hs256, Hs256Key, VerifyingKey};
use jwt_compact::{AlgorithmExt, Claims, Header, Token, UntrustedToken};
use serde::{Deserialize, Deserializer, Serialize};

use crate::id::{MemberId, MemberKind};
use crate::limits;
use crate::visible_text::strip_name;

/// Tolerated difference between the clocks of signer and verifier, in seconds.
const CLOCK_LEEWAY_SECONDS: i64 = 30;

/// What a member may do beyond writing comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Reads, posts and reacts.
    #[default]
    Member,
    /// Moderates comments.
    Moderator,
    /// Administers comments, the dictionary, members and subjects.
    Admin,
}

/// The member who sent a request, as the token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The member's id.
    pub id: MemberId,
    /// The name to show: 1 to [`limits::MAX_NAME_CHARS`] characters, none of them a control character.
    pub name: String,
    /// The URL of a picture, at most [`limits::MAX_AVATAR_BYTES`] bytes: `http(s)://` or a path.
    pub avatar: Option<String>,
    /// The host's level of the member, 0 when it has none.
    pub level: u8,
    /// What the member may do.
    pub role: Role,
}

/// What a valid token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedToken {
    /// Who sent it.
    pub member: Member,
    /// When it was issued (`iat`), in Unix seconds; `None` where the host does not say.
    pub issued_at: Option<u64>,
    /// The last moment at which it is accepted, in Unix seconds.
    pub valid_until: u64,
    /// The address that the host says is the member's (`email`), as it is written; `None` for who is not the host's.
    pub email: Option<String>,
}

/// What the header of a token may hold beside its algorithm.
#[derive(Debug, Clone, Deserialize)]
struct TokenHeader {
    crit: Option<Vec<String>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct MemberClaims {
    sub: String,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    avatar: Option<String>,
    #[serde(default)]
    level: u8,
    #[serde(default)]
    role: Role,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    email: Option<String>,
    #[serde(deserialize_with = "one_or_many")]
    aud: Audience,
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct Audience(Vec<String>);

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Audience, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        One(String),
        Many(Vec<String>),
    }
    Ok(Audience(match Either::deserialize(deserializer)? {
        Either::One(name) => alloc::vec![name],
        Either::Many(names) => names,
    }))
}

/// Why a token is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenError {
    /// Not a JWT, longer than [`limits::MAX_TOKEN_BYTES`], or a claim is missing or of a wrong type.
    Malformed,
    /// Signed with another key or algorithm.
    Signature,
    /// `exp` has passed.
    Expired,
    /// `exp` is missing or more than [`limits::MAX_TOKEN_LIFETIME_SECONDS`] ahead, or `nbf` is in the future.
    Expiry,
    /// `aud` does not name the audience.
    Audience,
    /// `sub` is not the id of a host's member, a guest or an account, or `name` is empty, too long, or has a control
    /// character.
    Member,
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the token is not a JWT with the claims sub, name, aud and exp",
            Self::Signature => "the token's signature does not match",
            Self::Expired => "the token has expired",
            Self::Expiry => "the token must expire, within 30 days",
            Self::Audience => "the token is meant for another audience",
            Self::Member => "the token's sub or name is not valid",
        })
    }
}

impl core::error::Error for TokenError {}

/// A key of one algorithm: a secret that signs and verifies, or a public key that only verifies.
#[derive(Clone)]
pub enum TokenKey {
    /// HS256.
    Secret(Hs256Key),
    /// EdDSA over Ed25519.
    Public(<Ed25519 as jwt_compact::Algorithm>::VerifyingKey),
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Secret(_) => "TokenKey::Secret(…)",
            Self::Public(_) => "TokenKey::Public(…)",
        })
    }
}

impl TokenKey {
    /// Shortest HS256 secret, in bytes.
    pub const MIN_SECRET_BYTES: usize = 32;

    /// The HS256 key of this secret; `None` when it is shorter than [`TokenKey::MIN_SECRET_BYTES`].
    #[must_use]
    pub fn secret(secret: &[u8]) -> Option<Self> {
        (secret.len() >= Self::MIN_SECRET_BYTES).then(|| Self::Secret(Hs256Key::new(secret)))
    }

    /// The Ed25519 public key in these 32 bytes; `None` when they are not a point of the curve.
    #[must_use]
    pub fn public(bytes: &[u8]) -> Option<Self> {
        VerifyingKey::from_slice(bytes).ok().map(Self::Public)
    }

    /// Verifies a token as [`TokenKey::verify_token`], and returns its member.
    ///
    /// # Errors
    /// [`TokenError`] says which rule the token breaks.
    ///
    /// ```
    /// use gailou_shared::token::{Member, Role, TokenError, TokenKey};
    /// let key = TokenKey::secret(b"0123456789abcdef0123456789abcdef").unwrap();
    /// let ann = Member { id: "7".parse().unwrap(), name: "Ann".into(), avatar: None, level: 3, role: Role::Member };
    /// let token = key.sign(&ann, "gailou", 1_800_000_000..1_800_000_060).unwrap();
    /// assert_eq!(key.verify(&token, "gailou", 1_800_000_000), Ok(ann));
    /// assert_eq!(key.verify(&token, "gailou", 1_800_000_100), Err(TokenError::Expired));
    /// ```
    pub fn verify(&self, token: &str, audience: &str, now: u64) -> Result<Member, TokenError> {
        self.verify_token(token, audience, now).map(|verified| verified.member)
    }

    /// Verifies a token at `now` (Unix seconds). A guest has the role `member`, whatever the token says.
    ///
    /// # Errors
    /// [`TokenError`] says which rule the token breaks.
    pub fn verify_token(&self, token: &str, audience: &str, now: u64) -> Result<VerifiedToken, TokenError> {
        self.verify_parsed(&ParsedToken::parse(token)?, audience, now)
    }

    /// As [`TokenKey::verify_token`].
    pub(crate) fn verify_parsed(
        &self,
        token: &ParsedToken<'_>,
        audience: &str,
        now: u64,
    ) -> Result<VerifiedToken, TokenError> {
        let claims = match self {
            Self::Secret(key) => verified_claims(Hs256.validator::<MemberClaims>(key).validate(&token.0))?,
            Self::Public(key) => verified_claims(Ed25519.validator::<MemberClaims>(key).validate(&token.0))?,
        };
        let now = i64::try_from(now).map_err(|_| TokenError::Expiry)?;
        let expires = claims.expiration.ok_or(TokenError::Expiry)?.timestamp();
        if expires + CLOCK_LEEWAY_SECONDS < now {
            return Err(TokenError::Expired);
        }
        if expires > now + limits::MAX_TOKEN_LIFETIME_SECONDS as i64 + CLOCK_LEEWAY_SECONDS {
            return Err(TokenError::Expiry);
        }
        if claims.not_before.is_some_and(|from| from.timestamp() > now + CLOCK_LEEWAY_SECONDS) {
            return Err(TokenError::Expiry);
        }
        let custom = claims.custom;
        if !custom.aud.0.iter().any(|name| name == audience) {
            return Err(TokenError::Audience);
        }
        let issued_at = claims.issued_at.and_then(|at| u64::try_from(at.timestamp()).ok());
        let email = custom.email.clone();
        let member = member_of(custom)?;
        let email = email.filter(|_| member.id.kind() == MemberKind::Host);
        let valid_until = u64::try_from(expires + CLOCK_LEEWAY_SECONDS).map_err(|_| TokenError::Expired)?;
        Ok(VerifiedToken { member, issued_at, valid_until, email })
    }

    /// A token for `member` that is issued at the start of `validity` and expires at its end (Unix seconds); `None`
    /// for a public key, which cannot sign, and for a time that a token cannot express.
    #[must_use]
    pub fn sign(&self, member: &Member, audience: &str, validity: Range<u64>) -> Option<String> {
        let Self::Secret(key) = self else { return None };
        let mut claims = Claims::new(MemberClaims {
            sub: alloc::format!("{}", member.id),
            name: member.name.clone(),
            avatar: member.avatar.clone(),
            level: member.level,
            role: member.role,
            email: None,
            aud: Audience(alloc::vec![audience.to_owned()]),
        });
        claims.issued_at = chrono::DateTime::from_timestamp(i64::try_from(validity.start).ok()?, 0);
        claims.expiration = chrono::DateTime::from_timestamp(i64::try_from(validity.end).ok()?, 0);
        Hs256.token(&Header::empty(), &claims, key).ok()
    }
}

/// A JWT that is not verified yet.
pub(crate) struct ParsedToken<'a>(UntrustedToken<'a, TokenHeader>);

impl<'a> ParsedToken<'a> {
    /// # Errors
    /// [`TokenError::Malformed`].
    pub(crate) fn parse(token: &'a str) -> Result<Self, TokenError> {
        if token.len() > limits::MAX_TOKEN_BYTES {
            return Err(TokenError::Malformed);
        }
        let token = UntrustedToken::<TokenHeader>::try_from(token).map_err(|_| TokenError::Malformed)?;
        // RFC 7515, section 4.1.11: an extension that is critical and not understood refuses the token.
        if token.header().other_fields.crit.is_some() {
            return Err(TokenError::Malformed);
        }
        Ok(Self(token))
    }

    /// See [`claimed_member`].
    pub(crate) fn claimed_member(&self) -> Option<MemberId> {
        #[derive(Deserialize)]
        struct ClaimedMember {
            sub: String,
        }
        self.0.deserialize_claims_unchecked::<ClaimedMember>().ok()?.custom.sub.parse().ok()
    }
}

/// The member that a token names, without verifying it: for rate limits and the choice of a key, never for
/// permissions.
/// `None` when the text is not a token with a member.
#[must_use]
pub fn claimed_member(token: &str) -> Option<MemberId> {
    ParsedToken::parse(token).ok()?.claimed_member()
}

fn verified_claims(
    validated: Result<Token<MemberClaims, TokenHeader>, jwt_compact::ValidationError>,
) -> Result<Claims<MemberClaims>, TokenError> {
    use jwt_compact::ValidationError as V;
    match validated {
        Ok(token) => Ok(token.into_parts().1),
        Err(
            V::AlgorithmMismatch { .. }
            | V::MalformedSignature(_)
            | V::InvalidSignature
            | V::InvalidSignatureLen { .. },
        ) => Err(TokenError::Signature),
        Err(_) => Err(TokenError::Malformed),
    }
}

/// The member of these claims. What cannot be seen is taken out of the name, so that a host need not know the
/// rules; a guest and an account may have none.
fn member_of(claims: MemberClaims) -> Result<Member, TokenError> {
    let id: MemberId = claims.sub.parse().map_err(|_| TokenError::Member)?;
    let is_guest = id.kind() == MemberKind::Guest;
    let may_be_empty = matches!(id.kind(), MemberKind::Guest | MemberKind::Account) && claims.name.is_empty();
    let name = shown_name(&claims.name).or_else(|| may_be_empty.then(String::new));
    let Some(name) = name.filter(|_| id.kind() != MemberKind::Imported) else { return Err(TokenError::Member) };
    let avatar = claims.avatar.filter(|avatar| is_avatar(avatar));
    let role = if is_guest { Role::Member } else { claims.role };
    Ok(Member { id, name, avatar, level: claims.level, role })
}

/// The name that a host gives a member, as readers see it: without what cannot be seen; `None` where nothing of it can,
/// where it has more than [`limits::MAX_NAME_CHARS`] characters, or a control character.
///
/// ```
/// use gailou_shared::token::shown_name;
/// assert_eq!(shown_name(" Ann\u{200b} ").as_deref(), Some("Ann"));
/// assert_eq!((shown_name("\u{3164}"), shown_name("A\nnn"), shown_name(&"x".repeat(65))), (None, None, None));
/// ```
#[must_use]
pub fn shown_name(name: &str) -> Option<String> {
    let is_short = |name: &String| name.chars().count() <= limits::MAX_NAME_CHARS;
    strip_name(name).filter(|name| is_short(name) && !name.chars().any(char::is_control))
}

/// Whether a page may load this picture, which every reader sees: `http(s)://` or a path, of at most
/// [`limits::MAX_AVATAR_BYTES`] bytes.
#[must_use]
pub fn is_avatar(address: &str) -> bool {
    address.len() <= limits::MAX_AVATAR_BYTES && is_web_address(address)
}

fn is_web_address(text: &str) -> bool {
    (text.starts_with("https://") || text.starts_with("http://") || (text.starts_with('/') && !text.starts_with("//")))
        && !text.chars().any(|c| c.is_control() || c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    const NOW: u64 = 1_800_000_000;
    const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

    fn member(id: u64) -> Member {
        Member { id: MemberId::new(id).unwrap(), name: "Ann".into(), avatar: None, level: 3, role: Role::Admin }
    }

    fn key() -> TokenKey {
        TokenKey::secret(SECRET).unwrap()
    }

    #[test]
    fn token_is_valid_until_it_expires() {
        let token = key().sign(&member(7), "gailou", NOW..NOW + 60).unwrap();
        let check = |audience, now, expected| assert_eq!(key().verify(&token, audience, now), expected);
        check("gailou", NOW, Ok(member(7)));
        check("gailou", NOW + 91, Err(TokenError::Expired));
        check("other", NOW, Err(TokenError::Audience));
        check("gailou", NOW - 40 * 86_400, Err(TokenError::Expiry));
    }

    #[test]
    fn issue_time_is_what_the_token_says() {
        let issued_at = |token: &str| key().verify_token(token, "gailou", NOW).unwrap().issued_at;
        assert_eq!(issued_at(&key().sign(&member(7), "gailou", NOW - 5..NOW + 60).unwrap()), Some(NOW - 5));
        let mut claims = Claims::new(serde_json::json!({"sub": "7", "name": "Ann", "aud": "gailou"}));
        claims.expiration = chrono::DateTime::from_timestamp(NOW as i64 + 60, 0);
        assert_eq!(issued_at(&Hs256.token(&Header::empty(), &claims, &Hs256Key::new(SECRET)).unwrap()), None);
    }

    #[test]
    fn address_is_the_hosts_word_for_its_own_members() {
        let email = |sub: String| {
            let claims = serde_json::json!({"sub": sub, "name": "Ann", "aud": "gailou", "email": "ann@example.com"});
            let mut claims = Claims::new(claims);
            claims.expiration = chrono::DateTime::from_timestamp(NOW as i64 + 60, 0);
            let token = Hs256.token(&Header::empty(), &claims, &Hs256Key::new(SECRET)).unwrap();
            key().verify_token(&token, "gailou", NOW).unwrap().email
        };
        assert_eq!(email("7".into()).as_deref(), Some("ann@example.com"));
        for own in [MemberId::guest(5), MemberId::account(5)] {
            assert_eq!(email(own.get().to_string()), None);
        }
        assert_eq!(
            key().verify_token(&key().sign(&member(7), "gailou", NOW..NOW + 60).unwrap(), "gailou", NOW).unwrap().email,
            None
        );
    }

    #[test]
    fn other_key_or_algorithm_is_refused() {
        let token = key().sign(&member(7), "gailou", NOW..NOW + 60).unwrap();
        let other = TokenKey::secret(b"another secret of more than 32 bytes").unwrap();
        assert_eq!(other.verify(&token, "gailou", NOW), Err(TokenError::Signature));
        let public = TokenKey::public(&[
            0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a, 0x0e, 0xe1,
            0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a,
        ])
        .unwrap();
        assert_eq!(public.verify(&token, "gailou", NOW), Err(TokenError::Signature));
        assert!(TokenKey::secret(b"short").is_none());
    }

    #[test]
    fn eddsa_token_is_verified_by_the_public_key() {
        use jwt_compact::alg::SigningKey;
        let signing = <Ed25519 as jwt_compact::Algorithm>::SigningKey::from_slice(SECRET).unwrap();
        let mut claims = Claims::new(serde_json::json!({"sub": "9", "name": "Bo", "aud": ["x", "gailou"]}));
        claims.expiration = chrono::DateTime::from_timestamp(NOW as i64 + 60, 0);
        let token = Ed25519.token(&Header::empty(), &claims, &signing).unwrap();
        let public = TokenKey::Public(signing.to_verifying_key());
        assert_eq!(public.verify(&token, "gailou", NOW).unwrap().id.get(), 9);
        assert_eq!(key().verify(&token, "gailou", NOW), Err(TokenError::Signature));
    }

    #[test]
    fn guest_has_no_role_and_imported_name_no_token() {
        let sign = |id| key().sign(&member(id), "gailou", NOW..NOW + 60).unwrap();
        let guest = MemberId::guest(5).get();
        assert_eq!(key().verify(&sign(guest), "gailou", NOW).unwrap().role, Role::Member);
        let imported = MemberId::imported("Ann").get();
        assert_eq!(key().verify(&sign(imported), "gailou", NOW), Err(TokenError::Member));
    }

    #[test]
    fn critical_extension_is_refused() {
        for crit in [serde_json::json!(["b64"]), serde_json::json!([]), serde_json::json!("exp")] {
            let claims = serde_json::json!({"sub": "7", "name": "Ann", "aud": "gailou"});
            let mut claims = Claims::new(claims);
            claims.expiration = chrono::DateTime::from_timestamp(NOW as i64 + 60, 0);
            let header = Header::new(serde_json::json!({"crit": crit}));
            let token = Hs256.token(&header, &claims, &Hs256Key::new(SECRET)).unwrap();
            assert_eq!(key().verify(&token, "gailou", NOW), Err(TokenError::Malformed), "{header:?}");
        }
    }

    #[test]
    fn claims_are_parsed_strictly() {
        let check = |claims: serde_json::Value, expected: TokenError| {
            let mut claims = Claims::new(claims);
            claims.expiration = chrono::DateTime::from_timestamp(NOW as i64 + 60, 0);
            let token = Hs256.token(&Header::empty(), &claims, &Hs256Key::new(SECRET)).unwrap();
            assert_eq!(key().verify(&token, "gailou", NOW), Err(expected), "{claims:?}");
        };
        check(serde_json::json!({"sub": "7", "aud": "gailou"}), TokenError::Malformed);
        check(serde_json::json!({"sub": 7, "name": "a", "aud": "gailou"}), TokenError::Malformed);
        check(serde_json::json!({"sub": "07", "name": "a", "aud": "gailou"}), TokenError::Member);
        check(serde_json::json!({"sub": "7", "name": " ", "aud": "gailou"}), TokenError::Member);
        check(serde_json::json!({"sub": "7", "name": "a".repeat(65), "aud": "gailou"}), TokenError::Member);
        check(serde_json::json!({"sub": "7", "name": "a", "aud": "gailou", "role": "god"}), TokenError::Malformed);
        assert_eq!(key().verify("no.jwt", "gailou", NOW), Err(TokenError::Malformed));
    }

    #[test]
    fn unverified_token_names_its_member() {
        let hs256 = key().sign(&member(7), "gailou", NOW..NOW + 60).unwrap();
        assert_eq!(claimed_member(&hs256), MemberId::new(7).ok());
        let forged = hs256.rsplit_once('.').unwrap().0.to_owned() + ".AAAA";
        assert_eq!(claimed_member(&forged), MemberId::new(7).ok(), "the signature is not verified");
        assert_eq!(claimed_member("no.jwt"), None);
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_refused(text: String) {
            prop_assert!(key().verify(&text, "gailou", NOW).is_err());
        }

        #[test]
        fn changed_byte_is_refused(at: prop::sample::Index) {
            let token = key().sign(&member(7), "gailou", NOW..NOW + 60).unwrap();
            let mut bytes = token.to_string().into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            prop_assert!(key().verify(core::str::from_utf8(&bytes).unwrap(), "gailou", NOW).is_err());
        }
    }
}
