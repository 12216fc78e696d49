//! Reactions that became dead letters and are sent again.

use super::*;

const LIKE: ReactionChange = ReactionChange::Put(Reaction::Like);
const DISLIKE: ReactionChange = ReactionChange::Put(Reaction::Dislike);
const UNLIKE: ReactionChange = ReactionChange::Take(Reaction::Like);

/// One comment, and what happens to its reactions. Position 0 is a dislike of member 1.
struct DeadLetterBed {
    tables: FoldTables,
    new: NewCommentRow,
    next: u64,
}

impl DeadLetterBed {
    fn new() -> Self {
        let new = NewCommentRow {
            idempotency: Some(IdempotencyKey { key: "key".into(), request: [1; 32] }),
            ..comment(0, &subject(0), None)
        };
        let mut tables = FoldTables::default();
        tables.persist(TableLayout::Sharded, &[logged(0, publish(&new))]).unwrap();
        let mut bed = Self { tables, new, next: 0 };
        bed.react(1, DISLIKE, None);
        bed
    }

    fn id(&self) -> CommentId {
        self.new.path.id()
    }

    fn next(&mut self, id: CommentId, member: u64, change: ReactionChange, died_at: Option<u64>) -> LoggedOperation {
        self.next += 1;
        let operation = Operation::React { id, member: MemberId::new(member).unwrap(), change };
        LoggedOperation { died_at, ..logged(self.next - 1, operation) }
    }

    /// Stores a change, which was a dead letter where `died_at` says so; whether it was applied.
    fn react(&mut self, member: u64, change: ReactionChange, died_at: Option<u64>) -> bool {
        let logged = self.next(self.id(), member, change, died_at);
        self.store(&[logged])[0]
    }

    fn store(&mut self, batch: &[LoggedOperation]) -> Vec<bool> {
        let outcomes = self.tables.persist(TableLayout::Sharded, batch).unwrap().outcomes;
        self.tables.check();
        outcomes.iter().map(|outcome| !matches!(outcome, OperationOutcome::Outdated)).collect()
    }

    /// A change becomes a dead letter; its position.
    fn give_up(&mut self, id: CommentId, member: u64, change: ReactionChange) -> Option<u64> {
        let dead = self.next(id, member, change, None);
        self.tables.skip(&dead);
        dead.position
    }

    fn reaction(&self, member: u64) -> Option<Reaction> {
        self.tables.reactions.get(&(self.id(), MemberId::new(member).unwrap())).copied()
    }
}

#[test]
fn dead_letter_is_applied_once_while_its_pair_has_not_changed() {
    let mut bed = DeadLetterBed::new();
    let dead = bed.give_up(bed.id(), 1, LIKE);
    // Reactions of others, and of the same member elsewhere, say nothing about this pair.
    assert!(bed.react(2, LIKE, None));
    assert!(bed.react(1, LIKE, dead));
    assert_eq!(bed.reaction(1), Some(Reaction::Like));
    assert!(bed.react(1, UNLIKE, None));
    assert!(!bed.react(1, LIKE, dead), "it was sent twice");
    assert_eq!(bed.reaction(1), None);
    assert!(bed.tables.dead_reactions.is_empty());
}

#[test]
fn dead_letter_undoes_no_later_change_of_its_member() {
    for change in [LIKE, DISLIKE, UNLIKE, ReactionChange::Take(Reaction::Dislike)] {
        let mut bed = DeadLetterBed::new();
        let dead = bed.give_up(bed.id(), 1, LIKE);
        assert!(bed.react(1, change, None));
        let after = bed.reaction(1);
        assert!(!bed.react(1, LIKE, dead), "{change:?}");
        assert_eq!(bed.reaction(1), after);
    }
}

#[test]
fn change_that_is_stored_in_the_same_batch_decides() {
    let mut bed = DeadLetterBed::new();
    let dead = bed.give_up(bed.id(), 1, LIKE);
    // The later change was in the log, and not stored, when the letter was sent again.
    let later = bed.next(bed.id(), 1, ReactionChange::Take(Reaction::Dislike), None);
    let again = bed.next(bed.id(), 1, LIKE, dead);
    assert_eq!(bed.store(&[later, again]), [true, false]);
    assert_eq!(bed.reaction(1), None);
}

#[test]
fn dead_letters_of_one_pair_are_applied_in_their_order_only() {
    let mut bed = DeadLetterBed::new();
    let (first, second) = (bed.give_up(bed.id(), 1, LIKE), bed.give_up(bed.id(), 1, UNLIKE));
    assert!(bed.react(1, LIKE, first));
    assert!(bed.react(1, UNLIKE, second));
    assert_eq!(bed.reaction(1), None);
    let (first, second) = (bed.give_up(bed.id(), 1, LIKE), bed.give_up(bed.id(), 1, DISLIKE));
    assert!(bed.react(1, DISLIKE, second));
    assert!(!bed.react(1, LIKE, first));
    assert_eq!(bed.reaction(1), Some(Reaction::Dislike));
}

#[test]
fn dead_letter_that_dies_again_keeps_its_first_position() {
    let mut bed = DeadLetterBed::new();
    let dead = bed.give_up(bed.id(), 1, LIKE);
    let again = bed.next(bed.id(), 1, LIKE, dead);
    bed.tables.skip(&again);
    assert_eq!(bed.tables.dead_reactions.len(), 1);
    assert!(bed.react(1, LIKE, dead));
}

#[test]
fn change_by_one_id_of_a_comment_outdates_the_letter_by_another() {
    let mut bed = DeadLetterBed::new();
    let second = NewCommentRow { idempotency: bed.new.idempotency.clone(), ..comment(1, &subject(0), None) };
    let other = second.path.id();
    let dead = bed.give_up(other, 1, LIKE);
    // The comment was appended again under another id: it stays one row.
    bed.store(&[logged(1, publish(&second))]);
    assert_eq!(bed.tables.comments.len(), 1);
    assert!(bed.react(1, UNLIKE, None));
    let again = bed.next(other, 1, LIKE, dead);
    assert_eq!(bed.store(&[again]), [false]);
    assert_eq!(bed.reaction(1), Some(Reaction::Dislike));
}

#[test]
fn dead_comment_that_its_author_sent_again_is_one_row() {
    let mut bed = DeadLetterBed::new();
    // The letter has the id of the row, or another one under the same key.
    let other = NewCommentRow { idempotency: bed.new.idempotency.clone(), ..comment(1, &subject(0), None) };
    let (same, other) = (logged(1, publish(&bed.new)), logged(2, publish(&other)));
    bed.store(&[same]);
    bed.store(&[other]);
    assert_eq!((bed.tables.comments.len(), bed.tables.aliases.len()), (1, 1));
}
