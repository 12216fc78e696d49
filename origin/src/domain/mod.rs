//! Rows, operations, and the fold of a batch into rows: pure, no IO, no clock.
//!
//! It knows the shared crate and nothing else of the origin.

pub mod activity;
pub mod altcha;
pub mod audit;
pub mod broker_state;
pub mod change_feed;
pub mod checkpoint;
pub mod codec;
pub(crate) mod columns;
pub mod damaged_data;
pub(crate) mod descendants;
pub mod email_address;
pub mod erasure;
pub(crate) mod fold;
pub mod id_generator;
pub(crate) mod import_line;
pub mod markdown;
pub mod media;
pub mod member_contact;
pub mod member_standing;
pub mod name_digest;
pub mod operation;
pub mod picture;
pub mod positions;
pub mod reaction_state;
pub mod reconcile;
pub mod review;
pub(crate) mod root_keys;
pub mod row;
pub mod search_index;
pub mod search_text;
pub mod sign_in;
#[cfg(feature = "cluster")]
pub mod slot_map;
#[cfg(feature = "cluster")]
pub mod slot_state;
pub(crate) mod top_replies;
