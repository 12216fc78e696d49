//! Where a request comes from: the edge's word if the edge signed it, else that of the trusted proxies,
//! else the socket's.
//!
//! Without an edge secret nothing is signed.

use std::net::{IpAddr, SocketAddr};
use std::sync::Once;

use axum::extract::{ConnectInfo, Request};
use axum::http::Method;
use axum::http::header::AUTHORIZATION;
use gailou_shared::edge_protocol::{
    BODY_HASH_HEADER, BodyHash, CLIENT_HEADER, SIGNATURE_HEADER, SignatureDirection, SignedRequest, verify_request,
};
use gailou_shared::limits::{MAX_BODY_BYTES, MAX_UPLOAD_BYTES};
use gailou_shared::network::client_network;

use crate::http::extract::{IDEMPOTENCY_KEY_HEADER, RequestClient, read_body};
use crate::http::problem::Refusal;
use crate::state::AppState;

/// Where proxies write the addresses of the hops before them.
const FORWARDED_FOR: &str = "x-forwarded-for";
/// Where pictures are uploaded.
const UPLOAD_PATH: &str = "/v1/media";
/// Health and metrics, which an operator's tools read past the edge.
const PROBE_PATHS: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// The sender of a request, as its head says.
#[derive(Debug)]
pub(super) struct RequestSender {
    client: RequestClient,
    /// What the edge signed of the body.
    body_hash: Option<BodyHash>,
}

impl RequestSender {
    /// Whom the request counts for; `None` where it is not known, and for what the edge asks for itself.
    pub(super) const fn network(&self) -> Option<IpAddr> {
        self.client.network
    }

    /// Whether the edge has signed the request.
    pub(super) const fn is_edge(&self) -> bool {
        self.client.is_edge
    }

    /// The request with its [`RequestClient`], or `403` where its body is not the one that the edge signed.
    pub(super) async fn admit(self, request: Request) -> Result<Request, Refusal> {
        let Some(body_hash) = self.body_hash else { return Ok(with_client(request, self.client)) };
        let (parts, body) = request.into_parts();
        // Uploads of pictures alone have a larger bound.
        let is_upload = parts.method == Method::POST && parts.uri.path() == UPLOAD_PATH;
        let body = read_body(body, if is_upload { MAX_UPLOAD_BYTES } else { MAX_BODY_BYTES }).await?;
        if !body_hash.is_of(&body) {
            return Err(Refusal::not_from_the_edge());
        }
        Ok(with_client(Request::from_parts(parts, body.into()), self.client))
    }
}

/// Who sent the request, or `403` where the signature is missing though it is required, or is wrong. Nothing of
/// the body is read. `network` is that of the socket ([`network_of_socket`]).
pub(super) fn verify(app: &AppState, network: Option<IpAddr>, request: &Request) -> Result<RequestSender, Refusal> {
    let socket = RequestSender { client: RequestClient { network, is_edge: false }, body_hash: None };
    let Some(secret) = &app.config.edge.secret else { return Ok(socket) };
    let Some(signature) = header_text(request, SIGNATURE_HEADER) else {
        let is_probe = PROBE_PATHS.contains(&request.uri().path());
        let is_refused = app.config.edge.require_edge && !is_probe;
        return if is_refused { Err(Refusal::not_from_the_edge()) } else { Ok(socket) };
    };
    let address = header_text(request, CLIENT_HEADER).unwrap_or_default();
    let body_hash = header_text(request, BODY_HASH_HEADER).and_then(|hash| BodyHash::parse(&hash));
    let body_hash = body_hash.ok_or_else(Refusal::not_from_the_edge)?;
    let signed = SignedRequest {
        direction: SignatureDirection::EdgeToOrigin,
        method: request.method().as_str(),
        path_query: request.uri().path_and_query().map_or("", |path_query| path_query.as_str()),
        client: &address,
        authorization: single_value(request, AUTHORIZATION.as_str())?,
        idempotency_key: single_value(request, IDEMPOTENCY_KEY_HEADER)?,
        body_hash,
    };
    let now = app.now() / 1_000;
    let mut secrets = std::iter::once(secret).chain(&app.config.edge.secret_previous);
    if !secrets.any(|secret| verify_request(secret.expose().as_bytes(), now, &signed, &signature).is_ok()) {
        return Err(Refusal::not_from_the_edge());
    }
    let network = if address.is_empty() {
        None
    } else {
        let address = address.parse().map_err(|_| Refusal::not_from_the_edge())?;
        Some(client_network(address))
    };
    Ok(RequestSender { client: RequestClient { network, is_edge: true }, body_hash: Some(body_hash) })
}

/// The network of the client behind the trusted proxies.
pub(in crate::http) fn network_of_socket(app: &AppState, request: &Request) -> Option<IpAddr> {
    let socket = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|connected| connected.0.ip());
    socket.map(|socket| client_network(forwarded_client(app, request, socket)))
}

fn forwarded_client(app: &AppState, request: &Request, socket: IpAddr) -> IpAddr {
    let proxies = &app.config.trusted_proxies;
    let forwarded = request.headers().get_all(FORWARDED_FOR).iter().map(|value| value.to_str().unwrap_or_default());
    let is_local_proxy = socket.to_canonical().is_loopback() && request.headers().contains_key(FORWARDED_FOR);
    if is_local_proxy && proxies.is_empty() {
        static UNKNOWN_PROXY_WARNING: Once = Once::new();
        UNKNOWN_PROXY_WARNING.call_once(|| {
            let setting = "trusted_proxies";
            tracing::warn!(setting, %socket, "A proxy at {socket} sends X-Forwarded-For, and setting {setting} does not name it: all its readers count as one");
        });
    }
    proxies.client(socket, forwarded)
}

fn with_client(mut request: Request, client: RequestClient) -> Request {
    request.extensions_mut().insert(client);
    request
}

fn header_text(request: &Request, name: &str) -> Option<String> {
    request.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// The value of a header that the edge sends at most once, as the signature covers it.
fn single_value<'r>(request: &'r Request, name: &str) -> Result<&'r str, Refusal> {
    let mut values = request.headers().get_all(name).iter();
    let first = values.next().map_or(Ok(""), |value| value.to_str());
    match (first, values.next()) {
        (Ok(value), None) => Ok(value),
        _ => Err(Refusal::not_from_the_edge()),
    }
}
