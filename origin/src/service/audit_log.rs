//! The audit log, as moderators read it; and the entries that their calls leave.

use gailou_shared::cursor::{Cursor, CursorList, WalkPosition};
use gailou_shared::id::{AuditId, CommentId, IMPORT_NODE, MemberId, Slot};
use gailou_shared::rank::Sort;
use gailou_shared::token::Member;
use gailou_shared::wire::{AuditPage, AuditRecord, ListPageInfo, MemberRef};

use crate::domain::audit::AuditEntry;
use crate::ports::store::AuditFilter;
use crate::service::{ServiceError, ServiceResult};
use crate::state::AppState;

/// The name of who runs a command of the program.
const OPERATOR_NAME: &str = "operator";

/// An entry about something in this slot, without what it was before and after.
///
/// # Errors
/// [`ServiceError::NoNodeNumber`].
pub fn entry(
    app: &AppState,
    actor: &Member,
    slot: Slot,
    action: &'static str,
    reason: Option<String>,
) -> ServiceResult<AuditEntry> {
    let id = app.ids.next(slot, app.now()).ok_or(ServiceError::NoNodeNumber)?;
    let actor = MemberRef { id: actor.id, name: actor.name.clone() };
    Ok(AuditEntry { id: id.into(), actor, action, reason, before: None, after: None })
}

/// An entry about something of the installation that a command of the program does, without what it was before and
/// after. Its actor is no member.
pub fn operator_entry(app: &AppState, action: &'static str) -> AuditEntry {
    // A command has no lease of a node number; the importer's is used by commands alone.
    let id = CommentId::from_parts(app.now(), Slot::FIRST, IMPORT_NODE, rand::random());
    let actor = MemberRef { id: MemberId::imported(OPERATOR_NAME), name: OPERATOR_NAME.into() };
    AuditEntry { id: id.into(), actor, action, reason: None, before: None, after: None }
}

/// A page of the log, newest first.
///
/// # Errors
/// [`ServiceError::BadCursor`], or the store's.
pub async fn list(
    app: &AppState,
    filter: &AuditFilter,
    limit: usize,
    cursor: Option<Cursor>,
) -> ServiceResult<AuditPage> {
    let actor = filter.actor.map(|actor| actor.to_string());
    let list = CursorList::moderation("audit", &[actor.as_deref(), filter.action.as_deref()]);
    let below = match cursor {
        None => None,
        Some(Cursor { list: of, at: WalkPosition::After(id), .. }) if of == list => {
            Some(AuditId::new(id).map_err(|_| ServiceError::BadCursor("does not fit this list"))?)
        }
        Some(_) => return Err(ServiceError::BadCursor("belongs to another list")),
    };
    let mut data = app.tables.list_audit(filter, below, limit + 1).await?;
    let has_more = data.len() > limit;
    data.truncate(limit);
    let next = data.last().filter(|_| has_more).map(|last| {
        let at = WalkPosition::After(last.id.get());
        app.cursor_key.encode(&Cursor { list, sort: Sort::New, epoch: 0, at })
    });
    let shown = |record: AuditRecord| AuditRecord { actor: app.erased_members.without_name(record.actor), ..record };
    Ok(AuditPage { data: data.into_iter().map(shown).collect(), page: ListPageInfo { next, has_more } })
}
