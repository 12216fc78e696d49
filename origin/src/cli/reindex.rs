//! `gailou reindex`: lets the search index be built again from all comments, and shows how far it is.
//!
//! The job that keeps the index up to date builds it: of the running server, or of the cluster, or, without a server, of
//! this process. A command that ends earlier ends no build. Promise: at exit code 0 the index was built after the command began.

use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use tokio::time::{Instant, sleep};

use crate::bootstrap::Process;
use crate::cli::EXIT_USAGE;
use crate::cli::output::Console;
use crate::domain::search_index::IndexBuild;
use crate::jobs::index_comments::{HeldState, new_index_id};
use crate::state::{AppState, ProcessRole};

/// How often the progress is read.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);
/// How often it is printed, at least this many comments apart.
const COMMENTS_PER_LINE: u64 = 50_000;
/// How long no comment may be indexed.
const STALL_TIMEOUT: Duration = Duration::from_secs(120);

/// Builds the index again.
pub(super) async fn run(app: &Process, console: &mut dyn Console) -> anyhow::Result<u8> {
    if app.search.is_none() {
        console.err("gailou: this cluster has no search: set search.url (GAILOU_SEARCH__URL)\n").await?;
        return Ok(EXIT_USAGE);
    }
    if app.config.cluster.is_none() && app.role == ProcessRole::Command {
        app.start_indexing(Arc::default());
    }
    let all = app.tables.estimate_comments().await?;
    let id = request(app).await?;
    let (mut last, mut printed, mut changed_at) = (None, 0, Instant::now());
    loop {
        sleep(PROGRESS_INTERVAL).await;
        let state = HeldState::read(&*app.tables).await?.state;
        let Some(build) = state.build.filter(|build| build.id == id) else {
            if state.complete.as_ref() == Some(&id) {
                break;
            }
            bail!("another build of the index has replaced this one");
        };
        if build.comments >= printed + COMMENTS_PER_LINE {
            printed = build.comments;
            console.err(&format!("{}\n", progress(printed, all))).await?;
        }
        if last != Some(build.comments) {
            (last, changed_at) = (Some(build.comments), Instant::now());
        }
        if changed_at.elapsed() > STALL_TIMEOUT {
            bail!(
                "nothing was indexed for {} s: is a `gailou job` running, and the index reachable?",
                STALL_TIMEOUT.as_secs()
            );
        }
    }
    console.out(&format!("the search index {id} is built\n")).await?;
    Ok(0)
}

/// How many comments are done, of about so many.
fn progress(done: u64, all: u64) -> String {
    if done >= all {
        return format!("{done} comments");
    }
    format!("{done} of about {all} comments, {} %", done * 100 / all)
}

/// Asks for a build. The id of the index that will be built.
async fn request(app: &AppState) -> anyhow::Result<String> {
    let id = new_index_id();
    loop {
        let mut held = HeldState::read(&*app.tables).await?;
        held.state.build = Some(IndexBuild { id: id.clone(), ..IndexBuild::default() });
        if held.store(&*app.tables).await? {
            return Ok(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_has_a_share_until_the_estimate_is_reached() {
        assert_eq!(progress(50_000, 200_000), "50000 of about 200000 comments, 25 %");
        assert_eq!([progress(50_000, 0), progress(50_000, 40_000)], ["50000 comments"; 2]);
    }
}
