//! A mail server that takes every mail and delivers none: SMTP (RFC 5321) over a socket of this machine.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::poll_until;

/// A mail as the server has taken it.
#[derive(Debug, Clone)]
pub struct ReceivedMail {
    /// Whom the envelope names.
    pub to: String,
    /// Its header and its text, as they were sent.
    pub message: String,
}

impl ReceivedMail {
    /// The value of a header, which is on one line.
    pub fn header(&self, name: &str) -> &str {
        let prefix = format!("{name}: ");
        self.message.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap_or_default()
    }

    /// The first address in the text.
    pub fn link(&self) -> &str {
        let start = self.message.find("http").expect("a link");
        self.message[start..].split_whitespace().next().expect("a link")
    }
}

/// A mail server of a test.
#[derive(Debug)]
pub struct TestMailbox {
    port: u16,
    mails: Arc<Mutex<Vec<ReceivedMail>>>,
    task: JoinHandle<()>,
}

impl TestMailbox {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let mails = Arc::<Mutex<Vec<ReceivedMail>>>::default();
        let received = mails.clone();
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(converse(socket, received.clone()));
            }
        });
        Self { port, mails, task }
    }

    /// The setting `mail.url` of an origin.
    pub fn url(&self) -> String {
        format!("smtp://127.0.0.1:{}", self.port)
    }

    /// All mails so far.
    pub fn mails(&self) -> Vec<ReceivedMail> {
        self.mails.lock().expect("a lock").clone()
    }

    /// The mail with this number, from 0, once it has arrived.
    pub async fn mail(&self, number: usize) -> ReceivedMail {
        let mails = poll_until(async || self.mails(), |mails| mails.len() > number).await;
        mails.get(number).cloned().expect("the mail arrives")
    }
}

impl Drop for TestMailbox {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One connection: a mail is taken at the line with a dot.
async fn converse(socket: TcpStream, mails: Arc<Mutex<Vec<ReceivedMail>>>) {
    let (reader, mut writer) = socket.into_split();
    let mut lines = BufReader::new(reader).lines();
    let (mut to, mut message) = (String::new(), None::<String>);
    let mut answer = "220 test ESMTP";
    loop {
        if !answer.is_empty() && writer.write_all(format!("{answer}\r\n").as_bytes()).await.is_err() {
            return;
        }
        let Ok(Some(line)) = lines.next_line().await else { return };
        if let Some(text) = &mut message {
            answer = "";
            if line == "." {
                let message = message.take().unwrap_or_default();
                mails.lock().expect("a lock").push(ReceivedMail { to: to.clone(), message });
                answer = "250 taken";
            } else {
                text.push_str(line.strip_prefix('.').unwrap_or(&line));
                text.push('\n');
            }
            continue;
        }
        answer = match line.get(..4).unwrap_or(&line).to_ascii_uppercase().as_str() {
            "EHLO" | "HELO" => "250 test",
            "RCPT" => {
                to = line.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
                "250 ok"
            }
            "DATA" => {
                message = Some(String::new());
                "354 end with a dot"
            }
            "MAIL" | "RSET" | "NOOP" => "250 ok",
            "QUIT" => {
                let _ = writer.write_all(b"221 bye\r\n").await;
                return;
            }
            _ => "500 what?",
        };
    }
}
