//! Guests: members that choose a name of their own, and that this installation signs for.

use std::net::IpAddr;

use gailou_shared::id::{MemberId, MemberKind};
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::{GuestCreated, MemberRef};
use gailou_shared::word_filter::FilterVerdict;
use gailou_shared::{limits, visible_text};

use crate::config::GuestRule;
use crate::domain::name_digest::{NAME_TAKEN_MS, NameDigest};
use crate::domain::visitor::VisitorMark;
use crate::service::standing::check_not_muted;
use crate::service::{ServiceError, ServiceResult, rules};
use crate::state::AppState;

/// Whether guests are allowed here at all.
///
/// # Errors
/// [`ServiceError::GuestsNotAllowed`].
pub fn check_allowed(app: &AppState) -> ServiceResult<()> {
    match app.settings().values.rules.guests {
        GuestRule::Allowed | GuestRule::Held => Ok(()),
        GuestRule::Off => Err(ServiceError::GuestsNotAllowed("guests are not allowed here")),
    }
}

/// Makes a guest of this name, or without one. It counts for the network that asks.
///
/// # Errors
/// [`ServiceError::RateLimited`], `NameRejected`, `Forbidden` for a blocked network, or the store's.
pub async fn create(app: &AppState, network: Option<IpAddr>, name: Option<String>) -> ServiceResult<GuestCreated> {
    app.rate_limits.count_guest(network).await?;
    rules::check_network(app, network)?;
    if let Some(name) = &name {
        check_name(app, name, None).await?;
    }
    sign(app, MemberId::guest(rand::random()), name.unwrap_or_default())
}

/// The guest that a visitor with a widget of another system is, who sends a name with each comment and signs nothing. A
/// network without a name reacts as well.
///
/// # Errors
/// As [`check_allowed`], and [`ServiceError::NameRejected`] or `Forbidden` for a blocked network.
pub async fn of_visitor(app: &AppState, mark: VisitorMark<'_>, network: Option<IpAddr>) -> ServiceResult<Member> {
    check_allowed(app)?;
    rules::check_network(app, network)?;
    let id = app.visitor_key.guest(mark);
    let name = match mark {
        VisitorMark::Email { name, .. } | VisitorMark::Network { name, .. } | VisitorMark::Token { name, .. } => name,
        VisitorMark::Nameless { .. } => "",
    };
    if !name.is_empty() {
        check_name(app, name, Some(id)).await?;
    }
    let guest = Member { id, name: name.to_owned(), avatar: None, level: 0, role: Role::Member };
    check_not_muted(app, &guest)?;
    Ok(guest)
}

/// Gives a guest another name, for what it writes from then on. It counts like a new guest.
///
/// # Errors
/// [`ServiceError::Forbidden`] for who is no guest, else as [`create`].
pub async fn rename(
    app: &AppState,
    guest: &Member,
    network: Option<IpAddr>,
    name: String,
) -> ServiceResult<GuestCreated> {
    if guest.id.kind() != MemberKind::Guest {
        return Err(ServiceError::Forbidden("only guests choose their name here; yours is the site's"));
    }
    app.rate_limits.count_guest(network).await?;
    rules::check_network(app, network)?;
    check_name(app, &name, None).await?;
    sign(app, guest.id, name)
}

/// Refuses a name that cannot be seen, that the word filter finds anything in (a name cannot be masked or wait
/// for a moderator), that is blocked, or that passes for a reserved one or a member's, other than that of `own`.
pub(super) async fn check_name(app: &AppState, name: &str, own: Option<MemberId>) -> ServiceResult<()> {
    visible_text::check_name(name).map_err(|problem| ServiceError::NameRejected(problem.detail()))?;
    if app.dictionary().check(name) != FilterVerdict::Pass {
        return Err(ServiceError::NameRejected("contains words that are not allowed here; choose another"));
    }
    let digest = NameDigest::of(name);
    if app.settings().blocked_names.contains(&digest) {
        return Err(ServiceError::NameRejected("is not allowed here; choose another"));
    }
    let since = app.now().saturating_sub(NAME_TAKEN_MS);
    if app.taken_names.is_reserved(digest) || app.tables.is_name_seen(digest, own, since).await? {
        return Err(ServiceError::NameRejected("is taken, or looks like one that is; choose another"));
    }
    Ok(())
}

fn sign(app: &AppState, id: MemberId, name: String) -> ServiceResult<GuestCreated> {
    let guest = Member { id, name, avatar: None, level: 0, role: Role::Member };
    let now = app.now() / 1_000;
    let validity = now..now + limits::MAX_TOKEN_LIFETIME_SECONDS;
    let key = app.member_keys.own();
    let token = key.and_then(|key| key.sign(&guest, &app.config.auth.audience, validity));
    let token = token.ok_or_else(|| ServiceError::Bug("the guests' key cannot sign".into()))?;
    Ok(GuestCreated { token, member: MemberRef { id: guest.id, name: guest.name } })
}
