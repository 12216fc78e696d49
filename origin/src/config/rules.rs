//! The rules of moderation.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use crate::config::values::within;

const MAX_REPORT_THRESHOLD: u64 = 1_000_000;

/// `rules`: when a moderator decides before readers see a comment, or see it again.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct RuleSettings {
    /// How many reports by readers, from 0 to 1000000, take a comment out of the lists until a moderator decides; 0
    /// for none. A comment is in the review queue from the first one on.
    #[serde(deserialize_with = "within::<0, MAX_REPORT_THRESHOLD, _, _>")]
    pub report_threshold: u32,
}

impl Default for RuleSettings {
    fn default() -> Self {
        Self { report_threshold: 3 }
    }
}
