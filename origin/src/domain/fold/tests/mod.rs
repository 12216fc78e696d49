//! Folds of batches over tables in memory.

mod dead_reactions;
mod review;
mod transfer;

use std::collections::HashMap;

use crate::testing::fold_tables::FoldTables;
use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::wire::{Author, CommentState, Reaction, Visibility};
use proptest::prelude::*;

use crate::domain::fold::*;
use crate::domain::operation::{CommentChange, LoggedOperation, PersistedBatch, ReactionChange};
use crate::domain::positions::OperationStream;
use crate::domain::row::{IdempotencyKey, ImportedFrom};

const NOW: u64 = 1_700_000_000_000;

/// A step of a generated batch, in small numbers.
#[derive(Debug, Clone)]
enum FoldStep {
    Publish {
        subject: usize,
        /// One of the comments before it, or none.
        parent: Option<prop::sample::Index>,
        member: u64,
        state: CommentState,
        key: Option<(u8, u8)>,
        source: Option<u8>,
    },
    /// The same operation once more.
    Again(prop::sample::Index),
    /// To any comment of the batch, also to a later one.
    React(prop::sample::Index, u64, ReactionChange),
    Change(prop::sample::Index, CommentChange),
    /// What this step of the batch changed of a comment.
    Undo(prop::sample::Index, usize),
}

fn steps() -> impl Strategy<Value = Vec<FoldStep>> {
    let index = any::<prop::sample::Index>;
    let state = prop_oneof![4 => Just(CommentState::Published), 1 => Just(CommentState::Review)];
    let key = prop::option::weighted(0.4, (0u8..2, 0u8..2));
    let parent = prop::option::weighted(0.6, index());
    let publish = (0usize..2, parent, 1u64..4, state, key, prop::option::weighted(0.2, 0u8..2)).prop_map(
        |(subject, parent, member, state, key, source)| FoldStep::Publish {
            subject,
            parent,
            member,
            state,
            key,
            source,
        },
    );
    let reaction = prop_oneof![Just(Reaction::Like), Just(Reaction::Dislike)];
    let react = (reaction, any::<bool>())
        .prop_map(|(r, put)| if put { ReactionChange::Put(r) } else { ReactionChange::Take(r) });
    let states = [CommentState::Published, CommentState::Hidden, CommentState::Deleted, CommentState::Rejected];
    let change = prop_oneof![
        prop::sample::select(states.to_vec()).prop_map(CommentChange::State),
        any::<bool>().prop_map(CommentChange::Feature),
        Just(CommentChange::Approve),
        Just(CommentChange::Reject),
        (1u64..4).prop_map(|member| review::report(member, 2)),
        Just(review::held_edit("held")),
        Just(CommentChange::Erase),
        Just(CommentChange::DropMedia),
        (1u64..3).prop_map(transfer::transfer),
        Just(CommentChange::Edit {
            content: "edited".into(),
            html: String::new(),
            original_text: None,
            state: CommentState::Published,
            reasons: vec![],
            max_edits: 3
        }),
    ];
    let step = prop_oneof![
        4 => publish,
        1 => index().prop_map(FoldStep::Again),
        4 => (index(), 1u64..4, react).prop_map(|(i, m, r)| FoldStep::React(i, m, r)),
        3 => (index(), change).prop_map(|(i, c)| FoldStep::Change(i, c)),
        1 => (index(), 0usize..40).prop_map(|(i, step)| FoldStep::Undo(i, step)),
    ];
    prop::collection::vec(step, 1..40)
}

fn subject(n: usize) -> SubjectKey {
    SubjectKey::new("article", ["a", "b"][n]).unwrap()
}

