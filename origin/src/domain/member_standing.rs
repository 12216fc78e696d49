//! What moderators say of a member: a level, a role, until when they are muted, friends, a note.
//!
//! Pure data. What is said lies with the member's row, in the member's slot. Not here: what follows from it for a
//! request ([`crate::state::standings`]).

use gailou_shared::cursor::NamePosition;
use gailou_shared::id::{CommentId, MemberId, SLOT_COUNT, Slot};
use gailou_shared::token::Role;
use gailou_shared::wire::MemberCounts;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// How far ahead of the clock a time may be from which on tokens are accepted, in milliseconds: what clocks may differ
/// by. Without a bound it would lock members out.
pub const MAX_TOKENS_AHEAD_MS: u64 = 300_000;

/// What is said of a member; nothing by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberStanding {
    /// When it was changed, in Unix milliseconds: later with each change, whatever clock the writer has; 0 before the
    /// first.
    pub changed_at: u64,
    /// What every process enforces.
    pub rules: StandingRules,
    /// What moderators have noted.
    pub note: Option<String>,
    pub friends: Vec<MemberId>,
}

/// The part of a standing that counts for each request of the member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StandingRules {
    /// The level instead of the token's.
    pub level: Option<u8>,
    /// The role instead of the token's.
    pub role: Option<Role>,
    /// Until when the member may not write, in Unix milliseconds.
    pub muted_until: Option<u64>,
    /// Tokens that were issued before are refused, in Unix milliseconds.
    pub tokens_not_before: Option<u64>,
}

impl StandingRules {
    /// Whether they change anything at `now` (Unix milliseconds), or later.
    pub fn is_in_force(&self, now: u64) -> bool {
        self.level.is_some() || self.role.is_some() || self.tokens_not_before.is_some() || self.is_muted(now)
    }

    /// Whether the member may not write at `now`.
    pub fn is_muted(&self, now: u64) -> bool {
        self.muted_until.is_some_and(|until| now < until)
    }

    /// Whether a token is refused that was issued at this time (Unix seconds).
    pub fn refuses_token(&self, issued_at: Option<u64>) -> bool {
        self.tokens_not_before.is_some_and(|not_before| is_issued_before(issued_at, not_before))
    }
}

/// Whether a token that was issued at one time (Unix seconds) is older than another (Unix milliseconds); one that does not
/// say when it was issued is.
pub fn is_issued_before(issued_at: Option<u64>, not_before: u64) -> bool {
    issued_at.is_none_or(|issued_at| issued_at.saturating_mul(1_000) < not_before)
}

/// The rules of a member as they were changed last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangedRules {
    pub position: StandingPosition,
    pub rules: StandingRules,
}

/// The place of a standing among those of a database: when it was changed, in Unix milliseconds, then the member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StandingPosition {
    pub changed_at: u64,
    pub member: MemberId,
}

/// A part of what is said of the members in a database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedRulesPage {
    pub data: Vec<ChangedRules>,
    /// Where it goes on; `None` at the end.
    pub next: Option<StandingPosition>,
}

/// A member who has written, or of whom something is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownMember {
    pub id: MemberId,
    /// What they last wrote under; empty before their first comment, and of an erased member.
    pub name: String,
    pub avatar: Option<String>,
    pub level: u8,
    /// What the member is found and sorted by.
    pub name_key: Vec<u8>,
}

/// What a member has written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemberSummary {
    pub counts: MemberCounts,
    /// The names of the newest comments, each once.
    pub names: Vec<String>,
    /// The newest comments, whatever their state.
    pub newest: Vec<CommentId>,
}

/// Comments that a summary counts: the newest.
pub(crate) const MAX_COUNTED_COMMENTS: usize = 10_000;
/// Comments whose names are in a summary.
pub(crate) const MAX_NAMED_COMMENTS: usize = 200;
/// Comments that a summary lists.
pub(crate) const MAX_LAST_COMMENTS: usize = 10;

/// New values of a standing; `None` leaves one as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StandingPatch {
    pub level: Option<Option<u8>>,
    pub role: Option<Option<Role>>,
    pub muted_until: Option<Option<u64>>,
    pub friends: Option<Vec<MemberId>>,
    pub note: Option<Option<String>>,
    pub tokens_not_before: Option<Option<u64>>,
}

/// What a change of a standing leaves in the audit log.
#[derive(Debug, Clone, PartialEq)]
pub struct StandingChange {
    pub after: MemberStanding,
    /// The verb: of the one thing that has changed, and `member` for several.
    pub action: &'static str,
    /// The named fields, before and after.
    pub before_json: Value,
    pub after_json: Value,
}

impl StandingPatch {
    /// What `before` becomes when it is changed at this time, in Unix milliseconds.
    pub fn apply(&self, before: &MemberStanding, at: u64) -> StandingChange {
        let mut after = before.clone();
        after.changed_at = at.max(before.changed_at.saturating_add(1));
        set(&mut after.rules.level, self.level.as_ref());
        set(&mut after.rules.role, self.role.as_ref());
        set(&mut after.rules.muted_until, self.muted_until.as_ref());
        set(&mut after.rules.tokens_not_before, self.tokens_not_before.as_ref());
        set(&mut after.note, self.note.as_ref());
        set(&mut after.friends, self.friends.as_ref());
        let fields = self.named_fields();
        let describe = |standing: &MemberStanding| -> Value {
            let all = all_fields(standing);
            fields.iter().filter_map(|name| Some(((*name).to_owned(), all.get(*name)?.clone()))).collect()
        };
        let (before_json, after_json) = (describe(before), describe(&after));
        let has_changed = |name: &&&str| before_json[**name] != after_json[**name];
        let changed: Vec<&str> = fields.iter().filter(has_changed).copied().collect();
        let action = match (changed.as_slice(), fields.as_slice()) {
            ([one], _) | ([], [one]) => self.verb(one),
            _ => "member",
        };
        StandingChange { after, action, before_json, after_json }
    }

