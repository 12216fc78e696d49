//! Pages that are ready in memory, answered in front of everything else.
//!
//! Promise: a hot page costs a look-up and its headers. There is no routing, no middleware, no timer
//! and no JSON; requests that have to be signed by the edge never come this way.

use std::convert::Infallible;
use std::sync::Arc;
use std::task;

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, header};
use axum::response::Response;
use futures_util::future::{Either, Ready, ready};
use gailou_shared::edge_protocol::SIGNATURE_HEADER;
use gailou_shared::request_path::COMPAT_PATHS;
use metrics::{Counter, counter, describe_counter};
use tower_service::Service;

use crate::http::accept_encoding;
use crate::http::cached_page::send;
use crate::http::middleware::{NO_SNIFFING, cors, network_of_socket, request_id};
use crate::state::AppState;

/// Pages answered in front of the routes, which the durations of requests do not include.
const HOT_PAGES: &str = "gailou_http_hot_pages_total";

/// Answers ready pages; any other request goes on to the routes.
#[derive(Clone)]
pub(super) struct HotPath {
    app: Arc<AppState>,
    routes: Router,
    answered: Counter,
}

impl HotPath {
    pub(super) fn new(app: Arc<AppState>, routes: Router) -> Self {
        describe_counter!(HOT_PAGES, "Pages answered in front of the routes.");
        // The handle is taken once: counting a page is one addition.
        Self { app, routes, answered: counter!(HOT_PAGES) }
    }

    fn ready_page(&self, request: &Request) -> Option<Response> {
        // A token may be a moderator's, who sees more than every reader.
        let is_public = *request.method() == Method::GET && !request.headers().contains_key(header::AUTHORIZATION);
        let edge = &self.app.config.edge;
        // The reader of a signed request counts for popularity, so its signature is checked.
        let is_signed = edge.secret.is_some() && request.headers().contains_key(SIGNATURE_HEADER);
        if !is_public || edge.require_edge || is_signed {
            return None;
        }
        // Who has written by a widget of another system is not shown every page in memory.
        if request.uri().path().starts_with(COMPAT_PATHS) {
            return None;
        }
        let page = self.app.page_cache.get_now(request.uri().path_and_query()?.as_str())?;
        page.count_read(network_of_socket(&self.app, request));
        self.answered.increment(1);
        let mut response =
            send(&page, request.headers().get(header::IF_NONE_MATCH), accept_encoding::best(request.headers()));
        let headers = response.headers_mut();
        headers.insert(request_id::REQUEST_ID_HEADER, request_id::of(request.headers(), None));
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, cors::ANY_SITE);
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, NO_SNIFFING);
        Some(response)
    }
}

impl Service<Request> for HotPath {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<Ready<Result<Response, Infallible>>, <Router as Service<Request>>::Future>;

    fn poll_ready(&mut self, _: &mut task::Context<'_>) -> task::Poll<Result<(), Infallible>> {
        // Routes are always ready.
        task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match self.ready_page(&request) {
            Some(response) => Either::Left(ready(Ok(response))),
            None => Either::Right(self.routes.call(request)),
        }
    }
}
