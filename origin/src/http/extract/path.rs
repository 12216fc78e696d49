//! What the path names: the subject and its type, a comment, a member.
//!
//! axum's own `Path` refuses a path with one badly encoded segment as a whole. For the
//! contract a type that is not configured is 404 and a wrong key is 400, so segments are decoded one by
//! one here, by the names they have in the route.

use std::borrow::Cow;
use std::str::FromStr;

use axum::extract::{FromRequestParts, MatchedPath};
use axum::http::request::Parts;
use gailou_shared::id::{AuditId, CommentId, InvalidId, MemberId, PasskeyId, RefusedTextId, SubjectKey, WebhookId};
use gailou_shared::wire::Code;
use gailou_shared::wire::openapi::{SubjectKeyText, SubjectTypeName};
use percent_encoding::percent_decode_str;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::{IntoParams, PartialSchema};

use crate::domain::webhook::is_delivery_id;
use crate::http::openapi::parameters;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;

/// `{type}`: a configured type. It is part of the route, so an unknown one is
/// `404 unknown_subject_type`.
#[derive(Debug)]
pub(in crate::http) struct KnownSubjectType(pub(in crate::http) String);

impl FromRequestParts<HttpState> for KnownSubjectType {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let unknown = || Refusal::new(Code::UnknownSubjectType, "there is no such subject type here");
        let name = decoded(raw_segment(parts, "type"), "type").map_err(|_| unknown())?;
        if state.app.config.types.contains_key(&*name) { Ok(Self(name.into_owned())) } else { Err(unknown()) }
    }
}

/// `{type}/{key}`: a subject of a configured type, else `404 unknown_subject_type` or
/// `400 invalid_request` on `key`. The new address of a page that has moved is the subject that has its comments.
#[derive(Debug)]
pub(in crate::http) struct KnownSubject(pub(in crate::http) SubjectKey);

impl FromRequestParts<HttpState> for KnownSubject {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        AddressedSubject::from_request_parts(parts, state).await.map(|addressed| Self(addressed.subject))
    }
}

/// The same, with the name in the address, which differs where a page has moved.
#[derive(Debug)]
pub(in crate::http) struct AddressedSubject {
    pub(in crate::http) name: SubjectKey,
    pub(in crate::http) subject: SubjectKey,
}

impl FromRequestParts<HttpState> for AddressedSubject {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let KnownSubjectType(kind) = KnownSubjectType::from_request_parts(parts, state).await?;
        let key = decoded(raw_segment(parts, "key"), "key")?;
        let name = SubjectKey::new(&kind, &key).map_err(|error| Refusal::field(error.field(), error.to_string()))?;
        let subject = state.app.settings().moved_pages.resolve(name.clone());
        Ok(Self { name, subject })
    }
}

impl IntoParams for KnownSubject {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![
            parameters::segment("type", "What kind of thing is commented on.", SubjectTypeName::schema(), "video"),
            parameters::segment("key", "The host's key of it, percent-encoded.", SubjectKeyText::schema(), "2"),
        ]
    }
}

/// `{id}`: a comment's, a member's, an audit entry's or a refused text's, else `400 invalid_request` on `id`.
#[derive(Debug)]
pub(in crate::http) struct PathId<T>(pub(in crate::http) T);

impl<T: FromStr<Err = InvalidId>> FromRequestParts<HttpState> for PathId<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &HttpState) -> Result<Self, Refusal> {
        let id = raw_segment(parts, "id").parse();
        id.map(Self).map_err(|error: InvalidId| Refusal::field("id", error.to_string()))
    }
}

impl IntoParams for PathId<CommentId> {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![parameters::segment("id", "The comment.", CommentId::schema(), "3159632956621393920")]
    }
}

impl IntoParams for PathId<AuditId> {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![parameters::segment("id", "The entry of the audit log.", AuditId::schema(), "3159632956621393920")]
    }
}

impl IntoParams for PathId<RefusedTextId> {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![parameters::segment("id", "The refused text.", RefusedTextId::schema(), "3159632956621393920")]
    }
}

impl IntoParams for PathId<MemberId> {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![parameters::segment("id", "The member.", MemberId::schema(), "7")]
    }
}

impl IntoParams for PathId<WebhookId> {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![parameters::segment("id", "The webhook.", WebhookId::schema(), "3159632956621393920")]
    }
}

impl IntoParams for PathId<PasskeyId> {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![parameters::segment("id", "The passkey.", PasskeyId::schema(), "3159632956621393920")]
    }
}

/// `{id}/deliveries/{delivery}`: a delivery of a webhook, else `400 invalid_request` on `id` or `delivery`.
#[derive(Debug)]
pub(in crate::http) struct PathDelivery {
    pub(in crate::http) webhook: WebhookId,
    pub(in crate::http) delivery: String,
}

impl FromRequestParts<HttpState> for PathDelivery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let PathId(webhook) = PathId::from_request_parts(parts, state).await?;
        let delivery = raw_segment(parts, "delivery");
        if !is_delivery_id(delivery) {
            return Err(Refusal::field("delivery", "must be msg_ and 32 hexadecimal digits"));
        }
        Ok(Self { webhook, delivery: delivery.to_owned() })
    }
}

impl IntoParams for PathDelivery {
    fn into_params(place: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let id = parameters::text().pattern(Some("^msg_[0-9a-f]{32}$"));
        let example = "msg_5f2c8d0e1a3b4c6d7e8f9a0b1c2d3e4f";
        let delivery = parameters::segment("delivery", "The delivery.", id.into(), example);
        PathId::<WebhookId>::into_params(place).into_iter().chain([delivery]).collect()
    }
}

/// The segment of the request's path that its route calls `{name}`, as it was sent.
fn raw_segment<'p>(parts: &'p Parts, name: &str) -> &'p str {
    let route = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
    segment_named(name, route, parts.uri.path())
}

/// The segment of `path` that `route` calls `{name}`; empty where there is none.
fn segment_named<'p>(name: &str, route: &str, path: &'p str) -> &'p str {
    let is_named = |segment: &str| segment.strip_prefix('{').and_then(|s| s.strip_suffix('}')) == Some(name);
    let mut segments = std::iter::zip(route.split('/'), path.split('/'));
    segments.find(|(named, _)| is_named(named)).map_or("", |(_, sent)| sent)
}

fn decoded<'p>(segment: &'p str, field: &'static str) -> Result<Cow<'p, str>, Refusal> {
    percent_decode_str(segment).decode_utf8().map_err(|_| Refusal::field(field, "must be percent-encoded UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_found_by_their_names_and_stay_encoded() {
        let check = |name: &str, route: &str, path: &str, expected: &str| {
            assert_eq!(segment_named(name, route, path), expected, "{name} of {path}");
        };
        let subject = "/v1/subjects/{type}/{key}";
        check("type", subject, "/v1/subjects/article/a%2Fb", "article");
        check("key", subject, "/v1/subjects/article/a%2Fb", "a%2Fb");
        check("key", "/v1/admin/subjects/{type}/{key}", "/v1/admin/subjects/video/%FF", "%FF");
        check("id", "/v1/comments/{id}/like", "/v1/comments/7/like", "7");
        check("id", subject, "/v1/subjects/article/1", "");
        check("id", "", "/v1/comments/7", "");
    }
}
