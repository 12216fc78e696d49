//! The proxies in front of the program, and the address of a client behind them.
//!
//! Reads no request: the HTTP layer does. Promise: an address in `X-Forwarded-For` counts only where every
//! hop after it is a trusted proxy, so that a client cannot choose its own.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::config::Networks;

/// Networks whose `X-Forwarded-For` is believed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct TrustedProxies(Networks);

impl TrustedProxies {
    /// The networks between the commas: `10.0.0.0/8`, or one address; `None` when one of them is neither.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Networks::parse(text).map(Self)
    }

    /// Whether no proxy is trusted.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the address is a trusted proxy's.
    #[must_use]
    pub fn trust(&self, address: IpAddr) -> bool {
        self.0.contain(address)
    }

    /// The client of a connection from `socket`: the rightmost address of the `X-Forwarded-For` headers that
    /// is not a trusted proxy's, if `socket` is one. Nothing left of what is no address counts.
    ///
    /// ```
    /// use gailou::config::TrustedProxies;
    /// let proxies = TrustedProxies::parse("127.0.0.1, 10.0.0.0/8").unwrap();
    /// let client = |socket: &str, forwarded: &str| proxies.client(socket.parse().unwrap(), [forwarded]).to_string();
    /// assert_eq!(client("127.0.0.1", "198.51.100.9, 192.0.2.1, 10.1.2.3"), "192.0.2.1");
    /// assert_eq!(client("203.0.113.5", "192.0.2.1"), "203.0.113.5");
    /// ```
    #[must_use]
    pub fn client<'a>(
        &self,
        socket: IpAddr,
        forwarded: impl IntoIterator<Item = &'a str, IntoIter: DoubleEndedIterator>,
    ) -> IpAddr {
        let mut client = socket;
        let mut hops = forwarded.into_iter().rev().flat_map(|header| header.rsplit(','));
        while self.trust(client) {
            let Some(hop) = hops.next().and_then(|hop| forwarded_address(hop.trim())) else { break };
            client = hop;
        }
        client
    }
}

/// An address as proxies write it: some append the port, and put an IPv6 address in brackets.
fn forwarded_address(text: &str) -> Option<IpAddr> {
    let with_port = || text.parse().map(|socket: std::net::SocketAddr| socket.ip()).ok();
    let in_brackets = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    text.parse().ok().or_else(with_port).or_else(in_brackets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn proxies() -> TrustedProxies {
        TrustedProxies::parse("127.0.0.1, 10.0.0.0/8, 2001:db8::/32").unwrap()
    }

    fn client(socket: &str, forwarded: &[&str]) -> String {
        proxies().client(socket.parse().unwrap(), forwarded.iter().copied()).to_string()
    }

    #[test]
    fn rightmost_address_that_is_not_trusted_is_the_client() {
        for (socket, forwarded, expected) in [
            ("127.0.0.1", &["192.0.2.1"][..], "192.0.2.1"),
            ("::ffff:127.0.0.1", &["192.0.2.1"], "192.0.2.1"),
            ("127.0.0.1", &["198.51.100.9, 192.0.2.1 ,10.1.2.3"], "192.0.2.1"),
            // Several headers are one list.
            ("127.0.0.1", &["198.51.100.9", "192.0.2.1, 10.1.2.3", "2001:db8::5"], "192.0.2.1"),
            ("10.9.9.9", &["192.0.2.1:5000"], "192.0.2.1"),
            ("10.9.9.9", &["[2001:db9::1]:5000"], "2001:db9::1"),
            ("10.9.9.9", &["[2001:db9::1]"], "2001:db9::1"),
            // No hop is in front of the trusted ones.
            ("127.0.0.1", &[], "127.0.0.1"),
            ("127.0.0.1", &["10.0.0.1, 10.0.0.2"], "10.0.0.1"),
            // What is no address hides everything left of it.
            ("127.0.0.1", &["192.0.2.1, unknown"], "127.0.0.1"),
            ("127.0.0.1", &["192.0.2.1, _hidden, 10.0.0.1"], "10.0.0.1"),
            ("127.0.0.1", &[""], "127.0.0.1"),
            // A stranger cannot name another.
            ("192.0.2.7", &["127.0.0.1"], "192.0.2.7"),
        ] {
            assert_eq!(client(socket, forwarded), expected, "{socket} {forwarded:?}");
        }
    }

    #[test]
    fn network_is_an_address_or_has_a_prefix() {
        let networks = TrustedProxies::parse("10.1.2.3/8,::ffff:192.0.2.1").unwrap();
        assert!(networks.trust("10.200.0.1".parse().unwrap()) && networks.trust("192.0.2.1".parse().unwrap()));
        assert!(!networks.trust("11.0.0.1".parse().unwrap()));
        for wrong in ["localhost", "10.0.0.0/33", "10.0.0", "10.0.0.0/8;1.1.1.1"] {
            assert_eq!(TrustedProxies::parse(wrong), None, "{wrong}");
        }
        assert!(TrustedProxies::parse(" ").unwrap().is_empty());
    }

    proptest! {
        /// Whatever a stranger writes in front, the address that the proxy appends is the client.
        #[test]
        fn text_of_the_client_changes_nothing(forged in "[ -~]{0,60}", headers in 0usize..3) {
            let mut forwarded = vec![forged.as_str(); headers];
            let appended = format!("{forged}, 192.0.2.1");
            forwarded.push(&appended);
            prop_assert_eq!(client("127.0.0.1", &forwarded), "192.0.2.1");
        }
    }
}
