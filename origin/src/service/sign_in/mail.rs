//! Signing in by a link in a mail.
//!
//! Promise: the answer says nothing about who has an account here, nor does the time that it takes: whether there is
//! one is not looked up before the link is opened.

use std::net::IpAddr;
use std::sync::Arc;

use gailou_shared::page_language::ReaderLanguage;

use crate::domain::email_address::EmailAddress;
use crate::domain::sign_in::SignInLink;
use crate::ports::mailer::Mail;
use crate::service::mail_words::MailWords;
use crate::service::sign_in::{EMAIL_PROVIDER, check_return_site, make_link};
use crate::service::{ServiceError, ServiceResult};
use crate::state::AppState;
use crate::state::admission::NotAdmitted;

/// Most bytes of the address of a page that asks for a link, and of its state.
const MAX_PAGE_BYTES: usize = 2_048;
const MAX_STATE_BYTES: usize = 64;

/// A mail that is requested.
#[derive(Debug)]
pub struct MailedLink {
    pub email: EmailAddress,
    /// Whose page gets the token.
    pub site: String,
    /// The page of it that asks, and what it knows its request by: there a code is taken for the token.
    pub page: Option<String>,
    pub state: Option<String>,
    pub language: ReaderLanguage,
}

/// Sends a link that signs in, in the background.
///
/// # Errors
/// [`ServiceError::NotFound`] where no mail is sent here, `SiteNotAllowed`, `RateLimited`, `NotAdmitted`, or the
/// store's.
pub async fn request_mail(app: &Arc<AppState>, network: Option<IpAddr>, link: MailedLink) -> ServiceResult<()> {
    let Some(mailer) = app.mailer.clone() else {
        return Err(ServiceError::NotFound("readers do not sign in by mail here"));
    };
    check_return_site(app, &link.site)?;
    check_page(&link)?;
    app.rate_limits.count_sign_in_mail(network, link.email.digest()).await?;
    let place = app.sign_in.mails.clone().try_acquire_owned().map_err(|_| ServiceError::from(NotAdmitted))?;
    let MailedLink { email, site, page, state, language } = link;
    let stored = SignInLink::Email { email: email.to_string(), site: site.clone(), page, state };
    let url = make_link(app, EMAIL_PROVIDER, &stored).await?;
    let mail = mail(email, &site, &url, language);
    tokio::spawn(async move {
        let _place = place;
        if let Err(error) = mailer.send(&mail).await {
            let id = &mail.id;
            tracing::info!(id, %error, "Could not send the mail {id} that signs in; its reader asks for another");
        }
    });
    Ok(())
}

/// The page is one of the site, so that no code is handed to another.
fn check_page(link: &MailedLink) -> ServiceResult<()> {
    let MailedLink { site, page, state, .. } = link;
    if let Some(page) = page {
        let is_of_site = page.strip_prefix(site.as_str()).is_some_and(|rest| rest.starts_with('/'));
        let is_plain = page.bytes().all(|b| b.is_ascii_graphic() && b != b'#');
        if !is_of_site || !is_plain || page.len() > MAX_PAGE_BYTES {
            return Err(ServiceError::wrong_field(
                "page",
                "must be the address of a page of the site, without a fragment",
            ));
        }
    }
    let is_state = |state: &String| {
        (1..=MAX_STATE_BYTES).contains(&state.len())
            && state.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    };
    if state.as_ref().is_none_or(is_state) {
        return Ok(());
    }
    Err(ServiceError::wrong_field("state", format!("must be 1 to {MAX_STATE_BYTES} letters, digits, - and _")))
}

fn mail(to: EmailAddress, site: &str, url: &str, language: ReaderLanguage) -> Mail {
    let words = MailWords::of(language);
    let (subject, text) = ((words.sign_in_title)(site), (words.sign_in)(site, url));
    Mail { id: hex::encode(rand::random::<[u8; 16]>()), to, subject, text, html: None, unsubscribe_url: None }
}
