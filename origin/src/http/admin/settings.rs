//! `/v1/admin/settings`: the settings that admins change while the program runs.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use gailou_shared::content::parse_object;
use gailou_shared::wire::AdminSettings;

use crate::http::admin::{PrivateAnswer, private};
use crate::http::extract::{Admin, AdminRead, AfterBody, IfMatch, JsonBody};
use crate::http::openapi::bodies::SettingsPatch;
use crate::http::openapi::responses::{BodyRefusals, Conflict, MemberRefusals};
use crate::http::problem::Refusal;
use crate::service::settings;
use crate::state::AppState;

/// The settings in force.
///
/// Only admins may.
#[utoipa::path(
    get, path = "/v1/admin/settings", tag = "admin",
    responses((status = 200, description = "The settings.", body = AdminSettings), MemberRefusals),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn read_settings(
    State(app): State<Arc<AppState>>,
    _: AdminRead,
) -> PrivateAnswer<AdminSettings> {
    private(settings::read(&app))
}

/// Change settings.
///
/// Only admins may. The body is a JSON merge patch (RFC 7396) of `settings`: what it has replaces, and `null` gives back
/// what the configuration says. In force at every server within 5 seconds.
#[utoipa::path(
    patch, path = "/v1/admin/settings", tag = "admin",
    params(IfMatch),
    request_body(content = SettingsPatch, examples(
        ("guests" = (value = json!({"rules": {"guests": "held", "report_threshold": 5}}))),
    )),
    responses(
        (status = 200, description = "The settings after the call.", body = AdminSettings),
        MemberRefusals, Conflict, BodyRefusals,
    ),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn change_settings(
    State(app): State<Arc<AppState>>,
    Admin(admin): Admin,
    expected: AfterBody<IfMatch>,
    JsonBody(body): JsonBody,
) -> Result<Json<AdminSettings>, Refusal> {
    let IfMatch(expected) = expected?;
    let patch = parse_object(&body).map_err(Refusal::fields)?;
    Ok(Json(settings::change(&app, &admin, patch, expected).await?))
}
