//! Refused tokens, on every request that needs one.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use gailou_shared::id::MemberId;
use gailou_tests::{TOKEN_SECRET, id};
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::{Sha256, Sha512};

use super::{RefusalTestBed, refusal};

/// A JWT with these parts and the signature that `sign` computes.
fn jwt(header: &Value, claims: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(header), part(claims));
    let signature = BASE64_URL_SAFE_NO_PAD.encode(sign(signed.as_bytes()));
    format!("{signed}.{signature}")
}

fn hs256(secret: &'static str) -> impl Fn(&[u8]) -> Vec<u8> {
    move |text| {
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap().chain_update(text).finalize().into_bytes().to_vec()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_or_invalid_token_is_401() {
    let bed = RefusalTestBed::new().await;
    let secret = TOKEN_SECRET;
    let now = bed.origin.app.now() / 1_000;
    let head = |alg: &str| json!({"alg": alg, "typ": "JWT"});
    let claims = |change: Value| {
        let mut claims = json!({"sub": "7", "name": "Ann", "aud": "gailou", "exp": now + 600});
        for (name, value) in change.as_object().unwrap() {
            if value.is_null() {
                claims.as_object_mut().unwrap().remove(name)
            } else {
                claims.as_object_mut().unwrap().insert(name.clone(), value.clone())
            };
        }
        claims
    };
    let good = jwt(&head("HS256"), &claims(json!({})), hs256(secret));
    bed.request("GET /v1/me/overlay?ids=").header("authorization", &format!("Bearer {good}")).send().await.expect(200);
    let (start, signature) = good.rsplit_once('.').unwrap();
    let hs512 = |text: &[u8]| {
        Hmac::<Sha512>::new_from_slice(secret.as_bytes()).unwrap().chain_update(text).finalize().into_bytes().to_vec()
    };
    let forged_body = BASE64_URL_SAFE_NO_PAD.encode(claims(json!({"sub": "8"})).to_string());
    let mut tokens: Vec<(String, String)> = vec![
        ("not a JWT".into(), "abc".into()),
        ("three empty parts".into(), "..".into()),
        ("no signature".into(), format!("{start}.")),
        ("another's claims".into(), format!("{}.{forged_body}.{signature}", start.split('.').next().unwrap())),
        ("half a signature".into(), format!("{start}.{}", &signature[..20])),
        (
            "another secret".into(),
            jwt(&head("HS256"), &claims(json!({})), hs256("another-secret-another-secret-another")),
        ),
        ("an empty secret".into(), jwt(&head("HS256"), &claims(json!({})), hs256(""))),
        ("alg none".into(), jwt(&head("none"), &claims(json!({})), |_| vec![])),
        ("alg none, signed".into(), jwt(&head("none"), &claims(json!({})), hs256(secret))),
        ("alg HS512".into(), jwt(&head("HS512"), &claims(json!({})), hs512)),
        ("alg EdDSA".into(), jwt(&head("EdDSA"), &claims(json!({})), hs256(secret))),
        ("EdDSA with a wrong signature".into(), jwt(&head("EdDSA"), &claims(json!({})), |_| vec![7; 64])),
        ("5,000 bytes".into(), jwt(&head("HS256"), &claims(json!({"avatar": "x".repeat(5_000)})), hs256(secret))),
    ];
    let critical = json!({"alg": "HS256", "crit": ["b64"], "b64": false});
    tokens.push(("a critical extension".into(), jwt(&critical, &claims(json!({})), hs256(secret))));
    for (name, change) in [
        ("expired", json!({"exp": now - 60})),
        ("31 days ahead", json!({"exp": now + 31 * 86_400})),
        ("never expires", json!({"exp": null})),
        ("exp is text", json!({"exp": "soon"})),
        ("not yet", json!({"nbf": now + 600})),
        ("no audience", json!({"aud": null})),
        ("another audience", json!({"aud": "gailou2"})),
        ("other audiences", json!({"aud": ["a", "b"]})),
        ("no sub", json!({"sub": null})),
        ("sub is a number", json!({"sub": 7})),
        ("sub 0", json!({"sub": "0"})),
        ("sub 07", json!({"sub": "07"})),
        ("sub -7", json!({"sub": "-7"})),
        ("sub is a name", json!({"sub": "ann"})),
        ("sub 2^63", json!({"sub": "9223372036854775808"})),
        ("sub of a guest", json!({"sub": MemberId::guest(5).to_string()})),
        ("sub of an import", json!({"sub": (3u64 << 61).to_string()})),
        ("no name", json!({"name": null})),
        ("an empty name", json!({"name": "  "})),
        ("65 characters", json!({"name": "楼".repeat(65)})),
        ("a control character", json!({"name": "a\u{7}b"})),
        ("an unknown role", json!({"role": "root"})),
        ("a negative level", json!({"level": -1})),
    ] {
        tokens.push((name.into(), jwt(&head("HS256"), &claims(change), hs256(secret))));
    }
    let mut cases = Vec::new();
    let root = id(&bed.root);
    let lines = [
        "POST /v1/subjects/article/e/comments".to_owned(),
        "GET /v1/me/overlay?ids=1".into(),
        format!("PUT /v1/comments/{root}/like"),
        format!("DELETE /v1/comments/{root}"),
        format!("PATCH /v1/comments/{root}"),
        format!("PUT /v1/comments/{root}/pin"),
        format!("POST /v1/admin/comments/{root}/decision"),
        "PUT /v1/admin/subjects/article/e".into(),
    ];
    let body = json!({"content": "x", "action": "approve"});
    for line in &lines {
        cases.push(refusal(format!("{line}: no token"), bed.request(line).json(&body), 401, "token_missing"));
        for (name, token) in &tokens {
            let call = bed.request(line).json(&body).header("authorization", &format!("Bearer {token}"));
            cases.push(refusal(format!("{line}: {name}"), call, 401, "token_invalid"));
        }
        for value in ["", "Bearer", "Bearer ", "Basic dTpw", &good, &format!("Token {good}")] {
            let call = bed.request(line).json(&body).header("authorization", value);
            cases.push(refusal(format!("{line}: {value:?}"), call, 401, "token_invalid"));
        }
    }
    bed.check(cases).await;
}
