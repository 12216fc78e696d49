//! Cache tags: every comment that an answer shows, with the version it was read at, and its subject.
//!
//! An answer that every reader shares implements [`Tagged`]; without its tags nothing may keep a copy.

use gailou_shared::cache_tags::{CacheTags, TaggedComment};
use gailou_shared::id::{CommentId, subject_tag};
use gailou_shared::wire::{
    Comment, CommentContext, CommentPage, CommentTree, CountsBySubject, DataEnvelope, Subject, SubjectRef,
};

/// An answer that every reader shares.
pub trait Tagged {
    /// Calls `visit` with every comment it shows.
    fn visit_comments<'a>(&'a self, visit: &mut dyn FnMut(&'a Comment));

    /// The version of the subject it is about; 0 where it did not read that.
    fn version(&self) -> u64 {
        0
    }
}

/// The tags of an answer, also of the comments whose authors are named as answered; `None` when there
/// are too many.
pub fn cache_tags(answer: &impl Tagged) -> Option<CacheTags> {
    let mut comments = Vec::new();
    // Most answers are about one subject, whose number is computed once.
    let mut last: Option<(&SubjectRef, u64)> = None;
    answer.visit_comments(&mut |comment| {
        let known = last.filter(|(subject, _)| **subject == comment.subject);
        let (_, subject) = *last.insert(
            known.unwrap_or_else(|| (&comment.subject, subject_tag(&comment.subject.r#type, &comment.subject.key))),
        );
        let ids = [Some(comment.id), comment.parent_id];
        let tagged = |id: CommentId| TaggedComment { subject, id: id.get(), version: comment.version };
        comments.extend(ids.into_iter().flatten().map(tagged));
    });
    CacheTags::new(comments)
}

impl Tagged for Comment {
    fn visit_comments<'a>(&'a self, visit: &mut dyn FnMut(&'a Comment)) {
        visit(self);
        self.top_replies.iter().for_each(|replies| replies.visit_comments(visit));
    }
}

impl Tagged for Vec<Comment> {
    fn visit_comments<'a>(&'a self, visit: &mut dyn FnMut(&'a Comment)) {
        self.iter().for_each(|comment| comment.visit_comments(visit));
    }
}

impl Tagged for Subject {
    fn visit_comments<'a>(&'a self, visit: &mut dyn FnMut(&'a Comment)) {
        self.pinned.visit_comments(visit);
    }

    fn version(&self) -> u64 {
        self.version
    }
}

impl Tagged for CommentPage {
    fn visit_comments<'a>(&'a self, visit: &mut dyn FnMut(&'a Comment)) {
        self.data.visit_comments(visit);
        self.subject.iter().for_each(|subject| subject.visit_comments(visit));
    }

    fn version(&self) -> u64 {
        self.subject.as_ref().map_or(0, Subject::version)
    }
}

impl Tagged for CommentTree {
    fn visit_comments<'a>(&'a self, visit: &mut dyn FnMut(&'a Comment)) {
        self.comment.visit_comments(visit);
        self.children.iter().for_each(|child| child.visit_comments(visit));
    }
}

impl Tagged for CommentContext {
    fn visit_comments<'a>(&'a self, visit: &mut dyn FnMut(&'a Comment)) {
        self.ancestors.visit_comments(visit);
        self.comment.visit_comments(visit);
        self.siblings.visit_comments(visit);
        self.root_page.visit_comments(visit);
    }

    fn version(&self) -> u64 {
        self.root_page.version()
    }
}

impl Tagged for CountsBySubject {
    fn visit_comments<'a>(&'a self, _: &mut dyn FnMut(&'a Comment)) {}
}

impl<T: Tagged> Tagged for DataEnvelope<T> {
    fn visit_comments<'a>(&'a self, visit: &mut dyn FnMut(&'a Comment)) {
        self.data.visit_comments(visit);
    }

    fn version(&self) -> u64 {
        self.data.version()
    }
}
