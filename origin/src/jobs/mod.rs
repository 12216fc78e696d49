//! What runs behind the log: thin loops around free functions.

#[cfg(feature = "cluster")]
pub mod invalidate_changed;
pub mod persist;
pub mod push;
#[cfg(feature = "cluster")]
pub mod rebuild;
#[cfg(feature = "cluster")]
pub mod warm;
