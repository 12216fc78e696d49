//! The HTTP contract: how a request is parsed, where it goes, and how an answer or a refusal is sent.
//!
//! What the product does is not here: a handler extracts values (`extract`), calls a service and
//! sends what it answers. A request goes through, in order:
//!
//! 1. `hot_path`: a page that is ready in memory is answered in front of everything else;
//! 2. `middleware`: request id, CORS, the edge's signature, metrics;
//! 3. `router`: the routes, with one file per resource;
//! 4. `problem`: a refusal becomes `application/problem+json`, and every 5xx is logged, here alone.

mod accept_encoding;
mod admin;
mod assets;
mod atom;
mod auth;
mod avatars;
mod cached_page;
mod comments;
mod compat;
mod connections;
mod counts;
mod dependency_outages;
mod dialect;
mod edge;
mod event_streams;
mod events;
mod extract;
mod friends;
mod guests;
mod health;
mod hot_path;
mod html;
mod latest;
mod local_renderer;
mod me;
mod media;
mod members;
mod middleware;
mod notifications;
mod openapi;
mod preview;
mod problem;
mod reactions;
mod reports;
mod router;
mod search;
mod server;
mod state;
mod subjects;
mod unsubscribe;
mod unsubscribe_words;
mod watches;

pub use local_renderer::LocalRenderer;
pub use router::routes;
pub use server::serve;
