//! `/v1/admin/stats`: what people do, in numbers.

use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use gailou_shared::limits;
use gailou_shared::wire::{ActivitySeries, FieldError};
use serde_json::json;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use crate::domain::activity::ActivityStep;
use crate::http::admin::search::{parsed, time};
use crate::http::admin::{PrivateAnswer, private};
use crate::http::extract::{ModeratorRead, QueryParameters};
use crate::http::openapi::parameters;
use crate::http::openapi::responses::MemberRefusals;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::stats;
use crate::state::AppState;

/// The numbers of what people do.
///
/// Only moderators may. Counted in the transactions that write the rows, so a number is exact as soon as what it counts
/// can be read; a cluster's is the sum over its databases, and `503` while one of them does not answer. Steps are those
/// of UTC. At most 1,500 points: minutes are kept for 7 days, hours for 180 days, days for ever.
#[utoipa::path(
    get, path = "/v1/admin/stats", tag = "admin",
    params(StatsQuery),
    responses((status = 200, description = "The numbers, the oldest first.", body = ActivitySeries), MemberRefusals),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn read_stats(
    State(app): State<Arc<AppState>>,
    _: ModeratorRead,
    query: StatsQuery,
) -> PrivateAnswer<ActivitySeries> {
    let _place = app.reads.admit().await?;
    private(stats::read(&app, query.step, query.from, query.to).await?)
}

/// The requested time: at most [`limits::MAX_STATS_POINTS`] steps that are all kept.
#[derive(Debug)]
pub(in crate::http) struct StatsQuery {
    step: ActivityStep,
    from: u64,
    to: u64,
}

impl StatsQuery {
    /// Fills in what was left out, and refuses what is too much or not kept.
    fn new(step: ActivityStep, from: Option<u64>, to: Option<u64>, now: u64) -> Result<Self, FieldError> {
        // The step that is under way is in the answer.
        let to = to.unwrap_or(now + 1);
        let last = step.begin_of(to.saturating_sub(1));
        let from = from.unwrap_or(last.saturating_sub((step.default_points() - 1) * step.length_ms()));
        if from >= to {
            return Err(FieldError::new("from", "must be before `to`"));
        }
        let points = (last - step.begin_of(from)) / step.length_ms() + 1;
        if points > limits::MAX_STATS_POINTS {
            let detail = format!("must leave at most {} points to `to`; these are {points}", limits::MAX_STATS_POINTS);
            return Err(FieldError::new("from", detail));
        }
        let is_kept = step.kept_ms().is_none_or(|kept| from >= now.saturating_sub(kept));
        if !is_kept {
            let detail = format!("is before what is kept for the step {}", step.name());
            return Err(FieldError::new("from", detail));
        }
        Ok(Self { step, from, to })
    }
}

impl FromRequestParts<HttpState> for StatsQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let mut errors = Vec::new();
        let step = parsed(query.get("step"), step_of, &mut errors).unwrap_or(ActivityStep::Hour);
        let from = parsed(query.get("from"), |text| time("from", text), &mut errors);
        let to = parsed(query.get("to"), |text| time("to", text), &mut errors);
        if !errors.is_empty() {
            return Err(Refusal::fields(errors));
        }
        Self::new(step, from, to, state.app.now()).map_err(|error| Refusal::fields(vec![error]))
    }
}

fn step_of(text: &str) -> Result<ActivityStep, FieldError> {
    let found = ActivityStep::ALL.into_iter().find(|step| step.name() == text);
    found.ok_or_else(|| {
        FieldError::new("step", format!("must be one of {}", ActivityStep::ALL.map(ActivityStep::name).join(", ")))
    })
}

impl IntoParams for StatsQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let time = || ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0));
        let steps = parameters::text().enum_values(Some(ActivityStep::ALL.map(ActivityStep::name)));
        let steps = steps.default(Some(json!(ActivityStep::Hour.name())));
        let from = "The answer begins with the step of this time, in Unix milliseconds. Left out: 60 minutes, 24 hours \
                    or 30 days to `to`.";
        vec![
            parameters::query("from", from, time()).build(),
            parameters::query("to", "And ends before this time. Left out: now.", time()).build(),
            parameters::query("step", "How long each point is.", steps).build(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000_000;
    const DAY_MS: u64 = 86_400_000;

    fn check(step: ActivityStep, from: Option<u64>, to: Option<u64>, expected: Option<u64>) {
        let query = StatsQuery::new(step, from, to, NOW);
        let points = query.ok().map(|q| (step.begin_of(q.to - 1) - step.begin_of(q.from)) / step.length_ms() + 1);
        assert_eq!(points, expected, "{step:?} {from:?} {to:?}");
    }

    #[test]
    fn points_are_bounded_and_are_kept() {
        use ActivityStep::{Day, Hour, Minute};
        check(Minute, None, None, Some(60));
        check(Hour, None, None, Some(24));
        check(Day, None, None, Some(30));
        check(Day, None, Some(DAY_MS), Some(1));
        check(Minute, Some(NOW), Some(NOW), None);
        check(Minute, Some(NOW + 1), Some(NOW), None);
        check(Minute, Some(0), Some(0), None);
        check(Minute, Some(u64::MAX - 1), Some(u64::MAX), Some(1));
        let begin = Minute.begin_of(NOW);
        check(Minute, Some(begin - 1_499 * 60_000), Some(begin + 1), Some(1_500));
        check(Minute, Some(begin - 1_500 * 60_000), Some(begin + 1), None);
        check(Minute, Some(NOW - 7 * DAY_MS), Some(NOW - 6 * DAY_MS), Some(1_441));
        check(Minute, Some(NOW - 7 * DAY_MS - 1), Some(NOW - 7 * DAY_MS), None);
        check(Hour, Some(NOW - 180 * DAY_MS), Some(NOW - 179 * DAY_MS), Some(25));
        check(Hour, Some(NOW - 180 * DAY_MS - 1), Some(NOW - 179 * DAY_MS), None);
        check(Day, Some(0), Some(1_500 * DAY_MS), Some(1_500));
    }
}
