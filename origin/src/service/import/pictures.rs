//! Fetches the pictures that imported comments show, and makes them pictures of this installation.
//!
//! Each comment gets rows and files of its own, of which it is the use before it is appended: so they are deleted with it,
//! and never before. Promise: a picture that cannot be fetched stays in the text as it is, and is named; an address is
//! fetched once, and one of its host's answers is waited for at most [`FETCHES_PER_HOST`] times at once; memory holds
//! [`HOSTS_AT_ONCE`] times as many files, and bounded numbers of addresses and hosts.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use gailou_shared::id::{CommentId, IMPORT_NODE, MemberId, Slot};
use gailou_shared::limits::{MAX_ALT_CHARS, MAX_COMMENT_MEDIA};
use gailou_shared::visible_text::text_problem;
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::domain::id_generator::{IdGenerator, NodeLease};
use crate::domain::import_line::ImportLine;
use crate::domain::markdown_pictures::{self, ForeignPicture};
use crate::domain::media::{MediaName, MediaRef};
use crate::domain::picture::{Picture, PictureError};
use crate::ports::blobs::Blob;
use crate::ports::picture_hosts::{PictureFailure, PictureHosts};
use crate::service::import::{ImportObserver, ImportReport, Result};
use crate::service::media::{self, NewMedia, media_store};
use crate::service::{ServiceError, ServiceResult};
use crate::state::AppState;
use crate::state::media::MediaStore;

/// Comments whose pictures are fetched before the comments are appended.
pub(super) const LINES_PER_FETCH: usize = 32;
/// Hosts that are asked at once.
const HOSTS_AT_ONCE: usize = 4;
/// Pictures that one host is asked for at once: with all hosts 8, of 5 MiB each.
const FETCHES_PER_HOST: usize = 2;
/// How often in a row a host does not answer before it is asked no more: after a minute at most.
const MAX_SILENCES: u32 = 5;
/// Addresses whose outcome is remembered: 20 MB. Then all are forgotten, and fetched again where they occur again.
const MAX_KNOWN_ADDRESSES: usize = 100_000;
/// Hosts whose silence is remembered: 1 MB.
const MAX_KNOWN_HOSTS: usize = 10_000;

/// An address in memory.
type AddressHash = [u8; 32];

/// What is known of an address.
#[derive(Debug, Clone)]
enum KnownPicture {
    /// Its picture in the first comment that shows it.
    Stored(MediaRef),
    /// Why there is none.
    Failed(Arc<str>),
}

/// Fetches the pictures of one import.
#[derive(Debug)]
pub struct PictureFetcher {
    hosts: Arc<dyn PictureHosts>,
    /// The processes of a cluster that serve have other numbers.
    ids: IdGenerator,
    known: HashMap<AddressHash, KnownPicture>,
    /// How often in a row each host has not answered.
    silences: HashMap<String, u32>,
}

/// A picture that a comment is to have.
#[derive(Debug, Clone)]
struct WantedPicture {
    address: String,
    hash: AddressHash,
    alt: String,
    owner: MemberId,
    comment: CommentId,
}

/// How many pictures of this comment are fetched.
pub(crate) fn count_pictures(line: &ImportLine) -> usize {
    addresses(&find_pictures(line)).take(MAX_COMMENT_MEDIA).count()
}

/// No reader sees the text of a deleted comment.
fn find_pictures(line: &ImportLine) -> Vec<ForeignPicture> {
    if line.deleted { Vec::new() } else { markdown_pictures::find(&line.content, &line.pictures) }
}

/// The pictures with addresses of their own, in their order.
fn addresses(pictures: &[ForeignPicture]) -> impl Iterator<Item = &ForeignPicture> {
    let mut seen = HashSet::new();
    pictures.iter().filter(move |picture| seen.insert(&picture.address))
}

impl PictureFetcher {
    /// One that has fetched nothing.
    pub fn new(hosts: Arc<dyn PictureHosts>) -> Self {
        let ids = IdGenerator::new(Some(NodeLease::endless(IMPORT_NODE)), 0);
        Self { hosts, ids, known: HashMap::new(), silences: HashMap::new() }
    }

