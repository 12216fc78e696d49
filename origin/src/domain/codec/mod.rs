//! Bytes of rows and operations, for the broker and the cache.

pub mod operation;
pub mod row;
