//! Cache tags: every comment that an answer shows, with the version it was read at, and its subject.
//!
//! An answer that every reader shares implements [`Tagged`]; without its tags nothing may keep a copy.

use gailou_shared::cache_tags::{CacheTags, TaggedComment};
use gailou_shared::id::{CommentId, subject_tag};
use gailou_shared::wire::{Comment, CommentContext, CommentPage, CommentTree, CountsBySubject, DataEnvelope, Subject};

use crate::service::numbered_page::NumberedPage;

/// An answer that every reader shares.
pub trait Tagged {
    /// Calls `visit` with every comment it shows, also with those that others quote.
    fn visit_shown<'a>(&'a self, visit: &mut dyn FnMut(ShownComment<'a>));

    /// The version of the subject it is about; 0 where it did not read that.
    fn version(&self) -> u64 {
        0
    }
}

/// A comment that an answer shows.
#[derive(Debug, Clone, Copy)]
pub struct ShownComment<'a> {
    /// Type and key of its subject.
    subject: (&'a str, &'a str),
    id: CommentId,
    /// Whose author it names as answered.
    parent_id: Option<CommentId>,
    version: u64,
}

/// The tags of an answer, also of the comments whose authors are named as answered; `None` when there
/// are too many.
pub fn cache_tags(answer: &impl Tagged) -> Option<CacheTags> {
    let mut comments = Vec::new();
    // Most answers are about one subject, whose number is computed once.
    let mut last: Option<((&str, &str), u64)> = None;
    answer.visit_shown(&mut |shown| {
        let known = last.filter(|(subject, _)| *subject == shown.subject);
        let (_, subject) =
            *last.insert(known.unwrap_or_else(|| (shown.subject, subject_tag(shown.subject.0, shown.subject.1))));
        let ids = [Some(shown.id), shown.parent_id];
        let tagged = |id: CommentId| TaggedComment { subject, id: id.get(), version: shown.version };
        comments.extend(ids.into_iter().flatten().map(tagged));
    });
    CacheTags::new(comments)
}

impl Tagged for Comment {
    fn visit_shown<'a>(&'a self, visit: &mut dyn FnMut(ShownComment<'a>)) {
        let subject = (&*self.subject.r#type, &*self.subject.key);
        visit(ShownComment { subject, id: self.id, parent_id: self.parent_id, version: self.version });
        self.top_replies.iter().for_each(|replies| replies.visit_shown(visit));
    }
}

impl Tagged for Vec<Comment> {
    fn visit_shown<'a>(&'a self, visit: &mut dyn FnMut(ShownComment<'a>)) {
        self.iter().for_each(|comment| comment.visit_shown(visit));
    }
}

impl Tagged for Subject {
    fn visit_shown<'a>(&'a self, visit: &mut dyn FnMut(ShownComment<'a>)) {
        self.pinned.visit_shown(visit);
    }

    fn version(&self) -> u64 {
        self.version
    }
}

impl Tagged for CommentPage {
    fn visit_shown<'a>(&'a self, visit: &mut dyn FnMut(ShownComment<'a>)) {
        self.data.visit_shown(visit);
        let Some(subject) = &self.subject else { return };
        subject.visit_shown(visit);
        for (id, floor) in self.floors.iter().flatten() {
            let subject = (&*subject.r#type, &*subject.key);
            visit(ShownComment { subject, id: *id, parent_id: None, version: floor.version });
        }
    }

    fn version(&self) -> u64 {
        self.subject.as_ref().map_or(0, Subject::version)
    }
}

impl Tagged for NumberedPage {
    fn visit_shown<'a>(&'a self, visit: &mut dyn FnMut(ShownComment<'a>)) {
        self.subject.visit_shown(visit);
        for replied in &self.roots {
            replied.root.visit_shown(visit);
            replied.replies.visit_shown(visit);
        }
    }

    fn version(&self) -> u64 {
        self.subject.version
    }
}

impl Tagged for CommentTree {
    fn visit_shown<'a>(&'a self, visit: &mut dyn FnMut(ShownComment<'a>)) {
        self.comment.visit_shown(visit);
        self.children.iter().for_each(|child| child.visit_shown(visit));
    }
}

impl Tagged for CommentContext {
    fn visit_shown<'a>(&'a self, visit: &mut dyn FnMut(ShownComment<'a>)) {
        self.ancestors.visit_shown(visit);
        self.comment.visit_shown(visit);
        self.siblings.visit_shown(visit);
        self.root_page.visit_shown(visit);
    }

    fn version(&self) -> u64 {
        self.root_page.version()
    }
}

/// A comment's chain, with the page of its replies.
impl Tagged for (Vec<Comment>, CommentPage) {
    fn visit_shown<'a>(&'a self, visit: &mut dyn FnMut(ShownComment<'a>)) {
        self.0.visit_shown(visit);
        self.1.visit_shown(visit);
    }

    fn version(&self) -> u64 {
        self.1.version()
    }
}

impl Tagged for CountsBySubject {
    fn visit_shown<'a>(&'a self, _: &mut dyn FnMut(ShownComment<'a>)) {}
}

impl<T: Tagged> Tagged for DataEnvelope<T> {
    fn visit_shown<'a>(&'a self, visit: &mut dyn FnMut(ShownComment<'a>)) {
        self.data.visit_shown(visit);
    }

    fn version(&self) -> u64 {
        self.data.version()
    }
}
