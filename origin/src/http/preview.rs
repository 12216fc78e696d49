//! `/v1/preview`.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use gailou_shared::{content, limits};

use crate::http::extract::{JsonBody, LimitedMember, Previews};
use crate::http::openapi::bodies::PreviewRequest;
use crate::http::openapi::responses::{BodyRefusals, MemberRefusals, Unprocessable};
use crate::http::problem::Refusal;
use crate::service::preview;
use crate::service::preview::Preview;
use crate::state::AppState;

/// What a text becomes.
///
/// Exactly what posting it would give: rendered, with masked words. Nothing is stored.
#[utoipa::path(
    post, path = "/v1/preview", tag = "comments",
    request_body(content = PreviewRequest, examples(
        ("preview" = (value = json!({"content": "**Well** said!"}))),
    )),
    responses(
        (
            status = 200, description = "The text as it would be shown.", body = Preview,
            examples(("preview" = (value = json!({"html": "<p><strong>Well</strong> said!</p>\n"})))),
        ),
        MemberRefusals, BodyRefusals, Unprocessable,
    ),
    security(("bearer" = [])),
)]
pub(super) async fn preview_comment(
    State(app): State<Arc<AppState>>,
    _: LimitedMember<Previews>,
    JsonBody(body): JsonBody,
) -> Result<Json<Preview>, Refusal> {
    if app.degrade.no_preview().is_some() {
        let detail = "previews are left out for the moment; comments can be posted without one";
        return Err(Refusal::left_out(detail));
    }
    let text = content::parse_edit(&body, limits::MAX_CONTENT_CHARS).map_err(Refusal::fields)?;
    Ok(Json(preview::preview(&app, text).await?))
}
