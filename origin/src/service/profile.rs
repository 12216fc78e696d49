//! The member of a token, and what they change of it themselves.

use gailou_shared::id::MemberKind;
use gailou_shared::token::Member;
use gailou_shared::wire::{NotifyChoice, OwnProfile};

use crate::domain::email_address::EmailAddress;
use crate::domain::member_contact::{ContactPatch, MemberContact};
use crate::service::{ServiceError, ServiceResult, guest};
use crate::state::AppState;

/// New values of a profile; `None` leaves one as it is.
#[derive(Debug, Default)]
pub struct ProfilePatch {
    pub name: Option<String>,
    pub avatar: Option<Option<String>>,
    pub notify: Option<NotifyChoice>,
    pub language: Option<Option<String>>,
}

/// The member, as their account says today.
///
/// # Errors
/// The store's.
pub async fn read(app: &AppState, member: &Member) -> ServiceResult<OwnProfile> {
    let contact = app.tables.read_contacts(&[member.id]).await?.remove(&member.id).unwrap_or_default();
    describe(app, member, contact).await
}

/// Changes what a member says of themselves. A name that is given by the host is the host's to change; tokens have a new
/// one from the next on.
///
/// # Errors
/// [`ServiceError::Forbidden`], `NameRejected`, or the store's.
pub async fn change(app: &AppState, member: &Member, patch: ProfilePatch) -> ServiceResult<OwnProfile> {
    let ProfilePatch { name, avatar, notify, language } = patch;
    let kind = member.id.kind();
    if kind == MemberKind::Guest {
        return Err(ServiceError::Forbidden("a guest has a name alone; change it by PATCH /v1/guests/me"));
    }
    if kind != MemberKind::Account && (name.is_some() || avatar.is_some()) {
        return Err(ServiceError::Forbidden("your name and your picture are those of the site"));
    }
    let _place = app.writes.admit().await?;
    if name.is_some() || avatar.is_some() {
        let account = app.tables.read_account(member.id).await?.ok_or(ServiceError::SignInAgain)?;
        if let Some(name) = name.as_ref().filter(|name| **name != account.name) {
            guest::check_name(app, name, Some(member.id)).await?;
        }
        let avatar = avatar.as_ref().map(Option::as_deref);
        app.tables.change_account(member.id, name.as_deref(), avatar).await?;
    }
    let contact = if notify.is_some() || language.is_some() {
        app.tables.change_contact(member.id, &ContactPatch { email: None, notify, language }).await?
    } else {
        app.tables.read_contacts(&[member.id]).await?.remove(&member.id).unwrap_or_default()
    };
    describe(app, member, contact).await
}

async fn describe(app: &AppState, member: &Member, contact: MemberContact) -> ServiceResult<OwnProfile> {
    let notify = contact.notify();
    let MemberContact { email, language, .. } = contact;
    let kind = member.id.kind();
    let account = match kind {
        MemberKind::Account => app.tables.read_account(member.id).await?,
        _ => None,
    };
    let (name, avatar) = match account {
        Some(account) => (account.name, account.avatar),
        None => (member.name.clone(), member.avatar.clone()),
    };
    Ok(OwnProfile {
        id: member.id,
        name,
        avatar,
        level: member.level,
        role: member.role,
        guest: kind == MemberKind::Guest,
        email: email.as_ref().map(EmailAddress::to_string),
        notify,
        language,
    })
}
