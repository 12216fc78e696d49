//! The expected state of a cluster: what was acknowledged, what may have happened, and what must not.
//!
//! Pure bookkeeping, without IO.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// `like`, `dislike`, or neither.
pub(crate) type MemberReaction = Option<&'static str>;

/// A request about a reaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReactionRequest {
    pub(crate) method: &'static str,
    pub(crate) what: &'static str,
}

impl ReactionRequest {
    pub(crate) const ALL: [Self; 4] = [
        Self::new("PUT", "like"),
        Self::new("DELETE", "like"),
        Self::new("PUT", "dislike"),
        Self::new("DELETE", "dislike"),
    ];

    const fn new(method: &'static str, what: &'static str) -> Self {
        Self { method, what }
    }

    /// The reaction after this request, by the contract.
    fn apply(self, before: MemberReaction) -> MemberReaction {
        match self.method {
            "PUT" => Some(self.what),
            _ => before.filter(|b| *b != self.what),
        }
    }
}

/// The reactions that one member may have on one comment, by the responses so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PossibleReactions {
    possible: BTreeSet<MemberReaction>,
    /// A request of this round got no response and may still be executed, so no other request for this
    /// pair is sent until the round is over.
    is_open: bool,
    /// What was possible before the first request whose record the broker may lose: nothing when there was no request
    /// before. `None` without such a request.
    before_loss: Option<BTreeSet<MemberReaction>>,
    /// The requests of this round with their outcomes, for a report.
    requests: Vec<String>,
}

impl Default for PossibleReactions {
    fn default() -> Self {
        Self { possible: [None].into(), is_open: false, before_loss: None, requests: vec![] }
    }
}

impl PossibleReactions {
    pub(crate) fn is_open(&self) -> bool {
        self.is_open
    }

    pub(crate) fn possible(&self) -> &BTreeSet<MemberReaction> {
        &self.possible
    }

    pub(crate) fn requests(&self) -> &[String] {
        &self.requests
    }

    /// Notes a request and its outcome for a report.
    pub(crate) fn note_request(&mut self, ReactionRequest { method, what }: ReactionRequest, outcome: &str) {
        self.requests.push(format!("{method} {what}: {outcome}"));
    }

    /// Notes an acknowledgement with this reaction; whether it is possible.
    pub(crate) fn acknowledge(&mut self, request: ReactionRequest, answer: MemberReaction) -> bool {
        let is_possible = self.possible.iter().any(|before| request.apply(*before) == answer);
        self.possible = [answer].into();
        is_possible
    }

    /// Notes an acknowledgement whose answer may show the reaction before the request.
    pub(crate) fn acknowledge_unseen(&mut self, request: ReactionRequest) {
        self.possible = self.possible.iter().map(|before| request.apply(*before)).collect();
    }

    /// Notes an unknown outcome: a 503, or no response at all (`is_silent`).
    pub(crate) fn note_unknown(&mut self, request: ReactionRequest, is_silent: bool) {
        let after: Vec<_> = self.possible.iter().map(|before| request.apply(*before)).collect();
        self.possible.extend(after);
        self.is_open |= is_silent;
    }

    /// Notes that the broker may lose the record of a request that is about to be noted. `is_first`: there was no
    /// request for this pair before.
    pub(crate) fn expect_loss(&mut self, is_first: bool) {
        if self.before_loss.is_none() {
            self.before_loss = Some(if is_first { BTreeSet::new() } else { self.possible.clone() });
        }
    }

    /// Notes that the broker has lost records, when the tables had this reaction. What they had stays, except that the
    /// log is read again from a record on that is earlier than the lost ones.
    pub(crate) fn lose(&mut self, stored: MemberReaction) {
        if let Some(before) = self.before_loss.take() {
            self.possible.insert(stored);
            self.possible.extend(before);
        }
    }

    /// Notes the reaction that was read after the round; whether it is possible.
    pub(crate) fn resolve(&mut self, reaction: MemberReaction) -> bool {
        let is_possible = self.possible.contains(&reaction);
        *self = Self { possible: [reaction].into(), ..Self::default() };
        is_possible
    }
}

