//! The examples of the document: values of the wire types, so they have the fields that answers have.

use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::path::Mode;
use gailou_shared::rank::Sort;
use gailou_shared::wire::{
    Author, Comment, CommentPage, CommentState, CommentTree, Media, MemberRef, PageInfo, Reaction, ReactionResult,
    StaffRole, Subject, SubjectRef, SubjectState, Visibility,
};
use serde_json::{Value, json};

const ROOT_ID: u64 = 3_159_632_956_621_393_920;
const PICTURE_ID: u64 = 3_159_632_951_252_676_608;
const REPLY_ID: u64 = 3_159_632_992_289_755_136;
const WRITTEN_MS: u64 = 1_700_000_000_000;

fn comment_id(number: u64) -> CommentId {
    CommentId::new(number).unwrap_or_else(|_| unreachable!("the examples have good ids"))
}

fn member_id(number: u64) -> MemberId {
    MemberId::new(number).unwrap_or_else(|_| unreachable!("the examples have good ids"))
}

/// A root.
pub(in crate::http) fn root() -> Comment {
    let id = comment_id(ROOT_ID);
    Comment {
        id,
        version: 0,
        is_in_building: false,
        subject: SubjectRef { r#type: "video".into(), key: "2".into(), title: None, url: None },
        author: Some(Author::new(member_id(7), "Alice".into(), None, 3, None)),
        parent_id: None,
        root_id: id,
        reply_to: None,
        path: vec![id],
        level: 1,
        floor: Some(12),
        content: "Well said.".into(),
        html: "<p>Well said.</p>".into(),
        mentions: vec![],
        media: vec![],
        state: CommentState::Published,
        visibility: Visibility::Everyone,
        flags: vec![],
        likes: 10,
        dislikes: 0,
        replies: 1,
        created_at: WRITTEN_MS,
        edited_at: None,
        top_replies: None,
        more_replies: None,
        audit_id: None,
        highlight: None,
    }
}

/// A picture.
pub(in crate::http) fn media() -> Media {
    Media {
        id: comment_id(PICTURE_ID).into(),
        url: "/v1/media/3159632951252676608-0f343b0931126a20f133d67c2b018a3b.jpg".into(),
        width: 1_600,
        height: 1_200,
        alt: "A cat on a keyboard".into(),
    }
}

/// The one reply of [`root`].
pub(in crate::http) fn reply() -> Comment {
    let (root, id) = (root(), comment_id(REPLY_ID));
    Comment {
        id,
        author: Some(Author::new(member_id(9), "Bo".into(), None, 0, Some(StaffRole::Moderator))),
        parent_id: Some(root.id),
        reply_to: Some(MemberRef { id: member_id(7), name: "Alice".into() }),
        path: vec![root.id, id],
        level: 2,
        floor: Some(1),
        content: "Thank you!".into(),
        html: "<p>Thank you!</p>".into(),
        likes: 1,
        replies: 0,
        created_at: WRITTEN_MS + 8_504,
        ..root
    }
}

/// A root that a moderator has to approve.
pub(in crate::http) fn held() -> Comment {
    let id = comment_id(REPLY_ID + 1);
    Comment {
        id,
        root_id: id,
        path: vec![id],
        floor: None,
        state: CommentState::Review,
        likes: 0,
        replies: 0,
        ..root()
    }
}

/// [`root`] after it was deleted.
pub(in crate::http) fn tombstone() -> Comment {
    Comment { author: None, content: String::new(), html: String::new(), state: CommentState::Deleted, ..root() }
}

/// The subject of the other examples.
pub(in crate::http) fn subject() -> Subject {
    Subject {
        version: 0,
        r#type: "video".into(),
        key: "2".into(),
        title: Some("A video".into()),
        url: Some("https://example.com/videos/2".into()),
        owner_id: Some(member_id(7)),
        mode: Mode::TwoLevel,
        state: SubjectState::Open,
        roots: 1,
        comments: 2,
        pinned: vec![],
        earlier_texts: false,
    }
}

/// The first page of [`subject`].
pub(in crate::http) fn page() -> CommentPage {
    CommentPage {
        data: vec![Comment { top_replies: Some(vec![reply()]), more_replies: Some(0), ..root() }],
        page: PageInfo { next: None, has_more: false, sort: Sort::Hot, epoch: "41".into() },
        subject: Some(subject()),
        floors: None,
    }
}

/// [`root`] with its reply.
pub(in crate::http) fn tree() -> Value {
    let reply = CommentTree { comment: reply(), children: vec![], more: None };
    json!({"data": CommentTree { comment: root(), children: vec![reply], more: None }})
}

/// The counts of [`root`] after a reaction.
pub(in crate::http) fn reacted(likes: u64, dislikes: u64, reaction: Option<Reaction>) -> ReactionResult {
    ReactionResult { id: comment_id(ROOT_ID), likes, dislikes, reaction }
}

/// A guest with the token to write with.
pub(in crate::http) fn guest() -> Value {
    let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0NjExNjg2MDE4NDI3Mzg3OTA0In0.c2lnbmF0dXJl";
    json!({"token": token, "member": {"id": "4611686018427387911", "name": "Bo"}})
}

/// The overlay of a reader who likes [`root`].
pub(in crate::http) fn overlay() -> Value {
    let entry = json!({"reaction": "like", "can_edit": false, "can_delete": true});
    json!({"data": {ROOT_ID.to_string(): entry}, "pending": []})
}
