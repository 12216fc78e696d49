//! The HTTP contract, tested against an origin in this process.
//!
//! `GAILOU_TEST_STORE=cluster` runs the same tests on MySQL, Redis and Kafka.

mod accounts;
mod answer_size;
mod avatars;
mod challenges;
mod change_feed;
mod classifier;
mod concurrency;
mod degrade;
mod edge_push;
mod edits;
mod erasure;
mod errors;
mod event_stream;
mod fake_accounts;
mod fake_classifier;
mod fake_siteverify;
mod fake_worker;
mod guest_names;
mod html;
mod http_headers;
mod idempotency;
mod latest;
mod media;
mod members;
mod members_admin;
mod moderation;
mod openapi;
mod paging;
mod paging_law;
mod preview;
mod rate_limits;
mod reactions;
mod rejected;
mod rules;
mod search;
mod settings;
mod shapes;
mod signed_request;
mod stats;
mod subjects;
mod threads;
mod transfer;
mod trees;
mod word_filter;
