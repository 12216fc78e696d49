//! `/v1/me`: the reader's own layer over shared pages, the export of their data, and their erasure.

use std::io;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::TryStreamExt as _;
use gailou_shared::content::{parse_guest_name, parse_object};
use gailou_shared::id::CommentId;
use gailou_shared::limits;
use gailou_shared::token::is_avatar;
use gailou_shared::wire::{FieldError, Overlay, OwnProfile};
use serde_json::Value;
use utoipa::openapi::ArrayBuilder;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::path::{Parameter, ParameterIn, ParameterStyle};
use utoipa::{IntoParams, PartialSchema};

use crate::http::cached_page::{JSON_TYPE, PRIVATE_CACHING};
use crate::http::extract::{
    AuthenticatedMember, CountedRead, Edits, Erasures, JsonBody, LimitedMember, QueryParameters, RequestClient,
    UnreadBody,
};
use crate::http::openapi::bodies::{GuestMerge, MemberData, ProfileChanges};
use crate::http::openapi::responses::{BodyRefusals, MemberRefusals, NameRejected};
use crate::http::openapi::{examples, parameters};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::profile::ProfilePatch;
use crate::service::{member, member_data, merge, profile};
use crate::state::AppState;

/// The member of the token.
#[utoipa::path(
    get, path = "/v1/me", tag = "me",
    responses(
        (
            status = 200, description = "The member.", body = OwnProfile,
            headers(("Cache-Control" = String, description = "`private, no-store`: no cache may keep the answer.")),
        ),
        MemberRefusals,
    ),
    security(("bearer" = [])),
)]
pub(super) async fn get_profile(
    State(app): State<Arc<AppState>>,
    AuthenticatedMember(member): AuthenticatedMember,
    _: CountedRead,
) -> Result<([(HeaderName, HeaderValue); 1], Json<OwnProfile>), Refusal> {
    let _place = app.reads.admit().await?;
    Ok(([(header::CACHE_CONTROL, PRIVATE_CACHING)], Json(profile::read(&app, &member).await?)))
}

/// Change what is one's own.
///
/// A name and a picture are changed here by an account of this installation alone; the id stays, and what was written
/// keeps the name that it was written under. The next token has the new name.
#[utoipa::path(
    patch, path = "/v1/me", tag = "me",
    request_body(content = ProfileChanges, examples(
        ("notify" = (value = json!({"notify": "daily"}))),
    )),
    responses(
        (status = 200, description = "The member.", body = OwnProfile),
        MemberRefusals, BodyRefusals, NameRejected,
    ),
    security(("bearer" = [])),
)]
pub(super) async fn change_profile(
    State(app): State<Arc<AppState>>,
    LimitedMember { member, .. }: LimitedMember<Edits>,
    JsonBody(body): JsonBody,
) -> Result<([(HeaderName, HeaderValue); 1], Json<OwnProfile>), Refusal> {
    let patch = parse_profile(&body).map_err(Refusal::fields)?;
    Ok(([(header::CACHE_CONTROL, PRIVATE_CACHING)], Json(profile::change(&app, &member, patch).await?)))
}

/// Make what a guest wrote the reader's.
///
/// The guest's comments and reactions are the member's from then on, and the guest's token is refused. Of some thousand
/// comments the last are moved in the seconds after the answer. Doing it again changes nothing.
#[utoipa::path(
    post, path = "/v1/me/merge", tag = "me",
    request_body(content = GuestMerge, examples(
        ("guest" = (value = json!({"guest_token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI…"}))),
    )),
    responses((status = 200, description = "The member.", body = OwnProfile), MemberRefusals, BodyRefusals),
    security(("bearer" = [])),
)]
pub(super) async fn merge_guest(
    State(app): State<Arc<AppState>>,
    LimitedMember { member, .. }: LimitedMember<Edits>,
    JsonBody(body): JsonBody,
) -> Result<([(HeaderName, HeaderValue); 1], Json<OwnProfile>), Refusal> {
    let fields = parse_object(&body).map_err(Refusal::fields)?;
    let token = match fields.get("guest_token") {
        Some(Value::String(token)) => token,
        Some(_) => return Err(Refusal::field("guest_token", "must be a text")),
        None => return Err(Refusal::field("guest_token", "is missing")),
    };
    Ok(([(header::CACHE_CONTROL, PRIVATE_CACHING)], Json(merge::merge(&app, &member, token).await?)))
}

/// Longest language tag, in bytes (RFC 5646, section 4.4.1).
const MAX_LANGUAGE_BYTES: usize = 35;

fn parse_profile(body: &[u8]) -> Result<ProfilePatch, Vec<FieldError>> {
    let fields = parse_object(body)?;
    let mut errors = Vec::new();
    let name = parse_guest_name(body).unwrap_or_else(|wrong| {
        errors.extend(wrong);
        None
    });
    let mut text = |field: &'static str, is_right: fn(&str) -> bool, must_be: &'static str| match fields.get(field) {
        None => None,
        Some(Value::Null) => Some(None),
        Some(Value::String(text)) if is_right(text) => Some(Some(text.clone())),
        Some(_) => {
            errors.push(FieldError::new(field, must_be));
            None
        }
    };
    let avatar = text("avatar", is_own_avatar, "must be an address by https, or null");
    let language = text("language", is_language, "must be a language tag, such as zh-CN, or null");
    let notify = fields.get("notify").and_then(|notify| {
        let notify = serde_json::from_value(notify.clone());
        notify.map_err(|_| errors.push(FieldError::new("notify", "must be each, daily or never"))).ok()
    });
    if errors.is_empty() { Ok(ProfilePatch { name, avatar, notify, language }) } else { Err(errors) }
}

