//! How long what is not shown is kept.
//!
//! Deletes nothing itself: [`crate::jobs::sweep`] does.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use crate::config::values::within;

const DAY_MS: u64 = 86_400_000;

/// `retention`: how long what is not shown is kept.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionSettings {
    /// For how many days, from 7 to 36500, the earlier texts of an edited comment are kept.
    #[serde(deserialize_with = "within::<7, 36_500, _, _>")]
    pub edit_history_days: u32,
}

impl Default for RetentionSettings {
    fn default() -> Self {
        Self { edit_history_days: 180 }
    }
}

impl RetentionSettings {
    /// The age of the texts to delete, in milliseconds.
    #[must_use]
    pub fn edit_history_ms(&self) -> u64 {
        u64::from(self.edit_history_days) * DAY_MS
    }
}
