//! `/v1/admin/members`: members, what moderators say of them, and their erasure.

use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use gailou_shared::content::parse_object;
use gailou_shared::cursor::Cursor;
use gailou_shared::id::MemberId;
use gailou_shared::limits;
use gailou_shared::token::Role;
use gailou_shared::wire::{FieldError, ModeratedMember, ModeratedMemberPage};
use serde_json::{Map, Value};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::domain::member_standing::StandingPatch;
use crate::http::admin::{PrivateAnswer, private};
use crate::http::extract::{Admin, AfterBody, JsonBody, Moderator, ModeratorRead, PathId, QueryParameters, UnreadBody};
use crate::http::openapi::bodies::MemberChanges;
use crate::http::openapi::parameters;
use crate::http::openapi::responses::{BodyRefusals, MemberRefusals, NotFound};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::member_admin::{self, MemberFilter};
use crate::state::AppState;

/// Largest time that is taken, in Unix milliseconds: the end of the year 9999, the last that RFC 3339 can write.
const MAX_TIME_MS: u64 = 253_402_300_799_999;

/// Members.
///
/// Only moderators may. All by id; with `muted=1` those who are muted, by id; with `q` those whose names begin so, by
/// name, after the member with this id. Each is on one page; a page may hold fewer than `limit`.
#[utoipa::path(
    get, path = "/v1/admin/members", tag = "admin",
    params(MembersQuery),
    responses((status = 200, description = "A page of members.", body = ModeratedMemberPage), MemberRefusals),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn list_members(
    State(app): State<Arc<AppState>>,
    _: ModeratorRead,
    query: MembersQuery,
) -> PrivateAnswer<ModeratedMemberPage> {
    let _place = app.reads.admit().await?;
    private(member_admin::list(&app, &query.filter, query.limit, query.cursor).await?)
}

/// A member.
///
/// Only moderators may. With what the host's service says of them today, the counts of their comments, other names, and
/// their newest comments. A member who has not written yet has an empty name; an erased member is `404`.
#[utoipa::path(
    get, path = "/v1/admin/members/{id}", tag = "admin",
    params(PathId<MemberId>),
    responses((status = 200, description = "The member.", body = ModeratedMember), MemberRefusals, NotFound),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn get_member(
    State(app): State<Arc<AppState>>,
    _: ModeratorRead,
    PathId(id): PathId<MemberId>,
) -> PrivateAnswer<ModeratedMember> {
    private(member_admin::read(&app, id).await?)
}

/// Change what is said of a member.
///
/// Only moderators may; `role` only admins. A field that is left out stays as it is, `null` takes it back. Each call
/// leaves an entry in the audit log, and is in force everywhere within 5 seconds.
#[utoipa::path(
    put, path = "/v1/admin/members/{id}", tag = "admin",
    params(PathId<MemberId>),
    request_body(content = MemberChanges, examples(
        ("mute" = (value = json!({"muted_until": 1_800_000_000_000_u64, "note": "spam"}))),
        ("unmute" = (value = json!({"muted_until": null}))),
        ("friends" = (value = json!({"friends": ["8", "9"]}))),
    )),
    responses(
        (status = 200, description = "The member after the change.", body = ModeratedMember),
        MemberRefusals, NotFound, BodyRefusals,
    ),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn put_member(
    State(app): State<Arc<AppState>>,
    Moderator(moderator): Moderator,
    id: AfterBody<PathId<MemberId>>,
    JsonBody(body): JsonBody,
) -> PrivateAnswer<ModeratedMember> {
    let PathId(id) = id?;
    let patch = standing_patch(&body).map_err(Refusal::fields)?;
    private(member_admin::change(&app, &moderator, id, patch).await?)
}

