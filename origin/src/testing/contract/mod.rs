//! The contracts of the ports. Each runs on every adapter.

pub(crate) mod blobs;
#[cfg(feature = "cluster")]
mod cache;
mod events;
mod mail_queue;
mod merges;
mod notifications;
mod passkeys;
pub(crate) mod popularity;
mod rank_again;
pub(crate) mod rate_limits;
mod reconcile;
pub(crate) mod revisions;
pub(crate) mod search_index;
mod subject_rules;
mod watches;
