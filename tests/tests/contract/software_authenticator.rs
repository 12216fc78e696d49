//! An authenticator in software: what a browser answers with, and, where a test wants it, what none would.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use serde_cbor_2::Value as Cbor;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

const USER_PRESENT: u8 = 0x01;
const USER_VERIFIED: u8 = 0x04;
/// It may be backed up, and is.
const BACKED_UP: u8 = 0x18;
const HAS_CREDENTIAL: u8 = 0x40;

/// The page that asks, and whether the authenticator verifies its user for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AskingPage {
    pub(crate) origin: &'static str,
    pub(crate) rp_id: &'static str,
    pub(crate) is_verified: bool,
    pub(crate) is_framed: bool,
}

/// A passkey with its private key.
#[derive(Clone)]
pub(crate) struct SoftwarePasskey {
    key: SigningKey,
    id: Vec<u8>,
    user: Value,
    /// Signatures so far; 0 for ever where it does not count them.
    pub(crate) counter: u32,
    /// What it says of backups.
    pub(crate) is_backed_up: bool,
}

impl SoftwarePasskey {
    /// Makes one, and the answer that adds it.
    pub(crate) fn create(challenge: &Value, page: AskingPage) -> (Self, Value) {
        let options = &challenge["options"];
        let key = loop {
            if let Ok(key) = SigningKey::from_slice(&rand::random::<[u8; 32]>()) {
                break key;
            }
        };
        let user = options["user"]["id"].clone();
        let passkey = Self { key, id: rand::random::<[u8; 32]>().to_vec(), user, counter: 0, is_backed_up: true };
        let answer = passkey.create_again(challenge, page);
        (passkey, answer)
    }

    /// The answer that adds it, once more.
    pub(crate) fn create_again(&self, challenge: &Value, page: AskingPage) -> Value {
        let mut data = self.authenticator_data(page, HAS_CREDENTIAL);
        data.extend([0; 16]);
        data.extend((self.id.len() as u16).to_be_bytes());
        data.extend(&self.id);
        data.extend(self.public_key());
        let attestation = [
            ("fmt", Cbor::Text("none".into())),
            ("attStmt", Cbor::Map(Default::default())),
            ("authData", Cbor::Bytes(data)),
        ];
        let attestation = attestation.map(|(name, value)| (Cbor::Text(name.into()), value));
        let attestation = serde_cbor_2::to_vec(&Cbor::Map(attestation.into())).expect("CBOR");
        self.credential(&json!({
            "attestationObject": encode(&attestation),
            "clientDataJSON": encode(&client_data("webauthn.create", challenge, page)),
        }))
    }

    /// Signs what signs in.
    pub(crate) fn sign(&mut self, challenge: &Value, page: AskingPage) -> Value {
        let client_data = client_data("webauthn.get", challenge, page);
        let data = self.authenticator_data(page, 0);
        let signed = [&data[..], &Sha256::digest(&client_data)].concat();
        let signature: Signature = self.key.sign(&signed);
        self.credential(&json!({
            "authenticatorData": encode(&data),
            "clientDataJSON": encode(&client_data),
            "signature": encode(signature.to_der().as_bytes()),
            "userHandle": self.user,
        }))
    }

    /// The same credential and another private key.
    pub(crate) fn with_another_key(&self) -> Self {
        let key = SigningKey::from_slice(&[7; 32]).expect("a key");
        Self { key, ..self.clone() }
    }

    fn credential(&self, response: &Value) -> Value {
        let id = encode(&self.id);
        json!({
            "id": id, "rawId": id, "type": "public-key", "response": response, "clientExtensionResults": {},
        })
    }

    fn authenticator_data(&self, page: AskingPage, flags: u8) -> Vec<u8> {
        let verified = if page.is_verified { USER_VERIFIED } else { 0 };
        let backed_up = if self.is_backed_up { BACKED_UP } else { 0 };
        let mut data = Sha256::digest(page.rp_id).to_vec();
        data.push(USER_PRESENT | verified | backed_up | flags);
        data.extend(self.counter.to_be_bytes());
        data
    }

    /// As COSE writes a key of ES256.
    fn public_key(&self) -> Vec<u8> {
        let point = self.key.verifying_key().to_sec1_bytes();
        let (x, y) = (point[1..33].to_vec(), point[33..].to_vec());
        let key = [(1, Cbor::Integer(2)), (3, Cbor::Integer(-7)), (-1, Cbor::Integer(1))];
        let key = key.into_iter().chain([(-2, Cbor::Bytes(x)), (-3, Cbor::Bytes(y))]);
        let key = key.map(|(label, value)| (Cbor::Integer(label), value)).collect();
        serde_cbor_2::to_vec(&Cbor::Map(key)).expect("CBOR")
    }
}

fn client_data(kind: &str, challenge: &Value, page: AskingPage) -> Vec<u8> {
    let challenge = &challenge["options"]["challenge"];
    json!({ "type": kind, "challenge": challenge, "origin": page.origin, "crossOrigin": page.is_framed })
        .to_string()
        .into_bytes()
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
