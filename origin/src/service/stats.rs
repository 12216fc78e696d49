//! What people do, in numbers for moderators.

use std::collections::HashMap;

use gailou_shared::wire::{ActivityPoint, ActivitySeries};

use crate::domain::activity::ActivityStep;
use crate::service::ServiceResult;
use crate::state::AppState;

/// The steps that have something of the time from `from` to before `to`; zeros where nothing happened. The caller
/// bounds their number.
///
/// # Errors
/// The store's; also when one of several databases does not answer.
pub async fn read(app: &AppState, step: ActivityStep, from: u64, to: u64) -> ServiceResult<ActivitySeries> {
    let (first, last) = (step.begin_of(from), step.begin_of(to.saturating_sub(1)));
    let found = app.tables.list_activity(step, first, last).await?;
    let found: HashMap<u64, ActivityPoint> = found.into_iter().map(|point| (point.at, point)).collect();
    let steps = (first..=last).step_by(step.length_ms() as usize);
    let point = |at| found.get(&at).copied().unwrap_or(ActivityPoint { at, ..ActivityPoint::default() });
    Ok(ActivitySeries { data: steps.map(point).collect() })
}