fn comment(n: u64, subject: &SubjectKey, parent: Option<&Path>) -> NewCommentRow {
    let id = CommentId::from_parts(NOW + n, subject.slot(), 0, 0);
    NewCommentRow {
        subject: subject.clone(),
        path: parent.map_or(Path::root(id), |parent| parent.child(id).unwrap()),
        parent_id: parent.map(Path::id),
        reply_to: None,
        state: CommentState::Published,
        visibility: Visibility::Everyone,
        author: Author::new(MemberId::new(7).unwrap(), "reader".into(), None, 1, None),
        created_at: NOW + n,
        content: format!("comment {n}"),
        html: String::new(),
        original_text: None,
        mentions: vec![],
        media: vec![],
        reasons: vec![],
        idempotency: None,
        imported: None,
        network: None,
    }
}

/// The steps as operations, with positions where `logged`. Without positions no comment has a second
/// id: a reply to a comment that was not stored is refused before it reaches the fold.
fn operations(steps: &[FoldStep], logged: bool) -> Vec<LoggedOperation> {
    let mut made: Vec<Vec<NewCommentRow>> = vec![vec![], vec![]];
    for (n, step) in steps.iter().enumerate() {
        let FoldStep::Publish { subject: of, parent, member, state, key, source } = step else { continue };
        let parent = parent.as_ref().filter(|_| !made[*of].is_empty()).map(|i| i.get(&made[*of]).path.clone());
        let new = comment(n as u64, &subject(*of), parent.as_ref());
        let author = Author { id: transfer::author_id(*member), ..new.author };
        let imported = source.filter(|_| logged).map(|s| ImportedFrom {
            source: s.to_string(),
            likes: 3,
            dislikes: 1,
            edited_at: None,
            pinned: false,
        });
        let idempotency = key
            .filter(|_| logged && source.is_none())
            .map(|(key, body)| IdempotencyKey { key: key.to_string(), request: [body; 32] });
        made[*of].push(NewCommentRow { author, state: *state, idempotency, imported, ..new });
    }
    let all: Vec<&NewCommentRow> = made.iter().flatten().collect();
    let by_number: HashMap<u64, &NewCommentRow> = all.iter().map(|new| (new.created_at - NOW, *new)).collect();
    let mut next = HashMap::new();
    let mut position = |stream: OperationStream| {
        let next = next.entry(stream).or_insert(0);
        *next += 1;
        logged.then_some(*next - 1)
    };
    let mut operations = Vec::new();
    for (n, step) in steps.iter().enumerate() {
        let before: Vec<_> = all.iter().filter(|new| new.created_at < NOW + n as u64).collect();
        let (position, operation) = match step {
            FoldStep::Publish { .. } => {
                (position(OperationStream::Comments), Operation::Publish(Box::new(by_number[&(n as u64)].clone())))
            }
            FoldStep::Again(i) if !before.is_empty() => {
                (position(OperationStream::Comments), Operation::Publish(Box::new((**i.get(&before)).clone())))
            }
            FoldStep::React(i, member, change) if !all.is_empty() => {
                let (id, member) = (i.get(&all).path.id(), MemberId::new(*member).unwrap());
                (position(OperationStream::Reactions), Operation::React { id, member, change: *change })
            }
            FoldStep::Change(i, change) if !all.is_empty() => {
                let id = i.get(&all).path.id();
                let is_moderators = !matches!(
                    change,
                    CommentChange::Edit { .. }
                        | CommentChange::Erase
                        | CommentChange::Report(_)
                        | CommentChange::Transfer { .. }
                );
                let audit = is_moderators.then(|| review::audit(id, n));
                (None, Operation::Change { id, change: change.clone(), audit })
            }
            FoldStep::Undo(i, step) if !all.is_empty() => {
                let id = i.get(&all).path.id();
                let change = CommentChange::Undo(review::audit(id, *step).id);
                (None, Operation::Change { id, change, audit: Some(review::audit(id, n)) })
            }
            _ => continue,
        };
        operations.push(LoggedOperation { position, ..LoggedOperation::new(NOW + n as u64, operation) });
    }
    operations
}

/// The tables without versions, which depend on how operations are batched.
fn without_versions(mut tables: FoldTables) -> FoldTables {
    tables.subjects.values_mut().for_each(|s| s.version = 0);
    tables
}

