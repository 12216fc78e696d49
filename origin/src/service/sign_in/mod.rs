//! Signing in to accounts of this installation.
//!
//! Who proves an identity, a mailbox or an account at a provider, is signed in to the account that has it, which is
//! made the first time. Administrators and moderators may add passkeys to theirs (`passkeys`). A window of this origin
//! and a page of a site have no cookie in common, so the window hands the page a code that is good once, which the page
//! exchanges. What is signed in is a family of refresh tokens (`session`); a refresh token is exchanged for a token to
//! write with, which lives for minutes, so that an erased or revoked member is out soon without a list.

mod mail;
pub mod passkeys;
mod provider;
mod session;

use gailou_shared::id::MemberId;
use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::token::{Role, is_avatar, shown_name};
use gailou_shared::wire::{ProviderKind, SignInProvider, SignInProviders};

use crate::domain::avatar::AvatarHash;
use crate::domain::email_address::EmailAddress;
use crate::domain::member_contact::ContactPatch;
use crate::domain::sign_in::{OwnAccount, SignInDigest, SignInLink, identity_digest};
use crate::service::{ServiceError, ServiceResult, avatar, guest};
use crate::state::AppState;

pub use mail::{MailedLink, request_mail};
pub use provider::{ProviderRedirect, VISIT_LIFETIME_MS, begin_visit, end_visit};
pub use session::{Session, SignedIn, end, exchange_code, refresh};

/// The id of sign-in by mail among the providers.
pub const EMAIL_PROVIDER: &str = "email";
/// The id in the address that `gailou admin` prints.
pub const ADMIN_PROVIDER: &str = "admin";
/// How often another id is made where one is taken.
const MAX_ID_ATTEMPTS: usize = 8;
/// What the administrator is called until they choose a name.
const ADMIN_NAME: &str = "Admin";

/// The ways to sign in here.
pub fn list_providers(app: &AppState) -> SignInProviders {
    let email = SignInProvider { id: EMAIL_PROVIDER.into(), name: "E-mail".into(), kind: ProviderKind::Email };
    let email = app.mailer.is_some().then_some(email);
    let others = app.sign_in.providers.iter().map(|provider| provider.described.clone());
    SignInProviders { data: email.into_iter().chain(others).collect() }
}

/// Whether a page of this site may get the token of who has signed in: a site that may write and is named, since `*`
/// would name every page on the web, or the installation's own pages.
///
/// # Errors
/// [`ServiceError::SiteNotAllowed`].
pub fn check_return_site(app: &AppState, site: &str) -> ServiceResult<()> {
    let is_named = is_web_origin(site) && app.settings().values.sites.name(site);
    if is_named || site == app.sign_in.public_url() {
        return Ok(());
    }
    Err(ServiceError::SiteNotAllowed(site.chars().take(MAX_SHOWN_SITE_CHARS).collect()))
}

/// How much of a refused site is repeated.
const MAX_SHOWN_SITE_CHARS: usize = 200;

/// Whether a text is a web origin as a browser writes it: `scheme://host` or `scheme://host:port`, and nothing else.
fn is_web_origin(text: &str) -> bool {
    let Some(authority) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) else { return false };
    let is_host = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-._[]:".contains(&b);
    !authority.is_empty() && authority.bytes().all(is_host)
}

/// Makes an address that signs in the administrator of the installation, once.
///
/// # Errors
/// The store's.
pub async fn make_admin_url(app: &AppState) -> ServiceResult<String> {
    make_link(app, ADMIN_PROVIDER, &SignInLink::Admin).await
}

/// Stores an address that signs in once, and returns it.
async fn make_link(app: &AppState, provider: &str, link: &SignInLink) -> ServiceResult<String> {
    let secret = store_link(app, link).await?;
    Ok(format!("{}/v1/auth/{provider}/callback?token={secret}", app.sign_in.public_url()))
}

