//! Pictures: uploaded, used by comments, and read.
//!
//! Promise: a row is stored before its file, and deleted after it, so no file is without a row; and a comment that was
//! appended is among the uses of its pictures, so no file is deleted while a comment shows it
//! ([`crate::jobs::sweep_media`]).

use std::net::IpAddr;

use bytes::Bytes;
use gailou_shared::id::{CommentId, MediaId, MemberId, MemberKind, Slot};
use gailou_shared::limits::MAX_ALT_CHARS;
use gailou_shared::token::Member;
use gailou_shared::visible_text::text_problem;
use gailou_shared::wire::Media;
use gailou_shared::word_filter::FilterVerdict;

use crate::domain::media::{MediaName, MediaRef, MediaRow};
use crate::domain::picture::{self, Picture, PictureError};
use crate::ports::blobs::Blob;
use crate::service::{ServiceError, ServiceResult, guest, rules};
use crate::state::AppState;
use crate::state::media::MediaStore;

/// Where pictures are read, before their names.
const MEDIA_PATH: &str = "/v1/media/";

/// The store of pictures.
///
/// # Errors
/// [`ServiceError::NotFound`] where the installation has none.
pub fn media_store(app: &AppState) -> ServiceResult<&MediaStore> {
    app.media.as_ref().ok_or(ServiceError::NotFound("this installation takes no pictures: media.url is not set"))
}

/// Stores a picture that its member may use in a comment.
///
/// # Errors
/// [`ServiceError::Picture`], `AltRejected`, `GuestsNotAllowed`, `Forbidden` and `WrongFields`, or those of the stores.
pub async fn upload(
    app: &AppState,
    member: &Member,
    network: Option<IpAddr>,
    upload: Bytes,
    alt: String,
) -> ServiceResult<Media> {
    check_may_upload(app, member, network)?;
    check_alt(app, &alt)?;
    let store = media_store(app)?;
    let picture = convert(store, upload).await?;
    let _place = app.writes.admit().await?;
    let id: MediaId = app.ids.next(Slot::FIRST, app.now()).ok_or(ServiceError::NoNodeNumber)?.into();
    let media = store_picture(app, store, picture, NewMedia { id, owner: member.id, alt, uses: vec![] }).await?;
    Ok(view(&media))
}

/// What is known of a picture before it is stored.
pub(super) struct NewMedia {
    pub(super) id: MediaId,
    pub(super) owner: MemberId,
    pub(super) alt: String,
    /// The comments that are to use it.
    pub(super) uses: Vec<CommentId>,
}

/// Stores a picture: its row, and then its file.
///
/// # Errors
/// Those of the stores.
pub(super) async fn store_picture(
    app: &AppState,
    store: &MediaStore,
    picture: Picture,
    new: NewMedia,
) -> ServiceResult<MediaRef> {
    let now = app.now();
    let (Picture { bytes, format, width, height }, NewMedia { id, owner, alt, uses }) = (picture, new);
    let name = MediaName::of(id, &bytes, format);
    let media = MediaRef { id, name: name.as_str().to_owned(), width, height, alt };
    let unused_since = uses.is_empty().then_some(now);
    let row = MediaRow { media, owner, uses, unused_since, is_deleted: false };
    app.tables.insert_media(&row, now).await?;
    store.blobs.put(&name, bytes).await?;
    Ok(row.media)
}

fn check_may_upload(app: &AppState, member: &Member, network: Option<IpAddr>) -> ServiceResult<()> {
    rules::check_not_blocked(app, member, network)?;
    if member.name.is_empty() {
        let detail = "who has no name cannot upload; choose one with PATCH /v1/me, or /v1/guests/me as a guest";
        return Err(ServiceError::wrong_field("name", detail));
    }
    if member.id.kind() == MemberKind::Guest { guest::check_allowed(app) } else { Ok(()) }
}

/// A description can be neither masked nor held.
fn check_alt(app: &AppState, alt: &str) -> ServiceResult<()> {
    if alt.chars().count() > MAX_ALT_CHARS {
        return Err(ServiceError::wrong_field("alt", format!("must have at most {MAX_ALT_CHARS} characters")));
    }
    if let Some(problem) = text_problem(alt) {
        return Err(ServiceError::wrong_field("alt", problem));
    }
    if app.dictionary().check(alt) == FilterVerdict::Pass { Ok(()) } else { Err(ServiceError::AltRejected) }
}

/// The picture in these bytes.
///
/// # Errors
/// [`ServiceError::Picture`].
pub(super) async fn convert(store: &MediaStore, upload: Bytes) -> ServiceResult<Picture> {
    let place = store.decoders.clone().acquire_owned().await.map_err(|error| ServiceError::Bug(error.to_string()))?;
    let converted = tokio::task::spawn_blocking(move || {
        // It works on when its member has gone.
        let _place = place;
        picture::convert(&upload)
    });
    let converted = converted.await;
    // A decoder that panics has met bytes that its authors have not thought of.
    converted.unwrap_or(Err(PictureError::Damaged)).map_err(ServiceError::Picture)
}

/// The pictures of a new comment of this member, who may have uploaded them as a guest.
///
/// # Errors
/// `WrongFields` where the member has not uploaded them, or the store's.
pub(super) async fn find(app: &AppState, member: &Member, ids: &[MediaId]) -> ServiceResult<Vec<MediaRef>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut rows = app.tables.read_media(ids).await?;
    let is_own = |owner| owner == member.id || app.erased_members.heir_of(owner) == Some(member.id);
    let found = ids.iter().map(|id| {
        let place = rows.iter().position(|row| row.media.id == *id && is_own(row.owner))?;
        Some(rows.swap_remove(place).media)
    });
    found.collect::<Option<_>>().ok_or_else(not_yours)
}

/// Remembers that a comment is to use its pictures, before it is appended.
///
/// # Errors
/// `WrongFields` where one is gone, or used too often, or the store's.
pub(super) async fn remember_use(app: &AppState, media: &[MediaRef], comment: CommentId) -> ServiceResult<()> {
    if media.is_empty() {
        return Ok(());
    }
    let ids: Vec<_> = media.iter().map(|media| media.id).collect();
    if app.tables.use_media(&ids, comment).await? { Ok(()) } else { Err(not_yours()) }
}

fn not_yours() -> ServiceError {
    ServiceError::wrong_field("media", "names a picture that you have not uploaded in the last day, or use too often")
}

/// The file of this name.
///
/// # Errors
/// [`ServiceError::NotFound`], or the store's.
pub async fn read(app: &AppState, name: &MediaName) -> ServiceResult<Blob> {
    let found = media_store(app)?.blobs.get(name).await?;
    found.ok_or(ServiceError::NotFound("there is no such picture (any more)"))
}

/// A picture as readers see it.
pub(super) fn view(media: &MediaRef) -> Media {
    let MediaRef { id, name, width, height, alt } = media;
    Media { id: *id, url: format!("{MEDIA_PATH}{name}"), width: *width, height: *height, alt: alt.clone() }
}
