//! What the product does. Knows the ports and the shared rules; knows no driver and no HTTP.

pub mod render;
pub mod view;

pub mod snapshots;
pub mod page;
pub mod thread;
pub mod member;

pub mod publish;
pub mod change;
