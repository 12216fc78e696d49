//! What the clients know: what was acknowledged, what may have happened, and what must not.
//!
//! Bookkeeping only: nothing here talks to a server.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// `like`, `dislike`, or neither.
pub(crate) type Reaction = Option<&'static str>;

/// A call on a reaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) method: &'static str,
    pub(crate) what: &'static str,
}

impl Mark {
    pub(crate) const ALL: [Self; 4] = [
        Self::new("PUT", "like"),
        Self::new("DELETE", "like"),
        Self::new("PUT", "dislike"),
        Self::new("DELETE", "dislike"),
    ];

    const fn new(method: &'static str, what: &'static str) -> Self {
        Self { method, what }
    }

    /// What a member thinks after it, who thought `before`.
    fn of(self, before: Reaction) -> Reaction {
        match self.method {
            "PUT" => Some(self.what),
            _ => before.filter(|b| *b != self.what),
        }
    }
}

/// What one member may think of one comment, as far as the answers tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thought {
    may: BTreeSet<Reaction>,
    /// A call of this round got no answer at all: it may still be on its way, so nothing is asked
    /// of this pair until the round is over.
    open: bool,
}

impl Default for Thought {
    fn default() -> Self {
        Self { may: [None].into(), open: false }
    }
}

impl Thought {
    pub(crate) fn is_open(&self) -> bool {
        self.open
    }

    pub(crate) fn may(&self) -> &BTreeSet<Reaction> {
        &self.may
    }

    /// A call was acknowledged with this reaction; whether that can be.
    pub(crate) fn acknowledged(&mut self, mark: Mark, answer: Reaction) -> bool {
        let right = self.may.iter().any(|before| mark.of(*before) == answer);
        self.may = [answer].into();
        right
    }

    /// The server said that it does not know the outcome, or (`silent`) said nothing.
    pub(crate) fn unknown(&mut self, mark: Mark, silent: bool) {
        let after: Vec<_> = self.may.iter().map(|before| mark.of(*before)).collect();
        self.may.extend(after);
        self.open |= silent;
    }

    /// The round is over and this is what there is; whether that can be.
    pub(crate) fn found(&mut self, reaction: Reaction) -> bool {
        let right = self.may.contains(&reaction);
        *self = Self { may: [reaction].into(), open: false };
        right
    }
}

/// What has become of a post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Acknowledged under this id.
    Made(String),
    /// Sent, and no answer that says yes or no.
    Unknown,
    /// Refused, with this answer: it must be nowhere.
    Refused(String),
}

/// Whether an acknowledged comment was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deleted {
    No,
    Maybe,
    Yes,
}

/// A post; its text is its idempotency key, which no other post has.
#[derive(Debug, Clone)]
pub(crate) struct Post {
    pub(crate) subject: String,
    pub(crate) key: String,
    pub(crate) parent: Option<String>,
    pub(crate) fate: Fate,
    pub(crate) deleted: Deleted,
}

/// What lists show of a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) id: String,
    /// Empty of a tombstone.
    pub(crate) text: String,
}

/// What a walk over everything shows against what it must show.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Keys of what was acknowledged and is not there.
    pub(crate) lost: Vec<String>,
    /// Ids or keys that are there more than once.
    pub(crate) doubled: Vec<String>,
    /// What was refused, deleted, or never sent, and is there.
    pub(crate) strange: Vec<String>,
}

/// Compares a walk with the posts. Deleted comments may be missing, or be there as tombstones.
pub(crate) fn judge(posts: &[Post], shown: &[Shown]) -> Verdict {
    let mut verdict = Verdict::default();
    let mut ids = BTreeSet::new();
    let mut texts = BTreeSet::new();
    for Shown { id, text } in shown {
        if !ids.insert(id.as_str()) {
            verdict.doubled.push(id.clone());
        } else if !text.is_empty() && !texts.insert(text.as_str()) {
            verdict.doubled.push(text.clone());
        }
    }
    let known: BTreeMap<&str, &Post> = posts.iter().map(|post| (post.key.as_str(), post)).collect();
    for text in &texts {
        let why = match known.get(text) {
            None => "never sent",
            Some(Post { fate: Fate::Refused(answer), .. }) => answer,
            Some(Post { deleted: Deleted::Yes, .. }) => "deleted",
            Some(_) => continue,
        };
        verdict.strange.push(format!("{text} ({why})"));
    }
    let must = posts.iter().filter(|post| matches!(post.fate, Fate::Made(_)) && post.deleted == Deleted::No);
    verdict.lost = must.filter(|post| !texts.contains(post.key.as_str())).map(|post| post.key.clone()).collect();
    verdict
}

