//! What the product does. Knows the ports and the shared rules; knows no driver and no HTTP.

pub mod render;
pub mod shown;
pub mod view;

pub mod member;
pub mod page;
pub mod snapshots;
pub mod thread;

pub mod change;
pub mod publish;
