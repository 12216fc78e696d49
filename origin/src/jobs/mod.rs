//! What runs behind the requests: thin loops around free functions.

#[cfg(feature = "cluster")]
pub mod deliver_outboxes;
pub mod erase_members;
#[cfg(feature = "cluster")]
pub mod finish_moves;
pub mod follow_change_feed;
#[cfg(feature = "cluster")]
pub mod follow_dictionary;
pub mod follow_erasures;
pub mod follow_settings;
pub mod follow_standings;
pub mod index_comments;
#[cfg(feature = "cluster")]
pub mod invalidate_changed;
#[cfg(feature = "cluster")]
pub mod keep_node_lease;
pub mod pass_rewinds;
pub mod persist;
pub mod push;
pub mod rank_again;
#[cfg(feature = "cluster")]
pub mod rebuild;
pub mod share_read_counts;
pub mod sweep;
#[cfg(feature = "cluster")]
pub mod warm;
