//! The rules of moderation: who posts nothing, what is closed by its age, which texts are held whatever their words are.
//!
//! They are not for moderators.

use std::net::IpAddr;

use gailou_shared::id::{CommentId, MemberId, MemberKind, Slot, SubjectKey};
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::{CommentState, ReviewReason, ReviewReasonKind};

use crate::config::GuestRule;
use crate::domain::name_digest::NameDigest;
use crate::domain::row::{CommentList, FloorRange};
use crate::service::filter::FilteredText;
use crate::service::{ServiceError, ServiceResult};
use crate::state::AppState;

const DAY_MS: u64 = 86_400_000;
/// So long readers have seen a guest's comment that is not the first one any more.
const GUEST_TRIAL_MS: u64 = DAY_MS;
/// How a link begins in the HTML of a comment, and what an address has as it is written.
const LINK_TAG: &str = "<a ";
const ADDRESS_MARK: &str = "://";

/// Refuses an author whose name is blocked, or whose network is.
///
/// # Errors
/// [`ServiceError::Forbidden`].
pub(super) fn check_not_blocked(app: &AppState, author: &Member, network: Option<IpAddr>) -> ServiceResult<()> {
    if author.role >= Role::Moderator {
        return Ok(());
    }
    check_network(app, network)?;
    let settings = app.settings();
    let is_blocked =
        !settings.blocked_names.is_empty() && settings.blocked_names.contains(&NameDigest::of(&author.name));
    if is_blocked { Err(ServiceError::Forbidden("this name is blocked here")) } else { Ok(()) }
}

/// Refuses a network that is blocked.
///
/// # Errors
/// [`ServiceError::Forbidden`].
pub(super) fn check_network(app: &AppState, network: Option<IpAddr>) -> ServiceResult<()> {
    let settings = app.settings();
    let blocked = &settings.values.rules.blocked;
    let is_hashed = |network| {
        let hashed = &blocked.hashed_networks;
        !hashed.is_empty() && hashed.contain(app.network_key.digest(network), app.now())
    };
    let is_blocked = network.is_some_and(|network| blocked.networks.contain(network) || is_hashed(network));
    if is_blocked { Err(ServiceError::Forbidden("this network is blocked here")) } else { Ok(()) }
}

/// Refuses a comment on a subject whose first comment is too old.
///
/// # Errors
/// [`ServiceError::SubjectClosed`], or the store's.
pub(super) async fn check_age(app: &AppState, author: &Member, key: &SubjectKey) -> ServiceResult<()> {
    let Some(days) = app.settings().values.rules.close_after_days else { return Ok(()) };
    if author.role >= Role::Moderator {
        return Ok(());
    }
    let oldest = app.tables.list_floors(&CommentList::Roots(key.clone()), FloorRange::oldest(1)).await?;
    let first_at = oldest.first().map_or(u64::MAX, |(_, id)| id.created_ms());
    let is_closed = first_at.saturating_add(u64::from(days) * DAY_MS) <= app.now();
    if is_closed { Err(ServiceError::SubjectClosed) } else { Ok(()) }
}

/// Holds a text of this author where a rule says so.
///
/// # Errors
/// The store's.
pub(super) async fn apply(app: &AppState, author: &Member, text: &mut FilteredText) -> ServiceResult<()> {
    if author.role >= Role::Moderator {
        return Ok(());
    }
    let settings = app.settings();
    let rules = &settings.values.rules;
    if author.id.kind() == MemberKind::Guest {
        if rules.guests == GuestRule::Held {
            hold(text, "guest");
        } else if rules.hold_first_guest_comment && is_first(app, author.id).await? {
            hold(text, "first_guest_comment");
        }
    }
    // An address that is not made a link is one to its readers.
    let links = text.html.matches(LINK_TAG).count().max(text.content.matches(ADDRESS_MARK).count());
    if rules.max_links.is_some_and(|most| links > most as usize) {
        hold(text, "links");
    }
    Ok(())
}

/// Whether no comment of this guest was approved, or seen by readers for a day.
async fn is_first(app: &AppState, guest: MemberId) -> ServiceResult<bool> {
    let a_day_ago = CommentId::from_parts(app.now().saturating_sub(GUEST_TRIAL_MS), Slot::FIRST, 0, 0);
    let has_stood = !app.store.list_history(guest, Some(a_day_ago), 1).await?.is_empty();
    Ok(!has_stood && !app.tables.has_approved(guest).await?)
}

fn hold(text: &mut FilteredText, rule: &str) {
    text.state = CommentState::Review;
    text.reasons.push(ReviewReason { kind: ReviewReasonKind::Rule, detail: rule.into(), count: 1 });
}
