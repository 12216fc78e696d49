//! Requests as the edge sends them.

use gailou_shared::edge_protocol::{
    BODY_HASH_HEADER, BodyHash, CLIENT_HEADER, SIGNATURE_HEADER, SignatureDirection, SignedRequest, sign_request,
};
use gailou_tests::{ApiRequest, TestMember, TestOrigin};

pub(crate) const EDGE_SECRET: &str = "the edge and the origin share this secret";

/// The request with the signature of the edge.
pub(crate) fn signed(origin: &TestOrigin, line: &str, body: &str, client: &str, secret: &str) -> ApiRequest {
    let (method, path_query) = line.split_once(' ').expect("METHOD /path");
    let (direction, body_hash) = (SignatureDirection::EdgeToOrigin, BodyHash::of(body.as_bytes()));
    with_signature(
        origin,
        line,
        body,
        secret,
        &SignedRequest::anonymous(direction, method, path_query, client, body_hash),
    )
}

/// A member's request under an idempotency key, with the signature of the edge.
pub(crate) fn signed_by(
    origin: &TestOrigin,
    line: &str,
    body: &str,
    member: &TestMember,
    idempotency_key: &str,
) -> ApiRequest {
    let (method, path_query) = line.split_once(' ').expect("METHOD /path");
    let (direction, body_hash) = (SignatureDirection::EdgeToOrigin, BodyHash::of(body.as_bytes()));
    let authorization = format!("Bearer {}", member.token);
    let request = SignedRequest {
        authorization: &authorization,
        idempotency_key,
        ..SignedRequest::anonymous(direction, method, path_query, "192.0.2.7", body_hash)
    };
    with_signature(origin, line, body, EDGE_SECRET, &request).by(member).idempotency_key(idempotency_key)
}

/// A request whose signature is of the origin's direction.
pub(crate) fn signed_as_push(origin: &TestOrigin, line: &str) -> ApiRequest {
    let (method, path_query) = line.split_once(' ').expect("METHOD /path");
    let (direction, body_hash) = (SignatureDirection::OriginToEdge, BodyHash::of(b""));
    let request = SignedRequest::anonymous(direction, method, path_query, "", body_hash);
    with_signature(origin, line, "", EDGE_SECRET, &request)
}

fn with_signature(
    origin: &TestOrigin,
    line: &str,
    body: &str,
    secret: &str,
    request: &SignedRequest<'_>,
) -> ApiRequest {
    let signature = sign_request(secret.as_bytes(), origin.app.now() / 1_000, request);
    let signed = origin.request(line).header(SIGNATURE_HEADER, &signature);
    let signed = signed.header(BODY_HASH_HEADER, &request.body_hash.to_string());
    let signed = if request.client.is_empty() { signed } else { signed.header(CLIENT_HEADER, request.client) };
    if body.is_empty() { signed } else { signed.header("content-type", "application/json").bytes(body) }
}
