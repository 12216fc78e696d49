//! What was asked for and what was answered: what must be there, what may be, and what must not.
//!
//! Pure bookkeeping. The same rules as those of the chaos suite, in simulated time.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::wire::Reaction;

use crate::domain::operation::ReactionChange;
use crate::testing::simulation::world::World;

/// Begins the line of the trace in which something went wrong.
pub(super) const WRONG: &str = "WRONG:";

/// Whether something was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    No,
    Maybe,
    Yes,
}

/// A comment that was sent. Its first text is its idempotency key, which no other has.
#[derive(Debug, Clone)]
pub(super) struct Post {
    pub(super) key: String,
    pub(super) member: MemberId,
    pub(super) subject: SubjectKey,
    pub(super) parent: Option<CommentId>,
    /// The id that was answered, and when, in milliseconds of the run.
    pub(super) acknowledged: Option<(CommentId, u64)>,
    /// Other ids that were answered: second ids of the same comment, where a reservation was lost.
    pub(super) second_ids: BTreeSet<CommentId>,
    /// Whether it is there; [`Doubt::No`] while nothing of it was ever sent.
    pub(super) is_there: Doubt,
    pub(super) is_deleted: Doubt,
    /// Whether the broker may have lost it: it was on its way when the log was damaged.
    pub(super) may_be_lost: bool,
    /// The texts that it may have, and all that it was given.
    pub(super) texts: BTreeSet<String>,
    pub(super) former_texts: BTreeSet<String>,
    /// When its deletion or last edit was answered, in milliseconds of the run.
    pub(super) changed_at: u64,
    /// When its database last went back.
    rewound_at: Option<u64>,
}

/// The reactions that a member may have to a comment.
#[derive(Debug, Clone)]
pub(super) struct PossibleReactions {
    pub(super) possible: HashSet<Option<Reaction>>,
    /// A request has no answer and may still be carried out: no other is sent.
    pub(super) is_open: bool,
}

impl Default for PossibleReactions {
    fn default() -> Self {
        Self { possible: [None].into(), is_open: false }
    }
}

/// Everything that clients know.
#[derive(Debug)]
pub(super) struct Oracle {
    world: Arc<World>,
    pub(super) posts: Vec<Post>,
    pub(super) reactions: BTreeMap<(CommentId, MemberId), PossibleReactions>,
    /// What must not have happened.
    pub(super) violations: Vec<String>,
    /// The log has lost records, and no operator has accepted it yet.
    is_log_damaged: bool,
    /// Answers of clients: those that were what they asked for, and all others.
    pub(super) done: u64,
    pub(super) refused: u64,
    /// Slots that moved to or from a database which then went back to before that: two have them, or none, until an
    /// operator decides, and edits and deletions may be lost with the copy that is given up.
    disputed: BTreeSet<Slot>,
}

impl Oracle {
    pub(super) fn new(world: Arc<World>) -> Self {
        let (posts, reactions, violations) = (vec![], BTreeMap::new(), vec![]);
        Self {
            world,
            posts,
            reactions,
            violations,
            is_log_damaged: false,
            done: 0,
            refused: 0,
            disputed: BTreeSet::new(),
        }
    }

    pub(super) fn fail(&mut self, text: String) {
        self.world.explain(|| format!("{WRONG} {text}"));
        self.violations.push(text);
    }

    /// The number of a new post.
    pub(super) fn add_post(&mut self, member: MemberId, subject: &SubjectKey, parent: Option<CommentId>) -> usize {
        let key = format!("comment {}", self.posts.len());
        let texts = BTreeSet::from([key.clone()]);
        self.posts.push(Post {
            key,
            member,
            subject: subject.clone(),
            parent,
            acknowledged: None,
            second_ids: BTreeSet::new(),
            is_there: Doubt::No,
            is_deleted: Doubt::No,
            may_be_lost: false,
            former_texts: texts.clone(),
            texts,
            changed_at: 0,
            rewound_at: None,
        });
        self.posts.len() - 1
    }

    /// The acknowledged comment with this id.
    pub(super) fn acknowledged(&self, id: CommentId) -> Option<&Post> {
        self.posts.iter().find(|post| post.acknowledged.is_some_and(|(own, _)| own == id))
    }

