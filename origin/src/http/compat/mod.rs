//! `/compat/`: what the published widgets of other comment systems call, mapped onto subjects, comments and guests of this
//! one. One file a widget.
//!
//! Their pages are subjects of one type ([`crate::config::CompatSettings`]), and who writes is a guest without a token. What
//! has no counterpart here is answered as an empty one, and who signs in with their panels reads that it is not there.
//! Reads are cached as the contract's own are. Not in the OpenAPI document: these calls are documented by the systems that
//! they come from.

mod artalk;
mod isso;
mod twikoo;
mod waline;

use std::sync::Arc;

use axum::Router;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::middleware::map_response;
use axum::response::Response;
use gailou_shared::cache_tags::CacheTags;
use gailou_shared::content;
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::token::Member;
use gailou_shared::wire::{Author, Comment, CommentFlag, Reaction};
use serde::Serialize;
use serde_json::json;

use crate::domain::avatar::AvatarHash;
use crate::domain::email_address::EmailAddress;
use crate::domain::operation::ReactionChange;
use crate::domain::page_address::{Site, page_key};
use crate::domain::visitor::VisitorMark;
use crate::http::cached_page::JSON_TYPE;
use crate::http::dialect::Dialect;
use crate::http::extract::ChallengedWrite;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::challenge::WriteSource;
use crate::service::numbered_page::NumberedPage;
use crate::service::publish::Published;
use crate::service::{ServiceError, ServiceResult, avatar, cache_tags, comment_view, guest, member, publish, react};
use crate::state::AppState;
use crate::state::page_cache::BuiltPage;
use crate::state::rate_limits::WriteKind;

/// Longest name of a page, in bytes: paths of pages with their sites.
const MAX_PAGE_BYTES: usize = 2_048;
/// The name of a guest who gives none.
const NAMELESS_GUEST: &str = "Anonymous";

/// The calls of every widget.
pub(super) fn routes() -> Router<HttpState> {
    spoken(artalk::routes(), Dialect::Artalk)
        .merge(spoken(isso::routes(), Dialect::Isso))
        .merge(spoken(twikoo::routes(), Dialect::Twikoo))
        .merge(spoken(waline::routes(), Dialect::Waline))
}

/// Refusals of these calls in a dialect.
fn spoken(routes: Router<HttpState>, dialect: Dialect) -> Router<HttpState> {
    routes.layer(map_response(move |mut response: Response| async move {
        if let Some(refusal) = response.extensions_mut().get_mut::<Refusal>() {
            refusal.speak(dialect);
        }
        response
    }))
}

/// The subject of a page, by its address or its path.
fn subject_of(app: &AppState, field: &'static str, page: &str) -> Result<SubjectKey, Refusal> {
    let settings = &app.config.compat;
    let site = settings.site.as_deref().and_then(Site::parse);
    let key = if page.len() <= MAX_PAGE_BYTES { page_key(page, site.as_ref()) } else { None };
    let key = key.and_then(|key| SubjectKey::new(&settings.subject_type, &key).ok());
    let key = key.ok_or_else(|| Refusal::field(field, "must be the address or the path of a page"))?;
    Ok(app.settings().moved_pages.resolve(key))
}

/// The address of the page of a comment, for a link on a page of the same site.
fn page_of(comment: &Comment) -> String {
    let key = &comment.subject.key;
    let path = || if key.starts_with('/') { key.clone() } else { format!("//{key}") };
    comment.subject.url.clone().flatten().unwrap_or_else(path)
}

/// Who uses a widget: a browser.
#[derive(Debug)]
struct Visitor {
    app: Arc<AppState>,
    source: WriteSource,
}

impl FromRequestParts<HttpState> for Visitor {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Self::Rejection> {
        let ChallengedWrite(source) = ChallengedWrite::from_request_parts(parts, state).await?;
        Ok(Self { app: state.app.clone(), source })
    }
}

/// What a widget sends to publish.
#[derive(Debug, Default)]
struct WrittenComment<'a> {
    name: &'a str,
    email: &'a str,
    text: &'a str,
    parent: Option<CommentId>,
}

impl Visitor {
    fn network(&self) -> String {
        self.source.network.map_or_else(String::new, |network| network.to_string())
    }

    /// The guest of this name and address, with the picture that belongs to the address.
    async fn guest(&self, name: &str, email: &str) -> Result<Member, Refusal> {
        let (email, network) = (EmailAddress::parse(email), self.network());
        let mark = match &email {
            Some(email) => VisitorMark::Email { name, email: email.as_str() },
            None => VisitorMark::Network { name, network: &network },
        };
        let guest = self.guest_of(mark).await?;
        // A picture of the address, where a service has pictures; else readers see a drawing.
        let has_pictures = self.app.config.avatars.url.is_some();
        let hash = email.filter(|_| has_pictures).map(|email| AvatarHash::of(&email));
        Ok(Member { avatar: hash.map(|hash| avatar::own_address(&self.app, &hash)), ..guest })
    }

    async fn guest_of(&self, mark: VisitorMark<'_>) -> Result<Member, Refusal> {
        Ok(guest::of_visitor(&self.app, mark, self.source.network).await?)
    }

    /// The guest whose reactions these are: one for all who share a network, since names and tokens cost nothing.
    async fn nameless(&self) -> Result<Member, Refusal> {
        self.guest_of(VisitorMark::Nameless { network: &self.network() }).await
    }

