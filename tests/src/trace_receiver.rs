//! A collector of traces: takes spans by OTLP over HTTP, keeps them, and answers or waits on demand.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::poll_until;

/// Longer than an exporter waits.
const TOO_SLOW: Duration = Duration::from_secs(60);

/// A span as it was sent; ids are hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedSpan {
    pub name: String,
    pub trace: String,
    pub id: String,
    /// Empty for the first of a trace.
    pub parent: String,
    /// The traces that it is linked with.
    pub links: Vec<String>,
    pub attributes: BTreeMap<String, String>,
}

/// A server in the place of a collector.
#[derive(Debug)]
pub struct TraceReceiver {
    pub url: String,
    spans: Mutex<Vec<ReceivedSpan>>,
    requests: Mutex<Vec<String>>,
    /// Whether it answers no request.
    pub is_slow: AtomicBool,
}

impl TraceReceiver {
    /// A collector on a free port of this machine.
    pub async fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let receiver = Arc::new(Self {
            url: format!("http://{}", listener.local_addr().expect("an address")),
            spans: Mutex::default(),
            requests: Mutex::default(),
            is_slow: AtomicBool::new(false),
        });
        let accepting = Arc::downgrade(&receiver);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let Some(receiver) = accepting.upgrade() else { return };
                tokio::spawn(async move { receiver.answer(connection).await });
            }
        });
        receiver
    }

    /// How many requests it has got.
    pub fn requests(&self) -> usize {
        self.requests.lock().expect("no panic").len()
    }

    /// The spans of a trace, once one of them has this name.
    pub async fn trace_with(&self, trace: &str, name: &str) -> Vec<ReceivedSpan> {
        let spans = || async {
            let all = self.spans.lock().expect("no panic").clone();
            all.into_iter().filter(|span| span.trace == trace).collect::<Vec<_>>()
        };
        let found = poll_until(spans, |spans| spans.iter().any(|span| span.name == name)).await;
        assert!(found.iter().any(|span| span.name == name), "no {name} in {found:#?}");
        found
    }

    /// All spans.
    pub fn spans(&self) -> Vec<ReceivedSpan> {
        self.spans.lock().expect("no panic").clone()
    }

    async fn answer(&self, mut connection: TcpStream) {
        let mut bytes = Vec::new();
        loop {
            let Some((head, body)) = read_request(&mut connection, &mut bytes).await else { return };
            self.requests.lock().expect("no panic").push(head.lines().next().unwrap_or_default().to_owned());
            if self.is_slow.load(Ordering::Relaxed) {
                tokio::time::sleep(TOO_SLOW).await;
                return;
            }
            assert!(head.starts_with("POST /v1/traces "), "{head}");
            let sent = ExportTraceServiceRequest::decode(&body[..]).expect("what the protocol says");
            let spans = sent.resource_spans.into_iter().flat_map(|of| of.scope_spans).flat_map(|of| of.spans);
            self.spans.lock().expect("no panic").extend(spans.map(received));
            let answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";
            if connection.write_all(answer).await.is_err() {
                return;
            }
        }
    }
}

/// The head and the body of the next request.
async fn read_request(connection: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<(String, Vec<u8>)> {
    loop {
        if let Some(end) = bytes.windows(4).position(|part| part == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
            let (begin, length) = (end + 4, length.unwrap_or(0_usize));
            if bytes.len() >= begin + length {
                let body = bytes[begin..begin + length].to_vec();
                bytes.drain(..begin + length);
                return Some((head, body));
            }
        }
        let mut part = [0; 8_192];
        let read = connection.read(&mut part).await.ok().filter(|read| *read > 0)?;
        bytes.extend(&part[..read]);
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn received(span: Span) -> ReceivedSpan {
    let text = |KeyValue { key, value, .. }: KeyValue| {
        let value = match value.and_then(|value| value.value) {
            Some(any_value::Value::StringValue(text)) => text,
            Some(any_value::Value::IntValue(number)) => number.to_string(),
            other => format!("{other:?}"),
        };
        (key, value)
    };
    ReceivedSpan {
        name: span.name,
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        links: span.links.iter().map(|link| hex(&link.trace_id)).collect(),
        attributes: span.attributes.into_iter().map(text).collect(),
    }
}
