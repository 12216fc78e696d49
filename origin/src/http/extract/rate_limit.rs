//! Requests that count against a rate limit, refused with `429 rate_limited`.
//!
//! Posts are counted by their service, which answers a repeated post although the limit is used up.
//! Public reads are counted where no page in memory answers them.

use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use gailou_shared::token::Member;

use crate::http::extract::client::RequestClient;
use crate::http::extract::member::AuthenticatedMember;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::standing::check_not_muted;
use crate::state::rate_limits::WriteKind;

/// A kind of writes, as a type.
pub(in crate::http) trait LimitedWrite {
    const WRITE_KIND: WriteKind;
    /// Whether also a member may who is muted.
    const MAY_BE_MUTED: bool = false;
}

/// Likes and dislikes, put or taken back.
#[derive(Debug)]
pub(in crate::http) struct Reactions;

impl LimitedWrite for Reactions {
    const WRITE_KIND: WriteKind = WriteKind::Reaction;
}

/// New texts of comments.
#[derive(Debug)]
pub(in crate::http) struct Edits;

impl LimitedWrite for Edits {
    const WRITE_KIND: WriteKind = WriteKind::Edit;
}

/// Deletions of comments.
#[derive(Debug)]
pub(in crate::http) struct Deletions;

impl LimitedWrite for Deletions {
    const WRITE_KIND: WriteKind = WriteKind::Deletion;
}

/// Members who erase themselves.
#[derive(Debug)]
pub(in crate::http) struct Erasures;

impl LimitedWrite for Erasures {
    const WRITE_KIND: WriteKind = WriteKind::Deletion;
    const MAY_BE_MUTED: bool = true;
}

/// Pins, and decisions of moderators.
#[derive(Debug)]
pub(in crate::http) struct Decisions;

impl LimitedWrite for Decisions {
    const WRITE_KIND: WriteKind = WriteKind::Decision;
}

/// Texts that are rendered and not stored.
#[derive(Debug)]
pub(in crate::http) struct Previews;

impl LimitedWrite for Previews {
    const WRITE_KIND: WriteKind = WriteKind::Preview;
    const MAY_BE_MUTED: bool = true;
}

/// Uploads of pictures.
#[derive(Debug)]
pub(in crate::http) struct Uploads;

impl LimitedWrite for Uploads {
    const WRITE_KIND: WriteKind = WriteKind::Upload;
}

/// Notifications that are marked as read, counted as reactions are.
#[derive(Debug)]
pub(in crate::http) struct ReadMarks;

impl LimitedWrite for ReadMarks {
    const WRITE_KIND: WriteKind = WriteKind::Reaction;
    const MAY_BE_MUTED: bool = true;
}

/// Watches that begin or end, counted as reactions are.
#[derive(Debug)]
pub(in crate::http) struct WatchChanges;

impl LimitedWrite for WatchChanges {
    const WRITE_KIND: WriteKind = WriteKind::Reaction;
    const MAY_BE_MUTED: bool = true;
}

/// Reports of comments.
#[derive(Debug)]
pub(in crate::http) struct Reports;

impl LimitedWrite for Reports {
    const WRITE_KIND: WriteKind = WriteKind::Report;
}

/// The member of a write, as [`AuthenticatedMember`], counted for the member and its network; who is muted is refused
/// with `403 muted`.
#[derive(Debug)]
pub(in crate::http) struct LimitedMember<W> {
    pub(in crate::http) member: Member,
    kind: PhantomData<W>,
}

impl<W: LimitedWrite> FromRequestParts<HttpState> for LimitedMember<W> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let AuthenticatedMember(member) = AuthenticatedMember::from_request_parts(parts, state).await?;
        if !W::MAY_BE_MUTED {
            check_not_muted(&state.app, &member)?;
        }
        let Ok(client) = RequestClient::from_request_parts(parts, state).await;
        state.app.rate_limits.count_write(W::WRITE_KIND, member.id, client.network).await?;
        Ok(Self { member, kind: PhantomData })
    }
}

/// A read that no cache answers, counted for its network.
#[derive(Debug)]
pub(in crate::http) struct CountedRead;

impl FromRequestParts<HttpState> for CountedRead {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let Ok(client) = RequestClient::from_request_parts(parts, state).await;
        state.app.rate_limits.count_read(client.network).await?;
        Ok(Self)
    }
}