/// A path would be one of the page that shows it, asked for with its readers' cookies.
fn is_own_avatar(address: &str) -> bool {
    is_avatar(address) && address.starts_with("https://")
}

fn is_language(tag: &str) -> bool {
    let is_part = |part: &str| (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric());
    tag.len() <= MAX_LANGUAGE_BYTES && tag.split('-').all(is_part)
}

/// The reader's own layer over shared pages.
#[utoipa::path(
    get, path = "/v1/me/overlay", tag = "me",
    params(OverlayIds),
    responses(
        (
            status = 200, description = "The layer by comment id, with the reader's own comments that are in no list.", body = Overlay,
            headers(("Cache-Control" = String, description = "`private, no-store`: no cache may keep the answer.")),
            examples(("overlay" = (value = json!(examples::overlay())))),
        ),
        MemberRefusals,
    ),
    security(("bearer" = [])),
)]
pub(super) async fn get_overlay(
    State(app): State<Arc<AppState>>,
    AuthenticatedMember(reader): AuthenticatedMember,
    _: CountedRead,
    OverlayIds(ids): OverlayIds,
    headers: HeaderMap,
) -> Result<([(HeaderName, HeaderValue); 1], Json<Overlay>), Refusal> {
    if app.degrade.no_overlay().is_some() {
        let detail = "what is your own is left out for the moment; the lists are answered without it";
        return Err(Refusal::left_out(detail));
    }
    let _place = app.reads.admit().await?;
    let site = headers.get(header::ORIGIN).and_then(|site| site.to_str().ok());
    Ok(([(header::CACHE_CONTROL, PRIVATE_CACHING)], Json(member::read_overlay(&app, &reader, &ids, site).await?)))
}

/// Everything that is stored of the reader.
///
/// Comments in every state, with earlier texts and the text as it was typed; reactions; reports; texts that the word filter
/// refused. The answer is streamed: it is complete when it is valid JSON.
#[utoipa::path(
    get, path = "/v1/me/export", tag = "me",
    responses(
        (
            status = 200, description = "The member's data.", body = inline(MemberData),
            headers(("Cache-Control" = String, description = "`private, no-store`: no cache may keep the answer.")),
        ),
        MemberRefusals,
    ),
    security(("bearer" = [])),
)]
pub(super) async fn export_member(
    State(app): State<Arc<AppState>>,
    AuthenticatedMember(member): AuthenticatedMember,
    client: RequestClient,
) -> Result<Response, Refusal> {
    app.rate_limits.count_export(member.id, client.network).await?;
    let id = member.id;
    let chunks = member_data::export(app, member)?.map_err(move |error| {
        tracing::debug!(member = %id, %error, "Could not finish the export of member {id}");
        io::Error::other("the export cannot be finished")
    });
    let headers = [
        (header::CACHE_CONTROL, PRIVATE_CACHING),
        (header::CONTENT_TYPE, HeaderValue::from_static(JSON_TYPE)),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"gailou-export.json\"")),
    ];
    Ok((headers, Body::from_stream(chunks)).into_response())
}

/// Erase the reader.
///
/// What they wrote, their names and the earlier texts of their comments are overwritten for ever; their comments stay
/// as tombstones, their reactions as numbers. Every token of the member is refused from then on: a repetition is `401`.
#[utoipa::path(
    delete, path = "/v1/me", tag = "me",
    responses((status = 204, description = "The member is erased."), MemberRefusals),
    security(("bearer" = [])),
)]
pub(super) async fn erase_self(
    State(app): State<Arc<AppState>>,
    LimitedMember { member, .. }: LimitedMember<Erasures>,
    _: UnreadBody,
) -> Result<StatusCode, Refusal> {
    member_data::erase(&app, member.id, None).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The comments of the parameter `ids`.
#[derive(Debug)]
pub(super) struct OverlayIds(Vec<CommentId>);

impl FromRequestParts<HttpState> for OverlayIds {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let texts: Vec<&str> = query.all("ids").flat_map(|list| list.split(',')).filter(|id| !id.is_empty()).collect();
        if texts.len() > limits::MAX_OVERLAY_IDS {
            return Err(Refusal::field("ids", format!("must be at most {} ids", limits::MAX_OVERLAY_IDS)));
        }
        let wrong = |_| Refusal::field("ids", "must be comment ids, separated by commas");
        texts.into_iter().map(str::parse).collect::<Result<_, _>>().map(Self).map_err(wrong)
    }
}

impl IntoParams for OverlayIds {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let ids = ArrayBuilder::new().items(CommentId::schema()).max_items(Some(limits::MAX_OVERLAY_IDS));
        // utoipa's parameters have no field for it.
        let may_be_empty = Extensions::from_iter([("allowEmptyValue", true)]);
        let ids = parameters::query("ids", "Comments, separated by commas.", ids);
        vec![ids.style(Some(ParameterStyle::Form)).explode(Some(false)).extensions(Some(may_be_empty)).build()]
    }
}
