//! Gailou's origin: threads, likes and their rules over a store.
//!
//! Rooms are named by role: `http` uses `service`, `service` uses `state` and the ports, an adapter
//! knows its port and its driver, and only `bootstrap` chooses adapters.
#![deny(clippy::print_stdout)]

pub mod adapters;
pub mod boot_clock;
pub mod bootstrap;
pub mod broker_identity;
pub mod circuit_breaker;
pub mod cli;
pub mod clock;
#[cfg(feature = "cluster")]
pub mod cluster;
pub mod config;
pub mod domain;
pub mod http;
pub(crate) mod importers;
pub mod jobs;
pub mod outage_log;
pub mod ports;
pub mod service;
pub mod state;
pub mod telemetry;
#[cfg(test)]
pub(crate) mod testing;
