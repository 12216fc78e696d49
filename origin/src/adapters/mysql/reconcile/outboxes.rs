//! Finds rows that wait in an outbox although their recipient answers, and delivers them.

use std::collections::BTreeMap;

use gailou_shared::id::MemberId;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::row_numbers::member_slot;
use crate::adapters::mysql::rows::{count_at, member_id, number_at};
use crate::adapters::mysql::write::outbox_rows::DATABASE_NOW;
use crate::domain::reconcile::{Difference, FoundDifference, OutboxDifference};
use crate::ports::store::{Delivered, Outboxes as _, Result, Sharding as _};

/// How long a row waits at most, in milliseconds, while its recipient answers: five minutes. A job delivers it in
/// half a second.
const MAX_OUTBOX_AGE_MS: u64 = 300_000;
/// Rows that are read at once.
const ROWS_PER_READ: usize = 1_000;

/// Rows of one outbox for one recipient.
#[derive(Debug, Default)]
struct LateRows {
    rows: u64,
    age_ms: u64,
}

impl MysqlStore {
    pub(super) async fn compare_outboxes(
        &self,
        is_erased: &(dyn Fn(MemberId) -> bool + Send + Sync),
        repair: bool,
    ) -> Result<Vec<FoundDifference>> {
        let mut all = Vec::new();
        for database in 0..self.count_databases() {
            for (recipient, late) in self.find_late_rows(database, repair).await? {
                if !self.answers(recipient).await {
                    continue;
                }
                let repaired = repair && self.deliver_late_rows(database, recipient, is_erased).await?;
                let difference = OutboxDifference { database, recipient, rows: late.rows, age_s: late.age_ms / 1_000 };
                all.push(FoundDifference { difference: Difference::Outbox(difference), repaired });
            }
        }
        Ok(all)
    }

    /// Delivers to a recipient until nothing for it is late; whether that was reached. A job says why a delivery fails.
    async fn deliver_late_rows(
        &self,
        database: usize,
        recipient: usize,
        is_erased: &(dyn Fn(MemberId) -> bool + Send + Sync),
    ) -> Result<bool> {
        loop {
            let delivered = self.deliver(database, recipient, is_erased).await;
            if matches!(delivered, Ok(Delivered { rows, .. }) if rows >= ROWS_PER_READ) {
                continue;
            }
            let is_left = self.find_late_rows(database, false).await?.contains_key(&recipient);
            if !is_left || !matches!(delivered, Ok(Delivered { rows: 1.., .. })) {
                return Ok(!is_left);
            }
        }
    }

    /// The rows of an outbox that are late, by recipient. With `repair`, a row that names the slot of another member
    /// is corrected: it would never be delivered.
    async fn find_late_rows(&self, database: usize, repair: bool) -> Result<BTreeMap<usize, LateRows>> {
        let (mut found, mut after) = (BTreeMap::<usize, LateRows>::new(), 0);
        let mut session = self.session("reconcile", database).await?;
        loop {
            let text = format!(
                "SELECT seq, member_slot, member_id, {DATABASE_NOW} - at FROM outbox WHERE seq > {after} \
                 AND at < {DATABASE_NOW} - {MAX_OUTBOX_AGE_MS} ORDER BY seq LIMIT {ROWS_PER_READ}"
            );
            let rows = session.fetch_text(text).await?;
            for r in &rows {
                after = number_at(r, 0)?;
                let slot = member_slot(member_id(number_at(r, 2)?)?);
                if repair && number_at(r, 1)? != i64::from(slot.get()) {
                    let text = format!("UPDATE outbox SET member_slot = {} WHERE seq = {after}", slot.get());
                    session.execute_text(text).await?;
                }
                let late = found.entry(self.database_of(slot)).or_default();
                late.rows += 1;
                late.age_ms = late.age_ms.max(count_at(r, 3)?);
            }
            if rows.len() < ROWS_PER_READ {
                return Ok(found);
            }
        }
    }

    async fn answers(&self, database: usize) -> bool {
        match self.session("reconcile", database).await {
            Ok(mut session) => session.execute_text("DO 0").await.is_ok(),
            Err(_) => false,
        }
    }
}
