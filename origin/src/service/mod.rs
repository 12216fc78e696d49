//! What the product does. Uses the ports and the shared rules; no driver and no HTTP here.
//!
//! A service gets the state, the member, and parsed values; it answers with the contract's shapes or
//! with a [`ServiceError`].

mod account;
mod answer_rows;
pub mod block_network;
pub mod bulk_changes;
mod error;

pub mod audit_log;
pub mod avatar;
pub mod cache_tags;
pub mod challenge;
mod classify;
pub mod comment_view;
pub mod dictionary;
pub mod edit;
pub mod export;
mod filter;
pub mod friends;
pub mod guest;
pub mod import;
pub mod latest;
pub mod mail_words;
mod markdown;
pub mod media;
pub mod member;
pub mod member_admin;
pub mod member_data;
pub mod merge;
pub mod moderate;
pub mod moved_pages;
pub mod notifications;
pub mod numbered_page;
pub mod page;
pub mod preview;
pub mod profile;
pub mod publish;
mod quoted_floors;
pub mod react;
mod readable_text;
mod refused;
pub mod rejected;
pub mod report;
pub mod review_queue;
mod rules;
pub mod search;
pub mod settings;
pub mod sign_in;
pub mod standing;
pub mod stats;
pub mod subject;
pub mod subject_directory;
pub mod subject_events;
pub mod thread;
pub mod watch;
pub mod webhook_message;
pub mod webhooks;

pub use error::{ServiceError, ServiceResult};

pub(crate) use error::wrong_fields;
