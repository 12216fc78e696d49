//! Ranks comments again in the background when their weights have changed. A process that ends in the middle leaves
//! the rest to the next one.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::outage_log::OutageLog;
use crate::ports::store::{Result, Tables};

/// How long the job waits after an error.
const RERANK_RETRY_INTERVAL: Duration = Duration::from_secs(10);
/// The setting that ranks depend on.
const WEIGHTS_SETTING: &str = "types.NAME.weights";

/// Runs until every comment is ranked by the configured weights.
pub async fn run(tables: Arc<dyn Tables>) {
    let (outage, mut began) = (OutageLog::default(), None);
    while let Err(error) = rank_again(&*tables, &mut began).await {
        outage.begin(|| {
            let retry_s = RERANK_RETRY_INTERVAL.as_secs();
            tracing::warn!(retry_s, %error, "Could not rank comments by changed weights; retrying every {retry_s} s");
        });
        sleep(RERANK_RETRY_INTERVAL).await;
    }
    outage.end(|| tracing::info!("Every comment is ranked by the configured weights"));
}

/// `began` is when this process began to rank.
async fn rank_again(tables: &dyn Tables, began: &mut Option<Instant>) -> Result<()> {
    if tables.is_ranked().await? {
        return Ok(());
    }
    let setting = WEIGHTS_SETTING;
    let began = *began.get_or_insert_with(|| {
        tracing::info!(setting, "Values of {setting} have changed; ranking comments again while requests are answered");
        Instant::now()
    });
    let ranked = tables.rank_again(&|_| {}).await?;
    let elapsed_ms = began.elapsed().as_millis() as u64;
    tracing::info!(setting, ranked, elapsed_ms, "Ranked {ranked} comments again for changed values of {setting}");
    Ok(())
}
