//! The HTTPS clients of the adapters that speak to a service by HTTP. They trust whom browsers trust, and follow no
//! redirect.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Body;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use hyper_util::rt::TokioExecutor;
use tower_service::Service;

use crate::domain::webhook_address::is_public;

/// How long an idle connection to an address of the public internet is kept.
const PUBLIC_IDLE_TIMEOUT: Duration = Duration::from_secs(15);

pub(super) type HttpsClient<B = Full<Bytes>, R = GaiResolver> = Client<HttpsConnector<HttpConnector<R>>, B>;

/// A client of a server that the operator has named; servers on the same machine may use plain HTTP.
pub(super) fn https_client<B: Body<Data: Send> + Send>() -> HttpsClient<B> {
    let connector = HttpsConnectorBuilder::new().with_webpki_roots().https_or_http().enable_http1().build();
    Client::builder(TokioExecutor::new()).build(connector)
}

/// A client that finds public addresses alone, unless private ones are allowed. An address that is no name is not
/// resolved, so it has to be judged before the call.
pub(super) fn public_https_client(allows_private: bool) -> HttpsClient<Full<Bytes>, PublicResolver> {
    let resolver = PublicResolver { resolver: GaiResolver::new(), allows_private };
    let mut http = HttpConnector::new_with_resolver(resolver);
    // The connector of HTTPS checks the scheme.
    http.enforce_http(false);
    let connector =
        HttpsConnectorBuilder::new().with_webpki_roots().https_or_http().enable_http1().wrap_connector(http);
    Client::builder(TokioExecutor::new()).pool_idle_timeout(PUBLIC_IDLE_TIMEOUT).build(connector)
}

/// Resolves names to public addresses. What it finds is what is connected to: there is no second look-up between.
#[derive(Debug, Clone)]
pub(super) struct PublicResolver {
    resolver: GaiResolver,
    allows_private: bool,
}

impl Service<Name> for PublicResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Service::<Name>::poll_ready(&mut self.resolver, context)
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let Self { mut resolver, allows_private } = self.clone();
        Box::pin(async move {
            let found: Vec<SocketAddr> = resolver.call(name).await?.collect();
            let open: Vec<SocketAddr> =
                found.into_iter().filter(|address| allows_private || is_public(address.ip())).collect();
            if open.is_empty() {
                return Err(io::Error::other("its name has no public address, and webhooks.allow_private is off"));
            }
            Ok(open.into_iter())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn name_of_this_machine_has_no_public_address() {
        let resolve = async |allows_private| {
            let mut resolver = PublicResolver { resolver: GaiResolver::new(), allows_private };
            resolver.call("localhost".parse().unwrap()).await.map(|found| found.count())
        };
        assert!(resolve(true).await.unwrap() > 0);
        assert!(resolve(false).await.unwrap_err().to_string().contains("no public address"));
    }
}
