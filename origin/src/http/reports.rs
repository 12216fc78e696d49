//! `/v1/comments/{id}/reports`: what readers report.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use gailou_shared::content::parse_object;
use gailou_shared::id::CommentId;
use gailou_shared::wire::{FieldError, ReportReason};
use serde_json::Value;

use crate::http::admin::optional_text;
use crate::http::extract::{AfterBody, ChallengedWrite, JsonBody, LimitedMember, PathId, Reports};
use crate::http::openapi::bodies::ReportRequest;
use crate::http::openapi::responses::{BodyRefusals, MemberRefusals, NotFound};
use crate::http::problem::Refusal;
use crate::service::report;
use crate::state::AppState;

/// Report a comment.
///
/// A moderator is shown it. A second report of the same member changes nothing.
#[utoipa::path(
    post, path = "/v1/comments/{id}/reports", tag = "comments",
    params(PathId<CommentId>, ChallengedWrite),
    request_body(content = ReportRequest, examples(
        ("spam" = (value = json!({"reason": "spam", "note": "the same text under every video"}))),
    )),
    responses(
        (status = 202, description = "The report is stored, by this call or an earlier one."),
        MemberRefusals, NotFound, BodyRefusals,
    ),
    security(("bearer" = [])),
)]
pub(super) async fn report_comment(
    State(app): State<Arc<AppState>>,
    LimitedMember { member, .. }: LimitedMember<Reports>,
    ChallengedWrite(source): ChallengedWrite,
    id: AfterBody<PathId<CommentId>>,
    JsonBody(body): JsonBody,
) -> Result<StatusCode, Refusal> {
    let PathId(id) = id?;
    let (reason, note) = parse_report(&body).map_err(Refusal::fields)?;
    report::report(&app, &member, &source, id, reason, note).await?;
    Ok(StatusCode::ACCEPTED)
}

/// The reason and the note, or every field that is wrong.
fn parse_report(body: &[u8]) -> Result<(ReportReason, Option<String>), Vec<FieldError>> {
    let fields = parse_object(body)?;
    let mut errors = Vec::new();
    let reason = fields.get("reason").and_then(|value: &Value| serde_json::from_value(value.clone()).ok());
    if reason.is_none() {
        errors.push(FieldError::new("reason", "must be one of spam, abuse, illegal, other"));
    }
    let note = optional_text(&fields, "note", &mut errors).flatten();
    match reason {
        Some(reason) if errors.is_empty() => Ok((reason, note)),
        _ => Err(errors),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_names_every_wrong_field() {
        let wrong = |body: &str| -> Vec<String> {
            parse_report(body.as_bytes()).unwrap_err().into_iter().map(|error| error.field.into_owned()).collect()
        };
        assert_eq!(parse_report(br#"{"reason":"abuse"}"#), Ok((ReportReason::Abuse, None)));
        assert_eq!(wrong(r#"{"reason":"boring","note":7}"#), ["reason", "note"]);
        assert_eq!(wrong("{}"), ["reason"]);
        let long = format!(r#"{{"reason":"other","note":"{}"}}"#, "x".repeat(1_001));
        assert_eq!(wrong(&long), ["note"]);
    }
}
