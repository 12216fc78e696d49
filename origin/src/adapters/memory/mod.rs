//! Ports in the memory of the only process there is: what the embedded mode needs no server for.

pub mod popularity;
pub mod revisions;
