//! What moderators say of members.

use async_trait::async_trait;
use gailou_shared::id::MemberId;
use gailou_shared::token::Role;
use rusqlite::{Connection, Row, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::{fetch_all, json_array};
use crate::adapters::sqlite::rows::{StoredEnum, count, damaged, member_id};
use crate::domain::member_standing::{ChangedRules, ChangedRulesPage, MemberStanding, StandingPosition, StandingRules};
use crate::ports::store::{MemberStandingReader, Result};

/// The columns that [`standing_rules`] reads, first.
const RULES_COLUMNS: &str = "level, role, muted_until, tokens_not_before";

#[async_trait]
impl MemberStandingReader for SqliteStore {
    async fn read_standings(&self, members: &[MemberId]) -> Result<Vec<(MemberId, MemberStanding)>> {
        let members = members.to_vec();
        self.read("read_standings", move |c| read_standings(c, &members)).await
    }

    async fn list_changed_rules(
        &self,
        database: usize,
        after: Option<StandingPosition>,
        limit: usize,
    ) -> Result<ChangedRulesPage> {
        if database > 0 {
            return Ok(ChangedRulesPage::default());
        }
        let (at, id) = after.map_or((0, 0), |after| (after.changed_at, after.member.signed()));
        self.read("list_changed_rules", move |c| {
            let sql = format!(
                "SELECT {RULES_COLUMNS}, changed_at, id FROM member_standing INDEXED BY member_standing_change \
                 WHERE (changed_at, id) > (?1, ?2) ORDER BY changed_at, id LIMIT ?3"
            );
            let data = fetch_all(c, &sql, params![at, id, limit as i64], |r| {
                let position = StandingPosition { changed_at: count(r.get(4)?), member: member_id(r.get(5)?)? };
                Ok(ChangedRules { position, rules: standing_rules(r)? })
            })?;
            let next = data.last().filter(|_| data.len() >= limit).map(|last| last.position);
            Ok(ChangedRulesPage { data, next })
        })
        .await
    }
}

/// See [`MemberStandingReader::read_standings`].
pub(super) fn read_standings(c: &Connection, members: &[MemberId]) -> Result<Vec<(MemberId, MemberStanding)>> {
    let ids = json_array(members.iter().map(|member| member.signed()));
    let sql = format!(
        "SELECT {RULES_COLUMNS}, note, friends, changed_at, id FROM member_standing WHERE id IN (SELECT value FROM json_each(?1))"
    );
    fetch_all(c, &sql, [ids], |r| {
        let friends = r.get::<_, Option<String>>(5)?.map(|json| serde_json::from_str(&json)).transpose();
        let friends = friends.map_err(damaged)?.unwrap_or_default();
        let (changed_at, rules, note) = (count(r.get(6)?), standing_rules(r)?, r.get(4)?);
        Ok((member_id(r.get(7)?)?, MemberStanding { changed_at, rules, note, friends }))
    })
}

fn standing_rules(r: &Row<'_>) -> Result<StandingRules> {
    Ok(StandingRules {
        level: r.get(0)?,
        role: r.get::<_, Option<i64>>(1)?.map(Role::from_number).transpose()?,
        muted_until: r.get::<_, Option<i64>>(2)?.map(count),
        tokens_not_before: r.get::<_, Option<i64>>(3)?.map(count),
    })
}
