//! The header `Retry-After`. The time is a parameter.

use std::time::Duration;

/// Seconds, or an HTTP date after `now_seconds` (Unix time); zero for anything else.
pub(crate) fn parse_retry_after(value: &str, now_seconds: u64) -> Duration {
    let until = || {
        let at = chrono::DateTime::parse_from_rfc2822(value).ok()?;
        u64::try_from(at.timestamp()).ok()?.checked_sub(now_seconds)
    };
    Duration::from_secs(value.parse().ok().or_else(until).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1994-11-06T08:49:37Z.
    const NOW_SECONDS: u64 = 784_111_777;

    #[test]
    fn seconds_and_dates_are_read() {
        let check = |value, seconds| assert_eq!(parse_retry_after(value, NOW_SECONDS).as_secs(), seconds, "{value}");
        check("120", 120);
        check("Sun, 06 Nov 1994 08:51:37 GMT", 120);
        check("Sun, 06 Nov 1994 08:49:37 GMT", 0);
        check("Sun, 06 Nov 1994 08:40:00 GMT", 0);
        check("", 0);
        check("-1", 0);
        check("soon", 0);
    }
}
