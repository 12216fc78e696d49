//! Members, as moderators read them, and what they say of them.

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use gailou_shared::cursor::{Cursor, CursorList, WalkPosition};
use gailou_shared::id::{MemberId, MemberKind, Slot};
use gailou_shared::rank::Sort;
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::{Comment, ListPageInfo, ModeratedMember, ModeratedMemberPage};

use crate::domain::member_standing::{
    ChangedRules, KnownMember, MAX_TOKENS_AHEAD_MS, MemberStanding, MemberSummary, StandingPatch, StandingPosition,
    member_slot, name_key, name_position, position_key,
};
use crate::domain::operation::{Operation, OperationOutcome};
use crate::ports::accounts::Account;
use crate::ports::store::StoreError;
use crate::service::subject::threading_around;
use crate::service::{ServiceError, ServiceResult, account, audit_log, comment_view, member_data};
use crate::state::AppState;

/// Members of a list that are read at the same time.
const READS_AT_ONCE: usize = 8;

/// Which members are listed.
#[derive(Debug)]
pub enum MemberFilter {
    /// All, by id.
    All,
    /// Those who are muted, by id.
    Muted,
    /// Those whose names begin so, in the order of their names, after the member with this id.
    Named(String),
}

/// A page of members.
///
/// # Errors
/// [`ServiceError::BadCursor`], or the store's.
pub async fn list(
    app: &AppState,
    filter: &MemberFilter,
    limit: usize,
    cursor: Option<Cursor>,
) -> ServiceResult<ModeratedMemberPage> {
    let list = match filter {
        MemberFilter::All => CursorList::moderation("members", &[None]),
        MemberFilter::Muted => CursorList::moderation("muted", &[]),
        MemberFilter::Named(q) => CursorList::moderation("members", &[Some(q)]),
    };
    let after = match cursor {
        None => None,
        Some(Cursor { list: of, at: WalkPosition::Named(name, id), .. }) if of == list => {
            Some((position_key(&name).to_vec(), id))
        }
        Some(_) => return Err(ServiceError::BadCursor("belongs to another list")),
    };
    let q = match filter {
        MemberFilter::All => {
            let found = app.tables.list_members(after.map(|(_, id)| id), limit + 1).await?;
            return page(app, list, vec![], found, limit, |_| true).await;
        }
        MemberFilter::Muted => {
            let muted = app.standings.list_muted(app.now(), after.map(|(_, id)| id), limit + 1);
            let found = muted.into_iter().map(|id| async move {
                let member = app.tables.read_member(id).await?;
                Ok::<_, StoreError>(member.unwrap_or_else(|| unknown(id)))
            });
            let found = stream::iter(found).buffered(READS_AT_ONCE).try_collect().await?;
            return page(app, list, vec![], found, limit, |_| true).await;
        }
        MemberFilter::Named(q) => q,
    };
    let named_id = q.parse::<MemberId>().ok();
    let mut first = Vec::new();
    if let Some(id) = named_id.filter(|_| after.is_none()) {
        first.extend(find(app, id).await?);
    }
    let found = app.tables.list_members_named(&name_key(q), after, limit + 1).await?;
    let wanted = q.to_lowercase();
    // The key of a name may be shorter than what is looked for.
    let is_meant =
        |member: &KnownMember| Some(member.id) != named_id && member.name.trim().to_lowercase().starts_with(&wanted);
    page(app, list, first, found, limit, is_meant).await
}

/// The page of `first` and of those among up to `limit` of the members that were found.
async fn page(
    app: &AppState,
    list: CursorList,
    first: Vec<KnownMember>,
    mut found: Vec<KnownMember>,
    limit: usize,
    is_meant: impl Fn(&KnownMember) -> bool + Send,
) -> ServiceResult<ModeratedMemberPage> {
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| has_more).map(|last| {
        let at = WalkPosition::Named(name_position(&last.name_key), last.id);
        app.cursor_key.encode(&Cursor { list, sort: Sort::New, epoch: 0, at })
    });
    let mut shown: Vec<KnownMember> = first.into_iter().chain(found.into_iter().filter(is_meant)).collect();
    shown.retain(|member| !app.erased_members.contains(member.id));
    let ids: Vec<MemberId> = shown.iter().map(|member| member.id).collect();
    let mut standings = app.tables.read_standings(&ids).await?;
    let data = shown.into_iter().map(|member| {
        let at = standings.iter().position(|(id, _)| *id == member.id);
        let standing = at.map_or_else(MemberStanding::default, |at| standings.swap_remove(at).1);
        view(app, member, standing)
    });
    Ok(ModeratedMemberPage { data: data.collect(), page: ListPageInfo { next, has_more } })
}

/// A member who has written, or of whom something is said.
async fn find(app: &AppState, id: MemberId) -> ServiceResult<Option<KnownMember>> {
    if let Some(member) = app.tables.read_member(id).await? {
        return Ok(Some(member));
    }
    let is_known = !app.tables.read_standings(&[id]).await?.is_empty();
    Ok(is_known.then(|| unknown(id)))
}

/// A member who has not written yet.
fn unknown(id: MemberId) -> KnownMember {
    KnownMember { id, name: String::new(), avatar: None, level: 0, name_key: vec![] }
}

