//! Networks of clients: what counts as one client for a limit.
//!
//! One machine has a whole /64 of IPv6 addresses, so an IPv6 address alone is no client. An IPv4 address
//! written as IPv6 is the IPv4 address.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The part of an IPv6 address that one client cannot choose: its first 64 bits.
const IPV6_CLIENT: u128 = u128::MAX << 64;
/// The part of an IPv6 address that a customer of a provider cannot choose: its first 48 bits.
const IPV6_CUSTOMER: u128 = u128::MAX << 80;
/// The part of an IPv4 address that names a network of 256 addresses: its first 24 bits.
const IPV4_NETWORK: u32 = u32::MAX << 8;

/// The client that rates are counted for: an IPv4 address, or the /64 of an IPv6 address.
///
/// ```
/// use gailou_shared::network::client_network;
/// let network = |text: &str| client_network(text.parse().unwrap());
/// assert_eq!(network("2001:db8::1"), network("2001:0db8:0:0::ffff"));
/// assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
/// assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
/// ```
#[must_use]
pub fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => ipv6_network(address),
    }
}

/// The network whose reads count once: an IPv4 address, or the /48 of an IPv6 address, because one customer
/// of a provider may have a whole /48.
///
/// ```
/// use gailou_shared::network::reader_network;
/// let network = |text: &str| reader_network(text.parse().unwrap());
/// assert_eq!(network("2001:db8:7:1::1"), network("2001:db8:7:ffff::2"));
/// assert_ne!(network("2001:db8:7::"), network("2001:db8:8::"));
/// assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
/// ```
#[must_use]
pub fn reader_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & IPV6_CUSTOMER).into(),
    }
}

/// The network that connections are counted for: the /24 of an IPv4 address, the /64 of an IPv6 address.
#[must_use]
pub fn connection_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() & IPV4_NETWORK).into(),
        IpAddr::V6(address) => ipv6_network(address),
    }
}

fn ipv6_network(address: Ipv6Addr) -> IpAddr {
    Ipv6Addr::from_bits(address.to_bits() & IPV6_CLIENT).into()
}
