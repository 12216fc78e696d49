//! Proof of work by ALTCHA's scheme, version 1: finding the number that was hashed behind a salt.
//!
//! Stores nothing: the salt says when a challenge expires and for which guest it is, and the signature covers it. Promise:
//! an answer is right only for an unexpired challenge of this key and this guest. Whether it was used before is counted
//! elsewhere, by its [`AnswerId`].
//!
//! A challenge is bound to the guest and not to a network: a phone changes its network, and a browser its address family,
//! between two requests.
//!
//! Source: <https://altcha.org/docs/v2/proof-of-work>, with the delimiter at the end of the salt of
//! <https://altcha.org/security-advisory/>: without it, digits could move from the number into `expires`.

use std::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use gailou_shared::derived_key::derived_key;
use gailou_shared::id::MemberId;
use gailou_shared::wire::AltchaChallenge;
use hmac::{Hmac, Mac as _};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

/// How long a challenge can be answered, in seconds.
pub const ALTCHA_LIFETIME_S: u64 = 300;
const ALTCHA_ALGORITHM: &str = "SHA-256";
/// Base64 with or without its padding.
const ANSWER_ENCODING: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What an answer is known by, once it was given.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct AnswerId([u8; 16]);

impl AnswerId {
    /// The id of an answer: 128 bits of its hash.
    #[must_use]
    pub fn of(answer: &[u8]) -> Self {
        let mut id = [0; 16];
        id.iter_mut().zip(Sha256::digest(answer)).for_each(|(to, from)| *to = from);
        Self(id)
    }
}

impl fmt::Display for AnswerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for AnswerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AnswerId({self})")
    }
}

/// What a challenge needs of chance.
#[derive(Debug, Clone, Copy)]
pub struct AltchaSeed {
    pub salt: [u8; 12],
    pub number: u64,
}

/// Why an answer is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrongAnswer {
    /// It is no answer to a challenge of this key, or not the number.
    NotTheNumber,
    Expired,
    /// The challenge was made for another guest.
    OtherGuest,
}

/// An answer as it was sent, not verified.
#[derive(Debug, Clone, Deserialize)]
pub struct AltchaAnswer {
    algorithm: String,
    challenge: String,
    number: u64,
    salt: String,
    signature: String,
}

impl AltchaAnswer {
    /// The answer in ALTCHA's payload; `None` for what is none.
    #[must_use]
    pub fn parse(payload: &str) -> Option<Self> {
        serde_json::from_slice(&ANSWER_ENCODING.decode(payload).ok()?).ok()
    }

    /// The value of a parameter of the salt.
    fn parameter(&self, name: &str) -> Option<u64> {
        let (_, parameters) = self.salt.split_once('?')?;
        let values = parameters.split('&').filter_map(|parameter| parameter.split_once('='));
        let mut values = values.filter(|(key, _)| *key == name).map(|(_, value)| value);
        values.next()?.parse().ok()
    }
}

/// The key that signs challenges.
#[derive(Clone)]
pub struct AltchaKey(Hmac<Sha256>);

impl fmt::Debug for AltchaKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AltchaKey(…)")
    }
}

impl AltchaKey {
    /// The key made from this secret, of any length.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        Self(derived_key(b"gailou challenge\0", secret))
    }

    /// A challenge for a guest, to be answered within [`ALTCHA_LIFETIME_S`] by up to `max_number + 1` hashes.
    #[must_use]
    pub fn challenge(&self, guest: MemberId, now_s: u64, max_number: u32, seed: AltchaSeed) -> AltchaChallenge {
        let expires_s = now_s.saturating_add(ALTCHA_LIFETIME_S);
        let salt = format!("{}?expires={expires_s}&guest={guest}&", hex::encode(seed.salt));
        let challenge = hash_hex(&salt, seed.number % (u64::from(max_number) + 1));
        let signature = hex::encode(self.0.clone().chain_update(&challenge).finalize().into_bytes());
        AltchaChallenge { algorithm: ALTCHA_ALGORITHM.into(), challenge, maxnumber: max_number, salt, signature }
    }

    /// Verifies the answer of a guest; what it is known by from now on.
    ///
    /// # Errors
    /// [`WrongAnswer`].
    pub fn verify(&self, answer: &AltchaAnswer, guest: MemberId, now_s: u64) -> Result<AnswerId, WrongAnswer> {
        // Behind the delimiter there are digits alone, so no other salt and number are hashed as the same bytes.
        if answer.algorithm != ALTCHA_ALGORITHM || !answer.salt.ends_with('&') {
            return Err(WrongAnswer::NotTheNumber);
        }
        let challenge = hash_hex(&answer.salt, answer.number);
        let signature = hex::decode(&answer.signature).map_err(|_| WrongAnswer::NotTheNumber)?;
        // In constant time.
        let is_signed = self.0.clone().chain_update(&challenge).verify_slice(&signature).is_ok();
        if !is_signed || challenge != answer.challenge {
            return Err(WrongAnswer::NotTheNumber);
        }
        if answer.parameter("expires").is_none_or(|expires_s| expires_s <= now_s) {
            return Err(WrongAnswer::Expired);
        }
        if answer.parameter("guest") != Some(guest.get()) {
            return Err(WrongAnswer::OtherGuest);
        }
        Ok(AnswerId::of(challenge.as_bytes()))
    }
}

