//! The server: accepts connections, and closes them in order.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use futures_util::FutureExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tower_service::Service;

use crate::http::hot_path::HotPath;
use crate::http::router::router;
use crate::http::state::HttpState;
use crate::outage_log::OutageLog;
use crate::state::AppState;

/// How long a connection may take to send a request's head, and may be idle between two requests.
const REQUEST_HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the server waits after a connection could not be accepted.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Serves until `stop`, then finishes the requests under way and ends every event stream.
pub async fn serve(app: Arc<AppState>, listener: TcpListener, stop: impl Future<Output = ()> + Send) {
    let state = HttpState::new(app.clone());
    let hot_path = HotPath::new(app, router(&state));
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new()).header_read_timeout(REQUEST_HEAD_TIMEOUT);
    server.http2().timer(TokioTimer::new()).keep_alive_interval(Some(REQUEST_HEAD_TIMEOUT));
    let connections = GracefulShutdown::new();
    let accept_outage = OutageLog::default();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Most likely too many files are open: other connections have to end first.
                let (address, retry_ms) = (listener.local_addr().ok(), ACCEPT_RETRY_INTERVAL.as_millis());
                accept_outage.begin(|| {
                    tracing::warn!(?address, retry_ms, %error, "Could not accept a connection; retrying every {retry_ms} ms");
                });
                tokio::time::sleep(ACCEPT_RETRY_INTERVAL).await;
                continue;
            }
        };
        accept_outage.end(|| tracing::info!("Accepted a connection again"));
        let _ = stream.set_nodelay(true);
        let hot_path = hot_path.clone();
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(address));
            hot_path.clone().call(request)
        });
        let connection = server.serve_connection(TokioIo::new(stream), service).into_owned();
        // A connection that breaks is its client's matter.
        tokio::spawn(connections.watch(connection).map(drop));
    }
    drop(listener);
    state.event_streams.shut_down();
    connections.shutdown().await;
}
