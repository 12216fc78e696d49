//! The bytes of operations and rows, for the broker, the pending comments and the cache.
//!
//! Both codecs write flat structs of their own in postcard, after a format version. The types of the HTTP
//! contract are made for JSON and may change; what is stored must not change with them. Postcard writes
//! fields one after the other, without names, so the order of the fields is the format. No IO here.

mod flat_types;
pub mod operation;
pub mod row;
