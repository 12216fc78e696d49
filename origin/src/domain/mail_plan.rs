//! When a member is mailed what they are notified: at once, once a day, or never; and when a mail is sent again that was not
//! taken.
//!
//! Pure. Not here: what is in a mail.

use gailou_shared::id::MemberId;
use gailou_shared::wire::NotifyChoice;

/// Mails to one member in an hour of the clock; what comes beyond them is one mail at the next full hour.
pub const MAX_MAILS_PER_HOUR: usize = 20;

const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;
/// Pauses before a mail is sent again: 24 hours together. After the last one it is given up.
const RETRY_PAUSES_S: [u64; 9] = [60, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800, 29_340];
/// The same of a mail that the server refused.
const REFUSED_RETRY_PAUSES_S: [u64; 2] = [3_600, 21_600];
/// An odd constant that spreads members over the day, whatever their numbers are.
const SPREAD_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// When a member is mailed what happens now (Unix milliseconds); `None`: never. Digests are sent at a time of the day
/// that is always the same for a member, and another for another one, so that the mail server has a whole day for them.
pub fn mail_at(notify: NotifyChoice, member: MemberId, now: u64) -> Option<u64> {
    match notify {
        NotifyChoice::Each => Some(now),
        NotifyChoice::Daily => {
            let time_of_day = (member.get().wrapping_mul(SPREAD_FACTOR) >> 20) % DAY_MS;
            let today = now - now % DAY_MS + time_of_day;
            Some(if today > now { today } else { today + DAY_MS })
        }
        NotifyChoice::Never => None,
    }
}

/// When a mail is sent again that was tried so often; `None`: it is given up.
pub fn retry_at(tries: u32, now: u64) -> Option<u64> {
    let pause_s = RETRY_PAUSES_S.get(usize::try_from(tries.checked_sub(1)?).ok()?)?;
    Some(now + pause_s * 1_000)
}

/// When a mail is sent again that the server refused, and that was tried so often; `None`: it is given up.
pub fn refused_retry_at(tries: u32, now: u64) -> Option<u64> {
    let pause_s = REFUSED_RETRY_PAUSES_S.get(usize::try_from(tries.checked_sub(1)?).ok()?)?;
    Some(now + pause_s * 1_000)
}

/// The begin of this hour.
pub fn hour_begin(now: u64) -> u64 {
    now - now % HOUR_MS
}

/// The next full hour.
pub fn next_hour(now: u64) -> u64 {
    hour_begin(now) + HOUR_MS
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const NOW: u64 = 1_700_000_000_000;

    #[test]
    fn digest_is_at_the_same_time_of_each_day_and_spread_over_it() {
        let member = |number| MemberId::new(number).unwrap();
        let at = |number, now| mail_at(NotifyChoice::Daily, member(number), now).unwrap();
        let next = at(7, NOW);
        assert!(next > NOW && next <= NOW + DAY_MS);
        assert_eq!((at(7, next - 1), at(7, next), at(7, next + 1)), (next, next + DAY_MS, next + DAY_MS));
        let hours: BTreeSet<u64> = (1..=500).map(|number| at(number, NOW) % DAY_MS / HOUR_MS).collect();
        assert_eq!(hours.len(), 24);
        assert_eq!(mail_at(NotifyChoice::Each, member(7), NOW), Some(NOW));
        assert_eq!(mail_at(NotifyChoice::Never, member(7), NOW), None);
    }

    #[test]
    fn mail_is_tried_for_a_day() {
        let mut now = NOW;
        let mut tries = 1;
        while let Some(next) = retry_at(tries, now) {
            assert!(next - now >= 60_000);
            (now, tries) = (next, tries + 1);
        }
        assert_eq!((now - NOW, tries), (DAY_MS, 10));
        assert_eq!(retry_at(0, NOW), None);
        assert_eq!(next_hour(NOW) % HOUR_MS, 0);
        assert!(next_hour(NOW) > NOW && next_hour(NOW) <= NOW + HOUR_MS);
    }
}
