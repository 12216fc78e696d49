//! The server: accepts connections, and closes them in order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Version, header};
use axum::response::Response;
use futures_util::FutureExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use rustix::process::{Resource, getrlimit};
use tokio::net::{TcpListener, TcpStream};
use tower_service::Service;

use crate::http::cached_page::JSON_LINES_TYPE;
use crate::http::connections::{
    CHECK_INTERVAL, ConnectionBounds, Connections, FIRST_REQUEST_TIMEOUT, MeasuredBody, OpenConnection,
    RequestInProgress, WatchedStream,
};
use crate::http::hot_path::HotPath;
use crate::http::router::router;
use crate::http::state::HttpState;
use crate::outage_log::OutageLog;
use crate::state::AppState;

/// How long a connection may take to send a further request's head, and may be idle between two requests.
const REQUEST_HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Largest head of a request, in bytes: a token has at most 4,096, a path at most some 1,600.
const MAX_HEAD_BYTES: usize = 32 * 1024;
/// Most requests at a time on one HTTP/2 connection.
const MAX_CONCURRENT_STREAMS: u32 = 100;
/// Most bytes of one HTTP/2 answer that wait in the server.
const MAX_SEND_BUFFER_BYTES: usize = 64 * 1024;
/// How long the server waits after a connection could not be accepted.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// How long requests in progress may take after the signal to stop; then their connections are aborted.
const REQUEST_DRAIN_TIMEOUT: Duration = Duration::from_secs(6);

/// Serves until `stop`, then ends every event stream and finishes the requests in progress. Connections that
/// are open after six seconds more are aborted.
pub async fn serve(app: Arc<AppState>, listener: TcpListener, stop: impl Future<Output = ()> + Send) {
    if let Ok(address) = listener.local_addr() {
        app.sign_in.set_listening(address);
    }
    let state = HttpState::new(app.clone());
    let settings = &app.config.connections;
    // No limit means that connections alone decide.
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let per_network = settings.max_per_network as usize;
    let bounds = ConnectionBounds { total: settings.max_for(descriptors), per_network };
    let connections = Arc::new(Connections::new(bounds));
    let trusted_proxies = app.config.trusted_proxies.clone();
    let hot_path = HotPath::new(app, router(&state));
    let mut protocols = auto::Builder::new(TokioExecutor::new());
    protocols.http1().timer(TokioTimer::new()).header_read_timeout(REQUEST_HEAD_TIMEOUT).max_buf_size(MAX_HEAD_BYTES);
    protocols
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(REQUEST_HEAD_TIMEOUT))
        .keep_alive_timeout(FIRST_REQUEST_TIMEOUT)
        .max_header_list_size(MAX_HEAD_BYTES as u32)
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
        .max_send_buf_size(MAX_SEND_BUFFER_BYTES);
    let accept_outage = OutageLog::default();
    let server = Server { protocols, hot_path, graceful: GracefulShutdown::new() };
    let mut check = tokio::time::interval(CHECK_INTERVAL);
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = check.tick() => {
                connections.abort_overdue();
                continue;
            }
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, address)) => {
                accept_outage.end(|| tracing::info!("Accepted a connection again"));
                let ip = address.ip();
                let is_trusted = ip.to_canonical().is_loopback() || trusted_proxies.trust(ip);
                if let Some(connection) = connections.admit(ip, is_trusted) {
                    server.start(stream, address, connection);
                }
            }
            Err(error) => {
                // Most likely too many files are open: other connections have to end first.
                let (address, retry_ms) = (listener.local_addr().ok(), ACCEPT_RETRY_INTERVAL.as_millis());
                accept_outage.begin(|| {
                    tracing::warn!(?address, retry_ms, %error, "Could not accept a connection; retrying every {retry_ms} ms");
                });
                tokio::time::sleep(ACCEPT_RETRY_INTERVAL).await;
            }
        }
    }
    let address = listener.local_addr().ok();
    drop(listener);
    state.event_streams.shut_down();
    if tokio::time::timeout(REQUEST_DRAIN_TIMEOUT, server.graceful.shutdown()).await.is_err() {
        let (open, drain_ms) = (connections.abort_all(), REQUEST_DRAIN_TIMEOUT.as_millis());
        tracing::warn!(?address, open, drain_ms, "Aborted {open} connections {drain_ms} ms after the signal to stop");
    }
}

/// What serves one connection after the other.
struct Server {
    protocols: auto::Builder<TokioExecutor>,
    hot_path: HotPath,
    graceful: GracefulShutdown,
}

impl Server {
    fn start(&self, stream: TcpStream, address: SocketAddr, connection: OpenConnection) {
        let _ = stream.set_nodelay(true);
        let (hot_path, state) = (self.hot_path.clone(), connection.state.clone());
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let in_progress = state.begin_request();
            let is_multiplexed = request.version() == Version::HTTP_2;
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(address));
            hot_path.clone().call(request).map(move |response| {
                // A blocked HTTP/2 answer does not block the socket, so it has a deadline of its own.
                if is_multiplexed { response.map(|response| with_deadline(response, in_progress)) } else { response }
            })
        });
        let state = connection.state.clone();
        let io = TokioIo::new(WatchedStream::new(stream, connection));
        let serving = self.protocols.serve_connection(io, service).into_owned();
        // A connection that breaks is its client's matter.
        let task = tokio::spawn(self.graceful.watch(serving).map(drop));
        state.set_task(task.abort_handle());
    }
}

/// The answer, which is in progress until it was sent or the connection is aborted. Streams and exports may take longer.
fn with_deadline(response: Response, in_progress: RequestInProgress) -> Response {
    let headers = response.headers();
    let kind = headers.get(header::CONTENT_TYPE);
    let is_stream = kind.is_some_and(|kind| kind == "text/event-stream" || kind == JSON_LINES_TYPE);
    let disposition = headers.get(header::CONTENT_DISPOSITION);
    let is_export = disposition.is_some_and(|disposition| disposition.as_bytes().starts_with(b"attachment"));
    if is_stream || is_export {
        return response;
    }
    response.map(|body| Body::new(MeasuredBody::new(body, in_progress)))
}