    /// Publishes a comment on a page.
    async fn post(&self, key: SubjectKey, written: WrittenComment<'_>) -> Result<Published, Refusal> {
        let member = self.guest(&name_of(written.name)?, written.email).await?;
        self.publish(member, key, written.text, written.parent).await
    }

    async fn publish(
        &self,
        member: Member,
        key: SubjectKey,
        text: &str,
        parent: Option<CommentId>,
    ) -> Result<Published, Refusal> {
        let max_chars = publish::max_chars(&self.app, key.kind());
        let body = json!({"content": text, "parent_id": parent}).to_string();
        let new = content::parse_new_comment(body.as_bytes(), max_chars).map_err(Refusal::fields)?;
        let published = publish::publish(&self.app, &member, &self.source, key, new, None).await?;
        self.note_write();
        Ok(published)
    }

    /// What this visitor reads from here on has what was written.
    fn note_write(&self) {
        self.app.page_cache.note_visitor_write(self.source.network);
    }

    /// Puts a reaction of this network, or takes it back; the counts after that.
    async fn react(&self, id: CommentId, change: ReactionChange) -> Result<(u64, u64), Refusal> {
        let member = self.nameless().await?;
        self.count(WriteKind::Reaction, &member).await?;
        self.put_reaction(&member, id, change).await
    }

    async fn put_reaction(
        &self,
        member: &Member,
        id: CommentId,
        change: ReactionChange,
    ) -> Result<(u64, u64), Refusal> {
        let counts = react::react(&self.app, member, id, change).await?;
        self.note_write();
        Ok((counts.likes, counts.dislikes))
    }

    /// Puts a reaction of this network, or takes back the one that it has put.
    async fn toggle(&self, id: CommentId, reaction: Reaction) -> Result<(u64, u64), Refusal> {
        let member = self.nameless().await?;
        self.count(WriteKind::Reaction, &member).await?;
        let overlay = member::read_overlay(&self.app, &member, &[id], None).await?;
        let is_put = overlay.data.get(&id).and_then(|own| own.reaction) == Some(reaction);
        let change = if is_put { ReactionChange::Take(reaction) } else { ReactionChange::Put(reaction) };
        self.put_reaction(&member, id, change).await
    }

    /// Counts a write of a guest that is no comment.
    async fn count(&self, kind: WriteKind, member: &Member) -> Result<(), Refusal> {
        Ok(self.app.rate_limits.count_write(kind, member.id, self.source.network).await?)
    }
}

/// The name of a guest, who may give none.
fn name_of(given: &str) -> Result<String, Refusal> {
    let name = if given.trim().is_empty() { NAMELESS_GUEST } else { given };
    let body = json!({"name": name}).to_string();
    Ok(content::parse_guest_name(body.as_bytes()).map_err(Refusal::fields)?.unwrap_or_default())
}

/// The address of the author's picture: their own, or a drawing that their id decides.
fn picture_of(app: &AppState, author: &Author) -> String {
    author.avatar.clone().unwrap_or_else(|| avatar::own_address(app, &AvatarHash::of_member(author.id)))
}

/// By which hash this installation has the author's picture, or a drawing in its place.
fn hash_of(author: &Author) -> AvatarHash {
    let hash = author.avatar.as_deref().and_then(|address| address.rsplit('/').next());
    hash.and_then(AvatarHash::parse).unwrap_or_else(|| AvatarHash::of_member(author.id))
}

fn is_pinned(comment: &Comment) -> bool {
    comment.flags.iter().any(|flag| matches!(flag, CommentFlag::Pinned | CommentFlag::OwnerPinned))
}

/// The id of a comment in a path or a body.
fn id_of(text: &str) -> Result<CommentId, Refusal> {
    text.parse().map_err(|_| ServiceError::CommentNotFound.into())
}

/// An answer that becomes old when a subject changes, with the comments that it shows.
struct ForeignAnswer<T> {
    value: T,
    subjects: Vec<SubjectKey>,
    tags: Option<CacheTags>,
    version: u64,
}

impl<T: Serialize> ForeignAnswer<T> {
    fn of_page(value: T, page: &NumberedPage, key: &SubjectKey) -> Self {
        let (tags, version) = (cache_tags::cache_tags(page), page.subject.version);
        Self { value, subjects: vec![key.clone()], tags, version }
    }

    /// The counts of these subjects.
    fn of_counts(value: T, subjects: Vec<SubjectKey>) -> Self {
        Self { value, subjects, tags: CacheTags::new(vec![]), version: 0 }
    }

    /// Comments of any subjects.
    fn of_comments(value: T, comments: &Vec<Comment>) -> Self {
        let tags = cache_tags::cache_tags(comments);
        Self { value, subjects: comment_view::subjects(comments), tags, version: 0 }
    }

    fn build(self) -> ServiceResult<BuiltPage> {
        let body = serde_json::to_vec(&self.value).map_err(|error| ServiceError::Bug(error.to_string()))?;
        Ok(BuiltPage {
            body,
            content_type: JSON_TYPE,
            headers: &[],
            subjects: self.subjects,
            cache_tags: self.tags,
            version: self.version,
            reads: None,
            is_passing: false,
        })
    }
}