    /// Fetches the pictures of some comments, and takes them out of the texts. Returns those of each comment. What cannot
    /// be fetched is named.
    ///
    /// # Errors
    /// Those of the stores, and of the observer.
    pub(super) async fn fetch(
        &mut self,
        app: &AppState,
        lines: &mut [ImportLine],
        ids: &[CommentId],
        report: &mut ImportReport,
        observer: &mut dyn ImportObserver,
    ) -> Result<Vec<Vec<MediaRef>>> {
        let store = media_store(app)?;
        let found: Vec<Vec<ForeignPicture>> = lines.iter().map(find_pictures).collect();
        let wanted: Vec<Vec<WantedPicture>> = (lines.iter().zip(ids).zip(&found))
            .map(|((line, id), found)| addresses(found).map(|picture| wanted_picture(picture, line, *id)).collect())
            .collect();
        let fetched = self.fetch_new(app, store, &wanted).await?;
        let mut media = Vec::with_capacity(lines.len());
        for ((line, found), wanted) in lines.iter_mut().zip(&found).zip(&wanted) {
            let mut of_line = Vec::new();
            let mut taken = HashSet::new();
            for (place, picture) in wanted.iter().enumerate() {
                let outcome = match self.known.get(&picture.hash) {
                    _ if place >= MAX_COMMENT_MEDIA => Err(too_many()),
                    Some(KnownPicture::Stored(media)) if fetched.contains(&(picture.comment, picture.hash)) => {
                        Ok(media.clone())
                    }
                    Some(KnownPicture::Stored(media)) => self.copy(app, store, media, picture).await?,
                    Some(KnownPicture::Failed(reason)) => Err(reason.clone()),
                    None => Err("it was not fetched".into()),
                };
                match outcome {
                    Ok(media) => {
                        report.pictures += 1;
                        taken.insert(&picture.address);
                        of_line.push(media);
                    }
                    Err(reason) => {
                        report.pictures_failed += 1;
                        observer.picture_failed(&picture.address, &reason).await?;
                    }
                }
            }
            // In a link of an export a picture stands to be fetched; its description is what stays.
            let is_replaced = |picture: &&ForeignPicture| {
                taken.contains(&picture.address) || (picture.is_in_link && line.pictures.contains(&picture.address))
            };
            let replaced: Vec<_> = found.iter().filter(is_replaced).collect();
            if !replaced.is_empty() {
                line.content = markdown_pictures::without(&line.content, &replaced);
            }
            media.push(of_line);
        }
        Ok(media)
    }

    /// Fetches the addresses that are not known. Returns which comments have the pictures that were stored.
    async fn fetch_new(
        &mut self,
        app: &AppState,
        store: &MediaStore,
        wanted: &[Vec<WantedPicture>],
    ) -> Result<HashSet<(CommentId, AddressHash)>> {
        if self.known.len() >= MAX_KNOWN_ADDRESSES {
            self.known.clear();
        }
        if self.silences.len() >= MAX_KNOWN_HOSTS {
            self.silences.clear();
        }
        let mut seen = HashSet::new();
        let mut by_host: BTreeMap<String, Vec<&WantedPicture>> = BTreeMap::new();
        for picture in wanted.iter().flat_map(|of_line| of_line.iter().take(MAX_COMMENT_MEDIA)) {
            if !self.known.contains_key(&picture.hash) && seen.insert(picture.hash) {
                by_host.entry(host_of(&picture.address)).or_default().push(picture);
            }
        }
        let fetcher = &*self;
        let queues: Vec<_> = by_host
            .into_iter()
            .map(|(host, pictures)| fetcher.fetch_of_host(app, store, host, pictures).boxed())
            .collect();
        let done: Vec<_> = stream::iter(queues).buffer_unordered(HOSTS_AT_ONCE).try_collect().await?;
        let mut stored = HashSet::new();
        for (host, silences, outcomes) in done {
            self.silences.insert(host, silences);
            for (picture, outcome) in outcomes {
                if matches!(outcome, KnownPicture::Stored(_)) {
                    stored.insert((picture.comment, picture.hash));
                }
                self.known.insert(picture.hash, outcome);
            }
        }
        Ok(stored)
    }

