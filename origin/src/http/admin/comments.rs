//! `/v1/admin/comments` and `/v1/admin/decisions`: decisions about comments, their former texts, their reports.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use gailou_shared::content::parse_object;
use gailou_shared::id::CommentId;
use gailou_shared::wire::{
    Comment, DecisionOutcome, DecisionOutcomes, FieldError, FormerTextPage, ListPageInfo, NetworkBlock, ReportPage,
};
use serde_json::{Map, Value};

use crate::domain::review::{ModeratorAction, SeenComment};
use crate::http::admin::{MAX_IDS, PrivateAnswer, comment_ids, optional_text, private};
use crate::http::extract::{AfterBody, JsonBody, Moderator, ModeratorRead, PathId, UnreadBody};
use crate::http::openapi::bodies::{BulkDecision, CommentDecision};
use crate::http::openapi::responses::{BodyRefusals, Conflict, MemberRefusals, NotFound};
use crate::http::problem::Refusal;
use crate::service::{block_network, moderate, review_queue};
use crate::state::AppState;

/// What the moderator has seen, in a decision.
const SEEN_FIELD: &str = "seen";

/// Decide about a comment.
///
/// Only moderators may. Each decision is in the audit log, and can be undone for a day.
#[utoipa::path(
    post, path = "/v1/admin/comments/{id}/decision", tag = "admin",
    params(PathId<CommentId>),
    request_body(content = CommentDecision, examples(
        ("approve" = (value = json!({"action": "approve"}))),
        ("hide" = (value = json!({"action": "hide", "reason": "off topic"}))),
        ("as seen" = (value = json!({"action": "approve", "seen": "1.0.0"}))),
    )),
    responses(
        (status = 200, description = "The comment after the decision.", body = Comment),
        MemberRefusals, NotFound, Conflict, BodyRefusals,
    ),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn decide(
    State(app): State<Arc<AppState>>,
    Moderator(moderator): Moderator,
    id: AfterBody<PathId<CommentId>>,
    JsonBody(body): JsonBody,
) -> Result<Json<Comment>, Refusal> {
    let PathId(id) = id?;
    let mut errors = Vec::new();
    let fields = parse_object(&body).map_err(Refusal::fields)?;
    let seen = optional_text(&fields, SEEN_FIELD, &mut errors).flatten();
    let seen = seen.and_then(|text| seen_comment(&text, &mut errors));
    match action(&fields, &mut errors) {
        Some((action, reason)) if errors.is_empty() => {
            Ok(Json(moderate::act(&app, &moderator, id, action, reason, seen).await?))
        }
        _ => Err(Refusal::fields(errors)),
    }
}

/// Decide about several comments.
///
/// Only moderators may. Each comment has its own outcome, and its own entry in the audit log.
#[utoipa::path(
    post, path = "/v1/admin/decisions", tag = "admin",
    request_body(content = BulkDecision, examples(
        ("reject" = (value = json!({"ids": ["3159632956621393920"], "action": "reject", "reason": "spam"}))),
    )),
    responses(
        (status = 200, description = "What became of each.", body = DecisionOutcomes),
        MemberRefusals, BodyRefusals,
    ),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn decide_all(
    State(app): State<Arc<AppState>>,
    Moderator(moderator): Moderator,
    JsonBody(body): JsonBody,
) -> Result<Json<DecisionOutcomes>, Refusal> {
    let mut errors = Vec::new();
    let fields = parse_object(&body).map_err(Refusal::fields)?;
    let ids = comment_ids(&fields, &mut errors);
    let seen = seen_comments(&fields, &mut errors);
    let (action, reason) = match action(&fields, &mut errors) {
        Some(asked) if errors.is_empty() => asked,
        _ => return Err(Refusal::fields(errors)),
    };
    let done = moderate::act_on_all(&app, &moderator, ids, action, reason, &seen).await;
    let outcome = |(id, done): (CommentId, Result<Comment, _>)| match done {
        Ok(comment) => DecisionOutcome { id, status: 200, audit_id: comment.audit_id, code: None },
        Err(error) => {
            let (code, status) = Refusal::from(error).code_and_status();
            DecisionOutcome { id, status, audit_id: None, code: Some(code.into()) }
        }
    };
    Ok(Json(DecisionOutcomes { data: done.into_iter().map(outcome).collect() }))
}

/// A comment in any state.
///
/// Only moderators may. Of an edit that is held the queue has the text; here is the one that readers see.
#[utoipa::path(
    get, path = "/v1/admin/comments/{id}", tag = "admin",
    params(PathId<CommentId>),
    responses((status = 200, description = "The comment.", body = Comment), MemberRefusals, NotFound),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn read_comment(
    State(app): State<Arc<AppState>>,
    _: ModeratorRead,
    PathId(id): PathId<CommentId>,
) -> PrivateAnswer<Comment> {
    let _place = app.reads.admit().await?;
    private(moderate::read_comment(&app, id).await?)
}

