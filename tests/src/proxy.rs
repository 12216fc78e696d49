//! A TCP proxy in front of a server: it can cut, hang and heal the way to it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What it does with those who come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Open,
    /// Connections break, new ones are closed at once.
    Cut,
    /// Connections stay, and nothing comes through.
    Hung,
}

/// A listening proxy; it ends with its last connection when this is dropped.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    way: Arc<watch::Sender<Way>>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Forwards what comes to `port` of this machine.
    pub async fn start(port: u16) -> Self {
        Self::at(crate::services::free_port(), port).await
    }

    /// The same, listening at a port that was chosen before.
    pub async fn at(listens: u16, port: u16) -> Self {
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, listens)).await.expect("a free port");
        let way = Arc::new(watch::Sender::new(Way::Open));
        let accepting = tokio::spawn(accept(listener, to, way.clone()));
        Self { port: listens, way, accepting }
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Breaks every connection, and each that is made.
    pub fn cut(&self) {
        self.way.send_replace(Way::Cut);
    }

    /// Keeps every connection and forwards nothing more.
    pub fn hang(&self) {
        self.way.send_replace(Way::Hung);
    }

    /// Forwards again, also what waited.
    pub fn heal(&self) {
        self.way.send_replace(Way::Open);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, to: SocketAddr, way: Arc<watch::Sender<Way>>) {
    loop {
        match listener.accept().await {
            Ok((client, _)) => drop(tokio::spawn(carry(client, to, way.subscribe()))),
            // Too many connections: some will end.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// One connection, until an end closes it or the way is cut.
async fn carry(client: TcpStream, to: SocketAddr, mut way: watch::Receiver<Way>) {
    let (mut gate, here, there) = (way.clone(), way.clone(), way.clone());
    let work = async {
        passable(&mut gate).await;
        let Ok(server) = TcpStream::connect(to).await else { return };
        // As the ends would have it themselves.
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
        tokio::join!(copy(from_client, to_server, here), copy(from_server, to_client, there));
    };
    tokio::select! {
        () = work => {}
        _ = way.wait_for(|way| *way == Way::Cut) => {}
    }
}

async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut way: watch::Receiver<Way>) {
    let mut buffer = vec![0; 64 * 1_024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        passable(&mut way).await;
        if to.write_all(&buffer[..read]).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}

async fn passable(way: &mut watch::Receiver<Way>) {
    // An error says that the proxy is gone, and then the connection is cut.
    let _ = way.wait_for(|way| *way == Way::Open).await;
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    /// Sends back what it gets.
    async fn echo() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
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

    /// Whether a byte comes back on this connection; what was sent before may come before it.
    async fn passes(stream: &mut TcpStream, byte: u8) -> bool {
        let there_and_back = async {
            stream.write_all(&[byte]).await?;
            while stream.read_u8().await? != byte {}
            std::io::Result::Ok(())
        };
        matches!(timeout(Duration::from_millis(200), there_and_back).await, Ok(Ok(())))
    }

    #[tokio::test]
    async fn it_cuts_hangs_and_heals() {
        let proxy = Proxy::start(echo().await).await;
        let connect = async || TcpStream::connect(("127.0.0.1", proxy.port())).await.expect("it listens");
        let mut first = connect().await;
        assert!(passes(&mut first, 1).await);
        proxy.hang();
        assert!(!passes(&mut first, 2).await && !passes(&mut connect().await, 2).await);
        proxy.heal();
        assert!(passes(&mut first, 3).await && passes(&mut connect().await, 3).await);
        proxy.cut();
        assert!(!passes(&mut first, 4).await && !passes(&mut connect().await, 4).await);
        proxy.heal();
        assert!(!passes(&mut first, 5).await, "a broken connection stays broken");
        assert!(passes(&mut connect().await, 5).await);
    }
}
