//! A mail server: takes every mail by SMTP and keeps it, for as long as the test runs.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::poll_until;

/// A mail as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedMail {
    /// To whom the server was asked to deliver it.
    pub to: String,
    /// Headers and body, lines separated by `\n`; a quoted-printable body is decoded.
    pub text: String,
}

impl ReceivedMail {
    /// The value of a header, on one line.
    pub fn header(&self, name: &str) -> String {
        let head = self.text.split("\n\n").next().unwrap_or_default();
        let unfolded = head.replace("\n ", " ").replace("\n\t", " ");
        let value = unfolded.lines().find_map(|line| {
            let (header, value) = line.split_once(':')?;
            header.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        });
        value.unwrap_or_default()
    }

    /// The first address that has a line of its own.
    pub fn link(&self) -> &str {
        self.text.lines().find(|line| line.starts_with("http")).expect("a link")
    }
}

/// A running mail server.
#[derive(Debug)]
pub struct SmtpReceiver {
    address: SocketAddr,
    kept: Arc<Mutex<Vec<ReceivedMail>>>,
    is_silent: Arc<AtomicBool>,
    served: JoinHandle<()>,
}

impl SmtpReceiver {
    /// Starts one on a free port.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let (kept, is_silent) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<AtomicBool>::default());
        let state = (kept.clone(), is_silent.clone());
        let served = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let (kept, is_silent) = state.clone();
                // A client that dies ends its conversation.
                tokio::spawn(async move { drop(converse(connection, &kept, &is_silent).await) });
            }
        });
        Self { address, kept, is_silent, served }
    }

    /// Its address, as `mail.url` takes it.
    pub fn url(&self) -> String {
        format!("smtp://{}", self.address)
    }

    /// Whether it keeps mails and does not answer that it has.
    pub fn be_silent(&self, is_silent: bool) {
        self.is_silent.store(is_silent, Ordering::Relaxed);
    }

    /// The mails that have arrived, in their order.
    pub fn mails(&self) -> Vec<ReceivedMail> {
        self.kept.lock().expect("no test panics with it").clone()
    }

    /// The mail with this number, from 0, once it has arrived.
    pub async fn mail(&self, number: usize) -> ReceivedMail {
        let mails = poll_until(|| async { self.mails() }, |mails| mails.len() > number).await;
        mails.get(number).cloned().expect("the mail arrives")
    }

    /// The mails, once there are so many.
    pub async fn wait_for(&self, count: usize) -> Vec<ReceivedMail> {
        let mails = poll_until(|| async { self.mails() }, |mails| mails.len() >= count).await;
        assert_eq!(mails.len(), count, "{mails:?}");
        mails
    }
}

impl Drop for SmtpReceiver {
    fn drop(&mut self) {
        self.served.abort();
    }
}

/// One connection, as far as a client that sends mail needs it (RFC 5321).
async fn converse(
    connection: TcpStream,
    kept: &Mutex<Vec<ReceivedMail>>,
    is_silent: &AtomicBool,
) -> std::io::Result<()> {
    let (reader, mut writer) = connection.into_split();
    let mut lines = BufReader::new(reader).lines();
    writer.write_all(b"220 test ESMTP\r\n").await?;
    let mut to = String::new();
    while let Some(line) = lines.next_line().await? {
        let verb = line.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
        let answer = match &*verb {
            "EHLO" => "250-test\r\n250 8BITMIME\r\n",
            "RCPT" => {
                to = line.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
                "250 ok\r\n"
            }
            "DATA" => {
                writer.write_all(b"354 go on\r\n").await?;
                let mut text = String::new();
                while let Some(line) = lines.next_line().await?.filter(|line| line != ".") {
                    text.push_str(line.strip_prefix('.').unwrap_or(&line));
                    text.push('\n');
                }
                if let Some((head, body)) = text.split_once("\n\n")
                    && text.contains("quoted-printable")
                {
                    let body = quoted_printable::decode(body, quoted_printable::ParseMode::Robust);
                    let body = body.expect("robust parsing fails on nothing");
                    text = format!("{head}\n\n{}", String::from_utf8_lossy(&body).replace("\r\n", "\n"));
                }
                kept.lock().expect("no test panics with it").push(ReceivedMail { to: to.clone(), text });
                if is_silent.load(Ordering::Relaxed) {
                    std::future::pending::<()>().await;
                }
                "250 taken\r\n"
            }
            "QUIT" => {
                writer.write_all(b"221 bye\r\n").await?;
                return Ok(());
            }
            _ => "250 ok\r\n",
        };
        writer.write_all(answer.as_bytes()).await?;
    }
    Ok(())
}
