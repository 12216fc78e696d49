//! The rate limits, and the bound on edits.
//!
//! Counts nothing itself: [`crate::state::rate_limits`] does.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use crate::config::values::{switch, within};

const MAX_RATE: u64 = u32::MAX as u64;

/// `limits`: rate limits, over all processes of a cluster; 0 is no limit. An address is an IPv4 address or the /64 of an IPv6 address.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct LimitSettings {
    /// Whether rates are limited at all.
    #[serde(deserialize_with = "switch")]
    pub enabled: bool,
    /// Posts of a member in a minute, refused ones included, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub posts_per_minute_member: u32,
    /// Posts from an address in a minute, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub posts_per_minute_address: u32,
    /// Posts on a subject in a second, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub posts_per_second_subject: u32,
    /// Reactions of a member in a minute, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub reactions_per_minute_member: u32,
    /// Edits of a member in a minute, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub edits_per_minute_member: u32,
    /// Edits of one comment in a minute, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub edits_per_minute_comment: u32,
    /// Edits of one comment in all, 0 for no bound. It is no rate: `limits.enabled` does not switch it off.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub edits_per_comment: u32,
    /// Deletions of a member in a minute, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub deletions_per_minute_member: u32,
    /// Pins and moderation decisions of a member in a minute, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub decisions_per_minute_member: u32,
    /// Previews of a member in a minute, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub previews_per_minute_member: u32,
    /// Reports of a member in a minute, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub reports_per_minute_member: u32,
    /// Pictures that a member uploads in a minute, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub uploads_per_minute_member: u32,
    /// Reactions, edits, deletions, decisions, previews, reports and uploads from an address in a minute, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub writes_per_minute_address: u32,
    /// Writes in a second, all that one process gets, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub writes_per_second: u32,
    /// Exports of a member's data in an hour, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub exports_per_hour_member: u32,
    /// Mails that sign in, requested from an address in an hour, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub sign_in_mails_per_hour_address: u32,
    /// Mails that sign in, to one mailbox in an hour, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub sign_in_mails_per_hour_mailbox: u32,
    /// New guests from an address in an hour, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub guests_per_hour_address: u32,
    /// Reads from an address in a minute that no page in memory answers, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub reads_per_minute_address: u32,
    /// Reads in a second that no page in memory answers, all that one process gets, 0 for no limit.
    #[serde(deserialize_with = "within::<0, MAX_RATE, _, _>")]
    pub reads_per_second: u32,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            posts_per_minute_member: 5,
            posts_per_minute_address: 60,
            posts_per_second_subject: 1_000,
            reactions_per_minute_member: 300,
            edits_per_minute_member: 60,
            edits_per_minute_comment: 10,
            edits_per_comment: 60,
            deletions_per_minute_member: 300,
            decisions_per_minute_member: 600,
            previews_per_minute_member: 60,
            reports_per_minute_member: 20,
            uploads_per_minute_member: 20,
            writes_per_minute_address: 1_200,
            writes_per_second: 50_000,
            exports_per_hour_member: 10,
            sign_in_mails_per_hour_address: 20,
            sign_in_mails_per_hour_mailbox: 5,
            guests_per_hour_address: 30,
            reads_per_minute_address: 3_000,
            reads_per_second: 50_000,
        }
    }
}
