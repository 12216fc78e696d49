//! Keeps what is asked for most in the cache, so that nobody finds it cold.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use gailou_shared::id::SubjectKey;
use tokio::sync::watch;

use super::rebuild::{FillError, READ_AHEAD, fill};
use crate::cache::{CacheError, Range};
use crate::store::ListOf;
use crate::store::layered::{Layered, Note};

/// Subjects that are kept warm.
pub const SUBJECTS: usize = 100;
/// How often they are looked after: twice while a list is fresh.
const EVERY: Duration = Duration::from_secs(30);
/// How often a process tells what it was asked for: once a window.
const TELL: Duration = Duration::from_secs(10);
/// Subjects that are warmed at the same time.
const AT_ONCE: usize = 4;

/// Warms the hottest subjects, until it is told to stop.
pub async fn run(layered: Arc<Layered>, stop: watch::Receiver<bool>) {
    every(EVERY, stop, || async {
        if let Err(error) = hottest(&layered).await {
            tracing::debug!(%error, "nothing is warmed");
        }
    })
    .await;
}

/// Tells what this process was asked for most, until it is told to stop.
pub async fn report(layered: Arc<Layered>, stop: watch::Receiver<bool>) {
    every(TELL, stop, || async {
        if let Err(error) = layered.tell_heat().await {
            tracing::debug!(%error, "what is asked for most is not told");
        }
    })
    .await;
}

/// Works at intervals, until it is told to stop.
pub(super) async fn every<F: Future<Output = ()>>(
    period: Duration,
    mut stop: watch::Receiver<bool>,
    work: impl Fn() -> F,
) {
    let works = async {
        let mut tick = tokio::time::interval(period);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            work().await;
        }
    };
    tokio::select! {
        _ = stop.wait_for(|stop| *stop) => {}
        () = works => {}
    }
}

async fn hottest(layered: &Layered) -> Result<(), CacheError> {
    let subjects = layered.cache().hottest(SUBJECTS).await?;
    stream::iter(subjects)
        .for_each_concurrent(AT_ONCE, |key| async move {
            if let Err(error) = subject(layered, &key).await {
                tracing::debug!(subject = %key, %error, "a subject is not warmed");
            }
        })
        .await;
    Ok(())
}

/// Puts a subject into the cache: its row, its newest roots, and what their first pages show. How
/// many entries were put; what is fresh already is left as it is.
///
/// # Errors
/// When the tables or the cache do not answer.
pub async fn subject(layered: &Layered, key: &SubjectKey) -> Result<u64, FillError> {
    layered.warm_subject(key).await?;
    let list = ListOf::Roots(key.clone());
    let top = Note { list, range: Range { ascending: false, beyond: None, count: READ_AHEAD } };
    let filled = fill(layered, &top, false).await?;
    Ok(filled as u64 + 1)
}
