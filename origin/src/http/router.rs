//! The routes: public reads that every reader shares, and calls that belong to one member.

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, patch, post, put};
use gailou_shared::wire::Code;

use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::http::{
    admin, assets, comments, counts, edge, events, guests, health, html, me, members, middleware, reactions, subjects,
};

/// Every route, behind the middleware.
pub(super) fn router(state: &HttpState) -> Router {
    let routes = if state.app.role.serves() {
        probes().merge(contract()).fallback(assets::serve)
    } else {
        probes().fallback(|| async { Refusal::new(Code::NotFound, "there is nothing at this address") })
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
    public_reads().merge(personal_calls())
}

/// Health and metrics for an operator's tools, in every role.
fn probes() -> Router<HttpState> {
    Router::new()
        .route("/healthz", get(health::get_health))
        .route("/readyz", get(health::get_readiness))
        .route("/metrics", get(health::get_metrics))
}

/// Reads without an identity: every site may make them, every cache may keep the answers.
fn public_reads() -> Router<HttpState> {
    Router::new()
        .route("/v1/subjects/{type}/{key}", get(subjects::get_subject))
        .route("/v1/subjects/{type}/{key}/comments", get(subjects::list_comments))
        .route("/v1/subjects/{type}/{key}/events", get(events::watch_subject))
        .route("/v1/comments/{id}", get(comments::get_comment))
        .route("/v1/comments/{id}/replies", get(comments::list_replies))
        .route("/v1/comments/{id}/tree", get(comments::get_tree))
        .route("/v1/comments/{id}/ancestors", get(comments::list_ancestors))
        .route("/v1/comments/{id}/context", get(comments::get_context))
        .route("/v1/counts", get(counts::get_counts))
        .route("/v1/members/{id}/comments", get(members::list_member_comments))
        .route("/t/{type}/{key}", get(html::get_html))
        .route("/openapi.json", get(health::get_openapi))
}

/// Writes, and reads that depend on the member: no cache keeps them, only allowed sites make them.
fn personal_calls() -> Router<HttpState> {
    Router::new()
        .route("/v1/subjects/{type}/{key}/comments", post(subjects::create_comment))
        .route("/v1/comments/{id}", patch(comments::edit_comment).delete(comments::delete_comment))
        .route("/v1/comments/{id}/like", put(reactions::put_like).delete(reactions::delete_like))
        .route("/v1/comments/{id}/dislike", put(reactions::put_dislike).delete(reactions::delete_dislike))
        .route("/v1/comments/{id}/pin", put(comments::pin_comment).delete(comments::unpin_comment))
        .route("/v1/guests", post(guests::create_guest))
        .route("/v1/me/overlay", get(me::get_overlay))
        .route("/v1/admin/comments/{id}/decision", post(admin::decide))
        .route("/v1/admin/subjects/{type}/{key}", put(admin::put_subject))
        .route("/v1/edge/changes", get(edge::get_changes))
}