proptest! {
    #[test]
    fn counts_and_floors_add_up_however_operations_are_batched(steps in steps(), size in 1usize..9, logged: bool) {
        let layout = if logged { TableLayout::Sharded } else { TableLayout::Embedded };
        let operations = operations(&steps, logged);
        let (mut by_chunks, mut at_once) = (FoldTables::default(), FoldTables::default());
        for chunk in operations.chunks(size) {
            by_chunks.persist(layout, chunk).unwrap();
            by_chunks.check();
        }
        at_once.persist(layout, &operations).unwrap();
        prop_assert_eq!(without_versions(by_chunks), without_versions(at_once));
    }

    #[test]
    fn replayed_log_loses_nothing_and_applies_nothing_twice(steps in steps(), size in 1usize..9, again in 0usize..40) {
        let operations = operations(&steps, true);
        let mut tables = FoldTables::default();
        for chunk in operations.chunks(size) {
            tables.persist(TableLayout::Sharded, chunk).unwrap();
        }
        for logged_operation in &operations {
            if let Operation::Publish(new) = &logged_operation.operation {
                let id = new.path.id();
                prop_assert!(tables.comments.contains_key(&id) != tables.aliases.contains_key(&id), "{}", id);
            }
        }
        // Another process replays the broker from an earlier position.
        let mut replayed = tables.clone();
        let logged: Vec<_> = operations.into_iter().filter(|e| e.position.is_some()).collect();
        let persisted = replayed.persist(TableLayout::Sharded, &logged[again.min(logged.len())..]).unwrap();
        prop_assert!(persisted.outcomes.iter().all(|o| matches!(o, OperationOutcome::Seen)));
        prop_assert_eq!(replayed, tables);
    }
}

proptest! {
    /// Edits and decisions reach the fold in any order and in any batches.
    #[test]
    fn no_edit_changes_what_a_decision_made_invisible_or_exceeds_the_bound(
        changes in prop::collection::vec(edit_or_decision(), 1..24),
        size in 1usize..6,
    ) {
        let new = comment(0, &subject(0), None);
        let id = new.path.id();
        let mut tables = FoldTables::default();
        tables.persist(TableLayout::Embedded, &[LoggedOperation::new(NOW, publish(&new))]).unwrap();
        let (mut state, mut text, mut edits) = (new.state, new.content, 0);
        for (n, batch) in changes.chunks(size).enumerate() {
            let at = NOW + n as u64;
            let operation = |change: &CommentChange| Operation::Change { id, change: change.clone(), audit: None };
            let operations: Vec<_> = batch.iter().map(|change| LoggedOperation::new(at, operation(change))).collect();
            let outcomes = tables.persist(TableLayout::Embedded, &operations).unwrap().outcomes;
            for (change, outcome) in batch.iter().zip(outcomes) {
                let applies = match change {
                    CommentChange::Edit { .. } => state == CommentState::Published && edits < MAX_EDITS,
                    // What is deleted stays so until it is restored.
                    CommentChange::State(CommentState::Hidden) => state != CommentState::Deleted,
                    _ => true,
                };
                if !applies && state == CommentState::Published {
                    prop_assert!(matches!(outcome, OperationOutcome::TooManyEdits));
                }
                prop_assert_eq!(matches!(outcome, OperationOutcome::Done), applies, "{:?} of {:?}", change, state);
                match change {
                    // One that is held waits, and nothing here approves it.
                    CommentChange::Edit { content, state: edited, .. } if applies => {
                        edits += 1;
                        if *edited == CommentState::Published {
                            text.clone_from(content);
                        }
                    }
                    CommentChange::State(decided) if applies => state = *decided,
                    _ => {}
                }
            }
            let stored = &tables.comments[&id];
            prop_assert_eq!((stored.row.state, &stored.texts.1.content, stored.row.edits), (state, &text, edits));
            tables.check();
        }
    }
}

/// Fewer than there are edits in most runs.
const MAX_EDITS: u64 = 5;

