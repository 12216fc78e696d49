//! The routes: public reads that every reader shares, and calls that belong to one member. Each is
//! registered with its description, so `/openapi.json` describes what is served and nothing else.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::http::header;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use gailou_shared::wire::Code;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::http::cached_page::JSON_TYPE;
use crate::http::openapi::bodies::OpenApiDocument;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::http::{
    admin, assets, auth, avatars, comments, compat, counts, edge, events, friends, guests, health, html, latest, me,
    media, members, middleware, notifications, openapi, preview, reactions, reports, search, subjects, unsubscribe,
    watches,
};
use crate::state::AppState;

/// `/openapi.json`, the same bytes for every request.
static OPENAPI_JSON: LazyLock<String> = LazyLock::new(|| {
    let calls = public_reads().merge(personal_calls()).merge(probes());
    openapi::to_json(OpenApiRouter::with_openapi(openapi::frame()).merge(calls).into_openapi())
});

/// Every route of the contract behind the middleware, without a listener.
pub fn routes(app: Arc<AppState>) -> Router {
    router(&HttpState::new(app))
}

/// Every route, behind the middleware.
pub(super) fn router(state: &HttpState) -> Router {
    let probes = Router::from(probes());
    let routes = if state.app.role.serves() {
        let compat = if state.app.config.compat.enabled { compat::routes() } else { Router::new() };
        probes.merge(contract()).merge(compat).fallback(assets::serve)
    } else {
        probes.fallback(|| async { Refusal::new(Code::NotFound, "there is nothing at this address") })
    };
    routes
        .method_not_allowed_fallback(|| async {
            Refusal::new(Code::MethodNotAllowed, "this address does not take this method")
        })
        .layer(from_fn_with_state(state.clone(), middleware::handle))
        .with_state(state.clone())
}

/// The contract's calls, without middleware.
pub(super) fn contract() -> Router<HttpState> {
    public_reads().merge(personal_calls()).into()
}

/// Health and metrics for an operator's tools, in every role.
fn probes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .routes(routes!(health::get_health))
        .routes(routes!(health::get_readiness))
        .routes(routes!(health::get_metrics))
}

/// Reads without an identity: every site may make them, every cache may keep the answers.
fn public_reads() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .routes(routes!(subjects::get_subject))
        .routes(routes!(subjects::list_comments))
        .routes(routes!(search::search_subject))
        .routes(routes!(events::watch_subject))
        .routes(routes!(comments::get_comment))
        .routes(routes!(comments::list_replies))
        .routes(routes!(comments::get_tree))
        .routes(routes!(comments::list_ancestors))
        .routes(routes!(comments::list_shown_texts))
        .routes(routes!(comments::get_context))
        .routes(routes!(counts::get_counts))
        .routes(routes!(latest::list_latest))
        .routes(routes!(latest::get_latest_feed))
        .routes(routes!(latest::get_subject_feed))
        .routes(routes!(members::list_member_comments))
        .routes(routes!(html::get_html))
        .routes(routes!(media::get_media))
        .routes(routes!(avatars::get_avatar))
        .routes(routes!(avatars::get_named_avatar))
        .routes(routes!(get_openapi))
}

/// Writes, and reads that depend on the member: no cache keeps them, only allowed sites make them.
fn personal_calls() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .routes(routes!(subjects::create_comment))
        .routes(routes!(media::upload_media))
        .routes(routes!(preview::preview_comment))
        .routes(routes!(comments::edit_comment, comments::delete_comment))
        .routes(routes!(reactions::put_like, reactions::delete_like))
        .routes(routes!(reactions::put_dislike, reactions::delete_dislike))
        .routes(routes!(comments::pin_comment, comments::unpin_comment))
        .routes(routes!(html::write_form::show_form, html::write_form::send_form))
        .routes(routes!(guests::create_guest))
        .routes(routes!(guests::rename_guest))
        .routes(routes!(auth::list_providers))
        .routes(routes!(auth::go_to_provider))
        .routes(routes!(auth::come_back, auth::open_mailed_link))
        .routes(routes!(auth::mail_link))
        .routes(routes!(auth::sessions::refresh_token))
        .routes(routes!(auth::sessions::begin_session, auth::sessions::end_session))
        .routes(routes!(auth::passkeys::list_passkeys, auth::passkeys::add_passkey))
        .routes(routes!(auth::passkeys::rename_passkey, auth::passkeys::remove_passkey))
        .routes(routes!(auth::passkeys::begin_registration))
        .routes(routes!(auth::passkeys::begin_sign_in))
        .routes(routes!(auth::passkeys::sign_in_with_passkey))
        .routes(routes!(me::get_profile, me::change_profile))
        .routes(routes!(me::merge_guest))
        .routes(routes!(me::get_overlay))
        .routes(routes!(friends::list_friends_comments))
        .routes(routes!(notifications::list_notifications))
        .routes(routes!(notifications::mark_read))
        .routes(routes!(watches::get_watch, watches::put_watch, watches::delete_watch))
        .routes(routes!(watches::list_watches))
        .routes(routes!(unsubscribe::show_unsubscribe, unsubscribe::unsubscribe))
        .routes(routes!(me::export_member))
        .routes(routes!(me::erase_self))
        .routes(routes!(reports::report_comment))
        .routes(routes!(admin::queue::get_queue))
        .routes(routes!(admin::queue::lease))
        .routes(routes!(admin::rejected::list_rejected))
        .routes(routes!(admin::rejected::accept_rejected))
        .routes(routes!(admin::rejected::drop_rejected))
        .routes(routes!(admin::search::search_comments))
        .routes(routes!(admin::comments::read_comment))
        .routes(routes!(admin::comments::block_network))
        .routes(routes!(admin::comments::decide))
        .routes(routes!(admin::comments::decide_all))
        .routes(routes!(admin::comments::list_history))
        .routes(routes!(admin::comments::list_reports))
        .routes(routes!(admin::audit::list_audit))
        .routes(routes!(admin::audit::undo))
        .routes(routes!(admin::words::list_words, admin::words::put_words, admin::words::patch_words))
        .routes(routes!(admin::words::test_word))
        .routes(routes!(admin::export::export_comments))
        .routes(routes!(admin::import::import_comments))
        .routes(routes!(admin::settings::read_settings, admin::settings::change_settings))
        .routes(routes!(admin::stats::read_stats))
        .routes(routes!(admin::webhooks::list_webhooks, admin::webhooks::add_webhook))
        .routes(routes!(admin::webhooks::remove_webhook))
        .routes(routes!(admin::webhooks::list_deliveries))
        .routes(routes!(admin::webhooks::retry_delivery))
        .routes(routes!(admin::members::list_members))
        .routes(routes!(admin::members::get_member, admin::members::put_member, admin::members::erase_member))
        .routes(routes!(admin::subjects::list_subjects))
        .routes(routes!(admin::subjects::put_subject))
        .routes(routes!(edge::get_changes))
}

/// This document.
#[utoipa::path(
    get, path = "/openapi.json", tag = "operations",
    responses((status = 200, description = "An OpenAPI 3.1 document.", body = inline(OpenApiDocument))),
)]
async fn get_openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, JSON_TYPE)], OPENAPI_JSON.as_str())
}