/// Stores what is good once, and returns its secret.
async fn store_link(app: &AppState, link: &SignInLink) -> ServiceResult<String> {
    let secret = hex::encode(rand::random::<[u8; 32]>());
    app.tables.put_link(&app.sign_in.key.link_digest(&secret), link, app.now()).await?;
    Ok(secret)
}

/// A mailed link that was not opened: who it signs in, and for a page of which site; `None` where it was opened, or is
/// too old.
///
/// # Errors
/// The store's.
pub async fn find_mailed_link(app: &AppState, secret: &str) -> ServiceResult<Option<(EmailAddress, String)>> {
    let link = app.tables.find_link(&app.sign_in.key.link_digest(secret), app.now()).await?;
    let email = link.as_ref().and_then(SignInLink::email);
    Ok(match link {
        Some(SignInLink::Email { site, .. }) => email.map(|email| (email, site)),
        _ => None,
    })
}

/// Opens an address that signs in once, of this provider, in a browser of this language; `None` where it was opened, or
/// is too old.
///
/// # Errors
/// The store's.
pub async fn open_link(
    app: &AppState,
    provider: &str,
    secret: &str,
    language: ReaderLanguage,
) -> ServiceResult<Option<SignedIn>> {
    let Some(link) = app.tables.take_link(&app.sign_in.key.link_digest(secret), app.now()).await? else {
        return Ok(None);
    };
    let email = link.email();
    let (identity, site, page) = match link {
        SignInLink::Email { site, page, state, .. } if provider == EMAIL_PROVIDER => {
            let email = email.ok_or_else(|| ServiceError::Bug("a link of no address".into()))?;
            (NewIdentity::of_mailbox(email), Some(site), page.zip(state))
        }
        SignInLink::Admin if provider == ADMIN_PROVIDER => (NewIdentity::of_admin(), None, None),
        _ => return Ok(None),
    };
    let account = find_or_make(app, identity, language).await?;
    session::begin(app, account, site, page).await.map(Some)
}

/// Who has proved an identity, and what an account is made of for them.
#[derive(Debug)]
struct NewIdentity {
    digest: SignInDigest,
    name: Option<String>,
    avatar: Option<String>,
    email: Option<EmailAddress>,
    role: Role,
}

impl NewIdentity {
    fn of_mailbox(email: EmailAddress) -> Self {
        let digest = identity_digest(EMAIL_PROVIDER, email.as_str());
        Self { digest, name: None, avatar: None, email: Some(email), role: Role::Member }
    }

    fn of_admin() -> Self {
        let name = Some(ADMIN_NAME.to_owned());
        Self { digest: identity_digest(ADMIN_PROVIDER, ""), name, avatar: None, email: None, role: Role::Admin }
    }
}

/// The account of an identity, which is made where there is none. Two at once make one.
async fn find_or_make(app: &AppState, identity: NewIdentity, language: ReaderLanguage) -> ServiceResult<OwnAccount> {
    let former = app.tables.find_identity(&identity.digest).await?;
    let is_erased = |id: MemberId| app.erased_members.contains(id);
    if let Some(id) = former.filter(|id| !is_erased(*id))
        && let Some(account) = app.tables.read_account(id).await?
    {
        add_address(app, id, identity.email, language).await?;
        return Ok(account);
    }
    let name = match identity.role {
        Role::Admin => identity.name.unwrap_or_default(),
        _ => free_name(app, identity.name).await?,
    };
    let avatar = identity.avatar.filter(|address| is_avatar(address));
    let avatar = avatar.or_else(|| avatar_of_mailbox(app, identity.email.as_ref()?));
    let mut account =
        OwnAccount { id: MemberId::account(rand::random()), name, avatar, role: identity.role, created_at: app.now() };
    let mut attempts = 1;
    while !app.tables.insert_account(&account).await? {
        if attempts == MAX_ID_ATTEMPTS {
            return Err(ServiceError::Bug(format!("{attempts} random ids of accounts are taken")));
        }
        attempts += 1;
        account.id = MemberId::account(rand::random());
    }
    let owner = app.tables.claim_identity(&identity.digest, former, account.id, app.now()).await?;
    if owner != account.id {
        // Another request was quicker. The row of this one is of no identity, and without a comment.
        let owner = app.tables.read_account(owner).await?;
        return owner.ok_or_else(|| ServiceError::Bug("an identity without an account".into()));
    }
    add_address(app, account.id, identity.email, language).await?;
    tracing::info!(member = %account.id, "Made the account {}", account.id);
    Ok(account)
}