fn edit_or_decision() -> impl Strategy<Value = CommentChange> {
    let edit = (0u8..9, prop_oneof![3 => Just(CommentState::Published), 1 => Just(CommentState::Review)]);
    let decision = [CommentState::Published, CommentState::Hidden, CommentState::Deleted, CommentState::Rejected];
    prop_oneof![
        3 => edit.prop_map(|(n, state)| CommentChange::Edit {
            content: format!("edit {n}"),
            html: String::new(),
            original_text: None,
            state,
            reasons: vec![],
            max_edits: MAX_EDITS,
        }),
        1 => prop::sample::select(decision.to_vec()).prop_map(CommentChange::State),
    ]
}

fn logged(position: u64, operation: Operation) -> LoggedOperation {
    LoggedOperation { position: Some(position), ..LoggedOperation::new(NOW, operation) }
}

fn publish(new: &NewCommentRow) -> Operation {
    Operation::Publish(Box::new(new.clone()))
}

fn like(id: CommentId, member: u64) -> Operation {
    Operation::React { id, member: MemberId::new(member).unwrap(), change: ReactionChange::Put(Reaction::Like) }
}

#[test]
fn member_has_the_name_of_their_newest_comment_in_whatever_order_they_come() {
    let named = |n: u64, name: &str| {
        let new = comment(n, &subject(n as usize), None);
        NewCommentRow { author: Author { name: name.into(), ..new.author.clone() }, ..new }
    };
    let (old, new) = (named(0, "Anna"), named(1, "Ann"));
    for (first, second) in [(&old, &new), (&new, &old)] {
        let mut tables = FoldTables::default();
        tables.persist(TableLayout::Sharded, &[logged(0, publish(first)), logged(0, publish(second))]).unwrap();
        assert_eq!(tables.names[&new.author.id], (new.path.id(), "Ann".into()));
    }
}

#[test]
fn like_before_its_comment_is_counted_when_the_comment_is_published() {
    let new = comment(0, &subject(0), None);
    let id = new.path.id();
    let mut tables = FoldTables::default();
    tables.persist(TableLayout::Sharded, &[logged(0, like(id, 1)), logged(1, like(id, 2))]).unwrap();
    let persisted = tables.persist(TableLayout::Sharded, &[logged(2, like(id, 3)), logged(0, publish(&new))]).unwrap();
    tables.check();
    let touched = &persisted.touched[0];
    assert_eq!((touched.likes, touched.reactions_offset, touched.was_listed, touched.listed), (3, 3, false, true));
}

#[test]
fn second_id_gives_its_likes_and_replies_to_the_original() {
    let once = |n| NewCommentRow {
        idempotency: Some(IdempotencyKey { key: "key".into(), request: [1; 32] }),
        ..comment(n, &subject(0), None)
    };
    let (first, second) = (once(0), once(1));
    let answer = comment(2, &subject(0), Some(&second.path));
    let (first_id, second_id) = (first.path.id(), second.path.id());
    let mut tables = FoldTables::default();
    tables.persist(TableLayout::Sharded, &[logged(0, publish(&first)), logged(0, like(first_id, 1))]).unwrap();
    tables.persist(TableLayout::Sharded, &[logged(1, like(second_id, 1)), logged(2, like(second_id, 2))]).unwrap();
    let batch = [logged(1, publish(&second)), logged(2, publish(&answer)), logged(3, like(second_id, 3))];
    let persisted = tables.persist(TableLayout::Sharded, &batch).unwrap();
    tables.check();
    assert!(matches!(persisted.outcomes[0], OperationOutcome::Replayed { id, .. } if id == first_id));
    assert_eq!(tables.comments[&first_id].row.counts.likes, 3);
    assert_eq!(tables.comments[&answer.path.id()].row.path.root_id(), first_id);
    assert_eq!(tables.aliases[&second_id], first_id);
}

