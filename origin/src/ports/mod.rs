//! The ports: what the product asks of what is around it. One file a port, each with its promise.
//!
//! Own types only, no driver; adapters are in [`crate::adapters`], and [`crate::bootstrap`] chooses them.

pub mod accounts;
pub mod avatars;
pub mod blobs;
pub mod broker;
pub mod cache;
pub mod classifier;
pub mod counters;
pub mod dependencies;
pub mod edge;
pub mod failure;
pub mod identity_provider;
pub mod journal;
pub mod mailer;
pub mod pending;
pub mod picture_hosts;
pub mod popularity;
pub mod rate_limits;
pub mod revisions;
pub mod search_index;
pub mod store;
pub mod turnstile;
pub mod webhook_sender;