fn hash_hex(salt: &str, number: u64) -> String {
    hex::encode(Sha256::new_with_prefix(salt).chain_update(number.to_string()).finalize())
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD as BASE64, STANDARD_NO_PAD};
    use serde_json::{Value, json};

    use super::*;

    const NOW_S: u64 = 1_800_000_000;
    const SEED: AltchaSeed = AltchaSeed { salt: [7; 12], number: 1_234 };

    fn key() -> AltchaKey {
        AltchaKey::new(b"secret")
    }

    fn guest() -> MemberId {
        MemberId::guest(5)
    }

    /// The payload of ALTCHA's own libraries.
    fn payload(challenge: &AltchaChallenge, number: u64) -> Value {
        let AltchaChallenge { algorithm, challenge, salt, signature, .. } = challenge;
        json!({"algorithm": algorithm, "challenge": challenge, "number": number, "salt": salt, "signature": signature})
    }

    fn verify(payload: &Value, guest: MemberId, now_s: u64) -> Result<AnswerId, WrongAnswer> {
        let answer = AltchaAnswer::parse(&BASE64.encode(payload.to_string())).ok_or(WrongAnswer::NotTheNumber)?;
        key().verify(&answer, guest, now_s)
    }

    /// As `createChallenge({ hmacKey, number, salt })` of altcha-lib computes it: both hashes over hexadecimal text.
    #[test]
    fn challenge_has_the_form_of_altcha() {
        let challenge = key().challenge(guest(), NOW_S, 1_000, SEED);
        let salt = format!("070707070707070707070707?expires=1800000300&guest={}&", guest());
        assert_eq!((challenge.algorithm.as_str(), challenge.maxnumber), ("SHA-256", 1_000));
        assert_eq!(challenge.salt, salt);
        // 1,234 modulo 1,001.
        assert_eq!(challenge.challenge, hex::encode(Sha256::digest(format!("{salt}233"))));
        let mac_key = Sha256::digest(b"gailou challenge\0secret");
        let mac = Hmac::<Sha256>::new_from_slice(&mac_key).unwrap().chain_update(challenge.challenge.as_bytes());
        assert_eq!(challenge.signature, hex::encode(mac.finalize().into_bytes()));
    }

    #[test]
    fn right_answer_is_accepted_until_it_expires() {
        let challenge = key().challenge(guest(), NOW_S, 10_000, SEED);
        let right = payload(&challenge, 1_234);
        let id = verify(&right, guest(), NOW_S).unwrap();
        assert_eq!(verify(&right, guest(), NOW_S + ALTCHA_LIFETIME_S - 1), Ok(id));
        assert_eq!(verify(&right, guest(), NOW_S + ALTCHA_LIFETIME_S), Err(WrongAnswer::Expired));
        assert_eq!(verify(&right, MemberId::guest(6), NOW_S), Err(WrongAnswer::OtherGuest));
        let other = key().challenge(guest(), NOW_S, 10_000, AltchaSeed { salt: [8; 12], ..SEED });
        assert_ne!(verify(&payload(&other, 1_234), guest(), NOW_S), Ok(id));
    }

    #[test]
    fn forged_and_spliced_answers_are_refused() {
        let challenge = key().challenge(guest(), NOW_S, 10_000, SEED);
        let right = payload(&challenge, 1_234);
        let with = |field: &str, value: Value| {
            let mut changed = right.clone();
            changed[field] = value;
            changed
        };
        let own = AltchaKey::new(b"another secret").challenge(guest(), NOW_S, 10_000, SEED);
        let spliced_salt = format!("{}1", challenge.salt);
        let undelimited = challenge.salt.trim_end_matches('&');
        let later = challenge.salt.replace("expires=1800000300", "expires=1900000300");
        let mut spliced = with("salt", json!(spliced_salt));
        spliced["number"] = json!(234);
        for wrong in [
            with("number", json!(1_235)),
            with("number", json!("1234")),
            with("number", json!(-1)),
            with("algorithm", json!("SHA-1")),
            with("signature", json!("")),
            with("signature", json!("zz")),
            with("signature", json!(own.signature)),
            with("challenge", json!("00")),
            with("salt", json!(undelimited)),
            with("salt", json!(later)),
            payload(&own, 1_234),
            spliced,
            json!({}),
            json!(7),
        ] {
            assert_eq!(verify(&wrong, guest(), NOW_S), Err(WrongAnswer::NotTheNumber), "{wrong}");
        }
    }

    #[test]
    fn payload_is_json_in_base64_with_or_without_padding() {
        let right = payload(&key().challenge(guest(), NOW_S, 10_000, SEED), 1_234).to_string();
        assert!(AltchaAnswer::parse(&BASE64.encode(&right)).is_some());
        assert!(AltchaAnswer::parse(&STANDARD_NO_PAD.encode(&right)).is_some());
        for wrong in ["", "0.token-of_turnstile", "e30=", &right] {
            assert!(AltchaAnswer::parse(wrong).is_none(), "{wrong}");
        }
    }
}
