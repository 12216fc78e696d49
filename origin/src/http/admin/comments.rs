//! `/v1/admin/comments` and `/v1/admin/decisions`: decisions about comments, their former texts, their reports.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use gailou_shared::content::parse_object;
use gailou_shared::id::CommentId;
use gailou_shared::wire::{
    Comment, DecisionOutcome, DecisionOutcomes, FieldError, FormerTextPage, ListPageInfo, NetworkBlock, ReportPage,
};
use serde_json::{Map, Value};
use strum::VariantNames as _;

use crate::domain::review::Decision;
use crate::http::admin::{PrivateAnswer, comment_ids, optional_text, private};
use crate::http::extract::{AfterBody, JsonBody, Moderator, ModeratorRead, PathId, UnreadBody};
use crate::http::openapi::bodies::{BulkDecision, CommentDecision};
use crate::http::openapi::responses::{BodyRefusals, Conflict, MemberRefusals, NotFound};
use crate::http::problem::Refusal;
use crate::service::{block_network, moderate, review_queue};
use crate::state::AppState;

/// Decide about a comment.
///
/// Only moderators may. Each decision is in the audit log, and can be undone for a day.
#[utoipa::path(
    post, path = "/v1/admin/comments/{id}/decision", tag = "admin",
    params(PathId<CommentId>),
    request_body(content = CommentDecision, examples(
        ("approve" = (value = json!({"action": "approve"}))),
        ("hide" = (value = json!({"action": "hide", "reason": "off topic"}))),
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
    match decision(&fields, &mut errors) {
        Some((decision, reason)) if errors.is_empty() => {
            Ok(Json(moderate::decide(&app, &moderator, id, decision, reason).await?))
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
    let (decision, reason) = match decision(&fields, &mut errors) {
        Some(decided) if errors.is_empty() => decided,
        _ => return Err(Refusal::fields(errors)),
    };
    let decided = moderate::decide_all(&app, &moderator, ids, decision, reason).await;
    let outcome = |(id, decided): (CommentId, Result<Comment, _>)| match decided {
        Ok(comment) => DecisionOutcome { id, status: 200, audit_id: comment.audit_id, code: None },
        Err(error) => {
            let (code, status) = Refusal::from(error).code_and_status();
            DecisionOutcome { id, status, audit_id: None, code: Some(code.into()) }
        }
    };
    Ok(Json(DecisionOutcomes { data: decided.into_iter().map(outcome).collect() }))
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

/// A decision with its reason, or every field that is wrong.
fn decision(fields: &Map<String, Value>, errors: &mut Vec<FieldError>) -> Option<(Decision, Option<String>)> {
    let decision = fields.get("action").and_then(Value::as_str).and_then(|name| name.parse::<Decision>().ok());
    if decision.is_none() {
        let names = Decision::VARIANTS.join(", ");
        errors.push(FieldError::new("action", format!("must be one of {names}")));
    }
    let reason = optional_text(fields, "reason", errors).flatten();
    Some((decision?, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decision_names_every_wrong_field() {
        let check = |body: &str, expected: Option<Decision>, wrong: &[&str]| {
            let (fields, mut errors) = (parse_object(body.as_bytes()).unwrap(), Vec::new());
            let parsed = decision(&fields, &mut errors).map(|(decision, _)| decision);
            let names: Vec<_> = errors.iter().map(|error| &*error.field).collect();
            assert_eq!((parsed, names.as_slice()), (expected, wrong), "{body}");
        };
        check(r#"{"action":"hide"}"#, Some(Decision::Hide), &[]);
        check(r#"{"action":"approve","reason":null}"#, Some(Decision::Approve), &[]);
        check("{}", None, &["action"]);
        check(r#"{"action":"burn","reason":5}"#, None, &["action", "reason"]);
    }
}