    /// Notes that a comment was answered as one that does not exist. One that was acknowledged is there or cannot be had.
    pub(super) fn note_not_found(&mut self, id: CommentId, what: &str) {
        if let Some(post) = self.acknowledged(id)
            && post.is_deleted == Doubt::No
            && !post.may_be_lost
        {
            let text = format!("{what} of {id} ({}), which was acknowledged, is 404", post.key);
            self.fail(text);
        }
    }

    /// Notes the answer to a reaction; one that cannot be is a violation.
    pub(super) fn note_reacted(
        &mut self,
        id: CommentId,
        member: MemberId,
        change: ReactionChange,
        answer: Option<Reaction>,
    ) {
        let pair = self.reactions.entry((id, member)).or_default();
        if self.is_log_damaged {
            // Offsets have begun again, so the counters take the reaction for one that they know.
            pair.possible = pair.possible.iter().map(|before| change.fold(*before)).collect();
            return;
        }
        let is_possible = pair.possible.iter().any(|before| change.fold(*before) == answer);
        let before = std::mem::replace(&mut pair.possible, [answer].into());
        if !is_possible {
            self.fail(format!("{change:?} of {member} to {id} is answered {answer:?} after {before:?}"));
        }
    }

    /// Notes a reaction whose outcome is not known.
    pub(super) fn note_unknown_reaction(&mut self, id: CommentId, member: MemberId, change: ReactionChange) {
        let pair = self.reactions.entry((id, member)).or_default();
        let after: Vec<_> = pair.possible.iter().map(|before| change.fold(*before)).collect();
        pair.possible.extend(after);
        pair.is_open = true;
    }

    /// The log has lost records: what is no row and was sent before may be lost, with the answers to it.
    pub(super) fn note_log_damage(&mut self, is_row: impl Fn(CommentId) -> bool) {
        self.is_log_damaged = true;
        for post in &mut self.posts {
            post.may_be_lost = !post.acknowledged.is_some_and(|(id, _)| is_row(id));
        }
        for pair in self.reactions.values_mut() {
            pair.possible = [None, Some(Reaction::Like), Some(Reaction::Dislike)].into();
        }
    }

    /// Whether a comment, or one that it answers, may have been lost with the log.
    pub(super) fn may_be_lost(&self, post: &Post) -> bool {
        let parent = post.parent.and_then(|parent| self.acknowledged(parent));
        post.may_be_lost || parent.is_some_and(|parent| self.may_be_lost(parent))
    }

    /// Notes that a change was answered: a deletion, or an edit to this text. It may be undone again where the database
    /// went back after it was asked for.
    pub(super) fn note_changed(&mut self, index: usize, asked_at: u64, text: Option<String>) {
        let at = self.world.elapsed_ms();
        let post = &mut self.posts[index];
        post.changed_at = at;
        let is_disputed = self.disputed.contains(&post.subject.slot());
        if is_disputed || post.rewound_at.is_some_and(|rewound_at| rewound_at >= asked_at) {
            post.texts.extend(post.former_texts.iter().cloned());
            return;
        }
        match text {
            Some(text) => post.texts = [text].into(),
            None => post.is_deleted = Doubt::Yes,
        }
    }

    /// A database has gone back to what it was then: edits and deletions since may be undone.
    pub(super) fn note_rewind(&mut self, since_ms: u64, is_of: impl Fn(&SubjectKey) -> bool) {
        let now = self.world.elapsed_ms();
        self.posts.iter_mut().filter(|post| is_of(&post.subject)).for_each(|post| post.rewound_at = Some(now));
        for post in self.posts.iter_mut().filter(|post| post.changed_at >= since_ms && is_of(&post.subject)) {
            post.texts.extend(post.former_texts.iter().cloned());
            if post.is_deleted == Doubt::Yes {
                post.is_deleted = Doubt::Maybe;
            }
        }
    }
    /// Slots are disputed from now on.
    pub(super) fn note_dispute(&mut self, slots: impl Iterator<Item = Slot>) {
        self.disputed.extend(slots);
        let disputed = self.disputed.clone();
        self.note_rewind(0, |subject| disputed.contains(&subject.slot()));
    }

    pub(super) fn is_disputed(&self, slot: Slot) -> bool {
        self.disputed.contains(&slot)
    }
}
