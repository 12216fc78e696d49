//! Tokens that were verified lately: a reader sends the same one with each request, and a public key verifies it in some
//! tens of microseconds.

use std::sync::Arc;

use gailou_shared::member_keys::MemberKeys;
use gailou_shared::token::{TokenError, VerifiedToken};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

/// Tokens that are kept: of about 300 bytes each, 2.5 MB.
const MAX_TOKENS: usize = 8_192;

type TokenDigest = [u8; 32];
type KeptToken = (TokenDigest, Arc<VerifiedToken>);

/// The tokens, each in the place that its digest says, where it replaces the one before.
#[derive(Debug)]
pub struct VerifiedTokens {
    audience: String,
    places: Box<[Mutex<Option<KeptToken>>]>,
}

impl VerifiedTokens {
    /// None yet, for tokens of this audience.
    pub fn new(audience: String) -> Self {
        Self { audience, places: (0..MAX_TOKENS).map(|_| Mutex::default()).collect() }
    }

    /// What a token says at `now` (Unix seconds). Always asked with the same keys.
    ///
    /// # Errors
    /// See [`MemberKeys::verify_token`].
    pub fn verify(&self, keys: &MemberKeys, token: &str, now: u64) -> Result<VerifiedToken, TokenError> {
        let digest: TokenDigest = Sha256::digest(token).into();
        let place = &self.places[usize::from(u16::from_le_bytes([digest[0], digest[1]])) % MAX_TOKENS];
        let found = place.lock().as_ref().filter(|(kept, _)| *kept == digest).map(|(_, token)| token.clone());
        if let Some(found) = found.filter(|found| now <= found.valid_until) {
            return Ok((*found).clone());
        }
        let verified = keys.verify_token(token, &self.audience, now)?;
        *place.lock() = Some((digest, Arc::new(verified.clone())));
        Ok(verified)
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::MemberId;
    use gailou_shared::token::{Member, Role};

    use super::*;

    const NOW: u64 = 1_800_000_000;
    const SECRET: &[u8] = b"0123456789abcdef0123456789abcdef";

    #[test]
    fn token_that_is_kept_says_the_same_until_it_expires() {
        let (keys, tokens) = (MemberKeys::from_secret(SECRET).unwrap(), VerifiedTokens::new("gailou".into()));
        let sign = |n: u64| {
            let member = Member {
                id: MemberId::new(n).unwrap(),
                name: format!("{n}"),
                avatar: None,
                level: 0,
                role: Role::Member,
            };
            keys.host().sign(&member, "gailou", NOW..NOW + 60).unwrap()
        };
        // Twice as many as places: some replace others.
        for _ in 0..2 {
            for n in 1..=2 * MAX_TOKENS as u64 {
                let verified = tokens.verify(&keys, &sign(n), NOW).unwrap();
                assert_eq!((verified.member.id.get(), verified.member.name), (n, format!("{n}")));
            }
        }
        let token = sign(7);
        let valid_until = tokens.verify(&keys, &token, NOW).unwrap().valid_until;
        assert!(tokens.verify(&keys, &token, valid_until).is_ok());
        assert_eq!(tokens.verify(&keys, &token, valid_until + 1), Err(TokenError::Expired));
        let forged = token.replace('.', "..");
        assert_eq!(tokens.verify(&keys, &forged, NOW), Err(TokenError::Malformed));
    }
}
