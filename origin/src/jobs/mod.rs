//! What runs behind the requests: thin loops around free functions.

pub mod erase_members;
pub mod follow_change_feed;
#[cfg(feature = "cluster")]
pub mod follow_dictionary;
pub mod follow_erasures;
#[cfg(feature = "cluster")]
pub mod invalidate_changed;
pub mod persist;
pub mod push;
#[cfg(feature = "cluster")]
pub mod rebuild;
pub mod share_read_counts;
pub mod sweep;
#[cfg(feature = "cluster")]
pub mod warm;