/// Erase a member.
///
/// Only admins may. As `DELETE /v1/me`, with an entry in the audit log; what was said of the member goes too.
#[utoipa::path(
    delete, path = "/v1/admin/members/{id}", tag = "admin",
    params(PathId<MemberId>),
    responses((status = 204, description = "The member is erased."), MemberRefusals),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn erase_member(
    State(app): State<Arc<AppState>>,
    Admin(admin): Admin,
    _: UnreadBody,
    PathId(id): PathId<MemberId>,
) -> Result<StatusCode, Refusal> {
    member_admin::erase(&app, &admin, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The new values of a standing, or every field that is wrong.
fn standing_patch(body: &[u8]) -> Result<StandingPatch, Vec<FieldError>> {
    let fields = parse_object(body)?;
    let mut errors = Vec::new();
    let mut nullable = |name, parse: &dyn Fn(&Value) -> Option<Value>, must_be: &str| -> Option<Option<Value>> {
        match fields.get(name)? {
            Value::Null => Some(None),
            value => match parse(value) {
                Some(parsed) => Some(Some(parsed)),
                None => {
                    errors.push(FieldError::new(name, format!("must be {must_be}, or null")));
                    None
                }
            },
        }
    };
    let time = |value: &Value| value.as_u64().filter(|time| *time <= MAX_TIME_MS).map(Value::from);
    let level = nullable("level", &|v| v.as_u64().filter(|n| *n <= u8::MAX.into()).map(Value::from), "from 0 to 255");
    let role = |value: &Value| serde_json::from_value::<Role>(value.clone()).is_ok().then(|| value.clone());
    let role = nullable("role", &role, "one of member, moderator, admin");
    let muted_until = nullable("muted_until", &time, "a time in Unix milliseconds");
    let not_before = nullable("tokens_not_before", &time, "a time in Unix milliseconds");
    let note = |value: &Value| value.as_str().filter(|note| is_note(note)).map(Value::from);
    let note = nullable("note", &note, &format!("text of at most {} characters", limits::MAX_NOTE_CHARS));
    let friends = friends(&fields, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let number = |value: Option<Option<Value>>| value.map(|value| value.and_then(|value| value.as_u64()));
    Ok(StandingPatch {
        level: number(level).map(|level| level.and_then(|level| level.try_into().ok())),
        role: role.map(|role| role.and_then(|role| serde_json::from_value(role).ok())),
        muted_until: number(muted_until),
        tokens_not_before: number(not_before),
        note: note.map(|note| note.and_then(|note| note.as_str().map(str::to_owned))),
        friends,
    })
}

fn is_note(text: &str) -> bool {
    text.chars().count() <= limits::MAX_NOTE_CHARS && !text.chars().any(|c| c.is_control() && c != '\n')
}

/// The friends, each once; `null` for none.
fn friends(fields: &Map<String, Value>, errors: &mut Vec<FieldError>) -> Option<Vec<MemberId>> {
    let list = match fields.get("friends")? {
        Value::Null => return Some(vec![]),
        value => value.as_array().filter(|list| list.len() <= limits::MAX_FRIENDS),
    };
    let parse = |id: &Value| id.as_str()?.parse::<MemberId>().ok();
    let ids = list.and_then(|list| list.iter().map(parse).collect::<Option<Vec<_>>>());
    if ids.is_none() {
        let detail = format!("must be a list of at most {} member ids, or null", limits::MAX_FRIENDS);
        errors.push(FieldError::new("friends", detail));
    }
    let mut ids = ids?;
    ids.sort_unstable();
    ids.dedup();
    Some(ids)
}

/// The requested page of members.
#[derive(Debug)]
pub(in crate::http) struct MembersQuery {
    filter: MemberFilter,
    limit: usize,
    cursor: Option<Cursor>,
}

impl FromRequestParts<HttpState> for MembersQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let limit = query.number("limit", limits::MAX_PAGE_SIZE, limits::DEFAULT_PAGE_SIZE);
        let q = query.get("q").map(str::trim).filter(|q| !q.is_empty());
        let fits = |q: &str| q.chars().count() <= limits::MAX_NAME_CHARS && !q.chars().any(char::is_control);
        let wrong = || FieldError::new("q", format!("must be at most {} characters", limits::MAX_NAME_CHARS));
        let q = q.map_or(Ok(None), |q| fits(q).then(|| Some(q.to_owned())).ok_or_else(wrong));
        let muted = match query.get("muted") {
            None | Some("0") => Ok(false),
            Some("1") if matches!(q, Ok(None)) => Ok(true),
            Some("1") => Err(FieldError::new("muted", "cannot be combined with q")),
            Some(_) => Err(FieldError::new("muted", "must be 0 or 1")),
        };
        match (q, muted, limit) {
            (Ok(q), Ok(muted), Ok(limit)) => {
                let otherwise = if muted { MemberFilter::Muted } else { MemberFilter::All };
                let filter = q.map_or(otherwise, MemberFilter::Named);
                Ok(Self { filter, limit, cursor: query.cursor(&state.app)? })
            }
            (q, muted, limit) => {
                Err(Refusal::fields([q.err(), muted.err(), limit.err()].into_iter().flatten().collect()))
            }
        }
    }
}

impl IntoParams for MembersQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let q = parameters::text().max_length(Some(limits::MAX_NAME_CHARS));
        vec![
            parameters::query("q", "The beginning of a name, or an id.", q).build(),
            parameters::query(
                "muted",
                "`1`: only those who are muted; not together with `q`.",
                parameters::text().enum_values(Some(["0", "1"])),
            )
            .build(),
            parameters::page_size(),
            parameters::cursor("`page.next` of the page before."),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_fields_stay_and_null_takes_back() {
        let patch = standing_patch(br#"{"level":9,"role":null,"friends":["9","8","9"],"note":"a\nb"}"#).unwrap();
        let friends = ["8", "9"].map(|id| id.parse().unwrap());
        let expected = StandingPatch {
            level: Some(Some(9)),
            role: Some(None),
            friends: Some(friends.into()),
            note: Some(Some("a\nb".into())),
            ..StandingPatch::default()
        };
        assert_eq!(patch, expected);
        assert_eq!(standing_patch(b"{}").unwrap(), StandingPatch::default());
        let none = standing_patch(br#"{"friends":null,"muted_until":null}"#).unwrap();
        assert_eq!((none.friends, none.muted_until), (Some(vec![]), Some(None)));
    }

    #[test]
    fn every_wrong_field_is_named() {
        let body =
            br#"{"level":256,"role":"king","muted_until":-1,"tokens_not_before":"1","note":"\u0007","friends":[7]}"#;
        let names: Vec<_> =
            standing_patch(body).unwrap_err().into_iter().map(|error| error.field.into_owned()).collect();
        assert_eq!(names, ["level", "role", "muted_until", "tokens_not_before", "note", "friends"]);
    }
}
