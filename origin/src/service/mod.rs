//! What the product does. Knows the ports and the shared rules; knows no driver and no HTTP.

pub mod cache_tags;
pub mod change;
pub mod markdown;
pub mod member;
pub mod page;
pub mod publish;
pub mod thread;
pub mod view;
