//! Lists of networks, as settings have them.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv6Net};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::config::values;

/// What a client has of the IPv6 addresses: limits and rules know no narrower network.
const CLIENT_PREFIX_V6: u8 = 64;

/// Networks: `10.0.0.0/8`, or one address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networks(Vec<IpNet>);

impl Networks {
    /// The networks between the commas; `None` when one of them is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let texts = text.split(',').map(str::trim).filter(|text| !text.is_empty());
        texts.map(network).collect::<Option<_>>().map(Self)
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the address is in one of them.
    #[must_use]
    pub fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The same, with IPv6 networks that are narrower than a client's widened to it.
    pub(super) fn of_clients(self) -> Self {
        let widened = |network| match network {
            IpNet::V6(v6) if v6.prefix_len() > CLIENT_PREFIX_V6 => {
                Ipv6Net::new(v6.addr(), CLIENT_PREFIX_V6).map_or(network, |wide| IpNet::V6(wide.trunc()))
            }
            _ => network,
        };
        Self(self.0.into_iter().map(widened).collect())
    }
}

/// A network, or an address as the network of it alone. An IPv4 network may be written as IPv6.
fn network(text: &str) -> Option<IpNet> {
    let network = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(|one| IpNet::from(one.to_canonical())));
    network.ok().map(|network| network.trunc())
}

impl Serialize for Networks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(IpNet::to_string))
    }
}

impl<'de> Deserialize<'de> for Networks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "addresses or networks such as 127.0.0.1 or 10.0.0.0/8, a list in a file, separated by commas \
                        in a variable";
        values::parse(deserializer, expected, Self::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_ipv6_networks_are_widened_to_what_a_client_has() {
        let networks = Networks::parse("2001:db8:1:2::5, 2001:db8::/32, 192.0.2.7").unwrap().of_clients();
        let expected = Networks::parse("2001:db8:1:2::/64, 2001:db8::/32, 192.0.2.7/32").unwrap();
        assert_eq!(networks, expected);
        for (address, expected) in [("2001:db8:1:2::", true), ("2001:db9::", false), ("::ffff:192.0.2.7", true)] {
            assert_eq!(networks.contain(address.parse().unwrap()), expected, "{address}");
        }
    }
}
