//! What moderators say of members, in the members' slots.

use async_trait::async_trait;
use gailou_shared::id::MemberId;
use gailou_shared::token::Role;
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::routing::IDS_TABLE;
use crate::adapters::mysql::row_numbers::member_slot;
use crate::adapters::mysql::rows::{
    StoredEnum, count, count_at, damaged, json_at, member_id, number_at, optional_number_at,
};
use crate::adapters::mysql::statement::sql;
use crate::domain::member_standing::{ChangedRules, ChangedRulesPage, MemberStanding, StandingPosition, StandingRules};
use crate::ports::store::{MemberStandingReader, Result, Sharding as _};

/// The columns that [`standing_rules`] reads, first.
const RULES_COLUMNS: &str = "level, role, muted_until, tokens_not_before";
/// The columns that [`standing`] reads, first.
pub(super) const STANDING_COLUMNS: &str = "level, role, muted_until, tokens_not_before, note, friends, changed_at";

#[async_trait]
impl MemberStandingReader for MysqlStore {
    async fn read_standings(&self, members: &[MemberId]) -> Result<Vec<(MemberId, MemberStanding)>> {
        let text = format!(
            "SELECT {STANDING_COLUMNS}, s.id FROM {IDS_TABLE} \
             STRAIGHT_JOIN member_standing_{{n}} s FORCE INDEX (PRIMARY) ON s.id = j.id"
        );
        let ids = members.iter().map(|member| (member_slot(*member), member.signed()));
        let found = self.rows_by_id("read_standings", ids, &text, |s| s).await?;
        found.iter().map(|r| Ok((member_id(number_at(r, 7)?)?, standing(r)?))).collect()
    }

    async fn list_changed_rules(
        &self,
        database: usize,
        after: Option<StandingPosition>,
        limit: usize,
    ) -> Result<ChangedRulesPage> {
        if database >= self.count_databases() {
            return Ok(ChangedRulesPage::default());
        }
        let (at, id) = after.map_or((0, 0), |after| (after.changed_at, after.member.signed()));
        let part = |n| {
            format!(
                "(SELECT {RULES_COLUMNS}, changed_at, id FROM member_standing_{n} FORCE INDEX (member_standing_change) \
                 WHERE changed_at >= {at} AND (changed_at > {at} OR id > {id}) ORDER BY changed_at, id LIMIT {limit})"
            )
        };
        let text = (0..self.tables).map(part).collect::<Vec<_>>().join(" UNION ALL ");
        let found = self.session("list_changed_rules", database).await?.fetch_all(sql(text)).await?;
        let mut data = found.iter().map(changed_rules).collect::<Result<Vec<_>>>()?;
        data.sort_unstable_by_key(|changed| changed.position);
        let next = data.get(limit.saturating_sub(1)).map(|last| last.position);
        data.truncate(limit);
        // The former copy of a slot that has moved is left out.
        data.retain(|changed| self.database_of(member_slot(changed.position.member)) == database);
        Ok(ChangedRulesPage { data, next })
    }
}

fn changed_rules(r: &MySqlRow) -> Result<ChangedRules> {
    let position = StandingPosition { changed_at: count_at(r, 4)?, member: member_id(number_at(r, 5)?)? };
    Ok(ChangedRules { position, rules: standing_rules(r)? })
}

/// A row that begins with [`STANDING_COLUMNS`].
pub(super) fn standing(r: &MySqlRow) -> Result<MemberStanding> {
    let friends = match r.try_get::<Option<&str>, _>(5)? {
        Some(_) => json_at(r, 5)?,
        None => vec![],
    };
    Ok(MemberStanding { changed_at: count_at(r, 6)?, rules: standing_rules(r)?, note: r.try_get(4)?, friends })
}

fn standing_rules(r: &MySqlRow) -> Result<StandingRules> {
    Ok(StandingRules {
        level: optional_number_at(r, 0)?.map(u8::try_from).transpose().map_err(damaged)?,
        role: optional_number_at(r, 1)?.map(Role::from_number).transpose()?,
        muted_until: optional_number_at(r, 2)?.map(count),
        tokens_not_before: optional_number_at(r, 3)?.map(count),
    })
}
