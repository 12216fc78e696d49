//! What answers show: every comment in them, with the version it was read at.
//!
//! What can be answered to everybody says here what it shows; an answer that says nothing of
//! itself cannot become a page.

use gailou_shared::cache_tags::CacheTags;
use gailou_shared::wire::{Comment, CommentContext, CommentPage, CommentTree, CountsBySubject, DataEnvelope, Subject};

/// An answer to everybody.
pub trait Showing {
    /// Calls `see` with every comment it shows.
    fn each<'a>(&'a self, see: &mut dyn FnMut(&'a Comment));

    /// The version of the subject it is about; 0 where it did not look at that.
    fn version(&self) -> u64 {
        0
    }
}

/// What an answer shows, also the comments whose authors are named as answered; `None` when that
/// is too much to be told.
pub fn shows(answer: &impl Showing) -> Option<CacheTags> {
    let mut entries = Vec::new();
    answer.each(&mut |comment| {
        let ids = [Some(comment.id), comment.parent_id];
        entries.extend(ids.into_iter().flatten().map(|id| (id.get(), comment.version)));
    });
    CacheTags::new(entries)
}

impl Showing for Comment {
    fn each<'a>(&'a self, see: &mut dyn FnMut(&'a Comment)) {
        see(self);
        self.top_replies.iter().for_each(|replies| replies.each(see));
    }
}

impl Showing for Vec<Comment> {
    fn each<'a>(&'a self, see: &mut dyn FnMut(&'a Comment)) {
        self.iter().for_each(|comment| comment.each(see));
    }
}

impl Showing for Subject {
    fn each<'a>(&'a self, see: &mut dyn FnMut(&'a Comment)) {
        self.pinned.each(see);
    }

    fn version(&self) -> u64 {
        self.version
    }
}

impl Showing for CommentPage {
    fn each<'a>(&'a self, see: &mut dyn FnMut(&'a Comment)) {
        self.data.each(see);
        self.subject.iter().for_each(|subject| subject.each(see));
    }

    fn version(&self) -> u64 {
        self.subject.as_ref().map_or(0, Subject::version)
    }
}

impl Showing for CommentTree {
    fn each<'a>(&'a self, see: &mut dyn FnMut(&'a Comment)) {
        self.comment.each(see);
        self.children.iter().for_each(|child| child.each(see));
    }
}

impl Showing for CommentContext {
    fn each<'a>(&'a self, see: &mut dyn FnMut(&'a Comment)) {
        self.ancestors.each(see);
        self.comment.each(see);
        self.siblings.each(see);
        self.root_page.each(see);
    }

    fn version(&self) -> u64 {
        self.root_page.version()
    }
}

impl Showing for CountsBySubject {
    fn each<'a>(&'a self, _: &mut dyn FnMut(&'a Comment)) {}
}

impl<T: Showing> Showing for DataEnvelope<T> {
    fn each<'a>(&'a self, see: &mut dyn FnMut(&'a Comment)) {
        self.data.each(see);
    }

    fn version(&self) -> u64 {
        self.data.version()
    }
}
