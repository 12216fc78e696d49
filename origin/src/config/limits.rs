//! The rate limits.
//!
//! Counts nothing itself: [`crate::state::rate_limits`] does.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use crate::config::values::{switch, within};

const MAX_RATE: u64 = u32::MAX as u64;

/// `limits`: rate limits; 0 is no limit.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct LimitSettings {
    /// Whether rates are limited at all.
    #[serde(deserialize_with = "switch")]
    pub enabled: bool,
    /// Posts of a member in a minute, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub posts_per_minute_member: u32,
    /// Posts from an address in a minute, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub posts_per_minute_address: u32,
    /// Posts on a subject in a second, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub posts_per_second_subject: u32,
    /// New guests from an address in an hour, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub guests_per_hour_address: u32,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            posts_per_minute_member: 5,
            posts_per_minute_address: 60,
            posts_per_second_subject: 1_000,
            guests_per_hour_address: 30,
        }
    }
}
