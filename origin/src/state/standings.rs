//! What moderators say of members, in memory: who is muted, whose level and role another one counts, whose old tokens are
//! refused.
//!
//! [`crate::jobs::follow_standings`] reads what has changed in each database every second, so a change is in force
//! everywhere within 2 s of its commit, and at once in the process that made it. Promise: a request looks into memory and
//! waits for no database. While a database does not answer, what was read of it last stays in force. About 100 bytes a
//! member of whom something is said: 10 MB for 100,000.
//!
//! Not here: notes and friends, which are read when they are needed.

use std::collections::HashMap;

use gailou_shared::id::MemberId;
use gailou_shared::token::VerifiedToken;
use parking_lot::{Mutex, RwLock};

use crate::domain::member_standing::{ChangedRules, StandingPosition, StandingRules};
use crate::ports::store::{MemberStandingReader, Result};

/// Members whose rules are read at once.
const RULES_PER_READ: usize = 2_000;
/// How much of what was read is read again, in milliseconds: an earlier change may be committed later.
const LATE_COMMIT_MS: u64 = 60_000;

/// The rules of members that the process knows.
#[derive(Debug)]
pub struct MemberStandings {
    /// By member, with those that no longer say anything until the next [`MemberStandings::reload`].
    rules: RwLock<HashMap<MemberId, ChangedRules>>,
    /// By database: the last change that was read.
    last: Vec<Mutex<Option<StandingPosition>>>,
}

impl MemberStandings {
    /// Nothing is known yet of the members in so many databases.
    pub fn new(databases: usize) -> Self {
        Self { rules: RwLock::default(), last: (0..databases).map(|_| Mutex::default()).collect() }
    }

    /// How many databases are read.
    pub fn databases(&self) -> usize {
        self.last.len()
    }

    /// What counts for a member.
    pub fn rules_of(&self, member: MemberId) -> StandingRules {
        self.rules.read().get(&member).map_or_else(StandingRules::default, |changed| changed.rules)
    }

    /// The first `count` members above an id who are muted, by id.
    pub fn list_muted(&self, now: u64, above: Option<MemberId>, count: usize) -> Vec<MemberId> {
        let rules = self.rules.read();
        let muted = rules.iter().filter(|(_, changed)| changed.rules.is_muted(now)).map(|(id, _)| *id);
        let mut muted: Vec<MemberId> = muted.filter(|id| above.is_none_or(|above| above < *id)).collect();
        drop(rules);
        muted.sort_unstable();
        muted.truncate(count);
        muted
    }

    /// Gives the member of a token the level and the role that count here; `None` for a token that is refused.
    pub fn apply(&self, mut token: VerifiedToken) -> Option<gailou_shared::token::Member> {
        let rules = self.rules_of(token.member.id);
        if rules.refuses_token(token.issued_at) {
            return None;
        }
        token.member.level = rules.level.unwrap_or(token.member.level);
        token.member.role = rules.role.unwrap_or(token.member.role);
        Some(token.member)
    }

    /// Takes over a change; an older one than what is known changes nothing.
    pub fn set(&self, changed: ChangedRules) {
        put(&mut self.rules.write(), changed);
    }

