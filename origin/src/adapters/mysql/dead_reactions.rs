//! What the tables know of reactions among the dead letters.

use async_trait::async_trait;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::rows::{count_at, number_at};
use crate::adapters::mysql::slot_state::SlotState;
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write::batch_sql::signed;
use crate::domain::reaction_state::DeadReaction;
use crate::ports::store::{DeadReactions, Result, Sharding as _, StoreError};

#[async_trait]
impl DeadReactions for MysqlStore {
    async fn is_outdated(&self, dead: DeadReaction) -> Result<bool> {
        self.retry_while_moving(|| self.is_outdated_in_owner(dead)).await
    }
}

impl MysqlStore {
    async fn is_outdated_in_owner(&self, dead: DeadReaction) -> Result<bool> {
        let slot = dead.id.slot();
        let text = format!(
            "SELECT s.state, s.reactions, EXISTS (SELECT 1 FROM dead_reaction_{} d WHERE d.slot = s.slot \
             AND d.member_id = ? AND d.comment_id = ? AND d.position = ?) FROM slot s WHERE s.slot = ?",
            self.table_number(slot)
        );
        let find = sql(text).bind(dead.member.signed()).bind(dead.id.signed()).bind(signed(dead.position));
        let mut session = self.session("is_outdated", self.database_of(slot)).await?;
        let found = session.fetch_first(find.bind(slot.get())).await?;
        let r = found.ok_or_else(|| StoreError::damaged("a slot has no row"))?;
        SlotState::at(&r, 0)?.ensure_owned()?;
        Ok(count_at(&r, 1)? > dead.position && number_at(&r, 2)? == 0)
    }
}
