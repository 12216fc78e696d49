//! Requests as the edge sends them.

use gailou_shared::edge_protocol::{CLIENT_HEADER, SIGNATURE_HEADER, SignedRequest, sign_request};
use gailou_tests::{ApiRequest, TestOrigin};

pub(crate) const EDGE_SECRET: &str = "the edge and the origin share this secret";

/// The request with the signature of the edge.
pub(crate) fn signed(origin: &TestOrigin, line: &str, body: &str, client: &str, secret: &str) -> ApiRequest {
    let (method, path_query) = line.split_once(' ').expect("METHOD /path");
    let signed = SignedRequest { method, path_query, client, body: body.as_bytes() };
    let signature = sign_request(secret.as_bytes(), origin.app.now() / 1_000, &signed);
    let request = origin.request(line).header(SIGNATURE_HEADER, &signature);
    let request = if client.is_empty() { request } else { request.header(CLIENT_HEADER, client) };
    if body.is_empty() { request } else { request.header("content-type", "application/json").bytes(body) }
}