/// The outcome of a post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PostOutcome {
    /// Acknowledged with this id.
    Acknowledged(String),
    /// A 503, or no response.
    Unknown,
    /// Refused with this response: it must not be listed.
    Refused(String),
}

/// Whether an acknowledged comment was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeletionState {
    No,
    Maybe,
    Yes,
}

/// A post that was sent. Its text is its idempotency key, which no other post has.
#[derive(Debug, Clone)]
pub(crate) struct PostRecord {
    pub(crate) subject: String,
    pub(crate) key: String,
    pub(crate) parent: Option<String>,
    pub(crate) outcome: PostOutcome,
    /// When it was acknowledged.
    pub(crate) acknowledged_at: Option<Instant>,
    /// The broker may have lost it: it was acknowledged and was no row.
    pub(crate) may_be_lost: bool,
    pub(crate) deletion: DeletionState,
}

impl PostRecord {
    /// Whether it was acknowledged and must be there, as a comment that its author has not deleted.
    fn must_be_there(&self) -> bool {
        matches!(self.outcome, PostOutcome::Acknowledged(_)) && self.deletion == DeletionState::No && !self.may_be_lost
    }
}

/// What the broker has lost: records of requests that were answered since then, and that the tables did not have.
#[derive(Debug)]
pub(crate) struct LogLoss {
    pub(crate) since: Instant,
    /// The ids of all comments that are rows, also their second ids.
    pub(crate) rows: BTreeSet<String>,
    /// The reactions in the tables by comment and member, or `None` when the log of the reactions is whole. A comment
    /// has its second ids here, too.
    pub(crate) reactions: Option<BTreeMap<(String, String), MemberReaction>>,
}

impl LogLoss {
    /// Whether a post may be missing from now on.
    pub(crate) fn may_contain(&self, post: &PostRecord) -> bool {
        matches!(&post.outcome, PostOutcome::Acknowledged(id) if !self.rows.contains(id))
            && post.acknowledged_at.is_none_or(|at| at >= self.since)
    }
}

/// A comment in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedComment {
    pub(crate) id: String,
    /// Empty for a tombstone.
    pub(crate) text: String,
}

/// The differences between a walk over all lists and the expected state.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WalkDifferences {
    /// Keys of acknowledged posts that are not listed.
    pub(crate) lost: Vec<String>,
    /// Ids or keys that are listed more than once.
    pub(crate) doubled: Vec<String>,
    /// Posts that were refused, deleted or never sent, and are listed.
    pub(crate) unexpected: Vec<String>,
}

/// Compares a walk with the posts. A deleted comment may be missing, or be listed as a tombstone.
pub(crate) fn compare(posts: &[PostRecord], listed: &[ListedComment]) -> WalkDifferences {
    let mut differences = WalkDifferences::default();
    let mut ids = BTreeSet::new();
    let mut texts = BTreeSet::new();
    for ListedComment { id, text } in listed {
        if !ids.insert(id.as_str()) {
            differences.doubled.push(id.clone());
        } else if !text.is_empty() && !texts.insert(text.as_str()) {
            differences.doubled.push(text.clone());
        }
    }
    let known: BTreeMap<&str, &PostRecord> = posts.iter().map(|post| (post.key.as_str(), post)).collect();
    for text in &texts {
        let why = match known.get(text) {
            None => "never sent",
            Some(PostRecord { outcome: PostOutcome::Refused(answer), .. }) => answer,
            Some(PostRecord { deletion: DeletionState::Yes, .. }) => "deleted",
            Some(_) => continue,
        };
        differences.unexpected.push(format!("{text} ({why})"));
    }
    let expected = posts.iter().filter(|post| post.must_be_there());
    differences.lost =
        expected.filter(|post| !texts.contains(post.key.as_str())).map(|post| post.key.clone()).collect();
    differences
}