    fn named_fields(&self) -> Vec<&'static str> {
        let fields = [
            (self.level.is_some(), "level"),
            (self.role.is_some(), "role"),
            (self.muted_until.is_some(), "muted_until"),
            (self.friends.is_some(), "friends"),
            (self.note.is_some(), "note"),
            (self.tokens_not_before.is_some(), "tokens_not_before"),
        ];
        fields.into_iter().filter(|(is_named, _)| *is_named).map(|(_, name)| name).collect()
    }

    /// The verb of a change of this field alone.
    fn verb(&self, field: &str) -> &'static str {
        match field {
            "muted_until" if self.muted_until == Some(None) => "unmute",
            "muted_until" => "mute",
            "level" => "level",
            "role" => "role",
            "friends" => "friends",
            "note" => "note",
            "tokens_not_before" => "tokens",
            _ => "member",
        }
    }
}

fn set<T: Clone>(field: &mut T, value: Option<&T>) {
    if let Some(value) = value {
        field.clone_from(value);
    }
}

fn all_fields(standing: &MemberStanding) -> Map<String, Value> {
    let StandingRules { level, role, muted_until, tokens_not_before } = &standing.rules;
    let fields = [
        ("level", json!(level)),
        ("role", json!(role)),
        ("muted_until", json!(muted_until)),
        ("friends", json!(standing.friends)),
        ("note", json!(standing.note)),
        ("tokens_not_before", json!(tokens_not_before)),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The slot of a member's history, name and standing: a hash, so that members are spread like subjects.
pub(crate) fn member_slot(member: MemberId) -> Slot {
    let hash = Sha256::new().chain_update(b"gailou member slot\0").chain_update(member.get().to_be_bytes()).finalize();
    let number = hash.iter().take(8).fold(0, |n: u64, b| n << 8 | u64::from(*b));
    Slot::new((number % u64::from(SLOT_COUNT)) as u16).unwrap_or(Slot::FIRST)
}

/// What names are found and sorted by: the first 64 bytes of the name in lower case, in whole characters.
pub(crate) fn name_key(name: &str) -> Vec<u8> {
    let mut key = name.trim().to_lowercase();
    key.truncate(key.floor_char_boundary(size_of::<NamePosition>()));
    key.into_bytes()
}

/// The key of a name as a cursor has it: no name has a zero byte.
pub(crate) fn name_position(key: &[u8]) -> NamePosition {
    let mut position = [0; size_of::<NamePosition>()];
    position.iter_mut().zip(key).for_each(|(to, from)| *to = *from);
    position
}

/// The key of a name in a cursor.
pub(crate) fn position_key(position: &NamePosition) -> &[u8] {
    let end = position.iter().position(|b| *b == 0).unwrap_or(position.len());
    &position[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_of_the_audit_log_is_named_by_what_has_changed() {
        let before = MemberStanding {
            rules: StandingRules { muted_until: Some(5), ..StandingRules::default() },
            ..MemberStanding::default()
        };
        let check = |patch: StandingPatch, action: &str, after: Value| {
            let change = patch.apply(&before, 1);
            assert_eq!((change.action, change.after_json), (action, after), "{patch:?}");
        };
        let none = StandingPatch::default;
        check(StandingPatch { muted_until: Some(Some(9)), ..none() }, "mute", json!({"muted_until": 9}));
        check(StandingPatch { muted_until: Some(None), ..none() }, "unmute", json!({"muted_until": null}));
        check(StandingPatch { level: Some(Some(3)), ..none() }, "level", json!({"level": 3}));
        check(StandingPatch { role: Some(Some(Role::Admin)), ..none() }, "role", json!({"role": "admin"}));
        check(StandingPatch { tokens_not_before: Some(Some(7)), ..none() }, "tokens", json!({"tokens_not_before": 7}));
        let named = StandingPatch { level: Some(None), note: Some(Some("n".into())), ..none() };
        check(named, "note", json!({"level": null, "note": "n"}));
        let both = StandingPatch { muted_until: Some(None), note: Some(Some("n".into())), ..none() };
        check(both, "member", json!({"muted_until": null, "note": "n"}));
        check(StandingPatch { note: Some(None), ..none() }, "note", json!({"note": null}));
        check(none(), "member", json!({}));
    }

    #[test]
    fn each_change_is_later_than_the_one_before() {
        let patch = StandingPatch { level: Some(Some(3)), ..StandingPatch::default() };
        let first = patch.apply(&MemberStanding::default(), 5).after;
        let times = [4, 5, 9].map(|at| patch.apply(&first, at).after.changed_at);
        assert_eq!((first.changed_at, times), (5, [6, 6, 9]));
    }

    #[test]
    fn token_counts_by_the_second_it_was_issued_in() {
        let rules = StandingRules { tokens_not_before: Some(1_500), ..StandingRules::default() };
        let refused = [None, Some(0), Some(1)].map(|issued_at| rules.refuses_token(issued_at));
        assert_eq!((refused, rules.refuses_token(Some(2))), ([true; 3], false));
        assert!(!StandingRules::default().refuses_token(None));
    }

    #[test]
    fn key_of_a_name_has_whole_characters() {
        assert_eq!(name_key(" Ännchen "), "ännchen".as_bytes());
        let long = "楼".repeat(30);
        assert_eq!(name_key(&long), "楼".repeat(21).as_bytes());
        for key in [name_key("bo"), name_key(&"x".repeat(64))] {
            assert_eq!(position_key(&name_position(&key)), key);
        }
    }
}
