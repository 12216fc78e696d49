//! Gailou's origin: threads, likes and their rules over a store.
//!
//! `http` knows `service`, `service` knows the ports (`store`, `journal`), adapters know their own
//! driver, and only `app` chooses among them.
#![deny(clippy::print_stdout)]

pub mod app;
pub mod clock;
pub mod config;
pub mod error;
pub mod telemetry;

pub mod http;
pub mod service;

pub mod cache;
pub mod counters;
pub mod edge;
pub mod events;
pub mod feed;
pub mod heat;
pub mod ids;
pub mod journal;
pub mod limits;
pub mod log;
pub mod pending;
#[cfg(feature = "cluster")]
pub mod redis;
pub mod store;

pub mod job;

pub mod commands;
