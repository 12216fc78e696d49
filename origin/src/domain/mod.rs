//! Rows, operations, and the fold of a batch: pure, no IO.
//!
//! Knows the shared crate and nothing else of the origin.

pub mod codec;
pub(crate) mod columns;
pub(crate) mod fold;
pub mod id_generator;
pub mod operation;
pub mod reconcile;
pub mod row;
