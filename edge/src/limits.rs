//! Limits before the origin is reached: writes by member and by address, reads by address.
//!
//! They count in the platform's own limiter, which each colo keeps for itself, in memory and a
//! little late: approximate by design, and free of any way to another machine. A Durable Object
//! would count exactly and cost every write a round trip to wherever it lives; exact counts are the
//! origin's, which has the tighter limits and the last word. Reads count only where they would
//! reach the origin: what the caches answer costs nobody anything.
//!
//! Without bindings nothing is limited here, and neither is a client whose address the platform
//! does not tell. A limiter that fails refuses nobody.

use std::net::{IpAddr, Ipv6Addr};

use axum::response::Response;
use gailou_shared::wire::Code;
use http::header::{HeaderName, HeaderValue, RETRY_AFTER};

use crate::answer::{RequestId, problem};
use crate::forward::Asker;
use crate::ports::World;

/// So many in a window, by key. The platform does not tell what a binding was given, so the numbers
/// of wrangler.toml stand here too; a test compares them.
#[derive(Debug, PartialEq, Eq)]
pub struct Limit {
    /// The name of the binding.
    pub binding: &'static str,
    /// How clients know it.
    name: &'static str,
    count: u32,
    seconds: u32,
}

/// Writes of one member: posts are a few of them, likes the most.
pub const WRITES_MEMBER: Limit =
    Limit { binding: "LIMIT_WRITES_MEMBER", name: "writes-member", count: 120, seconds: 60 };
/// Writes from one address, which may be an office's.
pub const WRITES_ADDRESS: Limit =
    Limit { binding: "LIMIT_WRITES_ADDRESS", name: "writes-address", count: 600, seconds: 60 };
/// Reads from one address that would reach the origin.
pub const READS_ADDRESS: Limit =
    Limit { binding: "LIMIT_READS_ADDRESS", name: "reads-address", count: 1_200, seconds: 60 };

/// Who writes, as far as the edge can tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// The member of a token that was verified here.
    Verified(String),
    /// The member a token names. It may be a lie, so it counts together with the address: nobody
    /// uses up what a member has elsewhere.
    Claimed(String),
}

/// Counts a read that is about to reach the origin.
///
/// # Errors
/// The limit that is exceeded.
pub async fn read(world: &World, asker: &Asker) -> Result<(), &'static Limit> {
    match network(asker) {
        Some(network) => count(world, &READS_ADDRESS, network).await,
        None => Ok(()),
    }
}

/// Counts a write.
///
/// # Errors
/// The limit that is exceeded.
pub async fn write(world: &World, asker: &Asker, who: Option<&Who>) -> Result<(), &'static Limit> {
    let network = network(asker);
    let member = match (who, &network) {
        (Some(Who::Verified(member)), _) => Some(member.clone()),
        (Some(Who::Claimed(member)), Some(network)) => Some(format!("{network} {member}")),
        (Some(Who::Claimed(_)), None) | (None, _) => None,
    };
    if let Some(member) = member {
        count(world, &WRITES_MEMBER, member).await?;
    }
    match network {
        Some(network) => count(world, &WRITES_ADDRESS, network).await,
        None => Ok(()),
    }
}

async fn count(world: &World, limit: &'static Limit, key: String) -> Result<(), &'static Limit> {
    if world.limiter.take(limit.binding, key).await { Ok(()) } else { Err(limit) }
}

/// What the origin does not get to see. The limiter does not say when there is room again: a whole
/// window later in any case.
#[must_use]
pub fn refusal(exceeded: &Limit, id: &RequestId) -> Response {
    let Limit { name, count, seconds, .. } = exceeded;
    let detail = format!("too many requests; try again in {seconds} s");
    let mut response = problem(id, Code::RateLimited, detail, Vec::new());
    let mut set = |header: HeaderName, value: String| {
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(header, value);
        }
    };
    set(RETRY_AFTER, seconds.to_string());
    set(HeaderName::from_static("ratelimit-policy"), format!("\"{name}\";q={count};w={seconds}"));
    set(HeaderName::from_static("ratelimit"), format!("\"{name}\";r=0;t={seconds}"));
    response
}

/// The network of a client, as a key.
fn network(asker: &Asker) -> Option<String> {
    let prefix = Ipv6Addr::from(prefix(asker.client.as_deref())?);
    Some(prefix.to_ipv4_mapped().map_or_else(|| format!("{prefix}/64"), |address| address.to_string()))
}

/// The address of an IPv4 client (mapped), the /64 of an IPv6 one: that is what one household has.
#[must_use]
pub fn prefix(client: Option<&str>) -> Option<u128> {
    let address: IpAddr = client?.parse().ok()?;
    Some(match address.to_canonical() {
        IpAddr::V4(address) => u128::from(address.to_ipv6_mapped()),
        IpAddr::V6(address) => u128::from(address) >> 64 << 64,
    })
}

#[cfg(test)]
mod tests;
