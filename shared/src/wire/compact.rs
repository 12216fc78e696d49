//! The compact view of lists: each comment without what its reader can do without. Everything is written by reference,
//! nothing is copied.
//!
//! What is left out is decided in one place, [`CompactComment`]; the other types here are the answers that have comments.
//! Not here: which calls have the view.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use serde::Serialize;

use super::{
    Author, Comment, CommentContext, CommentFlag, CommentPage, CommentState, CommentTree, DataEnvelope, Media,
    MemberRef, PageInfo, QuotedFloor, Subject, SubjectState, TreeMore, Visibility,
};
use crate::id::{AuditId, CommentId, MemberId};
use crate::path::Mode;

/// An answer with comments, which has a compact view.
pub trait CompactView {
    /// The view.
    type View<'a>: Serialize
    where
        Self: 'a;

    /// The answer with compact comments.
    ///
    /// ```
    /// use gailou_shared::wire::{CommentPage, compact::CompactView};
    /// let page = r#"{"data":[],"page":{"next":null,"has_more":false,"sort":"hot","epoch":"1"}}"#;
    /// let page: CommentPage = serde_json::from_str(page)?;
    /// assert_eq!(serde_json::to_string(&page.compact())?, serde_json::to_string(&page)?);
    /// # Ok::<_, serde_json::Error>(())
    /// ```
    fn compact(&self) -> Self::View<'_>;
}

/// A comment without its subject and the text as written; without mentions and pictures where it has none; and without
/// its path, unless the subject is a building, whose comments are drawn on their chain.
#[derive(Debug, Clone, Serialize)]
pub struct CompactComment<'a> {
    id: CommentId,
    author: Option<&'a Author>,
    parent_id: Option<CommentId>,
    root_id: CommentId,
    reply_to: Option<&'a MemberRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a [CommentId]>,
    level: u8,
    floor: Option<u64>,
    html: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    mentions: &'a [MemberRef],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    media: &'a [Media],
    state: CommentState,
    visibility: Visibility,
    flags: &'a [CommentFlag],
    likes: u64,
    dislikes: u64,
    replies: u64,
    created_at: u64,
    edited_at: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_replies: Option<Vec<CompactComment<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    more_replies: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audit_id: Option<AuditId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    highlight: Option<&'a str>,
}

impl CompactView for Comment {
    type View<'a> = CompactComment<'a>;

    fn compact(&self) -> CompactComment<'_> {
        // Every field by its name, so that a new one is not left out by oversight.
        let Self {
            id,
            version: _,
            is_in_building,
            subject: _,
            author,
            parent_id,
            root_id,
            reply_to,
            path,
            level,
            floor,
            content: _,
            html,
            mentions,
            media,
            state,
            visibility,
            flags,
            likes,
            dislikes,
            replies,
            created_at,
            edited_at,
            top_replies,
            more_replies,
            audit_id,
            highlight,
        } = self;
        CompactComment {
            id: *id,
            author: author.as_ref(),
            parent_id: *parent_id,
            root_id: *root_id,
            reply_to: reply_to.as_ref(),
            path: is_in_building.then_some(path.as_slice()),
            level: *level,
            floor: *floor,
            html,
            mentions,
            media,
            state: *state,
            visibility: *visibility,
            flags,
            likes: *likes,
            dislikes: *dislikes,
            replies: *replies,
            created_at: *created_at,
            edited_at: *edited_at,
            top_replies: top_replies.as_ref().map(CompactView::compact),
            more_replies: *more_replies,
            audit_id: *audit_id,
            highlight: highlight.as_deref(),
        }
    }
}

impl<T: CompactView> CompactView for Vec<T> {
    type View<'a>
        = Vec<T::View<'a>>
    where
        Self: 'a;

    fn compact(&self) -> Self::View<'_> {
        self.iter().map(T::compact).collect()
    }
}

impl<T: CompactView> CompactView for DataEnvelope<T> {
    type View<'a>
        = DataEnvelope<T::View<'a>>
    where
        Self: 'a;

    fn compact(&self) -> Self::View<'_> {
        DataEnvelope { data: self.data.compact() }
    }
}

/// A subject whose pinned comments are compact.
#[derive(Debug, Clone, Serialize)]
pub struct CompactSubject<'a> {
    r#type: &'a str,
    key: &'a str,
    title: Option<&'a str>,
    url: Option<&'a str>,
    owner_id: Option<MemberId>,
    mode: Mode,
    state: SubjectState,
    roots: u64,
    comments: u64,
    pinned: Vec<CompactComment<'a>>,
    #[serde(skip_serializing_if = "core::ops::Not::not")]
    earlier_texts: bool,
}

impl CompactView for Subject {
    type View<'a> = CompactSubject<'a>;

    fn compact(&self) -> CompactSubject<'_> {
        let Self { version: _, r#type, key, title, url, owner_id, mode, state, roots, comments, pinned, earlier_texts } =
            self;
        CompactSubject {
            r#type,
            key,
            title: title.as_deref(),
            url: url.as_deref(),
            owner_id: *owner_id,
            mode: *mode,
            state: *state,
            roots: *roots,
            comments: *comments,
            pinned: pinned.compact(),
            earlier_texts: *earlier_texts,
        }
    }
}

/// A page of compact comments.
#[derive(Debug, Clone, Serialize)]
pub struct CompactCommentPage<'a> {
    data: Vec<CompactComment<'a>>,
    page: &'a PageInfo,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<CompactSubject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    floors: Option<&'a BTreeMap<CommentId, QuotedFloor>>,
}

impl CompactView for CommentPage {
    type View<'a> = CompactCommentPage<'a>;

    fn compact(&self) -> CompactCommentPage<'_> {
        let Self { data, page, subject, floors } = self;
        CompactCommentPage {
            data: data.compact(),
            page,
            subject: subject.as_ref().map(CompactView::compact),
            floors: floors.as_ref(),
        }
    }
}

/// A compact comment with what is drawn under it.
#[derive(Debug, Clone, Serialize)]
pub struct CompactCommentTree<'a> {
    comment: CompactComment<'a>,
    children: Vec<CompactCommentTree<'a>>,
    more: Option<&'a TreeMore>,
}

impl CompactView for CommentTree {
    type View<'a> = CompactCommentTree<'a>;

    fn compact(&self) -> CompactCommentTree<'_> {
        let Self { comment, children, more } = self;
        CompactCommentTree { comment: comment.compact(), children: children.compact(), more: more.as_ref() }
    }
}

/// A compact comment with what surrounds it.
#[derive(Debug, Clone, Serialize)]
pub struct CompactCommentContext<'a> {
    ancestors: Vec<CompactComment<'a>>,
    comment: CompactComment<'a>,
    siblings: Vec<CompactComment<'a>>,
    root_page: CompactCommentPage<'a>,
}

impl CompactView for CommentContext {
    type View<'a> = CompactCommentContext<'a>;

    fn compact(&self) -> CompactCommentContext<'_> {
        let Self { ancestors, comment, siblings, root_page } = self;
        CompactCommentContext {
            ancestors: ancestors.compact(),
            comment: comment.compact(),
            siblings: siblings.compact(),
            root_page: root_page.compact(),
        }
    }
}
