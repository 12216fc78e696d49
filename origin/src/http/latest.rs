//! `/v1/latest`: the newest comments of all subjects; and Atom feeds, of all and of a subject.

use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::response::Response;
use gailou_shared::cursor::{Cursor, CursorList, WalkPosition};
use gailou_shared::id::SubjectKey;
use gailou_shared::limits;
use gailou_shared::list_view::ListView;
use gailou_shared::page_key::{page_key, unless_default};
use gailou_shared::rank::Sort;
use gailou_shared::wire::openapi::SubjectTypeName;
use gailou_shared::wire::{Code, Comment, DataEnvelope};
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::{IntoParams, PartialSchema as _};

use crate::http::atom::AtomFeed;
use crate::http::cached_page::{CacheableRead, list_page};
use crate::http::extract::{KnownSubject, QueryParameters, view_parameter};
use crate::http::openapi::list_views::CommentListView;
use crate::http::openapi::parameters;
use crate::http::openapi::responses::{NotFound, NotModified, PublicRefusals};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::{cache_tags, comment_view, latest};
use crate::state::AppState;
use crate::state::page_cache::BuiltPage;

const ATOM_TYPE: &str = "application/atom+xml; charset=utf-8";
/// A feed is strangers' texts: where a browser shows it, nothing in it runs or loads.
static ATOM_HEADERS: [(&str, &str); 2] =
    [("content-security-policy", "default-src 'none'; sandbox"), ("x-content-type-options", "nosniff")];
/// Comments of a feed.
const FEED_COMMENTS: usize = 20;
const FEED_TITLE: &str = "Comments · 评论";

/// The newest comments.
///
/// Of all subjects that are not hidden, newest first, each with the title and the address of its subject. Of a type
/// that few write to, those are found that are among the newest comments of all.
#[utoipa::path(
    get, path = "/v1/latest", tag = "subjects",
    params(LatestQuery, LatestPage, CacheableRead),
    responses(
        (status = 200, description = "The newest comments.", body = inline(DataEnvelope<CommentListView>)),
        PublicRefusals, NotFound, NotModified,
    ),
)]
pub(super) async fn list_latest(
    State(app): State<Arc<AppState>>,
    LatestQuery(kind): LatestQuery,
    LatestPage { limit, view }: LatestPage,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let given_limit = unless_default(limit, limits::DEFAULT_PAGE_SIZE);
    let name = page_key(read.path(), &[("type", kind.clone()), ("limit", given_limit), view.key_parameter()]);
    let build = || async {
        let data = latest::list_latest(&app, kind.as_deref(), limit).await?;
        let subjects = comment_view::subjects(&data);
        list_page(view, &DataEnvelope { data }, subjects)
    };
    read.answer(&name, build).await
}

/// The newest comments, as an Atom feed.
#[utoipa::path(
    get, path = "/v1/latest.atom", tag = "subjects",
    params(LatestQuery, CacheableRead),
    responses(
        (status = 200, description = "The feed.", body = String, content_type = "application/atom+xml"),
        PublicRefusals, NotFound, NotModified,
    ),
)]
pub(super) async fn get_latest_feed(
    State(app): State<Arc<AppState>>,
    LatestQuery(kind): LatestQuery,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let name = page_key(read.path(), &[("type", kind.clone())]);
    let build = || async {
        let comments = latest::list_latest(&app, kind.as_deref(), FEED_COMMENTS).await?;
        let title = kind.as_ref().map_or(FEED_TITLE.to_owned(), |kind| format!("{FEED_TITLE} · {kind}"));
        let identity = feed_identity(&app, &[kind.as_deref()]);
        let feed =
            AtomFeed { identity: &identity, title: &title, address: None, path: &name, comments: &comments }.write();
        Ok(atom_page(feed, &comments, comment_view::subjects(&comments), 0))
    };
    read.answer(&name, build).await
}

/// The newest comments of a subject, as an Atom feed.
#[utoipa::path(
    get, path = "/v1/subjects/{type}/{key}/feed.atom", tag = "subjects",
    params(KnownSubject, CacheableRead),
    responses(
        (status = 200, description = "The feed.", body = String, content_type = "application/atom+xml"),
        PublicRefusals, NotFound, NotModified,
    ),
)]
pub(super) async fn get_subject_feed(
    State(app): State<Arc<AppState>>,
    KnownSubject(key): KnownSubject,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let build = || async {
        let (subject, comments) = latest::list_latest_of(&app, &key, FEED_COMMENTS).await?;
        let feed = AtomFeed {
            identity: &feed_identity(&app, &[Some(key.kind()), Some(key.key())]),
            title: subject.title.as_deref().unwrap_or(&subject.key),
            address: subject.url.as_deref(),
            path: read.path(),
            comments: &comments,
        };
        Ok(atom_page(feed.write(), &comments, vec![key.clone()], subject.version))
    };
    read.answer(read.path(), build).await
}

/// A text that only this installation has for this feed: other ones have subjects with the same keys.
fn feed_identity(app: &AppState, parts: &[Option<&str>]) -> String {
    let list = CursorList::moderation("feed", parts);
    app.cursor_key.encode(&Cursor { list, sort: Sort::New, epoch: 0, at: WalkPosition::After(0) })
}

fn atom_page(feed: String, comments: &Vec<Comment>, subjects: Vec<SubjectKey>, version: u64) -> BuiltPage {
    BuiltPage {
        body: feed.into_bytes(),
        content_type: ATOM_TYPE,
        headers: &ATOM_HEADERS,
        subjects,
        cache_tags: cache_tags::cache_tags(comments),
        version,
        reads: None,
        is_passing: false,
    }
}

/// The one type that is asked for; one that is not configured is `404 unknown_subject_type`.
#[derive(Debug)]
pub(super) struct LatestQuery(Option<String>);

impl FromRequestParts<HttpState> for LatestQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        match query.get("type") {
            Some(kind) if !state.app.config.types.contains_key(kind) => {
                Err(Refusal::new(Code::UnknownSubjectType, "there is no such subject type here"))
            }
            kind => Ok(Self(kind.map(str::to_owned))),
        }
    }
}

impl IntoParams for LatestQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![parameters::query("type", "Comments on subjects of this type alone.", SubjectTypeName::schema()).build()]
    }
}

/// How many comments are asked for, and how much of each.
#[derive(Debug)]
pub(super) struct LatestPage {
    limit: usize,
    view: ListView,
}

impl FromRequestParts<HttpState> for LatestPage {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let limit = query.number("limit", limits::MAX_LATEST, limits::DEFAULT_PAGE_SIZE);
        match (limit, query.view()) {
            (Ok(limit), Ok(view)) => Ok(Self { limit, view }),
            (limit, view) => Err(Refusal::fields([limit.err(), view.err()].into_iter().flatten().collect())),
        }
    }
}

impl IntoParams for LatestPage {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let description = "Most comments in the answer.";
        let limit = parameters::whole_number("limit", description, limits::MAX_LATEST, limits::DEFAULT_PAGE_SIZE);
        vec![limit, view_parameter()]
    }
}
