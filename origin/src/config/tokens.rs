//! Which tokens are refused, of any member.
//!
//! Refuses nothing: [`crate::state::AppState::accept_token`] does. For one member, see
//! [`crate::domain::member_standing`].

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use crate::config::values::optional_within;

/// The last millisecond that a JavaScript `Date` can have.
const LAST_TIME_MS: u64 = 8_640_000_000_000_000;

/// `tokens`: which tokens are refused.
#[derive(Debug, Clone, Default, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct TokenSettings {
    /// Tokens of members and of guests that were issued before this time, in Unix milliseconds, are refused, and those that
    /// do not say when (`iat`): all members sign in again, and guests begin anew. None: tokens count until they end.
    #[serde(deserialize_with = "optional_within::<0, LAST_TIME_MS, _, _>")]
    pub not_before: Option<u64>,
}
