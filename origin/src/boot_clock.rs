//! The time since the machine was started, and a name for that start.
//!
//! The clock goes on while the machine is suspended, unlike [`std::time::Instant`] on Linux: what expires by
//! it has expired when the machine wakes. It knows no date.

use std::ops::Add;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

#[cfg(target_os = "linux")]
const BOOT_CLOCK: ClockId = ClockId::Boottime;
/// Counts the time of a suspended machine on macOS.
#[cfg(not(target_os = "linux"))]
const BOOT_CLOCK: ClockId = ClockId::Monotonic;

/// A moment by the clock of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BootInstant(Duration);

impl BootInstant {
    /// This moment.
    pub fn now() -> Self {
        let time = clock_gettime(BOOT_CLOCK);
        // Time since a start is not negative.
        Self(Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32))
    }
}

impl Add<Duration> for BootInstant {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0 + time)
    }
}

/// A name for the machine since it was started: 32 hexadecimal digits, another after each start. Where the
/// system has none, it is `none`.
pub fn boot_id() -> String {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let id: String = id.chars().filter(char::is_ascii_hexdigit).collect();
    if id.len() == 32 { id } else { "none".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_advances_and_the_boot_keeps_its_name() {
        let before = BootInstant::now();
        std::thread::yield_now();
        assert!(before <= BootInstant::now() && before < before + Duration::from_nanos(1));
        assert_eq!(boot_id(), boot_id());
    }
}
