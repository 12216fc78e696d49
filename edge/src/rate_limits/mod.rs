//! Rate limits in front of the origin: writes by member and by address, reads by address.
//!
//! The platform's limiter counts, in memory, for each colo and a little late: approximate, but without
//! a call to another machine. A Durable Object would count exactly and cost every write a round trip to
//! its location; exact counts are the origin's work, which has tighter limits and the last word. A read
//! counts only when it would reach the origin.
//!
//! Without bindings nothing is limited here, and neither is a client whose address is unknown. A
//! limiter that fails refuses nothing.

use std::net::IpAddr;

use axum::response::Response;
use gailou_shared::network::client_network;
use gailou_shared::wire::Code;
use http::header::{HeaderName, RETRY_AFTER};

use crate::forward::Requester;
use crate::ports::Ports;
use crate::response::{RequestId, insert_header, problem};

/// So many requests in a window, for each key. The platform does not reveal the limit of a binding, so
/// the numbers of wrangler.toml are repeated here; a test compares them.
#[derive(Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// The name of the binding.
    pub binding: &'static str,
    /// The name that clients see.
    name: &'static str,
    count: u32,
    window_seconds: u32,
}

/// Writes of one member: few of them posts, most of them likes.
pub const WRITES_MEMBER: RateLimit =
    RateLimit { binding: "LIMIT_WRITES_MEMBER", name: "writes-member", count: 120, window_seconds: 60 };
/// Writes from one address, which may be an office's.
pub const WRITES_ADDRESS: RateLimit =
    RateLimit { binding: "LIMIT_WRITES_ADDRESS", name: "writes-address", count: 600, window_seconds: 60 };
/// Reads from one address that would reach the origin.
pub const READS_ADDRESS: RateLimit =
    RateLimit { binding: "LIMIT_READS_ADDRESS", name: "reads-address", count: 1_200, window_seconds: 60 };

/// The member who writes, as far as the edge can judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Writer {
    /// The member of a token that was verified here.
    Verified(String),
    /// The member that an unverified token names. It may be a lie, so it counts together with the
    /// address: a forged token uses up nothing of what the member has elsewhere.
    Claimed(String),
}

/// Counts a read that is about to reach the origin.
///
/// # Errors
/// The limit that is exceeded.
pub async fn count_read(ports: &Ports, requester: &Requester) -> Result<(), &'static RateLimit> {
    match network_key(requester) {
        Some(network) => take(ports, &READS_ADDRESS, network).await,
        None => Ok(()),
    }
}

/// Counts a write.
///
/// # Errors
/// The limit that is exceeded.
pub async fn count_write(
    ports: &Ports,
    requester: &Requester,
    writer: Option<&Writer>,
) -> Result<(), &'static RateLimit> {
    let network = network_key(requester);
    let member = match (writer, &network) {
        (Some(Writer::Verified(member)), _) => Some(member.clone()),
        (Some(Writer::Claimed(member)), Some(network)) => Some(format!("{network} {member}")),
        (Some(Writer::Claimed(_)), None) | (None, _) => None,
    };
    if let Some(member) = member {
        take(ports, &WRITES_MEMBER, member).await?;
    }
    match network {
        Some(network) => take(ports, &WRITES_ADDRESS, network).await,
        None => Ok(()),
    }
}

async fn take(ports: &Ports, limit: &'static RateLimit, key: String) -> Result<(), &'static RateLimit> {
    if ports.limiter.take(limit.binding, key).await { Ok(()) } else { Err(limit) }
}

/// The answer to a request over a limit. The limiter does not reveal when there is room again; after a
/// whole window there is.
#[must_use]
pub fn refuse(exceeded: &RateLimit, id: &RequestId) -> Response {
    let RateLimit { name, count, window_seconds, .. } = exceeded;
    let detail = format!("too many requests; try again in {window_seconds} s");
    let mut response = problem(id, Code::RateLimited, detail, Vec::new());
    insert_header(&mut response, RETRY_AFTER, window_seconds.to_string());
    let policy = format!("\"{name}\";q={count};w={window_seconds}");
    insert_header(&mut response, HeaderName::from_static("ratelimit-policy"), policy);
    let state = format!("\"{name}\";r=0;t={window_seconds}");
    insert_header(&mut response, HeaderName::from_static("ratelimit"), state);
    response
}

/// The network of a client as the limiter's key.
fn network_key(requester: &Requester) -> Option<String> {
    Some(match network_of(requester.client.as_deref())? {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(prefix) => format!("{prefix}/64"),
    })
}

/// The network of a client's address; `None` for one that is unknown or not an address.
#[must_use]
pub fn network_of(client: Option<&str>) -> Option<IpAddr> {
    Some(client_network(client?.parse().ok()?))
}

#[cfg(test)]
mod tests;
