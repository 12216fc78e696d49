//! What handlers take from a request, one type each, refused as the contract says.
//!
//! The contract checks in this order: route 404, token 401, size 413, type 415, then everything that
//! is 400. axum extracts the arguments of a handler from left to right and the body last, so a
//! handler lists [`KnownSubjectType`], [`AuthenticatedMember`], [`UnreadBody`] or [`JsonBody`], and
//! then what is 400. Where a body is read, what is 400 has to be taken before it and refused after
//! it: that is [`AfterBody`].

mod body;
mod client;
mod idempotency_header;
mod if_match;
mod language;
mod list_query;
mod list_view;
mod member;
mod page_query;
mod path;
mod query;
mod rate_limit;
mod upload;
mod write_source;

pub(super) use body::{JsonBody, UnreadBody, read_body};
pub(super) use client::RequestClient;
pub(super) use idempotency_header::{IDEMPOTENCY_KEY_HEADER, IdempotencyHeader};
pub(super) use if_match::IfMatch;
pub(super) use language::{RequestLanguage, accepted_language};
pub(super) use list_query::{ListQuery, PrintedRootSorts, ReplySorts, RootSorts};
pub(super) use list_view::{ViewQuery, view_parameter};
pub(super) use member::{Admin, AdminRead, AuthenticatedMember, Moderator, ModeratorRead, verified_member};
pub(super) use page_query::PlainPageQuery;
pub(super) use path::{AddressedSubject, KnownSubject, KnownSubjectType, PathDelivery, PathId};
pub(super) use query::QueryParameters;
pub(super) use rate_limit::{
    CountedRead, Decisions, Deletions, Edits, Erasures, LimitedMember, Previews, Reactions, ReadMarks, Reports,
    Uploads, WatchChanges,
};
pub(super) use upload::PictureUpload;
pub(super) use write_source::{ChallengedWrite, RefusedHeader};

use crate::http::problem::Refusal;

/// What is extracted before the body and refused after it: the handler unwraps it with `?`.
pub(super) type AfterBody<T> = Result<T, Refusal>;
