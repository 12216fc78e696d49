//! `gailou migrate`, after the tables are migrated: it ranks comments again when their weights have changed.
//!
//! It may run beside servers, of which one may do the same. Promise: at exit code 0, every comment is ranked by the
//! configured weights.

use std::pin::pin;

use tokio::sync::watch;

use crate::cli::output::Console;
use crate::ports::store::{RerankProgress, Tables};
use crate::state::AppState;

pub(super) async fn run(app: &AppState, console: &mut dyn Console) -> anyhow::Result<u8> {
    if app.tables.is_ranked().await? {
        console.out("no comment has to be ranked again\n").await?;
    } else {
        let ranked = rank_again(&*app.tables, console).await?;
        console.out(&format!("{ranked} comments were ranked again for changed weights\n")).await?;
    }
    let tables = match &app.config.cluster {
        Some(cluster) => format!("the tables of {} and the topics of {}", cluster.mysql_urls, cluster.kafka.brokers),
        None => format!("the tables in {}", app.config.data.display()),
    };
    console.out(&format!("{tables} are up to date\n")).await?;
    Ok(0)
}

/// Ranks comments again and shows the progress; how many comments got another rank.
async fn rank_again(tables: &dyn Tables, console: &mut dyn Console) -> anyhow::Result<u64> {
    let (sender, mut progress) = watch::channel(RerankProgress::default());
    let report = move |progress| {
        sender.send_replace(progress);
    };
    let mut ranking = pin!(tables.rank_again(&report));
    loop {
        tokio::select! {
            ranked = &mut ranking => return Ok(ranked?),
            Ok(()) = progress.changed() => {
                let RerankProgress { done, total } = *progress.borrow_and_update();
                console.progress(done, total).await?;
            }
        }
    }
}
