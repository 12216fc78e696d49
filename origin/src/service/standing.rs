//! What moderators have said of a member who is about to write.

use gailou_shared::token::{Member, Role};

use crate::service::{ServiceError, ServiceResult};
use crate::state::AppState;

/// Refuses a member who is muted. An admin is not: one who was could not end it.
///
/// # Errors
/// [`ServiceError::Muted`].
pub fn check_not_muted(app: &AppState, member: &Member) -> ServiceResult<()> {
    let muted_until = app.standings.rules_of(member.id).muted_until;
    match muted_until.filter(|until| app.now() < *until && member.role < Role::Admin) {
        Some(until) => Err(ServiceError::Muted(until)),
        None => Ok(()),
    }
}
