//! The numbers of what people do.

use std::collections::BTreeMap;

use async_trait::async_trait;
use gailou_shared::wire::ActivityPoint;
use rusqlite::{Transaction, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::fetch_all;
use crate::domain::activity::{ActivityStep, activity_rows};
use crate::ports::store::{ActivityReader, Result};

#[async_trait]
impl ActivityReader for SqliteStore {
    async fn list_activity(&self, step: ActivityStep, first: u64, last: u64) -> Result<Vec<ActivityPoint>> {
        let signed = |at: u64| i64::try_from(at).unwrap_or(i64::MAX);
        self.read("list_activity", move |c| {
            let sql = "SELECT at, posts, held, rejected, reports, reactions FROM activity \
                       WHERE step = ?1 AND at BETWEEN ?2 AND ?3 ORDER BY at";
            fetch_all(c, sql, [step.number(), signed(first), signed(last)], |row| {
                Ok(ActivityPoint {
                    at: row.get(0)?,
                    posts: row.get(1)?,
                    held: row.get(2)?,
                    rejected: row.get(3)?,
                    reports: row.get(4)?,
                    reactions: row.get(5)?,
                })
            })
        })
        .await
    }
}

/// Adds the numbers of a batch, in its transaction.
pub(super) fn write_activity(tx: &Transaction<'_>, minutes: &BTreeMap<u64, ActivityPoint>) -> Result<()> {
    for ((step, at), row) in activity_rows(minutes) {
        tx.prepare_cached(
            "INSERT INTO activity (step, at, posts, held, rejected, reports, reactions) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE SET posts = posts + excluded.posts, \
             held = held + excluded.held, rejected = rejected + excluded.rejected, \
             reports = reports + excluded.reports, reactions = reactions + excluded.reactions",
        )?
        .execute(params![step.number(), at, row.posts, row.held, row.rejected, row.reports, row.reactions])?;
    }
    Ok(())
}