/// The 404s that no deletion and no lost record explains: an acknowledged comment is there or cannot be had (503), also
/// during a fault. Each is the id of a comment and what was answered.
pub(crate) fn find_denied(posts: &[PostRecord], not_found: &[(String, String)]) -> Vec<String> {
    let is_kept = |id: &str| {
        let of_id = |post: &&PostRecord| matches!(&post.outcome, PostOutcome::Acknowledged(own) if own == id);
        posts.iter().find(of_id).is_some_and(PostRecord::must_be_there)
    };
    not_found.iter().filter(|(id, _)| is_kept(id)).map(|(_, answer)| answer.clone()).collect()
}

/// The first error in the floors of one list: they must count from 1, each once.
pub(crate) fn find_floor_error(floors: &[u64]) -> Option<String> {
    let mut sorted = floors.to_vec();
    sorted.sort_unstable();
    let expected = 1..=sorted.len() as u64;
    let (at, _) = sorted.iter().zip(expected).enumerate().find(|(_, (floor, expected))| **floor != *expected)?;
    Some(format!("floor {} of {} is {}", at + 1, sorted.len(), sorted[at]))
}

/// The time of the last acknowledgement, and the longest time without one.
#[derive(Debug)]
pub(crate) struct PauseMeter {
    last: Instant,
    longest: Duration,
}

impl PauseMeter {
    pub(crate) fn new(now: Instant) -> Self {
        Self { last: now, longest: Duration::ZERO }
    }

    pub(crate) fn note_acknowledgement(&mut self, now: Instant) {
        self.longest = self.longest.max(now - self.last);
        self.last = now;
    }