    /// Fetches pictures of one host. Returns how often in a row it has not answered, and what became of them.
    async fn fetch_of_host<'w>(
        &self,
        app: &AppState,
        store: &MediaStore,
        host: String,
        pictures: Vec<&'w WantedPicture>,
    ) -> ServiceResult<(String, u32, Vec<(&'w WantedPicture, KnownPicture)>)> {
        let silences = AtomicU32::new(self.silences.get(&host).copied().unwrap_or(0));
        let fetches: Vec<_> =
            pictures.into_iter().map(|picture| self.fetch_one(app, store, picture, &silences).boxed()).collect();
        let outcomes = stream::iter(fetches).buffer_unordered(FETCHES_PER_HOST).try_collect().await?;
        Ok((host, silences.into_inner(), outcomes))
    }

    async fn fetch_one<'w>(
        &self,
        app: &AppState,
        store: &MediaStore,
        picture: &'w WantedPicture,
        silences: &AtomicU32,
    ) -> ServiceResult<(&'w WantedPicture, KnownPicture)> {
        let failed = |reason: String| Ok((picture, KnownPicture::Failed(reason.into())));
        if silences.load(Ordering::Relaxed) >= MAX_SILENCES {
            return failed(format!("its host did not answer {MAX_SILENCES} times in a row"));
        }
        let file = match self.hosts.fetch(&picture.address).await {
            Err(PictureFailure::NoAnswer(failure)) => {
                silences.fetch_add(1, Ordering::Relaxed);
                return failed(failure.to_string());
            }
            Err(PictureFailure::Refused(failure)) => Err(failure.to_string()),
            Ok(file) => Ok(file),
        };
        silences.store(0, Ordering::Relaxed);
        let file = match file {
            Ok(file) => file,
            Err(reason) => return failed(reason),
        };
        match media::convert(store, file).await {
            Ok(converted) => Ok((picture, KnownPicture::Stored(self.store(app, store, converted, picture).await?))),
            Err(ServiceError::Picture(PictureError::UnknownKind)) => {
                failed("it is no JPEG, PNG, GIF or WebP".to_owned())
            }
            Err(ServiceError::Picture(error)) => failed(format!("it {error}")),
            Err(error) => Err(error),
        }
    }

    /// Stores the picture of another comment for this one, too.
    async fn copy(
        &self,
        app: &AppState,
        store: &MediaStore,
        of: &MediaRef,
        picture: &WantedPicture,
    ) -> ServiceResult<std::result::Result<MediaRef, Arc<str>>> {
        let gone = || Ok(Err(Arc::from("its file is gone")));
        let Some(name) = MediaName::parse(&of.name) else { return gone() };
        let Some(file) = store.blobs.get(&name).await? else { return gone() };
        let bytes = read_file(file).await?;
        let copied = Picture { bytes, format: name.format(), width: of.width, height: of.height };
        self.store(app, store, copied, picture).await.map(Ok)
    }

    async fn store(
        &self,
        app: &AppState,
        store: &MediaStore,
        converted: Picture,
        picture: &WantedPicture,
    ) -> ServiceResult<MediaRef> {
        let id = self.ids.next(Slot::FIRST, app.now()).ok_or(ServiceError::NoNodeNumber)?.into();
        let WantedPicture { alt, owner, comment, .. } = picture;
        let new = NewMedia { id, owner: *owner, alt: alt.clone(), uses: vec![*comment] };
        media::store_picture(app, store, converted, new).await
    }
}

async fn read_file(mut file: Blob) -> ServiceResult<Bytes> {
    let mut bytes = BytesMut::new();
    while let Some(part) = file.parts.try_next().await? {
        bytes.extend_from_slice(&part);
    }
    Ok(bytes.freeze())
}

fn too_many() -> Arc<str> {
    format!("a comment has at most {MAX_COMMENT_MEDIA} pictures").into()
}

fn wanted_picture(picture: &ForeignPicture, line: &ImportLine, comment: CommentId) -> WantedPicture {
    let ForeignPicture { address, alt, .. } = picture;
    let alt: String = alt.trim().chars().take(MAX_ALT_CHARS).collect();
    WantedPicture {
        address: address.clone(),
        hash: Sha256::digest(address).into(),
        alt: if text_problem(&alt).is_some() { String::new() } else { alt },
        owner: line.author.id,
        comment,
    }
}

/// The host of an address; an address that is none has none.
fn host_of(address: &str) -> String {
    Url::parse(address).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
}
