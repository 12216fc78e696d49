//! Tokens of members, which a site signs with the secret that it shares with the server.

use std::time::Duration;

use gailou_shared::id::MemberKind;
use gailou_shared::limits::MAX_TOKEN_LIFETIME_SECONDS;
use gailou_shared::token::{Member, TokenError, TokenKey};

use crate::system_time::now_seconds;

/// How long a token is valid, and for whom it is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenOptions {
    /// How long it is valid, in whole seconds: an hour by default, 30 days at most.
    pub lifetime: Duration,
    /// The server's setting `auth.audience`; `gailou` by default.
    pub audience: String,
}

impl Default for TokenOptions {
    fn default() -> Self {
        Self { lifetime: Duration::from_secs(3_600), audience: "gailou".into() }
    }
}

/// Why a token is not signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignTokenError {
    /// The secret is too short.
    #[error("the secret must have {} bytes or more", TokenKey::MIN_SECRET_BYTES)]
    ShortSecret,
    /// A token is valid for a second at least, and for 30 days at most.
    #[error("a token may be valid for 1 to {MAX_TOKEN_LIFETIME_SECONDS} seconds")]
    Lifetime,
    /// A member of a site has an id below 2^62.
    #[error("the id of a site's member is below 2^62")]
    Id,
    /// The server would refuse the token: the name cannot be shown, or the whole is too long.
    #[error("the server would refuse the token")]
    Refused(#[source] TokenError),
}

/// A token (JWT, HS256) with which a member of your site writes. `secret` is the server's `GAILOU_TOKEN_SECRET`: who has it
/// can be any member, so it never leaves your server. A picture that no page may load is left out by the server.
///
/// # Errors
/// [`SignTokenError`] for a secret of fewer than 32 bytes, a lifetime of less than a second or more than 30 days, and a
/// member whom the server would refuse.
pub fn sign_member_token(secret: &str, member: &Member, options: &TokenOptions) -> Result<String, SignTokenError> {
    sign_at(secret, member, options, now_seconds())
}

fn sign_at(secret: &str, member: &Member, options: &TokenOptions, now: u64) -> Result<String, SignTokenError> {
    let key = TokenKey::secret(secret.as_bytes()).ok_or(SignTokenError::ShortSecret)?;
    let seconds = options.lifetime.as_secs();
    if seconds == 0 || options.lifetime > Duration::from_secs(MAX_TOKEN_LIFETIME_SECONDS) {
        return Err(SignTokenError::Lifetime);
    }
    if member.id.kind() != MemberKind::Host {
        return Err(SignTokenError::Id);
    }
    let token = key.sign(member, &options.audience, now..now + seconds).ok_or(SignTokenError::Lifetime)?;
    key.verify(&token, &options.audience, now).map_err(SignTokenError::Refused)?;
    Ok(token)
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::MemberId;
    use gailou_shared::token::Role;

    use super::*;

    const TEST_SECRET: &str = "0123456789abcdef0123456789abcdef";
    const NOW_SECONDS: u64 = 1_800_000_000;

    fn ann() -> Member {
        let avatar = Some("https://a.example/7.png".into());
        Member { id: MemberId::new(7).unwrap(), name: "Ann".into(), avatar, level: 3, role: Role::Moderator }
    }

    fn lasting(seconds: u64) -> TokenOptions {
        TokenOptions { lifetime: Duration::from_secs(seconds), ..TokenOptions::default() }
    }

    #[test]
    fn server_verifies_what_is_signed() {
        let options = TokenOptions { audience: "blog".into(), ..lasting(60) };
        let token = sign_at(TEST_SECRET, &ann(), &options, NOW_SECONDS).unwrap();
        let key = TokenKey::secret(TEST_SECRET.as_bytes()).unwrap();
        let verified = key.verify_token(&token, "blog", NOW_SECONDS + 60).unwrap();
        assert_eq!((verified.member, verified.issued_at), (ann(), Some(NOW_SECONDS)));
        assert_eq!(key.verify(&token, "blog", NOW_SECONDS + 91), Err(TokenError::Expired));
    }

    #[test]
    fn what_the_server_would_refuse_is_not_signed() {
        let check = |secret: &str, member: &Member, seconds: u64, expected: Option<SignTokenError>| {
            assert_eq!(sign_at(secret, member, &lasting(seconds), NOW_SECONDS).err(), expected);
        };
        let (guest, nameless) =
            (Member { id: MemberId::guest(7), ..ann() }, Member { name: "\u{200b}".into(), ..ann() });
        check(TEST_SECRET, &ann(), MAX_TOKEN_LIFETIME_SECONDS, None);
        check(&TEST_SECRET[1..], &ann(), 60, Some(SignTokenError::ShortSecret));
        check(TEST_SECRET, &ann(), 0, Some(SignTokenError::Lifetime));
        check(TEST_SECRET, &ann(), MAX_TOKEN_LIFETIME_SECONDS + 1, Some(SignTokenError::Lifetime));
        check(TEST_SECRET, &guest, 60, Some(SignTokenError::Id));
        check(TEST_SECRET, &nameless, 60, Some(SignTokenError::Refused(TokenError::Member)));
    }
}