    /// Reads what has changed in a database since the last call.
    ///
    /// # Errors
    /// When the database does not answer.
    pub async fn follow(&self, tables: &(impl MemberStandingReader + ?Sized), database: usize, now: u64) -> Result<()> {
        let Some(last) = self.last.get(database) else { return Ok(()) };
        let before = *last.lock();
        // The clock of who wrote it may be ahead.
        let overlap = |last: StandingPosition| StandingPosition {
            changed_at: last.changed_at.min(now).saturating_sub(LATE_COMMIT_MS),
            ..last
        };
        let mut after = before.map(overlap);
        let mut newest = before;
        loop {
            let page = tables.list_changed_rules(database, after, RULES_PER_READ).await?;
            newest = newest.max(page.data.last().map(|changed| changed.position));
            let mut rules = self.rules.write();
            page.data.into_iter().for_each(|changed| put(&mut rules, changed));
            drop(rules);
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        *last.lock() = newest;
        Ok(())
    }

    /// Reads all databases from the start and forgets what none of them says: of members who are erased, whose mutes are
    /// over, or whose database has gone back.
    ///
    /// # Errors
    /// When a database does not answer; what is known stays.
    pub async fn reload(&self, tables: &(impl MemberStandingReader + ?Sized), now: u64) -> Result<()> {
        let mut read = HashMap::new();
        for database in 0..self.databases() {
            let mut after = None;
            loop {
                let page = tables.list_changed_rules(database, after, RULES_PER_READ).await?;
                page.data.into_iter().for_each(|changed| put(&mut read, changed));
                match page.next {
                    Some(next) => after = Some(next),
                    None => break,
                }
            }
        }
        read.retain(|_, changed| changed.rules.is_in_force(now) || is_late(changed, now));
        let mut rules = self.rules.write();
        // What this process or its follower learned meanwhile.
        rules.values().filter(|changed| is_late(changed, now)).for_each(|changed| put(&mut read, *changed));
        *rules = read;
        Ok(())
    }
}

/// Whether it may be committed later than it says.
fn is_late(changed: &ChangedRules, now: u64) -> bool {
    changed.position.changed_at.saturating_add(LATE_COMMIT_MS) >= now
}

fn put(rules: &mut HashMap<MemberId, ChangedRules>, changed: ChangedRules) {
    let known = rules.entry(changed.position.member).or_insert(changed);
    if changed.position.changed_at >= known.position.changed_at {
        *known = changed;
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use gailou_shared::token::{Member, Role};

    use super::*;
    use crate::domain::member_standing::{ChangedRulesPage, MemberStanding};
    use crate::ports::store::StoreError;

    /// Two databases with rules in any order; the second may be away.
    #[derive(Debug, Default)]
    struct ScriptedStandings {
        rows: Mutex<[Vec<ChangedRules>; 2]>,
        is_second_away: Mutex<bool>,
    }

    #[async_trait]
    impl MemberStandingReader for ScriptedStandings {
        async fn read_standings(&self, _: &[MemberId]) -> Result<Vec<(MemberId, MemberStanding)>> {
            unreachable!("followers read rules alone")
        }

        async fn list_changed_rules(
            &self,
            database: usize,
            after: Option<StandingPosition>,
            count: usize,
        ) -> Result<ChangedRulesPage> {
            if database == 1 && *self.is_second_away.lock() {
                return Err(StoreError::Unavailable("away".into()));
            }
            let mut data: Vec<_> =
                self.rows.lock()[database].iter().copied().filter(|row| Some(row.position) > after).collect();
            data.sort_by_key(|row| row.position);
            data.truncate(count);
            let next = (data.len() == count).then(|| data[count - 1].position);
            Ok(ChangedRulesPage { data, next })
        }
    }

    fn member(number: u64) -> MemberId {
        MemberId::new(number).unwrap()
    }

    fn muted(number: u64, changed_at: u64, until: Option<u64>) -> ChangedRules {
        let position = StandingPosition { changed_at, member: member(number) };
        ChangedRules { position, rules: StandingRules { muted_until: until, ..StandingRules::default() } }
    }

    const NOW: u64 = 1_000_000;

    #[tokio::test]
    async fn changes_are_followed_also_when_they_are_committed_late() {
        let (tables, standings) = (ScriptedStandings::default(), MemberStandings::new(2));
        let is_muted = |number| standings.rules_of(member(number)).is_muted(NOW);
        tables.rows.lock()[0] = (1..=RULES_PER_READ as u64 + 5).map(|n| muted(n, n, Some(NOW + 1))).collect();
        standings.follow(&tables, 0, NOW).await.unwrap();
        assert!((1..=RULES_PER_READ as u64 + 5).all(is_muted));
        // By a clock that is ahead, then one that is behind.
        tables.rows.lock()[0] = vec![muted(7_001, NOW + 3_600_000, Some(NOW + 1))];
        standings.follow(&tables, 0, NOW).await.unwrap();
        tables.rows.lock()[0] = vec![muted(7_002, NOW - LATE_COMMIT_MS + 1, Some(NOW + 1)), muted(1, NOW, None)];
        standings.follow(&tables, 0, NOW).await.unwrap();
        assert_eq!([1, 2, 7_001, 7_002].map(is_muted), [false, true, true, true]);
        // A reader that began before a change of this process does not take it back.
        standings.set(muted(3, NOW + 1, None));
        tables.rows.lock()[0] = vec![muted(3, NOW, Some(NOW + 1))];
        standings.follow(&tables, 0, NOW).await.unwrap();
        assert!(!is_muted(3));
    }

    #[tokio::test]
    async fn what_no_database_says_is_forgotten_when_all_answer() {
        let (tables, standings) = (ScriptedStandings::default(), MemberStandings::new(2));
        let is_muted = |number| standings.rules_of(member(number)).is_muted(NOW);
        *tables.rows.lock() = [vec![muted(1, 5, Some(NOW + 1))], vec![muted(2, 5, Some(NOW + 1))]];
        standings.reload(&tables, NOW).await.unwrap();
        standings.set(muted(3, NOW - 1, Some(NOW + 1)));
        *tables.rows.lock() = [vec![], vec![muted(2, 5, Some(NOW + 1)), muted(4, 6, Some(NOW - 1))]];
        *tables.is_second_away.lock() = true;
        standings.reload(&tables, NOW).await.unwrap_err();
        standings.follow(&tables, 1, NOW).await.unwrap_err();
        assert_eq!([1, 2, 3].map(is_muted), [true; 3]);
        *tables.is_second_away.lock() = false;
        standings.reload(&tables, NOW).await.unwrap();
        assert_eq!([1, 2, 3].map(is_muted), [false, true, true], "3 may not be committed yet");
        assert_eq!(standings.rules.read().len(), 2, "a mute that is over is not kept");
    }

    #[test]
    fn level_and_role_of_a_token_are_replaced_and_an_old_token_is_refused() {
        let standings = MemberStandings::new(1);
        let token = |issued_at| VerifiedToken {
            member: Member { id: member(7), name: "Ann".into(), avatar: None, level: 3, role: Role::Admin },
            issued_at,
            valid_until: u64::MAX,
            email: None,
        };
        let applied = |issued_at| standings.apply(token(issued_at)).map(|member| (member.level, member.role));
        assert_eq!(applied(None), Some((3, Role::Admin)));
        let rules = StandingRules {
            level: Some(9),
            role: Some(Role::Member),
            tokens_not_before: Some(5_000),
            ..StandingRules::default()
        };
        standings.set(ChangedRules { position: StandingPosition { changed_at: 1, member: member(7) }, rules });
        assert_eq!([None, Some(4), Some(5)].map(applied), [None, None, Some((9, Role::Member))]);
    }
}