/// The earlier texts of a comment.
///
/// Only moderators may. The first one comes first; texts are kept for as long as `retention.edit_history_days` says.
#[utoipa::path(
    get, path = "/v1/admin/comments/{id}/history", tag = "admin",
    params(PathId<CommentId>),
    responses((status = 200, description = "The earlier texts.", body = FormerTextPage), MemberRefusals, NotFound),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn list_history(
    State(app): State<Arc<AppState>>,
    _: ModeratorRead,
    PathId(id): PathId<CommentId>,
) -> PrivateAnswer<FormerTextPage> {
    let _place = app.reads.admit().await?;
    let data = moderate::list_former_texts(&app, id).await?;
    private(FormerTextPage { data, page: ListPageInfo { next: None, has_more: false } })
}

/// The reports of a comment.
///
/// Only moderators may. The newest comes first; at most 100 are answered.
#[utoipa::path(
    get, path = "/v1/admin/comments/{id}/reports", tag = "admin",
    params(PathId<CommentId>),
    responses((status = 200, description = "The reports.", body = ReportPage), MemberRefusals, NotFound),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn list_reports(
    State(app): State<Arc<AppState>>,
    _: ModeratorRead,
    PathId(id): PathId<CommentId>,
) -> PrivateAnswer<ReportPage> {
    let _place = app.reads.admit().await?;
    let data = review_queue::list_reports(&app, id).await?;
    private(ReportPage { data, page: ListPageInfo { next: None, has_more: false } })
}

/// Block the network of a comment.
///
/// Only moderators may. For 30 days nothing is posted from it, and no guest is made; its address is shown to none. 404 where
/// it is not known: of comments that are older than 30 days, imported, a moderator's or erased. It is in
/// `rules.blocked.hashed_networks` of the settings, where an admin ends it.
#[utoipa::path(
    post, path = "/v1/admin/comments/{id}/block-network", tag = "admin",
    params(PathId<CommentId>),
    responses(
        (status = 200, description = "Until when it is blocked.", body = NetworkBlock),
        MemberRefusals, NotFound, Conflict,
    ),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn block_network(
    State(app): State<Arc<AppState>>,
    Moderator(moderator): Moderator,
    _: UnreadBody,
    PathId(id): PathId<CommentId>,
) -> Result<Json<NetworkBlock>, Refusal> {
    Ok(Json(block_network::block(&app, &moderator, id).await?))
}

fn seen_comment(text: &str, errors: &mut Vec<FieldError>) -> Option<SeenComment> {
    let seen = SeenComment::parse(text);
    if seen.is_none() {
        errors.push(FieldError::new(SEEN_FIELD, "must be the `version` of an entry of the queue"));
    }
    seen
}

/// What the moderator has seen of each comment, where that is said.
fn seen_comments(fields: &Map<String, Value>, errors: &mut Vec<FieldError>) -> HashMap<CommentId, SeenComment> {
    let named = match fields.get(SEEN_FIELD) {
        None | Some(Value::Null) => return HashMap::new(),
        Some(Value::Object(named)) if named.len() <= MAX_IDS => named,
        Some(_) => {
            errors.push(FieldError::new(SEEN_FIELD, "must be an object of versions by ids, one for each comment"));
            return HashMap::new();
        }
    };
    let mut seen = HashMap::with_capacity(named.len());
    for (id, version) in named {
        let Ok(id) = id.parse::<CommentId>() else {
            errors.push(FieldError::new(SEEN_FIELD, "must have the ids of comments as its names"));
            continue;
        };
        seen.extend(seen_comment(version.as_str().unwrap_or_default(), errors).map(|version| (id, version)));
    }
    seen
}

/// What is to be done, with its reason, or every field that is wrong.
fn action(fields: &Map<String, Value>, errors: &mut Vec<FieldError>) -> Option<(ModeratorAction, Option<String>)> {
    let action = fields.get("action").and_then(Value::as_str).and_then(ModeratorAction::parse);
    if action.is_none() {
        let names = ModeratorAction::names().collect::<Vec<_>>().join(", ");
        errors.push(FieldError::new("action", format!("must be one of {names}")));
    }
    let reason = optional_text(fields, "reason", errors).flatten();
    Some((action?, reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::review::Decision;

    #[test]
    fn action_names_every_wrong_field() {
        let check = |body: &str, expected: Option<ModeratorAction>, wrong: &[&str]| {
            let (fields, mut errors) = (parse_object(body.as_bytes()).unwrap(), Vec::new());
            let parsed = action(&fields, &mut errors).map(|(action, _)| action);
            let names: Vec<_> = errors.iter().map(|error| &*error.field).collect();
            assert_eq!((parsed, names.as_slice()), (expected, wrong), "{body}");
        };
        check(r#"{"action":"hide"}"#, Some(ModeratorAction::Decide(Decision::Hide)), &[]);
        check(r#"{"action":"approve","reason":null}"#, Some(ModeratorAction::Decide(Decision::Approve)), &[]);
        check(r#"{"action":"unpin"}"#, Some(ModeratorAction::Unpin), &[]);
        check("{}", None, &["action"]);
        check(r#"{"action":"burn","reason":5}"#, None, &["action", "reason"]);
        assert!(ModeratorAction::names().all(|name| ModeratorAction::parse(name).is_some()));
    }
}
