//! The decision about the broker, as a setting of every database.

use async_trait::async_trait;
use futures_util::future::join_all;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::copies::read_setting;
use crate::adapters::mysql::pool::MysqlPool;
use crate::adapters::mysql::rows::damaged;
use crate::adapters::mysql::statement::sql;
use crate::domain::broker_state::BrokerState;
use crate::ports::store::{BrokerStates, Result, StoreError};

/// The setting that has the decision, as JSON.
const BROKER_STATE_SETTING: &str = "broker_state";

#[async_trait]
impl BrokerStates for MysqlStore {
    async fn read_broker_state(&self) -> Result<BrokerState> {
        let answers = join_all(self.pools.iter().map(read)).await;
        let found: Vec<Option<BrokerState>> = answers.iter().map(|answer| answer.as_ref().ok().cloned()).collect();
        let latest = latest(answers)?;
        // A database that was away, is new, or has gone back.
        for (pool, found) in self.pools.iter().zip(found) {
            let is_behind = |found: BrokerState| {
                found.generation < latest.generation || found.cluster_id.is_none() && latest.cluster_id.is_some()
            };
            if found.is_some_and(is_behind) {
                let (database, done) = (pool.address(), write(pool, &latest).await);
                tracing::debug!(
                    database,
                    is_written = done.is_ok(),
                    "Copied what was decided of the broker to {database}"
                );
            }
        }
        Ok(latest)
    }

    async fn write_broker_state(&self, state: &BrokerState) -> Result<usize> {
        let (mut written, mut failure) = (0, None);
        for answer in join_all(self.pools.iter().map(|pool| write(pool, state))).await {
            match answer {
                Ok(_) => written += 1,
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            Some(error) if written == 0 => Err(error),
            _ => Ok(written),
        }
    }

    async fn remember_cluster(&self, cluster_id: &str) -> Result<String> {
        // The first database decides; the others get a copy when the state is read.
        let state = BrokerState { cluster_id: Some(cluster_id.to_owned()), ..BrokerState::default() };
        let stored = write(self.first_pool(), &state).await?;
        stored.cluster_id.ok_or_else(|| damaged("a cluster that was stored is missing"))
    }
}

async fn read(pool: &MysqlPool) -> Result<BrokerState> {
    let found = read_setting(pool, BROKER_STATE_SETTING).await?;
    found.map_or_else(|| Ok(BrokerState::default()), |text| serde_json::from_slice(&text).map_err(damaged))
}

/// Writes a decision into one database, see [`BrokerState::take`]; what it has then.
async fn write(pool: &MysqlPool, state: &BrokerState) -> Result<BrokerState> {
    let mut session = pool.session("write_broker_state").await?;
    session.begin().await?;
    let done = async {
        // The first statement locks the row, so that of two decisions of one generation the first stays.
        let put = "INSERT IGNORE INTO setting (name, value) VALUES (?, '{\"generation\":0,\"stopped\":null}')";
        session.execute_text(put.replacen('?', &format!("'{BROKER_STATE_SETTING}'"), 1)).await?;
        let find = sql("SELECT value FROM setting WHERE name = ? FOR UPDATE").bind(BROKER_STATE_SETTING);
        let found = session.fetch_first(find).await?.ok_or_else(|| damaged("a setting that was stored is missing"))?;
        let before: BrokerState =
            serde_json::from_slice(&sqlx::Row::try_get::<Vec<u8>, _>(&found, 0)?).map_err(damaged)?;
        let mut stored = before.clone();
        stored.take(state);
        if stored != before {
            let put = sql("UPDATE setting SET value = ? WHERE name = ?");
            let text = serde_json::to_vec(&stored).map_err(damaged)?;
            session.execute(put.bind(text).bind(BROKER_STATE_SETTING)).await?;
        }
        Ok(stored)
    };
    let done = done.await;
    session.finish(done).await
}

/// What the answers say together; an error when there is none.
fn latest(answers: Vec<Result<BrokerState>>) -> Result<BrokerState> {
    let mut failure = StoreError::Database("no database is configured".into());
    let mut latest: Option<BrokerState> = None;
    for answer in answers {
        match answer {
            Ok(state) => match &mut latest {
                Some(latest) => latest.take(&state),
                None => latest = Some(state),
            },
            Err(error) => failure = error,
        }
    }
    latest.ok_or(failure)
}