/// The picture of a mailbox, where a service has such pictures: its address has the hash of the mailbox in it.
fn avatar_of_mailbox(app: &AppState, email: &EmailAddress) -> Option<String> {
    app.avatars.service.as_ref()?;
    Some(avatar::own_address(app, &AvatarHash::of(email)))
}

/// The name that a provider gives, where it may be taken here; else none, and its owner chooses.
async fn free_name(app: &AppState, name: Option<String>) -> ServiceResult<String> {
    let Some(name) = name.and_then(|name| shown_name(&name)) else { return Ok(String::new()) };
    match guest::check_name(app, &name, None).await {
        Ok(()) => Ok(name),
        Err(ServiceError::NameRejected(_)) => Ok(String::new()),
        Err(error) => Err(error),
    }
}

/// Remembers a proved address where the member has none, with the language of mails where none is chosen.
async fn add_address(
    app: &AppState,
    member: MemberId,
    email: Option<EmailAddress>,
    language: ReaderLanguage,
) -> ServiceResult<()> {
    let Some(email) = email else { return Ok(()) };
    let known = app.tables.read_contacts(&[member]).await?.remove(&member);
    if known.as_ref().is_none_or(|contact| contact.email.is_none()) {
        let is_chosen = known.is_some_and(|contact| contact.language.is_some());
        let language = (!is_chosen).then(|| Some(language.name().to_owned()));
        let patch = ContactPatch { email: Some(email), language, ..ContactPatch::default() };
        app.tables.change_contact(member, &patch).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::AllowedOrigins;

    #[test]
    fn only_a_named_web_origin_is_notified_who_has_signed_in() {
        let sites = AllowedOrigins::parse(["https://blog.example", "http://localhost:*", "*"]).unwrap();
        let check = |site: &str, expected: bool| {
            assert_eq!(is_web_origin(site) && sites.name(site), expected, "{site:?}");
        };
        check("https://blog.example", true);
        check("http://localhost:5173", true);
        for wrong in [
            "",
            "*",
            "null",
            "https://evil.example",
            "https://blog.example.evil.example",
            "https://evil.example/https://blog.example",
            "https://blog.example/",
            "https://blog.example/path",
            "https://blog.example?x",
            "https://blog.example#x",
            "https://blog.example@evil.example",
            "https://user@blog.example",
            "HTTPS://BLOG.EXAMPLE",
            "http://blog.example",
            "https://blog.example:8443",
            "javascript:alert(1)//https://blog.example",
            "data:text/html,https://blog.example",
            "//blog.example",
            "https://blog.example\\@evil.example",
            "https://blog.example\n",
            "http://localhost:5173/",
            "http://localhost.evil.example:1",
        ] {
            check(wrong, false);
        }
    }

    proptest::proptest! {
        #[test]
        fn web_origin_has_nothing_that_leads_elsewhere(text in "https?://[a-z0-9.:/?#@\\\\-]{0,30}") {
            let rest = text.split_once("://").map_or("", |(_, rest)| rest);
            let leads_elsewhere = rest.contains(['/', '?', '#', '@', '\\']);
            proptest::prop_assert_eq!(is_web_origin(&text), !rest.is_empty() && !leads_elsewhere);
        }
    }
}
