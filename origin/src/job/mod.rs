//! What runs behind the log: thin loops around free functions.

pub mod persist;
pub mod push;
mod queue;
#[cfg(feature = "cluster")]
pub mod rebuild;
#[cfg(feature = "cluster")]
pub mod takedowns;
#[cfg(feature = "cluster")]
pub mod warm;
mod write;

#[cfg(test)]
pub(crate) mod doubles;
