//! What Gailou's edge and origin both need, written once.
//!
//! No clock, no randomness, no IO and no async: times, keys and rows are parameters. The same code runs
//! in the Worker (wasm32) and in the origin, so both rank, page, filter and verify alike. The modules are
//! in reading order: bounds; ids; the place of a comment in its thread; how lists are ordered and walked;
//! what a comment may say; who says it; the JSON of the contract; and what origin and edge exchange.
#![no_std]
#![deny(missing_docs, clippy::print_stdout)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

extern crate alloc;
// The derived descriptions of the wire types name it; the Worker is built without them.
#[cfg(feature = "openapi")]
#[macro_use]
extern crate std;

pub mod limits;
pub mod network;

pub mod id;
pub mod path;
pub mod slot_set;

pub mod cursor;
pub mod derived_key;
pub mod list_view;
pub mod rank;
pub mod walk;

pub mod content;
pub mod visible_text;
pub mod word_filter;

pub mod member_keys;
pub mod token;

pub mod http_headers;
pub mod page_key;
pub mod page_language;
pub mod refusal_page;
pub mod request_path;
pub mod wire;

pub mod cache_tags;
pub mod edge_protocol;
