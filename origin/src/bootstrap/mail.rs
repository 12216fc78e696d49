//! The server that sends mail.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;

use crate::adapters::smtp::SmtpMailer;
use crate::config::Config;
use crate::domain::email_address::EmailAddress;
use crate::jobs::send_mails::MailSender;
use crate::ports::failure::Failure;
use crate::ports::mailer::Mailer;
use crate::ports::store::Tables;
use crate::state::AppState;

/// The configured server; `None` without one.
pub(super) fn choose(config: &Config) -> anyhow::Result<Option<Arc<dyn Mailer>>> {
    Ok(open(config)?.map(|mailer| Arc::new(mailer) as Arc<dyn Mailer>))
}

/// What sends the mails that notify members; `None` without a server. A mail that could not be ended by its reader is not
/// sent: without the address of this installation there is none either.
pub(super) fn sender(state: &AppState) -> Option<MailSender<dyn Tables>> {
    let mailer = state.mailer.clone()?;
    let Some(public_url) = &state.config.public_url else {
        let setting = "public_url";
        tracing::warn!(setting, "Members are mailed nothing: setting {setting} is missing");
        return None;
    };
    Some(MailSender {
        tables: state.tables.clone(),
        mailer,
        erased_members: state.erased_members.clone(),
        owner: state.config.mail.owner.as_deref().and_then(EmailAddress::parse),
        public_url: public_url.trim_end_matches('/').to_owned(),
        unsubscribe_key: state.unsubscribe_key.clone(),
        clock: state.clock.clone(),
    })
}

fn open(config: &Config) -> anyhow::Result<Option<SmtpMailer>> {
    let Some(url) = &config.mail.url else { return Ok(None) };
    let from = config.mail.sender(config.public_url.as_deref());
    let read = |file: &PathBuf| std::fs::read(file).with_context(|| format!("{} (mail.ca)", file.display()));
    let ca = config.mail.ca.as_ref().map(read).transpose()?;
    let mailer = SmtpMailer::new(url.expose(), &from, ca.as_deref()).map_err(|failure| anyhow::anyhow!("{failure}"));
    mailer.context("the mail server (mail.url)").map(Some)
}

/// Whether the mail server takes a connection, and the account; `None` without one.
pub async fn check(config: &Config) -> Option<Result<(), Failure>> {
    match open(config) {
        Ok(mailer) => Some(mailer?.check().await),
        Err(error) => Some(Err(format!("{error:#}").into())),
    }
}
