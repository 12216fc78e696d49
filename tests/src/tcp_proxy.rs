//! A TCP proxy in front of a server: a test can cut, hang and heal the connection to it.
//!
//! It forwards bytes and knows no protocol.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::POLL_INTERVAL;
use crate::backing_servers::free_port;

/// The size of the buffer of one direction of a connection, in bytes.
const BUFFER_BYTES: usize = 64 * 1_024;

/// What the proxy does with connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProxyMode {
    Forwarding,
    /// Existing connections are broken, and new ones are closed at once.
    Cut,
    /// Connections stay open, and no byte is forwarded.
    Hanging,
}

/// A listening proxy. It stops when this is dropped.
#[derive(Debug)]
pub struct TcpProxy {
    port: u16,
    mode: Arc<watch::Sender<ProxyMode>>,
    accepting: JoinHandle<()>,
}

impl TcpProxy {
    /// A proxy on a free port that forwards to `target_port` of this machine.
    pub async fn start(target_port: u16) -> Self {
        Self::start_on(free_port(), target_port).await
    }

    /// A proxy on a port that was chosen before.
    pub async fn start_on(port: u16, target_port: u16) -> Self {
        let target = SocketAddr::from((Ipv4Addr::LOCALHOST, target_port));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.expect("the port is free");
        let mode = Arc::new(watch::Sender::new(ProxyMode::Forwarding));
        let accepting = tokio::spawn(accept(listener, target, mode.clone()));
        Self { port, mode, accepting }
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Breaks every connection, and closes each new one.
    pub fn cut(&self) {
        self.mode.send_replace(ProxyMode::Cut);
    }

    /// Keeps every connection open and forwards nothing.
    pub fn hang(&self) {
        self.mode.send_replace(ProxyMode::Hanging);
    }

    /// Forwards again, including the bytes that were held back.
    pub fn heal(&self) {
        self.mode.send_replace(ProxyMode::Forwarding);
    }
}

impl Drop for TcpProxy {
    fn drop(&mut self) {
        self.cut();
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, target: SocketAddr, mode: Arc<watch::Sender<ProxyMode>>) {
    loop {
        match listener.accept().await {
            Ok((client, _)) => drop(tokio::spawn(forward(client, target, mode.subscribe()))),
            // Out of file descriptors: open connections will end and free some.
            Err(_) => tokio::time::sleep(POLL_INTERVAL).await,
        }
    }
}

/// Forwards one connection until an end closes it or the proxy is cut.
async fn forward(client: TcpStream, target: SocketAddr, mut mode: watch::Receiver<ProxyMode>) {
    let (mut before_connect, upstream, downstream) = (mode.clone(), mode.clone(), mode.clone());
    let work = async {
        wait_until_forwarding(&mut before_connect).await;
        let Ok(server) = TcpStream::connect(target).await else { return };
        // The proxy must not add Nagle's delay to connections whose ends switch it off.
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
        tokio::join!(copy(from_client, to_server, upstream), copy(from_server, to_client, downstream));
    };
    tokio::select! {
        () = work => {}
        _ = mode.wait_for(|mode| *mode == ProxyMode::Cut) => {}
    }
}

async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut mode: watch::Receiver<ProxyMode>) {
    let mut buffer = vec![0; BUFFER_BYTES];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        wait_until_forwarding(&mut mode).await;
        if to.write_all(&buffer[..read]).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}

async fn wait_until_forwarding(mode: &mut watch::Receiver<ProxyMode>) {
    // An error means that the proxy was dropped, which cuts the connection.
    let _ = mode.wait_for(|mode| *mode == ProxyMode::Forwarding).await;
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// How long a byte may take to come back before it counts as held back.
    const ECHO_TIMEOUT: Duration = Duration::from_millis(200);

    /// A server that sends back what it receives; its port.
    async fn start_echo_server() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.split();
                    let _ = tokio::io::copy(&mut from, &mut to).await;
                });
            }
        });
        port
    }

    /// Whether this byte comes back within `limit`; bytes that were held back may come before it.
    async fn echoes_within(limit: Duration, stream: &mut TcpStream, byte: u8) -> bool {
        let round_trip = async {
            stream.write_all(&[byte]).await?;
            while stream.read_u8().await? != byte {}
            std::io::Result::Ok(())
        };
        matches!(timeout(limit, round_trip).await, Ok(Ok(())))
    }

    /// Whether it comes back at all, on a machine of any speed.
    async fn echoes(stream: &mut TcpStream, byte: u8) -> bool {
        echoes_within(crate::POLL_TIMEOUT, stream, byte).await
    }

    async fn is_held_back(stream: &mut TcpStream, byte: u8) -> bool {
        !echoes_within(ECHO_TIMEOUT, stream, byte).await
    }

    #[tokio::test]
    async fn hang_holds_bytes_back_cut_breaks_connections_and_heal_forwards_again() {
        let proxy = TcpProxy::start(start_echo_server().await).await;
        let connect = async || TcpStream::connect(("127.0.0.1", proxy.port())).await.expect("the proxy listens");
        let mut first = connect().await;
        assert!(echoes(&mut first, 1).await);
        proxy.hang();
        assert!(is_held_back(&mut first, 2).await && is_held_back(&mut connect().await, 2).await);
        proxy.heal();
        assert!(echoes(&mut first, 3).await && echoes(&mut connect().await, 3).await);
        proxy.cut();
        assert!(!echoes(&mut first, 4).await && !echoes(&mut connect().await, 4).await);
        proxy.heal();
        assert!(!echoes(&mut first, 5).await, "a broken connection stays broken");
        assert!(echoes(&mut connect().await, 5).await);
    }
}
