//! The mail server, by SMTP.
//!
//! Each mail has a connection of its own, so that no answer is taken for that to another mail. Nothing is repeated here,
//! and no call is made while the server does not answer. No log line has a mail, an address of a reader, or the password.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart, SinglePart};
use lettre::transport::smtp;
use lettre::transport::smtp::client::{Certificate, CertificateStore, Tls, TlsParameters};
use lettre::{Address, AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::circuit_breaker::CircuitBreaker;
use crate::outage_log::OutageLog;
use crate::ports::failure::Failure;
use crate::ports::mailer::{Mail, MailError, Mailer};
use crate::telemetry::measure_bounded;

/// How long it may take to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a mail may take: a connection, a handshake, and the five steps of a mail, none of which is slow for long.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// Connections to the server.
const MAX_CONNECTIONS: usize = 4;
/// How long a mail waits for one.
const CONNECTION_WAIT: Duration = Duration::from_secs(30);
/// How a certificate begins (RFC 7468).
const BEGIN_CERTIFICATE: &[u8] = b"-----BEGIN CERTIFICATE-----";
/// The answers that are about us and not about the mail (RFC 4954, 5321, 7504): the password, its kind, no encryption, a
/// server that takes no mails.
const ACCOUNT_REFUSALS: [&str; 5] = ["521", "530", "534", "535", "538"];

/// A mail server at an address.
pub struct SmtpMailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    /// One for each connection.
    places: Semaphore,
    from: Mailbox,
    /// The address without the account.
    server: String,
    breaker: CircuitBreaker,
    outage: OutageLog,
}

impl std::fmt::Debug for SmtpMailer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SmtpMailer").field("server", &self.server).finish_non_exhaustive()
    }
}

impl SmtpMailer {
    /// The server at this address, and who mails come from. `ca` has the certificates (PEM) of who may sign the
    /// server's; without it, those that browsers trust may.
    ///
    /// # Errors
    /// When one of them is no address, or `ca` has no certificate. The error does not show the address.
    pub fn new(url: &str, from: &str, ca: Option<&[u8]>) -> Result<Self, Failure> {
        let from: Address = from.parse().map_err(|_| Failure::from("the sender is no address of mail"))?;
        let uri: http::Uri = url.parse().map_err(|_| Failure::from("it is no address of a mail server"))?;
        let host = uri.host().unwrap_or_default();
        let server = uri.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let mut transport = AsyncSmtpTransport::<Tokio1Executor>::from_url(url).map_err(Failure::with_causes)?;
        if let Some(ca) = ca {
            transport = transport.tls(encryption(&uri, ca)?);
        }
        Ok(Self {
            transport: transport.timeout(Some(CONNECT_TIMEOUT)).build(),
            places: Semaphore::new(MAX_CONNECTIONS),
            from: Mailbox::new(None, from),
            breaker: CircuitBreaker::new("mail", &server),
            server,
            outage: OutageLog::default(),
        })
    }

    /// Whether the server takes a connection, and the account.
    ///
    /// # Errors
    /// Why it does not.
    pub async fn check(&self) -> Result<(), Failure> {
        match timeout(SEND_TIMEOUT, self.transport.test_connection()).await {
            Ok(Ok(true)) => Ok(()),
            Ok(Ok(false)) => Err("it answered, and is not ready".into()),
            Ok(Err(error)) => Err(Failure::with_causes(error)),
            Err(_) => Err(no_answer()),
        }
    }

    fn message(&self, mail: &Mail) -> Result<Message, MailError> {
        let cannot =
            |error: &dyn std::fmt::Display| MailError::Refused(format!("it cannot be written: {error}").into());
        let to: Address = mail.to.as_str().parse().map_err(|error| cannot(&error))?;
        let mut message = Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(&mail.subject)
            .message_id(Some(format!("<{}@{}>", mail.id, self.from.email.domain())));
        // No answer of a machine that is out of office.
        message = message.raw_header(raw_header("Auto-Submitted", "auto-generated"));
        if let Some(url) = &mail.unsubscribe_url {
            message = message.raw_header(raw_header("List-Unsubscribe", &format!("<{url}>")));
            message = message.raw_header(raw_header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"));
        }
        let plain = SinglePart::plain(mail.text.clone());
        let message = match &mail.html {
            Some(html) => {
                message.multipart(MultiPart::alternative().singlepart(plain).singlepart(SinglePart::html(html.clone())))
            }
            None => message.header(ContentType::TEXT_PLAIN).body(mail.text.clone()),
        };
        message.map_err(|error| cannot(&error))
    }
}

/// The encryption that an address requires, with a server whose certificate one of `ca` has signed.
fn encryption(uri: &http::Uri, ca: &[u8]) -> Result<Tls, Failure> {
    // Without one, the library would trust no server at all, and say so of each mail.
    if !ca.windows(BEGIN_CERTIFICATE.len()).any(|part| part == BEGIN_CERTIFICATE) {
        return Err("mail.ca has no certificate in PEM".into());
    }
    let ca = Certificate::from_pem(ca).map_err(Failure::with_causes)?;
    let server = TlsParameters::builder(uri.host().unwrap_or_default().to_owned())
        .certificate_store(CertificateStore::None)
        .add_root_certificate(ca)
        .build()
        .map_err(Failure::with_causes)?;
    Ok(if uri.scheme_str() == Some("smtps") { Tls::Wrapper(server) } else { Tls::Required(server) })
}

fn raw_header(name: &'static str, value: &str) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value.to_owned())
}

fn no_answer() -> Failure {
    format!("no answer in {} s", SEND_TIMEOUT.as_secs()).into()
}

/// What an error of the driver says of the mail. The words of a server may repeat a reader's address: its code alone
/// is kept.
fn failure(error: &smtp::Error) -> MailError {
    if let Some(code) = error.status() {
        let code = code.to_string();
        let said: Failure = format!("the server answered {code}").into();
        let is_about_mail = error.is_permanent() && !ACCOUNT_REFUSALS.contains(&code.as_str());
        return if is_about_mail { MailError::Refused(said) } else { MailError::Away(said) };
    }
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    MailError::Away(causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}")).into())
}

#[async_trait]
impl Mailer for SmtpMailer {
    async fn send(&self, mail: &Mail) -> Result<(), MailError> {
        let message = self.message(mail)?;
        let Ok(Ok(_place)) = timeout(CONNECTION_WAIT, self.places.acquire()).await else {
            return Err(MailError::Away("too many mails are on their way".into()));
        };
        if !self.breaker.try_call(Instant::now()) {
            return Err(MailError::Away("it did not answer a moment ago".into()));
        }
        let sent = measure_bounded("mail", "send", SEND_TIMEOUT, self.transport.send(message)).await;
        let sent = match sent {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => {
                let answered = error.status().is_some_and(|code| !ACCOUNT_REFUSALS.contains(&&*code.to_string()));
                Err((answered, failure(&error)))
            }
            Err(_) => Err((false, MailError::Away(no_answer()))),
        };
        let server = &self.server;
        match &sent {
            Ok(()) | Err((true, _)) => {
                self.breaker.record_success();
                self.outage.end(|| tracing::info!(server, "The mail server {server} answers again"));
            }
            Err((false, error)) => {
                self.breaker.record_failure(Instant::now());
                self.outage.begin(|| {
                    tracing::warn!(server, %error, "Could not send a mail by {server}; mails wait, and readers cannot sign in by mail");
                });
            }
        }
        sent.map_err(|(_, error)| error)
    }
}
