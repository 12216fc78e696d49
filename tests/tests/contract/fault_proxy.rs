//! A proxy in front of an origin that fails as the test says: one fault for each request, in their order.
//!
//! It says whether the origin was asked before it fails. A connection carries one request.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What happens to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProxyFault {
    /// None: it is forwarded, and answered.
    Forwarded,
    /// The connection breaks, and the origin has not been asked.
    Dropped,
    /// The connection breaks after the origin has answered.
    AnswerLost,
    /// The connection breaks in the middle of the origin's answer.
    AnswerCut,
    /// It is answered so, and the origin has not been asked.
    Refused(String),
    /// It is answered so after the origin has answered.
    AnswerReplaced(String),
}

impl ProxyFault {
    /// An answer with this status and code, and a line of the head such as `Retry-After: 1`.
    pub(crate) fn answer(status: u16, code: &str, header: &str) -> String {
        let problem = format!(
            r#"{{"type":"/problems/{code}","title":"T","status":{status},"detail":"D","code":"{code}","trace_id":"t"}}"#
        );
        let header = if header.is_empty() { String::new() } else { format!("{header}\r\n") };
        let length = problem.len();
        format!("HTTP/1.1 {status} T\r\nConnection: close\r\n{header}Content-Length: {length}\r\n\r\n{problem}")
    }

    /// Refused with this status, and the origin has not been asked.
    pub(crate) fn refused(status: u16) -> Self {
        Self::Refused(Self::answer(status, "unavailable", ""))
    }
}

#[derive(Debug, Default)]
struct ProxyState {
    faults: VecDeque<ProxyFault>,
    heads: Vec<String>,
}

/// A listening proxy. It stops when this is dropped.
#[derive(Debug)]
pub(crate) struct FaultProxy {
    base: String,
    state: Arc<Mutex<ProxyState>>,
    accepting: JoinHandle<()>,
}

impl FaultProxy {
    /// A proxy in front of the server at this address, `http://127.0.0.1:8080`.
    pub(crate) async fn start(server: &str) -> Self {
        let target = server.strip_prefix("http://").expect("plain HTTP").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::<Mutex<ProxyState>>::default();
        let accepting = tokio::spawn(accept(listener, target, state.clone()));
        Self { base, state, accepting }
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// These happen to the next requests; those after them are forwarded. The heads of earlier requests are forgotten.
    pub(crate) fn plan(&self, faults: impl IntoIterator<Item = ProxyFault>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = ProxyState { faults: faults.into_iter().collect(), heads: Vec::new() };
    }

    /// The heads of the requests since the plan, in lower case.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).heads.clone()
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, target: String, state: Arc<Mutex<ProxyState>>) {
    while let Ok((client, _)) = listener.accept().await {
        let (target, state) = (target.clone(), state.clone());
        // What fails here is a connection that broke, which is what the client is tested with.
        tokio::spawn(async move { serve(client, &target, &state).await });
    }
}

async fn serve(mut client: TcpStream, target: &str, state: &Mutex<ProxyState>) -> io::Result<()> {
    let Some((head, body)) = read_request(&mut client).await? else { return Ok(()) };
    let fault = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.heads.push(head.to_lowercase());
        state.faults.pop_front().unwrap_or(ProxyFault::Forwarded)
    };
    let answer = match fault {
        ProxyFault::Dropped => return Ok(()),
        ProxyFault::Refused(answer) => answer.into_bytes(),
        _ => {
            let answer = forward(target, &head, &body).await?;
            match fault {
                ProxyFault::AnswerLost => return Ok(()),
                ProxyFault::AnswerCut => answer[..answer.len() - 1].to_vec(),
                ProxyFault::AnswerReplaced(other) => other.into_bytes(),
                _ => answer,
            }
        }
    };
    client.write_all(&answer).await?;
    client.shutdown().await
}

/// The head of a request without the empty line at its end, and the body; `None` at the end of the connection.
async fn read_request(client: &mut TcpStream) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut read = Vec::new();
    loop {
        if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end]).into_owned();
            let length =
                head.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            let mut body = read.split_off(end + 4);
            let missing = length.unwrap_or(0_usize).saturating_sub(body.len());
            let begin = body.len();
            body.resize(begin + missing, 0);
            client.read_exact(&mut body[begin..]).await?;
            return Ok(Some((head, body)));
        }
        if client.read_buf(&mut read).await? == 0 {
            return Ok(None);
        }
    }
}

/// The server's whole answer: it closes the connection after it.
async fn forward(target: &str, head: &str, body: &[u8]) -> io::Result<Vec<u8>> {
    let mut server = TcpStream::connect(target).await?;
    server.write_all(format!("{head}\r\nConnection: close\r\n\r\n").as_bytes()).await?;
    server.write_all(body).await?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer).await?;
    Ok(answer)
}
