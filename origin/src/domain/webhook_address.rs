//! Which addresses webhooks may lead to: the judge of URLs, and of what their names resolve to.
//!
//! Pure: resolves nothing. A URL is judged when a webhook is made and before each try; what a name resolves to is judged
//! where the connection is made ([`crate::ports::webhook_sender`]), because it may be another address each time.
//!
//! Promise: without the operator's permission no webhook reaches this machine, its networks, or the metadata service of a
//! cloud, in whatever notation its address is written.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use gailou_shared::wire::WebhookTemplate;
use ipnet::{Ipv4Net, Ipv6Net};
use url::{Host, Url};

/// Longest address of a webhook, in bytes.
pub const MAX_WEBHOOK_URL_BYTES: usize = 2_000;

/// IPv4 networks that are not public: IANA's registry of special purposes, and the metadata service of Azure, which has a
/// public address.
const CLOSED_V4_NETWORKS: [Ipv4Net; 16] = [
    v4_net([0, 0, 0, 0], 8),
    v4_net([10, 0, 0, 0], 8),
    v4_net([100, 64, 0, 0], 10),
    v4_net([127, 0, 0, 0], 8),
    v4_net([168, 63, 129, 16], 32),
    v4_net([169, 254, 0, 0], 16),
    v4_net([172, 16, 0, 0], 12),
    v4_net([192, 0, 0, 0], 24),
    v4_net([192, 0, 2, 0], 24),
    v4_net([192, 88, 99, 0], 24),
    v4_net([192, 168, 0, 0], 16),
    v4_net([198, 18, 0, 0], 15),
    v4_net([198, 51, 100, 0], 24),
    v4_net([203, 0, 113, 0], 24),
    v4_net([224, 0, 0, 0], 4),
    v4_net([240, 0, 0, 0], 4),
];

/// What IANA has given out for the public internet. Loopback, unique local, link-local, multicast, mapped, compatible and
/// translated (NAT64) addresses are outside of it.
const PUBLIC_V6_NETWORK: Ipv6Net = v6_net([0x2000, 0, 0], 3);
/// Networks inside of it that are not public: protocols (Teredo, ORCHID), documentation, and 6to4, which contains an IPv4
/// address.
const CLOSED_V6_NETWORKS: [Ipv6Net; 4] = [
    v6_net([0x2001, 0, 0], 23),
    v6_net([0x2001, 0xdb8, 0], 32),
    v6_net([0x2002, 0, 0], 16),
    v6_net([0x3fff, 0, 0], 20),
];

const fn v4_net([a, b, c, d]: [u8; 4], prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6_net([a, b, c]: [u16; 3], prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), prefix)
}

/// Whether an address is one of the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !CLOSED_V4_NETWORKS.iter().any(|network| network.contains(&address)),
        IpAddr::V6(address) => {
            PUBLIC_V6_NETWORK.contains(&address) && !CLOSED_V6_NETWORKS.iter().any(|network| network.contains(&address))
        }
    }
}

/// Whether a request may be sent to this address, whatever its scheme is.
///
/// # Errors
/// Why not.
pub fn check_place(url: &Url, allows_private: bool) -> Result<(), &'static str> {
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must have no name or password");
    }
    // The parser reads every notation of an IPv4 address, such as 0x7f.1.
    let is_open = allows_private
        || match url.host() {
            Some(Host::Ipv4(address)) => is_public(address.into()),
            Some(Host::Ipv6(address)) => is_public(address.into()),
            Some(Host::Domain(name)) => !is_local_name(name),
            None => false,
        };
    if is_open { Ok(()) } else { Err("must lead to a public address: webhooks.allow_private is off") }
}

/// The address of a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookUrl(Url);

impl WebhookUrl {
    /// The address in this text, for what has this form.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn parse(text: &str, template: Option<WebhookTemplate>, allows_private: bool) -> Result<Self, &'static str> {
        if text.len() > MAX_WEBHOOK_URL_BYTES {
            return Err("must have at most 2000 bytes");
        }
        let url = Url::parse(text).map_err(|_| "must be a web address")?;
        match url.scheme() {
            "https" => {}
            "http" if allows_private => {}
            "http" => return Err("must begin with https://"),
            _ => return Err("must be a web address"),
        }
        check_place(&url, allows_private)?;
        let url = Self(url);
        if template == Some(WebhookTemplate::Telegram) && url.chat().is_none() {
            return Err("must end with ?chat_id= and the id of a chat");
        }
        Ok(url)
    }

    /// The address as a request has it.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Where it leads, without what may be secret in it.
    pub fn shown(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    /// The chat of a bot that its query names.
    pub fn chat(&self) -> Option<String> {
        let chat = self.0.query_pairs().find(|(name, _)| name == "chat_id");
        chat.map(|(_, id)| id.into_owned()).filter(|id| !id.is_empty())
    }
}

