//! The contracts of the ports. Each runs on every adapter.

#[cfg(feature = "cluster")]
pub(crate) mod cache;
pub(crate) mod popularity;
mod rank_again;
pub(crate) mod rate_limits;
mod reconcile;
pub(crate) mod revisions;
pub(crate) mod search_index;
