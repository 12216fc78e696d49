//! Where webhooks may lead.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use crate::config::values::switch;

/// `webhooks`: addresses to which admins have events sent.
#[derive(Debug, Clone, Default, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct WebhookSettings {
    /// Whether webhooks may lead to private and loopback addresses, also by plain HTTP, and pictures of accounts, of members
    /// of your site and of imports be there. An admin can then have requests sent to everything that this machine reaches.
    #[serde(deserialize_with = "switch")]
    pub allow_private: bool,
}
