//! What is posted.

use gailou_shared::id::{CommentId, MediaId, MemberId};
use gailou_shared::wire::Visibility;
use serde::Serialize;

/// A comment to post: `NewPost { content: "Hello".into(), ..NewPost::default() }`. The server judges it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct NewPost {
    /// The text, in the server's Markdown.
    pub content: String,
    /// The comment it answers, of the same subject.
    pub parent_id: Option<CommentId>,
    /// Members it mentions, at most 20.
    pub mentions: Vec<MemberId>,
    /// Pictures that its author has uploaded, at most 4.
    pub media: Vec<MediaId>,
    /// The readers who may see it.
    pub visibility: Visibility,
}

impl NewPost {
    /// A root with this text.
    #[must_use]
    pub fn new(content: impl Into<String>) -> Self {
        Self { content: content.into(), ..Self::default() }
    }

    /// An answer to this comment.
    #[must_use]
    pub fn reply(parent_id: CommentId, content: impl Into<String>) -> Self {
        Self { parent_id: Some(parent_id), ..Self::new(content) }
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::content::{NewComment, parse_new_comment};
    use gailou_shared::limits::MAX_CONTENT_CHARS;

    use super::*;

    #[test]
    fn server_reads_what_is_posted() {
        let (parent_id, mentions, media) =
            ("9".parse().unwrap(), vec!["7".parse().unwrap()], vec!["5".parse().unwrap()]);
        let post = NewPost { mentions, media, visibility: Visibility::Author, ..NewPost::reply(parent_id, "Hello") };
        let check = |post: NewPost| {
            let read = parse_new_comment(&serde_json::to_vec(&post).unwrap(), MAX_CONTENT_CHARS).unwrap();
            let NewPost { content, parent_id, mentions, media, visibility } = post;
            assert_eq!(read, NewComment { content, parent_id, mentions, visibility, media });
        };
        check(post);
        check(NewPost::new("Hello"));
    }
}
