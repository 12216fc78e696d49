//! The numbers of what people do: each database has those of its own transactions, and the whole is their sum. The
//! answer is exact or none: while a database is away, there is none.

use std::collections::BTreeMap;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use gailou_shared::wire::ActivityPoint;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::rows::count_at;
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write::batch_sql::signed;
use crate::domain::activity::ActivityStep;
use crate::ports::store::{ActivityReader, Result, Sharding as _};

/// The sum over the parts, as numbers that are no decimals.
const ACTIVITY_SQL: &str = "SELECT at, CAST(SUM(posts) AS SIGNED), CAST(SUM(held) AS SIGNED), \
                            CAST(SUM(rejected) AS SIGNED), CAST(SUM(reports) AS SIGNED), \
                            CAST(SUM(reactions) AS SIGNED) FROM activity \
                            WHERE step = ? AND at BETWEEN ? AND ? GROUP BY at";

#[async_trait]
impl ActivityReader for MysqlStore {
    async fn list_activity(&self, step: ActivityStep, first: u64, last: u64) -> Result<Vec<ActivityPoint>> {
        let read = (0..self.count_databases()).map(|shard| async move {
            let statement = sql(ACTIVITY_SQL).bind(step.number()).bind(signed(first)).bind(signed(last));
            self.session("list_activity", shard).await?.fetch_all(statement).await
        });
        let mut points = BTreeMap::new();
        for r in try_join_all(read).await?.iter().flatten() {
            let at = count_at(r, 0)?;
            let point = points.entry(at).or_insert(ActivityPoint { at, ..ActivityPoint::default() });
            point.add(&ActivityPoint {
                at,
                posts: count_at(r, 1)?,
                held: count_at(r, 2)?,
                rejected: count_at(r, 3)?,
                reports: count_at(r, 4)?,
                reactions: count_at(r, 5)?,
            });
        }
        Ok(points.into_values().collect())
    }
}
