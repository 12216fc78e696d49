//! Ports in the memory of a process that is alone: what the embedded mode needs no server for.

pub mod popularity;
pub mod rate_limits;
pub mod revisions;