/// Whether a name is one of this machine (RFC 6761) or of the network that it is in.
fn is_local_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    let ends_with = |zone: &str| name == zone || name.strip_suffix(zone).is_some_and(|rest| rest.ends_with('.'));
    ["localhost", "local", "internal", "home.arpa"].into_iter().any(ends_with)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_of_no_public_network_are_closed() {
        let check = |addresses: &[&str], expected: bool| {
            for address in addresses {
                assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
            }
        };
        check(&["0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255"], false);
        check(&["127.0.0.1", "127.255.255.254", "169.254.0.1", "172.16.0.1", "172.31.255.255"], false);
        check(&["192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.255"], false);
        check(&["198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255"], false);
        // The metadata services of AWS, Alibaba, Oracle and Azure.
        check(&["169.254.169.254", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254"], false);
        check(&["::", "::1", "fc00::1", "fdff::1", "fe80::1", "fec0::1", "ff02::1", "100::1", "5f00::1"], false);
        check(&["2001:db8::1", "2001::1", "2001:10::1", "2001:1ff::1", "3fff::1", "2002:808:808::1"], false);
        // IPv4 inside IPv6: mapped, compatible, translated.
        check(&["::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1"], false);
        check(&["1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0"], true);
        check(&["172.15.255.255", "172.32.0.0", "169.253.255.255", "192.0.1.1", "223.255.255.255"], true);
        check(&["2606:4700::1111", "2a00:1450::1", "2001:200::1", "2003::1", "3ffe::1"], true);
    }

    proptest! {
        #[test]
        fn no_address_that_the_standard_library_knows_as_closed_is_public(bits in any::<u32>()) {
            let address = Ipv4Addr::from(bits);
            let is_closed = address.is_private() || address.is_loopback() || address.is_link_local()
                || address.is_multicast() || address.is_broadcast() || address.is_documentation()
                || address.is_unspecified();
            prop_assert!(!(is_closed && is_public(address.into())), "{}", address);
        }

        #[test]
        fn no_ipv6_address_that_contains_an_ipv4_address_is_public(bits in any::<u32>(), low in any::<u64>()) {
            let address = u128::from(bits);
            let mapped = Ipv4Addr::from(bits).to_ipv6_mapped();
            let (compatible, translated) = (Ipv6Addr::from(address), Ipv6Addr::from(0x64_ff9b_u128 << 96 | address));
            let of_6to4 = Ipv6Addr::from(0x2002_u128 << 112 | address << 80 | u128::from(low));
            for address in [mapped, compatible, translated, of_6to4] {
                prop_assert!(!is_public(address.into()), "{}", address);
            }
        }

        #[test]
        fn closed_ipv6_addresses_stay_closed(bits in any::<u128>()) {
            let address = Ipv6Addr::from(bits);
            let is_closed = address.is_loopback() || address.is_unspecified() || address.is_multicast()
                || address.is_unique_local() || address.is_unicast_link_local();
            prop_assert!(!(is_closed && is_public(address.into())), "{}", address);
        }

        #[test]
        fn no_notation_of_a_closed_address_is_accepted(bits in any::<u32>()) {
            let [a, b, c, d] = bits.to_be_bytes();
            let low = bits & 0xff_ffff;
            for host in [
                format!("{a}.{b}.{c}.{d}"), format!("{bits}"), format!("{bits:#x}"), format!("{a}.{low}"),
                format!("0{a:o}.{b:#x}.{c}.{d}"), format!("{a}.{b}.{c}.{d}."), format!("[::ffff:{a}.{b}.{c}.{d}]"),
            ] {
                let accepted = WebhookUrl::parse(&format!("https://{host}/"), None, false).is_ok();
                let may_be = is_public(Ipv4Addr::from(bits).into()) && !host.starts_with('[');
                prop_assert_eq!(accepted, may_be, "{}", host);
            }
        }
    }

    #[test]
    fn urls_are_refused_for_a_reason() {
        let refusal = |text: &str, template, allows_private| WebhookUrl::parse(text, template, allows_private).err();
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(refusal(text, None, false).and_then(|why| why.split([':', ',']).next()), expected, "{text}");
        };
        check("https://example.com/hook?token=a", None);
        check("https://example.com:8443", None);
        check("https://8.8.8.8/", None);
        for text in ["", "example.com", "/hook", "ftp://example.com", "file:///etc/passwd", "https://", "gopher://a"] {
            check(text, Some("must be a web address"));
        }
        check("http://example.com/", Some("must begin with https"));
        check("https://ann:secret@example.com/", Some("must have no name or password"));
        check("https://ann@example.com/", Some("must have no name or password"));
        for host in
            ["localhost", "LOCALHOST", "a.localhost", "localhost.", "printer.local", "db.internal", "127.1", "[::1]"]
        {
            check(&format!("https://{host}/"), Some("must lead to a public address"));
        }
        check("https://notlocalhost/", None);
        check(&format!("https://example.com/{}", "a".repeat(2_000)), Some("must have at most 2000 bytes"));
        for text in ["http://127.0.0.1:9/hook", "http://localhost/", "https://[::1]/"] {
            assert_eq!(refusal(text, None, true), None, "{text}");
        }
        let bot = "https://api.telegram.org/bot1:a/sendMessage";
        let telegram = Some(WebhookTemplate::Telegram);
        assert!(refusal(bot, telegram, false).is_some());
        assert!(refusal(&format!("{bot}?chat_id="), telegram, false).is_some());
        let url = WebhookUrl::parse(&format!("{bot}?chat_id=-100"), telegram, false).unwrap();
        assert_eq!((url.chat().unwrap().as_str(), url.shown().as_str()), ("-100", "https://api.telegram.org"));
    }
}