    /// The longest time without an acknowledgement, up to `now`.
    pub(crate) fn longest(&self, now: Instant) -> Duration {
        self.longest.max(now - self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(key: &str, outcome: PostOutcome, deletion: DeletionState) -> PostRecord {
        let (acknowledged_at, may_be_lost) = (None, false);
        PostRecord {
            subject: "article/1".into(),
            key: key.into(),
            parent: None,
            outcome,
            acknowledged_at,
            may_be_lost,
            deletion,
        }
    }

    fn listed(list: &[(&str, &str)]) -> Vec<ListedComment> {
        list.iter().map(|(id, text)| ListedComment { id: (*id).into(), text: (*text).into() }).collect()
    }

    #[test]
    fn possible_reactions_follow_the_responses() {
        let [like, unlike, dislike, undislike] = ReactionRequest::ALL;
        let mut reactions = PossibleReactions::default();
        assert!(reactions.acknowledge(like, Some("like")));
        assert!(reactions.acknowledge(undislike, Some("like")), "DELETE dislike does not remove a like");
        reactions.note_unknown(dislike, false);
        assert_eq!(reactions.possible(), &[Some("like"), Some("dislike")].into());
        assert!(reactions.clone().resolve(Some("like")) && reactions.clone().resolve(Some("dislike")));
        assert!(!reactions.clone().resolve(None));
        reactions.note_unknown(unlike, true);
        assert!(reactions.is_open() && reactions.clone().resolve(None));
        assert!(reactions.acknowledge(like, Some("like")) && reactions.is_open());
        assert!(!reactions.acknowledge(like, None), "an impossible response");
    }

    #[test]
    fn lost_records_of_reactions_leave_what_the_tables_had_or_what_was_before() {
        let [like, unlike, ..] = ReactionRequest::ALL;
        let liked = |is_first| {
            let mut reactions = PossibleReactions::default();
            reactions.expect_loss(is_first);
            reactions.acknowledge(like, Some("like"));
            reactions
        };
        let after = |mut reactions: PossibleReactions, stored| {
            reactions.lose(stored);
            reactions.possible().clone()
        };
        assert_eq!(after(liked(true), Some("like")), [Some("like")].into(), "it is stored, and nothing was before");
        assert_eq!(after(liked(true), None), [Some("like"), None].into());
        let mut before = PossibleReactions::default();
        before.acknowledge(like, Some("like"));
        assert_eq!(after(before.clone(), None), [Some("like")].into(), "its record was there before");
        before.expect_loss(false);
        before.acknowledge(unlike, None);
        assert_eq!(after(before.clone(), None), [Some("like"), None].into(), "the like is read again");
        before.acknowledge_unseen(like);
        assert_eq!(before.possible(), &[Some("like")].into());
    }

    #[test]
    fn walk_is_compared_with_the_posts() {
        let acknowledged = |id: &str| PostOutcome::Acknowledged(id.into());
        let posts = [
            post("a", acknowledged("1"), DeletionState::No),
            post("b", acknowledged("2"), DeletionState::Yes),
            post("c", acknowledged("3"), DeletionState::Maybe),
            post("d", PostOutcome::Unknown, DeletionState::No),
            post("e", PostOutcome::Refused("refused".into()), DeletionState::No),
        ];
        for correct in
            [&[("1", "a")][..], &[("1", "a"), ("2", ""), ("3", "c"), ("4", "d")], &[("9", "a"), ("3", ""), ("2", "")]]
        {
            assert_eq!(compare(&posts, &listed(correct)), WalkDifferences::default(), "{correct:?}");
        }
        let wrong = compare(&posts, &listed(&[("2", "b"), ("5", "e"), ("6", "f"), ("4", "d"), ("7", "d"), ("4", "d")]));
        assert_eq!(wrong.lost, ["a"]);
        assert_eq!(wrong.doubled, ["d", "4"]);
        assert_eq!(wrong.unexpected, ["b (deleted)", "e (refused)", "f (never sent)"]);
    }

    #[test]
    fn lost_posts_are_those_that_were_no_rows() {
        let since = Instant::now();
        let loss = LogLoss { since, rows: ["1".to_owned()].into(), reactions: None };
        let acknowledged = |id: &str, at: Instant| {
            let post = post(id, PostOutcome::Acknowledged(id.into()), DeletionState::No);
            PostRecord { acknowledged_at: Some(at), ..post }
        };
        let (before, after) = (since - Duration::from_secs(1), since + Duration::from_secs(1));
        let may_be_lost = |id, at| loss.may_contain(&acknowledged(id, at));
        assert!(may_be_lost("2", after) && !may_be_lost("1", after) && !may_be_lost("2", before));
        assert!(!loss.may_contain(&post("3", PostOutcome::Unknown, DeletionState::No)), "it is sent again");
        let posts = [("2", true), ("3", false)].map(|(id, may_be_lost)| {
            let post = acknowledged(id, after);
            PostRecord { may_be_lost, ..post }
        });
        assert_eq!(compare(&posts, &[]).lost, ["3"]);
        assert_eq!(compare(&posts, &listed(&[("2", "2"), ("3", "3")])), WalkDifferences::default());
        let not_found = ["2", "3"].map(|id| (id.to_owned(), format!("404 {id}")));
        assert_eq!(find_denied(&posts, &not_found), ["404 3"]);
    }

    #[test]
    fn not_found_needs_a_deletion() {
        let acknowledged = |id: &str| PostOutcome::Acknowledged(id.into());
        let posts = [
            post("a", acknowledged("1"), DeletionState::No),
            post("b", acknowledged("2"), DeletionState::Maybe),
            post("c", PostOutcome::Unknown, DeletionState::No),
        ];
        let not_found = ["1", "2", "3"].map(|id| (id.to_owned(), format!("404 {id}")));
        assert_eq!(find_denied(&posts, &not_found), ["404 1"]);
    }

    #[test]
    fn missing_and_doubled_floors_are_found() {
        for (floors, wrong) in [
            (&[][..], None),
            (&[2, 1, 3], None),
            (&[1, 3], Some("floor 2 of 2 is 3")),
            (&[1, 1, 2], Some("floor 2 of 3 is 1")),
            (&[0, 1], Some("floor 1 of 2 is 0")),
        ] {
            assert_eq!(find_floor_error(floors).as_deref(), wrong, "{floors:?}");
        }
    }

    #[test]
    fn longest_pause_includes_the_time_since_the_last_acknowledgement() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut meter = PauseMeter::new(start);
        meter.note_acknowledgement(at(10));
        meter.note_acknowledgement(at(50));
        assert_eq!(meter.longest(at(60)), Duration::from_millis(40));
        assert_eq!(meter.longest(at(100)), Duration::from_millis(50));
    }
}
