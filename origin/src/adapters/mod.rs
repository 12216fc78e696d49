//! The adapters: one folder a technology, each known to [`crate::bootstrap`] alone.
//!
//! A driver crate (`rusqlite`, `sqlx`, `redis`, `rdkafka`, `tantivy`, `object_store`, `lettre`, `opentelemetry_otlp`) is named in its own folder and nowhere else.

pub mod accounts_http;
pub mod avatar_service;
pub mod chosen_pictures;
pub mod classifier;
pub mod cloudflare;
pub mod embedded_journal;
mod https_client;
#[cfg(feature = "cluster")]
pub mod kafka;
pub mod memory;
#[cfg(feature = "cluster")]
pub mod mysql;
pub mod oauth2_github;
pub mod object_store;
pub mod oidc;
pub mod opensearch;
pub mod picture_hosts;
mod provider_http;
pub mod public_address;
#[cfg(feature = "cluster")]
pub mod redis;
pub mod smtp;
pub mod sqlite;
pub mod tantivy;
#[cfg(feature = "otlp")]
pub mod trace_collector;
pub mod webhook_client;
