//! Changes that tests make directly, as a commit would.

use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::walk::Snapshot;

use crate::domain::operation::{ChangedSubject, PersistedBatch, TouchedComment};
use crate::domain::row::{CommentRow, SubjectRow};
use crate::testing::fixtures::{TEST_START_MS, comment_row};
use crate::testing::memory_store::{MemoryStore, StoreState};

impl MemoryStore {
    /// Makes `second` another id of a comment.
    pub(crate) fn add_alias(&self, second: CommentId, first: CommentId) {
        self.state().aliases.insert(second, first);
    }

    pub(crate) fn add_snapshot(&self, snapshot: Snapshot) {
        self.state().snapshots.insert(snapshot.id(), snapshot);
    }

    /// Changes a comment, and raises its subject's version.
    pub(crate) fn edit(&self, id: CommentId, edit: impl FnOnce(&mut CommentRow)) -> PersistedBatch {
        let mut state = self.state();
        let row = state.rows.get_mut(&id).unwrap();
        let before = row.clone();
        edit(row);
        let after = row.clone();
        commit(&mut state, Some(&before), &after)
    }

    /// Publishes the comment with this number, as a root or below another comment.
    pub(crate) fn publish(
        &self,
        subject: &SubjectKey,
        number: u64,
        parent: Option<CommentId>,
    ) -> (CommentId, PersistedBatch) {
        let id = CommentId::from_parts(TEST_START_MS - 60_000 + number, subject.slot(), 0, 0);
        let mut state = self.state();
        let path = parent.map_or(Path::root(id), |parent| state.rows[&parent].path.child(id).unwrap());
        let list = parent.map(|_| path.root_id());
        let floor = state.floors.entry((subject.clone(), list)).or_default();
        *floor += 1;
        let row = CommentRow { floor: Some(*floor), parent_id: parent, ..comment_row(subject, path, "new") };
        state.subject(subject).comments += 1;
        let persisted = commit(&mut state, None, &row);
        state.rows.insert(id, row);
        (id, persisted)
    }

    /// Gives a subject a title.
    pub(crate) fn set_title(&self, subject: &SubjectKey, title: &str) -> PersistedBatch {
        let mut state = self.state();
        let row = state.subject(subject);
        (row.title, row.version) = (Some(title.into()), row.version + 1);
        PersistedBatch {
            changed: vec![ChangedSubject { subject: subject.clone(), version: row.version, is_new: true }],
            ..PersistedBatch::default()
        }
    }
}

impl StoreState {
    pub(super) fn subject(&mut self, key: &SubjectKey) -> &mut SubjectRow {
        self.subjects.entry(key.clone()).or_insert_with(|| SubjectRow::empty(key.clone()))
    }
}

fn commit(state: &mut StoreState, before: Option<&CommentRow>, after: &CommentRow) -> PersistedBatch {
    let subject = state.subject(&after.subject);
    subject.version += 1;
    let touched = TouchedComment {
        id: after.id(),
        subject: after.subject.clone(),
        version: subject.version,
        root: after.path.root_id(),
        parent: after.parent_id,
        floor: after.floor,
        was_listed: before.is_some_and(CommentRow::is_listed),
        listed: after.is_listed(),
        visible: after.is_visible(),
        takedown: before.is_some_and(|b| (&b.content, b.state) != (&after.content, after.state)),
        likes: after.likes,
        dislikes: after.dislikes,
        reactions_offset: after.reactions_offset,
    };
    PersistedBatch {
        outcomes: vec![],
        changed: vec![ChangedSubject { subject: after.subject.clone(), version: subject.version, is_new: true }],
        touched: vec![touched],
    }
}
