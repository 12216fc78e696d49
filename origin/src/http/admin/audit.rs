//! `/v1/admin/audit`: what moderators and operators did.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use gailou_shared::cursor::Cursor;
use gailou_shared::id::{AuditId, MemberId};
use gailou_shared::limits;
use gailou_shared::wire::{AuditPage, Comment, FieldError};
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::{IntoParams, PartialSchema as _};

use crate::http::admin::{PrivateAnswer, private};
use crate::http::extract::{Moderator, ModeratorRead, PathId, QueryParameters, UnreadBody};
use crate::http::openapi::parameters;
use crate::http::openapi::responses::{Conflict, MemberRefusals, NotFound};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::ports::store::AuditFilter;
use crate::service::{audit_log, moderate};
use crate::state::AppState;

/// Longest verb that is filtered by, in bytes.
const MAX_ACTION_BYTES: usize = 32;

/// The audit log.
///
/// Only moderators may. The newest entry comes first.
#[utoipa::path(
    get, path = "/v1/admin/audit", tag = "admin",
    params(AuditQuery),
    responses((status = 200, description = "A page of the log.", body = AuditPage), MemberRefusals),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn list_audit(
    State(app): State<Arc<AppState>>,
    _: ModeratorRead,
    query: AuditQuery,
) -> PrivateAnswer<AuditPage> {
    let _place = app.reads.admit().await?;
    let page = audit_log::list(&app, &query.filter, query.limit, query.cursor).await?;
    private(page)
}

/// Undo a decision.
///
/// Only moderators may, for a day, while nothing else has changed the comment. Undoing is itself in the audit log.
#[utoipa::path(
    post, path = "/v1/admin/audit/{id}/undo", tag = "admin",
    params(PathId<AuditId>),
    responses(
        (status = 200, description = "The comment as it was before.", body = Comment),
        MemberRefusals, NotFound, Conflict,
    ),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn undo(
    State(app): State<Arc<AppState>>,
    Moderator(moderator): Moderator,
    _: UnreadBody,
    PathId(id): PathId<AuditId>,
) -> Result<Json<Comment>, Refusal> {
    Ok(Json(moderate::undo(&app, &moderator, id).await?))
}

/// The requested page of the log.
#[derive(Debug)]
pub(in crate::http) struct AuditQuery {
    filter: AuditFilter,
    limit: usize,
    cursor: Option<Cursor>,
}

impl FromRequestParts<HttpState> for AuditQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let limit = query.number("limit", limits::MAX_PAGE_SIZE, limits::DEFAULT_PAGE_SIZE);
        let actor = query
            .get("actor")
            .map(|id| id.parse::<MemberId>().map_err(|error| FieldError::new("actor", error.to_string())));
        let is_verb = |verb: &str| !verb.is_empty() && verb.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        let action = query.get("action").map(|verb| {
            let fits = is_verb(verb) && verb.len() <= MAX_ACTION_BYTES;
            fits.then(|| verb.to_owned())
                .ok_or_else(|| FieldError::new("action", "must be the verb of a call, such as hide"))
        });
        match (limit, actor.transpose(), action.transpose()) {
            (Ok(limit), Ok(actor), Ok(action)) => {
                Ok(Self { filter: AuditFilter { actor, action }, limit, cursor: query.cursor(&state.app)? })
            }
            (limit, actor, action) => {
                let errors = [limit.err(), actor.err(), action.err()];
                Err(Refusal::fields(errors.into_iter().flatten().collect()))
            }
        }
    }
}

impl IntoParams for AuditQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![
            parameters::query("actor", "Entries of this member alone.", MemberId::schema()).build(),
            parameters::query("action", "Entries with this verb alone.", parameters::text()).build(),
            parameters::page_size(),
            parameters::cursor("`page.next` of the page before."),
        ]
    }
}
