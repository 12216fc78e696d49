//! What the operator leaves out to spare the databases.
//!
//! Decides nothing: [`crate::state::degrade`] does, which leaves out the same by itself in an overload.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use crate::config::values::switch;

/// `degrade`: what is left out to spare the databases. In an overload the process does so by itself.
#[derive(Debug, Clone, Default, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct DegradeSettings {
    /// Whether lists are answered newest first where `hot` is asked for: nothing is ranked.
    #[serde(deserialize_with = "switch")]
    pub hot_as_new: bool,
    /// Whether `/v1/me/overlay` is refused with 503: readers see no reactions and no held comments of their own.
    #[serde(deserialize_with = "switch")]
    pub no_overlay: bool,
    /// Whether `/v1/preview` is refused with 503.
    #[serde(deserialize_with = "switch")]
    pub no_preview: bool,
}
