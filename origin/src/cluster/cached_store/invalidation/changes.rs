//! What a batch or a set of rows changes in the cache. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use gailou_shared::id::{Slot, SubjectKey};

use crate::domain::operation::{ChangedSubject, PersistedBatch};
use crate::domain::row::CommentRow;
use crate::ports::cache::{CacheChanges, CacheKey, CachedList, Invalidation, ListMove};

/// The changes that a batch made, by slot.
pub(super) fn changes_of_batch(persisted: &PersistedBatch) -> BTreeMap<Slot, CacheChanges> {
    let mut slots: BTreeMap<Slot, CacheChanges> = BTreeMap::new();
    let mut touched_in = HashSet::new();
    for touched in &persisted.touched {
        touched_in.insert(&touched.subject);
        let changes = slots.entry(touched.id.slot()).or_default();
        let version = touched.version;
        let invalidation = Invalidation { version, is_gone: touched.takedown };
        changes.values.insert(CacheKey::Comment(touched.id), invalidation);
        changes.takedown |= touched.takedown;
        let is_root = touched.id == touched.root;
        if !is_root {
            changes.values.insert(CacheKey::TopReplies(touched.root), Invalidation { version, is_gone: false });
        }
        if let Some(floor) = touched.floor.filter(|_| touched.was_listed != touched.listed) {
            let list =
                if is_root { CachedList::Roots(touched.subject.clone()) } else { CachedList::Replies(touched.root) };
            let moved = ListMove { floor, is_listed: touched.listed, version };
            changes.lists.entry(list).or_default().insert(touched.id, moved);
        }
    }
    for ChangedSubject { subject, version, is_new } in &persisted.changed {
        let changes = slots.entry(subject.slot()).or_default();
        if *is_new {
            changes.commits.entry(subject.clone()).or_default().insert(*version);
        }
        let invalidation = Invalidation { version: *version, is_gone: false };
        changes.values.insert(CacheKey::Subject(subject.clone()), invalidation);
        // A subject that changed without a comment may have another mode, which its comments contain.
        changes.takedown |= !touched_in.contains(subject);
    }
    slots
}

/// The changes that make the cache equal to these rows, by slot.
pub(super) fn changes_of_rows<'a>(
    rows: impl Iterator<Item = &'a CommentRow>,
    takedown: bool,
) -> BTreeMap<Slot, CacheChanges> {
    let mut slots: BTreeMap<Slot, CacheChanges> = BTreeMap::new();
    for row in rows {
        let (id, root, version) = (row.id(), row.path.root_id(), row.version);
        let changes = slots.entry(id.slot()).or_default();
        changes.takedown |= takedown;
        changes.values.insert(CacheKey::Comment(id), Invalidation { version, is_gone: takedown });
        changes.values.insert(CacheKey::Subject(row.subject.clone()), Invalidation { version, is_gone: false });
        if id != root {
            changes.values.insert(CacheKey::TopReplies(root), Invalidation { version, is_gone: false });
        }
        if let Some(floor) = row.floor {
            let list = if id == root { CachedList::Roots(row.subject.clone()) } else { CachedList::Replies(root) };
            let moved = ListMove { floor, is_listed: row.is_listed(), version };
            changes.lists.entry(list).or_default().insert(id, moved);
        }
    }
    slots
}

/// The changes that make the cache equal to subjects that changed without a comment, at these versions. All
/// comments of their slots are invalidated: a comment contains the mode of its subject.
pub(super) fn changes_of_subjects(subjects: &HashMap<SubjectKey, u64>) -> BTreeMap<Slot, CacheChanges> {
    let mut slots: BTreeMap<Slot, CacheChanges> = BTreeMap::new();
    for (subject, version) in subjects {
        let changes = slots.entry(subject.slot()).or_default();
        changes.takedown = true;
        changes.values.insert(CacheKey::Subject(subject.clone()), Invalidation { version: *version, is_gone: false });
    }
    slots
}

/// Adds later changes of the same slot. If that makes more than `max` values and moves, they become one
/// takedown: all comments of the slot are invalidated, and its lists end with their freshness.
pub(super) fn merge_changes(into: &mut CacheChanges, later: CacheChanges, max: usize) {
    into.takedown |= later.takedown;
    for (key, invalidation) in later.values {
        let known = into.values.entry(key).or_insert(invalidation);
        *known = Invalidation {
            version: known.version.max(invalidation.version),
            is_gone: known.is_gone || invalidation.is_gone,
        };
    }
    for (subject, versions) in later.commits {
        into.commits.entry(subject).or_default().extend(versions);
    }
    for (list, moves) in later.lists {
        let known = into.lists.entry(list).or_default();
        for (id, moved) in moves {
            let known = known.entry(id).or_insert(moved);
            if known.version <= moved.version {
                *known = moved;
            }
        }
    }
    let moves = into.lists.values().map(HashMap::len).sum::<usize>();
    let count = into.values.len() + moves + into.commits.values().map(BTreeSet::len).sum::<usize>();
    if count > max {
        *into = CacheChanges { takedown: true, ..CacheChanges::default() };
    }
}