#[test]
fn two_comments_with_one_id_are_refused() {
    let new = comment(0, &subject(0), None);
    let mut tables = FoldTables::default();
    tables.persist(TableLayout::Sharded, &[logged(0, publish(&new))]).unwrap();
    let edit = CommentChange::Edit {
        content: "better".into(),
        html: String::new(),
        original_text: None,
        state: CommentState::Published,
        reasons: vec![],
        max_edits: 0,
    };
    let edit = Operation::Change { id: new.path.id(), change: edit, audit: None };
    tables.persist(TableLayout::Sharded, &[LoggedOperation::new(NOW, edit)]).unwrap();
    let outcomes = tables.persist(TableLayout::Sharded, &[logged(1, publish(&new))]).unwrap().outcomes;
    assert!(matches!(outcomes[..], [OperationOutcome::Published { floor: Some(1) }]), "{outcomes:?}");
    let other = NewCommentRow { content: "other".into(), ..new };
    let error = tables.persist(TableLayout::Sharded, &[logged(2, publish(&other))]).unwrap_err();
    assert_eq!(error.to_string(), format!("two comments have the id {}", other.path.id()));
}

#[test]
fn erased_comment_is_a_tombstone_for_ever() {
    let new = comment(0, &subject(0), None);
    let answer = comment(1, &subject(0), Some(&new.path));
    let id = new.path.id();
    let mut tables = FoldTables::default();
    let change = |change| LoggedOperation::new(NOW, Operation::Change { id, change, audit: None });
    let publish = |position, new: &NewCommentRow| logged(position, Operation::Publish(Box::new(new.clone())));
    tables.persist(TableLayout::Sharded, &[publish(0, &new), publish(1, &answer)]).unwrap();
    let erase = tables.persist(TableLayout::Sharded, &[change(CommentChange::Erase)]).unwrap();
    assert!(erase.touched.iter().any(|touched| touched.id == id && touched.takedown && touched.listed));
    assert_eq!(tables.comments[&id].texts, <_>::default());
    let again = tables.persist(TableLayout::Sharded, &[change(CommentChange::Erase)]).unwrap();
    assert!(again.changed.is_empty(), "the second time changes nothing");
    for decision in
        [CommentChange::State(CommentState::Published), CommentChange::Feature(true), CommentChange::Pin(None)]
    {
        let outcomes = tables.persist(TableLayout::Sharded, &[change(decision)]).unwrap().outcomes;
        assert!(matches!(outcomes[..], [OperationOutcome::NoComment]), "{outcomes:?}");
    }
    // The comment is appended again, and another one of the member is stored after the erasure.
    tables.persist(TableLayout::Sharded, &[publish(2, &new)]).unwrap();
    let mut late = comment(2, &subject(0), Some(&new.path));
    late.erase();
    tables
        .persist(TableLayout::Sharded, &[publish(3, &late), publish(4, &comment(2, &subject(0), Some(&new.path)))])
        .unwrap();
    let late = &tables.comments[&late.path.id()];
    assert_eq!((late.row.state, late.row.floor), (CommentState::Deleted, Some(2)));
    tables.check();
}

#[test]
fn only_a_deleted_comment_loses_its_pictures_and_its_deletion_can_still_be_undone() {
    let new = comment(0, &subject(0), None);
    let id = new.path.id();
    let mut tables = FoldTables::default();
    let change = |change| LoggedOperation::new(NOW, Operation::Change { id, change, audit: None });
    let publish = logged(0, Operation::Publish(Box::new(new.clone())));
    tables.persist(TableLayout::Sharded, &[publish]).unwrap();
    let dropped = tables.persist(TableLayout::Sharded, &[change(CommentChange::DropMedia)]).unwrap();
    assert!(matches!(dropped.outcomes[..], [OperationOutcome::Conflict]), "{:?}", dropped.outcomes);
    tables.persist(TableLayout::Sharded, &[change(CommentChange::State(CommentState::Deleted))]).unwrap();
    let before = tables.comments[&id].row.clone();
    let dropped = tables.persist(TableLayout::Sharded, &[change(CommentChange::DropMedia)]).unwrap();
    assert!(matches!(dropped.outcomes[..], [OperationOutcome::Done]) && dropped.changed.is_empty(), "{dropped:?}");
    assert_eq!(tables.comments[&id].row, before);
}

