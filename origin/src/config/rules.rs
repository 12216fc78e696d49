//! The rules of moderation.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use crate::config::values::within;

const MAX_REPORT_THRESHOLD: u64 = 1_000_000;

/// What guests may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GuestRule {
    /// To write like members.
    Allowed,
    /// To write what waits for a moderator.
    Held,
    /// Nothing: there are no guests.
    Off,
}

/// `rules`: when a moderator decides before readers see a comment, or see it again.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct RuleSettings {
    /// What guests may do: `allowed` to write under a name of their choice, `held`: what they write waits for a moderator,
    /// `off`: there are none.
    pub guests: GuestRule,
    /// How many reports by readers, from 0 to 1000000, take a comment out of the lists until a moderator decides; 0
    /// for none. A comment is in the review queue from the first one on.
    #[serde(deserialize_with = "within::<0, MAX_REPORT_THRESHOLD, _, _>")]
    pub report_threshold: u32,
}

impl Default for RuleSettings {
    fn default() -> Self {
        Self { guests: GuestRule::Allowed, report_threshold: 3 }
    }
}