/// What is wrong with the floors that were given in one list: they count from 1, each once.
pub(crate) fn wrong_floors(floors: &[u64]) -> Option<String> {
    let mut sorted = floors.to_vec();
    sorted.sort_unstable();
    let expected = 1..=sorted.len() as u64;
    let (at, _) = sorted.iter().zip(expected).enumerate().find(|(_, (floor, expected))| **floor != *expected)?;
    Some(format!("floor {} of {} is {}", at + 1, sorted.len(), sorted[at]))
}

/// When something was acknowledged last, and the longest pause so far.
#[derive(Debug)]
pub(crate) struct Pulse {
    last: Instant,
    longest: Duration,
}

impl Pulse {
    pub(crate) fn new(now: Instant) -> Self {
        Self { last: now, longest: Duration::ZERO }
    }

    pub(crate) fn beat(&mut self, now: Instant) {
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

    fn post(key: &str, fate: Fate, deleted: Deleted) -> Post {
        Post { subject: "article/1".into(), key: key.into(), parent: None, fate, deleted }
    }

    fn shown(list: &[(&str, &str)]) -> Vec<Shown> {
        list.iter().map(|(id, text)| Shown { id: (*id).into(), text: (*text).into() }).collect()
    }

    #[test]
    fn thoughts_follow_the_answers() {
        let [like, unlike, dislike, undislike] = Mark::ALL;
        let mut thought = Thought::default();
        assert!(thought.acknowledged(like, Some("like")));
        assert!(thought.acknowledged(undislike, Some("like")), "takes back a dislike only");
        thought.unknown(dislike, false);
        assert_eq!(thought.may(), &[Some("like"), Some("dislike")].into());
        assert!(thought.clone().found(Some("like")) && thought.clone().found(Some("dislike")));
        assert!(!thought.clone().found(None));
        thought.unknown(unlike, true);
        assert!(thought.is_open() && thought.clone().found(None));
        assert!(thought.acknowledged(like, Some("like")) && thought.is_open());
        assert!(!thought.acknowledged(like, None), "an answer that cannot be");
    }

    #[test]
    fn walks_are_judged() {
        let made = |id: &str| Fate::Made(id.into());
        let posts = [
            post("a", made("1"), Deleted::No),
            post("b", made("2"), Deleted::Yes),
            post("c", made("3"), Deleted::Maybe),
            post("d", Fate::Unknown, Deleted::No),
            post("e", Fate::Refused("refused".into()), Deleted::No),
        ];
        for fine in
            [&[("1", "a")][..], &[("1", "a"), ("2", ""), ("3", "c"), ("4", "d")], &[("9", "a"), ("3", ""), ("2", "")]]
        {
            assert_eq!(judge(&posts, &shown(fine)), Verdict::default(), "{fine:?}");
        }
        let wrong = judge(&posts, &shown(&[("2", "b"), ("5", "e"), ("6", "f"), ("4", "d"), ("7", "d"), ("4", "d")]));
        assert_eq!(wrong.lost, ["a"]);
        assert_eq!(wrong.doubled, ["d", "4"]);
        assert_eq!(wrong.strange, ["b (deleted)", "e (refused)", "f (never sent)"]);
    }

    #[test]
    fn floors_are_given_once_and_without_gaps() {
        for (floors, wrong) in [
            (&[][..], None),
            (&[2, 1, 3], None),
            (&[1, 3], Some("floor 2 of 2 is 3")),
            (&[1, 1, 2], Some("floor 2 of 3 is 1")),
            (&[0, 1], Some("floor 1 of 2 is 0")),
        ] {
            assert_eq!(wrong_floors(floors).as_deref(), wrong, "{floors:?}");
        }
    }

    #[test]
    fn the_longest_pause_counts_to_the_end() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut pulse = Pulse::new(start);
        pulse.beat(at(10));
        pulse.beat(at(50));
        assert_eq!(pulse.longest(at(60)), Duration::from_millis(40));
        assert_eq!(pulse.longest(at(100)), Duration::from_millis(50));
    }
}
