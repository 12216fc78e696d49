//! Members as the host's service knows them today: their names, pictures, levels and friends.
//!
//! Promise: it refuses nothing, and waits for the service no longer than `accounts.timeout_ms`. Where there is no service or
//! no answer, what the token says counts; who signs in here has a row instead. The account of one who signs in here is a row. No list that readers share depends on it, so it is asked before a request has a place
//! among those in progress.

use std::sync::Arc;

use gailou_shared::id::{MemberId, MemberKind};
use gailou_shared::token::Member;
use gailou_shared::wire::MemberAccount;

use crate::ports::accounts::Account;
use crate::service::avatar;
use crate::state::AppState;

/// What the service says of a member; `None` without one, or where it does not know them.
pub(super) async fn look_up(app: &AppState, member: MemberId) -> Option<Arc<Account>> {
    app.accounts.as_ref()?.look_up(member).await
}

/// The author of what a member writes now: with the name and the picture that the service says instead of the token's,
/// and its level, unless moderators gave another one. One who signs in here has the name and the picture that they
/// chose last, which their token may not have yet.
pub(super) async fn author(app: &AppState, member: &Member) -> Member {
    if member.id.kind() == MemberKind::Account
        && let Ok(Some(own)) = app.tables.read_account(member.id).await
    {
        return Member { avatar: avatar::address_of(app, &own), name: own.name, ..member.clone() };
    }
    let Some(account) = look_up(app, member.id).await else { return member.clone() };
    let Account { name, avatar, level, .. } = account.as_ref();
    Member {
        id: member.id,
        name: name.as_ref().unwrap_or(&member.name).clone(),
        avatar: avatar.as_ref().unwrap_or(&member.avatar).clone(),
        level: app.standings.rules_of(member.id).level.or(*level).unwrap_or(member.level),
        role: member.role,
    }
}

/// The account as moderators see it.
pub(super) fn view(app: &AppState, account: &Account) -> MemberAccount {
    let Account { name, avatar, level, .. } = account;
    let avatar = avatar.as_ref().and_then(Option::as_deref).map(|address| app.avatars.addresses.shown(address));
    MemberAccount { name: name.clone(), avatar, level: *level }
}
