//! The HTTPS client of the adapters that speak to a service by HTTP.

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Body;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

pub(super) type HttpsClient<B = Full<Bytes>> = Client<HttpsConnector<HttpConnector>, B>;

/// A client that trusts whom browsers trust; servers on the same machine may use plain HTTP. It follows no redirect.
pub(super) fn https_client<B: Body<Data: Send> + Send>() -> HttpsClient<B> {
    let connector = HttpsConnectorBuilder::new().with_webpki_roots().https_or_http().enable_http1().build();
    Client::builder(TokioExecutor::new()).build(connector)
}