#[test]
fn replayed_operation_notifies_again() {
    let new = comment(0, &subject(0), None);
    let batch = [logged(0, publish(&new)), logged(0, like(new.path.id(), 1))];
    let mut tables = FoldTables::default();
    let first = tables.persist(TableLayout::Sharded, &batch).unwrap();
    let again = tables.persist(TableLayout::Sharded, &batch).unwrap();
    assert_eq!(format!("{:?}", first.touched), format!("{:?}", again.touched));
    let version = |batch: &PersistedBatch| batch.changed.iter().map(|of| (of.version, of.is_new)).collect::<Vec<_>>();
    assert_eq!((version(&first), version(&again)), (vec![(1, true)], vec![(1, false)]));
}

#[test]
fn expired_idempotency_key_can_be_used_again() {
    let once = |n| NewCommentRow {
        idempotency: Some(IdempotencyKey { key: "key".into(), request: [1; 32] }),
        ..comment(n, &subject(0), None)
    };
    let mut tables = FoldTables::default();
    let late = LoggedOperation::new(NOW + gailou_shared::limits::IDEMPOTENCY_WINDOW_MS, publish(&once(1)));
    tables.persist(TableLayout::Embedded, &[LoggedOperation::new(NOW, publish(&once(0))), late]).unwrap();
    assert_eq!(tables.comments.len(), 2);
    let other = NewCommentRow { idempotency: Some(IdempotencyKey { key: "key".into(), request: [2; 32] }), ..once(2) };
    let at = NOW + gailou_shared::limits::IDEMPOTENCY_WINDOW_MS + 1;
    let outcomes =
        tables.persist(TableLayout::Embedded, &[LoggedOperation::new(at, publish(&other))]).unwrap().outcomes;
    assert!(matches!(outcomes[..], [OperationOutcome::Mismatch]));
}

#[test]
fn change_feed_contains_only_changes_that_readers_saw() {
    let check = |state: CommentState, change: CommentChange, expected: bool| {
        let new = NewCommentRow { state, ..comment(0, &subject(0), None) };
        let mut tables = FoldTables::default();
        tables.persist(TableLayout::Embedded, &[LoggedOperation::new(NOW, publish(&new))]).unwrap();
        let operation = Operation::Change { id: new.path.id(), change: change.clone(), audit: None };
        let touched = tables.persist(TableLayout::Embedded, &[LoggedOperation::new(NOW, operation)]).unwrap().touched;
        assert_eq!(touched[0].takedown, expected, "{state:?} {change:?}");
    };
    let edit = |state| {
        let (content, html) = ("new".into(), String::new());
        CommentChange::Edit { content, html, original_text: None, state, reasons: vec![], max_edits: 0 }
    };
    check(CommentState::Published, edit(CommentState::Published), true);
    check(CommentState::Published, edit(CommentState::Review), false);
    check(CommentState::Published, CommentChange::State(CommentState::Deleted), true);
    check(CommentState::Published, CommentChange::Feature(true), false);
    check(CommentState::Review, CommentChange::State(CommentState::Published), false);
    check(CommentState::Review, CommentChange::State(CommentState::Rejected), false);
}

#[test]
fn each_slot_has_its_own_positions() {
    let slot = |n: usize| subject(n).slot();
    assert_ne!(slot(0), slot(1));
    let (a, b) = (comment(0, &subject(0), None), comment(0, &subject(1), None));
    let mut tables = FoldTables::default();
    tables.persist(TableLayout::Sharded, &[logged(7, publish(&b))]).unwrap();
    let outcomes = tables.persist(TableLayout::Sharded, &[logged(3, publish(&a))]).unwrap().outcomes;
    assert!(matches!(outcomes[..], [OperationOutcome::Published { .. }]));
    let next: Vec<(Slot, u64)> = tables.next.iter().map(|((_, slot), next)| (*slot, *next)).collect();
    assert!(next.contains(&(slot(0), 4)) && next.contains(&(slot(1), 8)));
}
