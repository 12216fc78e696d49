//! A receiver of webhooks: keeps what it gets, and answers, waits or breaks off on demand.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, Mac as _};
use serde_json::Value;
use sha2::Sha256;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::poll_until;

/// Longer than an origin waits.
const TOO_SLOW: Duration = Duration::from_secs(30);

/// What it does with the next requests.
#[derive(Debug, Clone)]
pub enum ReceiverBehavior {
    /// Answers with this status.
    Answer(u16),
    /// Answers 302 to this address.
    Redirect(String),
    /// Answers when it is too late.
    Wait,
    /// Closes the connection without an answer.
    Close,
}

/// A request that it has got.
#[derive(Debug, Clone)]
pub struct ReceivedWebhook {
    pub path: String,
    headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl ReceivedWebhook {
    /// The value of a header; empty without one.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The body.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    /// Checks the signature as the Standard Webhooks specify it, by this secret (`whsec_…`).
    #[track_caller]
    pub fn verify(&self, secret: &str) {
        let key = BASE64_STANDARD.decode(secret.strip_prefix("whsec_").expect("a secret")).expect("base64");
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key");
        mac.update(self.header("webhook-id").as_bytes());
        mac.update(b".");
        mac.update(self.header("webhook-timestamp").as_bytes());
        mac.update(b".");
        mac.update(&self.body);
        let signature = self.header("webhook-signature").strip_prefix("v1,").expect("version 1");
        mac.verify_slice(&BASE64_STANDARD.decode(signature).expect("base64")).expect("the signature is right");
    }
}

/// A server in the place of a receiver.
#[derive(Debug)]
pub struct WebhookReceiver {
    pub url: String,
    behavior: Mutex<ReceiverBehavior>,
    received: Mutex<Vec<ReceivedWebhook>>,
}

impl WebhookReceiver {
    /// A receiver on a free port of this machine.
    pub async fn start(behavior: ReceiverBehavior) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let receiver = Arc::new(Self {
            url: format!("http://{}/hook", listener.local_addr().expect("an address")),
            behavior: Mutex::new(behavior),
            received: Mutex::default(),
        });
        let server = receiver.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(server.clone().serve(stream));
            }
        });
        receiver
    }

    pub fn set_behavior(&self, behavior: ReceiverBehavior) {
        *self.behavior.lock().expect("a lock") = behavior;
    }

    /// All requests so far, in order of arrival.
    pub fn received(&self) -> Vec<ReceivedWebhook> {
        self.received.lock().expect("a lock").clone()
    }

    /// The requests, when there are so many.
    pub async fn wait_for(&self, count: usize) -> Vec<ReceivedWebhook> {
        let received = poll_until(|| async { self.received() }, |received| received.len() >= count).await;
        assert_eq!(received.len(), count, "{received:?}");
        received
    }

    async fn serve(self: Arc<Self>, mut stream: TcpStream) {
        while let Some(request) = read_request(&mut stream).await {
            let behavior = self.behavior.lock().expect("a lock").clone();
            self.received.lock().expect("a lock").push(request);
            let head = match behavior {
                ReceiverBehavior::Answer(status) => format!("{status} Scripted\r\n"),
                ReceiverBehavior::Redirect(url) => format!("302 Found\r\nlocation: {url}\r\n"),
                ReceiverBehavior::Wait => {
                    tokio::time::sleep(TOO_SLOW).await;
                    "200 OK\r\n".to_owned()
                }
                ReceiverBehavior::Close => return,
            };
            let answer = format!("HTTP/1.1 {head}content-length: 0\r\n\r\n");
            if stream.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

/// The next request of a connection; `None` at its end.
async fn read_request(stream: &mut TcpStream) -> Option<ReceivedWebhook> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let mut lines = head.lines();
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length")?.1.parse::<usize>().ok()?;
    let mut body = bytes[end..].to_vec();
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    Some(ReceivedWebhook { path, headers, body })
}