fn view(app: &AppState, member: KnownMember, standing: MemberStanding) -> ModeratedMember {
    let MemberStanding { rules, note, .. } = standing;
    ModeratedMember {
        id: member.id,
        name: member.name,
        avatar: member.avatar.map(|address| app.avatars.addresses.shown(&address)),
        token_level: member.level,
        guest: member.id.kind() == MemberKind::Guest,
        level: rules.level,
        role: rules.role,
        muted_until: rules.muted_until,
        tokens_not_before: rules.tokens_not_before,
        note,
        account: None,
        friends: None,
        counts: None,
        names: None,
        last: None,
    }
}

/// A member, with what they have written. Of one who has not written yet nothing is known but what is said of them.
///
/// # Errors
/// [`ServiceError::NotFound`] for an erased member, or those of the admission or the store.
pub async fn read(app: &AppState, id: MemberId) -> ServiceResult<ModeratedMember> {
    check_not_erased(app, id)?;
    let account = account::look_up(app, id).await;
    let _place = app.reads.admit().await?;
    describe(app, id, account.as_deref()).await
}

/// The member in the tables, with their account at the host.
async fn describe(app: &AppState, id: MemberId, account: Option<&Account>) -> ServiceResult<ModeratedMember> {
    let ids = [id];
    let (member, mut standings, summary) =
        tokio::try_join!(app.tables.read_member(id), app.tables.read_standings(&ids), app.tables.summarize_member(id))?;
    let standing = standings.pop().map(|(_, standing)| standing).unwrap_or_default();
    let MemberSummary { counts, mut names, newest } = summary;
    let rows = app.store.read_comments(&newest).await?;
    // A history may have comments that are another member's by now.
    let rows = newest.iter().filter_map(|id| rows.get(id)).filter(|row| row.author.id == id);
    // A comment whose type is not configured any more is left out.
    let last = rows.filter_map(|row| Some(comment_view::for_author(app, row, threading_around(app, row).ok()?)));
    let last: Vec<Comment> = last.collect();
    let member = member.unwrap_or_else(|| unknown(id));
    names.retain(|name| *name != member.name);
    let (account, friends) = (account.map(|account| account::view(app, account)), Some(standing.friends.clone()));
    let (counts, names, last) = (Some(counts), Some(names), Some(last));
    Ok(ModeratedMember { account, friends, counts, names, last, ..view(app, member, standing) })
}

/// Changes what is said of a member, with an entry in the audit log. In force here at once, elsewhere within seconds.
///
/// # Errors
/// [`ServiceError::Forbidden`] for a role that no admin changes; `WrongFields`, also for a guest who has become a member;
/// [`ServiceError::NotFound`] for an erased member; or the journal's.
pub async fn change(
    app: &AppState,
    moderator: &Member,
    id: MemberId,
    patch: StandingPatch,
) -> ServiceResult<ModeratedMember> {
    check_patch(app, moderator, id, &patch)?;
    check_not_erased(app, id)?;
    check_not_merged(app, id)?;
    // A clock that is a little ahead keeps out no token that is issued from now on.
    let tokens_not_before = patch.tokens_not_before.map(|time| time.map(|time| time.min(app.now())));
    let patch = StandingPatch { tokens_not_before, ..patch };
    {
        let _place = app.writes.admit().await?;
        let audit = audit_log::entry(app, moderator, member_slot(id), "member", None)?;
        let operation = Operation::Standing { member: id, patch: Box::new(patch), audit };
        let OperationOutcome::Standing(standing) = app.journal.append(operation).await? else {
            return Err(ServiceError::Bug("a standing was not answered".into()));
        };
        let position = StandingPosition { changed_at: standing.changed_at, member: id };
        app.standings.set(ChangedRules { position, rules: standing.rules });
    }
    let account = account::look_up(app, id).await;
    describe(app, id, account.as_deref()).await
}

fn check_patch(app: &AppState, moderator: &Member, id: MemberId, patch: &StandingPatch) -> ServiceResult<()> {
    if let Some(role) = patch.role {
        if moderator.role < Role::Admin {
            return Err(ServiceError::Forbidden("only an admin gives and takes roles"));
        }
        if role.is_some() && id.kind() == MemberKind::Guest {
            return Err(ServiceError::wrong_field("role", "a guest has no role"));
        }
        if id == moderator.id {
            return Err(ServiceError::wrong_field("role", "your own is changed by another admin"));
        }
    }
    if patch.tokens_not_before.flatten().is_some_and(|time| time > app.now() + MAX_TOKENS_AHEAD_MS) {
        return Err(ServiceError::wrong_field("tokens_not_before", "must not be later than now"));
    }
    Ok(())
}

/// Erases a member as they could themselves, with an entry in the audit log. Doing so again changes nothing.
///
/// # Errors
/// `WrongFields` for a guest who has become a member, or the journal's.
pub async fn erase(app: &AppState, admin: &Member, id: MemberId) -> ServiceResult<()> {
    if app.erased_members.contains(id) {
        return Ok(());
    }
    check_not_merged(app, id)?;
    let audit = audit_log::entry(app, admin, Slot::FIRST, "erase", None)?;
    member_data::erase(app, id, Some(audit)).await
}

/// Nothing that is said of a guest is in force once the guest is a member.
fn check_not_merged(app: &AppState, id: MemberId) -> ServiceResult<()> {
    match app.erased_members.heir_of(id) {
        Some(heir) => Err(ServiceError::wrong_field("id", format!("is of a guest who has become member {heir}"))),
        None => Ok(()),
    }
}

fn check_not_erased(app: &AppState, id: MemberId) -> ServiceResult<()> {
    if app.erased_members.contains(id) { Err(ServiceError::NotFound("this member is erased")) } else { Ok(()) }
}
