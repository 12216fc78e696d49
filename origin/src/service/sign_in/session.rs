//! Browsers and apps that are signed in.
//!
//! Promise: a code works once, for a page of its site; a refresh token works once; one that is presented again ends
//! its family, and so do an erasure, and a time before which tokens are refused.

use gailou_shared::token::Member;

use crate::domain::sign_in::{OwnAccount, RefreshFamily, RefreshToken, SignInLink};
use crate::service::sign_in::store_link;
use crate::service::{ServiceError, ServiceResult, avatar};
use crate::state::AppState;

/// How long a token to write with lives, in seconds (15 minutes): so long an erased account may still write where no
/// process has heard of it.
const ACCESS_LIFETIME_S: u64 = 900;
/// How long a page has to exchange a code.
const CODE_LIFETIME_MS: u64 = 120_000;

/// What a client holds from now on.
#[derive(Debug)]
pub struct Session {
    /// The token to write with.
    pub token: String,
    /// When it expires, in Unix milliseconds.
    pub expires_at: u64,
    /// What the next one is exchanged for.
    pub refresh_token: String,
}

/// Who has signed in now.
#[derive(Debug)]
pub struct SignedIn {
    pub session: Session,
    /// Whose page gets the token, and the code for a session of its own.
    pub site: Option<(String, String)>,
    /// The page that takes the code, and its state, where no window was opened by it.
    pub page: Option<(String, String)>,
}

/// Signs an account in, for a page of this site.
pub(super) async fn begin(
    app: &AppState,
    account: OwnAccount,
    site: Option<String>,
    page: Option<(String, String)>,
) -> ServiceResult<SignedIn> {
    let site = match site {
        Some(site) => {
            let expires_at = app.now() + CODE_LIFETIME_MS;
            let code = SignInLink::Code { account: account.id, site: site.clone(), expires_at };
            Some((site, store_link(app, &code).await?))
        }
        None => None,
    };
    Ok(SignedIn { session: begin_family(app, account).await?, site, page })
}

/// Exchanges a code for a session, for a page of this site; an app has none.
///
/// # Errors
/// [`ServiceError::SignInAgain`] where it is none, was exchanged, is too old, or another site's; or the store's.
pub async fn exchange_code(app: &AppState, code: &str, site: Option<&str>) -> ServiceResult<Session> {
    let found = app.tables.take_link(&app.sign_in.key.link_digest(code), app.now()).await?;
    let Some(SignInLink::Code { account, site: of, expires_at }) = found else { return Err(ServiceError::SignInAgain) };
    let is_good =
        app.now() <= expires_at && site.is_none_or(|site| site == of) && !app.erased_members.contains(account);
    if !is_good {
        return Err(ServiceError::SignInAgain);
    }
    let account = app.tables.read_account(account).await?.ok_or(ServiceError::SignInAgain)?;
    begin_family(app, account).await
}

async fn begin_family(app: &AppState, account: OwnAccount) -> ServiceResult<Session> {
    let now = app.now();
    let token = RefreshToken { account: account.id, family: rand::random(), secret: rand::random() };
    let digest = app.sign_in.key.token_digest(&token);
    let family = RefreshFamily { account: account.id, id: token.family, digest, created_at: now, used_at: now };
    app.tables.begin_family(&family).await?;
    issue(app, account, token)
}

/// Exchanges a refresh token.
///
/// # Errors
/// [`ServiceError::SignInAgain`] where it is none, or its family has ended, or ends by this; or the store's.
pub async fn refresh(app: &AppState, text: &str) -> ServiceResult<Session> {
    let presented = RefreshToken::parse(text).ok_or(ServiceError::SignInAgain)?;
    let RefreshToken { account, family, .. } = presented;
    if app.erased_members.contains(account) {
        return Err(ServiceError::SignInAgain);
    }
    let next = RefreshToken { secret: rand::random(), ..presented };
    let key = &app.sign_in.key;
    let (used, new) = (key.token_digest(&presented), key.token_digest(&next));
    let rotated = app.tables.rotate_family(account, family, &used, &new, app.now()).await?;
    let rotated = rotated.ok_or(ServiceError::SignInAgain)?;
    let not_before = app.standings.rules_of(account).tokens_not_before.max(app.settings().values.tokens.not_before);
    if not_before.is_some_and(|not_before| rotated.created_at < not_before) {
        app.tables.end_family(account, family).await?;
        return Err(ServiceError::SignInAgain);
    }
    let account = app.tables.read_account(account).await?.ok_or(ServiceError::SignInAgain)?;
    issue(app, account, next)
}

/// Signs out: ends the family of a refresh token, whether it is the newest or not. What is no token ends nothing.
///
/// # Errors
/// The store's.
pub async fn end(app: &AppState, text: &str) -> ServiceResult<()> {
    match RefreshToken::parse(text) {
        Some(token) => Ok(app.tables.end_family(token.account, token.family).await?),
        None => Ok(()),
    }
}

fn issue(app: &AppState, account: OwnAccount, refresh: RefreshToken) -> ServiceResult<Session> {
    let avatar = avatar::address_of(app, &account);
    let OwnAccount { id, name, role, .. } = account;
    let member = Member { id, name, avatar, level: 0, role };
    let now = app.now() / 1_000;
    let key = app.member_keys.own();
    let token = key.and_then(|key| key.sign(&member, &app.config.auth.audience, now..now + ACCESS_LIFETIME_S));
    let token = token.ok_or_else(|| ServiceError::Bug("the installation's own key cannot sign".into()))?;
    let expires_at = (now + ACCESS_LIFETIME_S) * 1_000;
    Ok(Session { token, expires_at, refresh_token: refresh.to_text() })
}
