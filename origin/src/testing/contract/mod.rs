//! The contracts of the ports. Each runs on every adapter.

#[cfg(feature = "cluster")]
pub(crate) mod cache;
pub(crate) mod popularity;
pub(crate) mod rate_limits;
pub(crate) mod revisions;
