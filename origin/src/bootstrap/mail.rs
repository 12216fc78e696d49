//! The server that sends mail.

use std::sync::Arc;

use anyhow::Context as _;

use crate::adapters::smtp::SmtpMailer;
use crate::config::Config;
use crate::ports::failure::Failure;
use crate::ports::mailer::Mailer;

/// The configured server; `None` without one.
pub(super) fn choose(config: &Config) -> anyhow::Result<Option<Arc<dyn Mailer>>> {
    Ok(open(config)?.map(|mailer| Arc::new(mailer) as Arc<dyn Mailer>))
}

fn open(config: &Config) -> anyhow::Result<Option<SmtpMailer>> {
    let Some(url) = &config.mail.url else { return Ok(None) };
    let from = config.mail.sender(config.public_url.as_deref());
    let mailer = SmtpMailer::new(url.expose(), &from).map_err(|failure| anyhow::anyhow!("{failure}"));
    mailer.context("the mail server (mail.url)").map(Some)
}

/// Whether the mail server takes a connection, and the account; `None` without one.
pub async fn check(config: &Config) -> Option<Result<(), Failure>> {
    match open(config) {
        Ok(mailer) => Some(mailer?.check().await),
        Err(error) => Some(Err(format!("{error:#}").into())),
    }
}
