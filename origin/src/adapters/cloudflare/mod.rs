//! Cloudflare's services over HTTPS: the Worker at the edge, and the verification of Turnstile's tokens.

mod turnstile;
mod worker_client;

pub use turnstile::SiteverifyClient;
pub use worker_client::WorkerClient;
