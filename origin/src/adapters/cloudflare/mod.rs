//! Cloudflare's services over HTTPS: the Worker at the edge, and the verification of Turnstile's tokens.

mod turnstile;
mod worker_client;

use bytes::Bytes;
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

pub use turnstile::SiteverifyClient;
pub use worker_client::WorkerClient;

type HttpsClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A client that trusts whom browsers trust; tests use plain HTTP.
fn https_client() -> HttpsClient {
    let connector = HttpsConnectorBuilder::new().with_webpki_roots().https_or_http().enable_http1().build();
    Client::builder(TokioExecutor::new()).build(connector)
}
