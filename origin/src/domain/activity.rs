//! The steps in which it is counted what people do, and how long the numbers of each are kept.
//!
//! A batch counts by minute (`crate::domain::fold`); an adapter adds its numbers to a minute, an hour and a day, in
//! the transaction that writes the rows. So nothing has to be summed up later, and a batch that is applied a second
//! time counts nothing.

use std::collections::BTreeMap;

use gailou_shared::wire::ActivityPoint;

/// One hour, in milliseconds.
const HOUR_MS: u64 = 3_600_000;
/// One day, in milliseconds.
const DAY_MS: u64 = 24 * HOUR_MS;
/// How long minutes are kept.
const MINUTES_KEPT_MS: u64 = 7 * DAY_MS;
/// How long hours are kept.
const HOURS_KEPT_MS: u64 = 180 * DAY_MS;

/// The length of a point of time, as the tables have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActivityStep {
    Minute,
    Hour,
    Day,
}

impl ActivityStep {
    pub const ALL: [Self; 3] = [Self::Minute, Self::Hour, Self::Day];

    /// The number in the tables.
    pub(crate) fn number(self) -> i64 {
        match self {
            Self::Minute => 0,
            Self::Hour => 1,
            Self::Day => 2,
        }
    }

    /// The name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
        }
    }

    /// Its length in milliseconds.
    pub fn length_ms(self) -> u64 {
        match self {
            Self::Minute => 60_000,
            Self::Hour => HOUR_MS,
            Self::Day => DAY_MS,
        }
    }

    /// How many are shown where no time is named: an hour, a day, or a month.
    pub fn default_points(self) -> u64 {
        match self {
            Self::Minute => 60,
            Self::Hour => 24,
            Self::Day => 30,
        }
    }

    /// How long its numbers are kept; `None` for ever.
    pub fn kept_ms(self) -> Option<u64> {
        match self {
            Self::Minute => Some(MINUTES_KEPT_MS),
            Self::Hour => Some(HOURS_KEPT_MS),
            Self::Day => None,
        }
    }

    /// The begin of the step that a moment is in, in Unix milliseconds.
    pub fn begin_of(self, at: u64) -> u64 {
        at - at % self.length_ms()
    }

    /// The steps of which something has expired, each with the moment before which it has.
    pub(crate) fn expired_at(now: u64) -> impl Iterator<Item = (Self, u64)> {
        Self::ALL.into_iter().filter_map(move |step| {
            // A request for all that is kept may begin in the middle of a step.
            let kept = step.kept_ms()? + step.length_ms();
            Some((step, now.saturating_sub(kept)))
        })
    }
}

/// The rows to which the numbers of minutes are added: of minutes, hours and days, in the order of the primary key.
pub(crate) fn activity_rows(minutes: &BTreeMap<u64, ActivityPoint>) -> BTreeMap<(ActivityStep, u64), ActivityPoint> {
    let mut rows = BTreeMap::new();
    for (step, point) in ActivityStep::ALL.into_iter().flat_map(|step| minutes.values().map(move |p| (step, p))) {
        let at = step.begin_of(point.at);
        let row = rows.entry((step, at)).or_insert(ActivityPoint { at, ..ActivityPoint::default() });
        row.add(point);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_added_to_their_hours_and_days() {
        let minute = |at: u64, posts| (at, ActivityPoint { at, posts, reactions: 1, ..ActivityPoint::default() });
        let minutes = BTreeMap::from([minute(0, 1), minute(59 * 60_000, 2), minute(DAY_MS - 60_000, 4)]);
        let rows = activity_rows(&minutes);
        let found: Vec<_> = rows.iter().map(|((step, at), row)| (*step, *at, row.at, row.posts)).collect();
        let (minute, hour) = (ActivityStep::Minute, ActivityStep::Hour);
        assert_eq!(
            found,
            [
                (minute, 0, 0, 1),
                (minute, 59 * 60_000, 59 * 60_000, 2),
                (minute, DAY_MS - 60_000, DAY_MS - 60_000, 4),
                (hour, 0, 0, 3),
                (hour, 23 * HOUR_MS, 23 * HOUR_MS, 4),
                (ActivityStep::Day, 0, 0, 7),
            ]
        );
        assert_eq!(rows[&(ActivityStep::Day, 0)].reactions, 3);
    }

    #[test]
    fn days_never_expire() {
        let now = 1_000 * DAY_MS;
        let expired: Vec<_> = ActivityStep::expired_at(now).collect();
        assert_eq!(
            expired.iter().map(|(step, _)| *step).collect::<Vec<_>>(),
            [ActivityStep::Minute, ActivityStep::Hour]
        );
        assert!(expired.iter().all(|(step, before)| *before < now - step.kept_ms().unwrap()));
        assert_eq!(ActivityStep::expired_at(0).map(|(_, before)| before).max(), Some(0));
    }
}
