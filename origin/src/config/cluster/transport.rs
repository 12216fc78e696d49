//! How the connections to the servers of a cluster are protected, as their addresses say it.
//!
//! Connects to nothing. Promise: an address that would silently protect less than it seems to is refused, and no
//! reason repeats a part of an address.

use crate::config::values::is_loopback;

/// How connections to one server are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    /// Not encrypted.
    Plain,
    /// Not encrypted, on this machine.
    Loopback,
    /// Encrypted, by a server that is not verified.
    Unverified,
    /// Encrypted, and the certificate is checked; the server may have another name.
    Signed,
    /// Encrypted, and the certificate is checked for the server's name.
    Verified,
}

/// An address that begins with a scheme, in its parts.
struct ServerAddress<'a> {
    scheme: &'a str,
    has_password: bool,
    host: &'a str,
    /// What is behind `?`, as names and values.
    parameters: Vec<(&'a str, &'a str)>,
    has_fragment: bool,
}

impl<'a> ServerAddress<'a> {
    fn parse(url: &'a str) -> Self {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let (rest, fragment) = rest.split_once('#').map_or((rest, None), |(rest, fragment)| (rest, Some(fragment)));
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let authority = place.split('/').next().unwrap_or_default();
        let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        let parameters = query.split('&').filter(|parameter| !parameter.is_empty());
        Self {
            scheme,
            has_password: login.split_once(':').is_some_and(|(_, password)| !password.is_empty()),
            host: host_of(host),
            parameters: parameters.map(|parameter| parameter.split_once('=').unwrap_or((parameter, ""))).collect(),
            has_fragment: fragment.is_some(),
        }
    }

    /// The last value of a parameter, which is the one that counts.
    fn parameter(&self, name: &str) -> Option<&'a str> {
        self.parameters.iter().rfind(|parameter| parameter.0 == name).map(|(_, value)| *value)
    }

    fn is_local(&self) -> bool {
        is_loopback(self.host) || self.parameter("socket").is_some()
    }

    fn plain(&self) -> Transport {
        if self.is_local() { Transport::Loopback } else { Transport::Plain }
    }
}

/// `db1:3306` as `db1`, `[::1]:3306` as `[::1]`.
fn host_of(place: &str) -> &str {
    let port = place.rfind(':').filter(|at| !place[*at..].contains(']'));
    port.map_or(place, |at| &place[..at])
}

/// How the connections of a `mysql://` address are protected: `ssl-mode` says it, `ssl-ca` alone means
/// `verify_identity`, and without both they are plain.
///
/// # Errors
/// Why the address is refused.
pub fn mysql_transport(url: &str) -> Result<Transport, &'static str> {
    let address = ServerAddress::parse(url);
    let known = ["ssl-mode", "ssl-ca", "ssl-cert", "ssl-key", "socket"];
    if address.parameters.iter().any(|(name, _)| !known.contains(name)) {
        return Err("has a parameter that is not ssl-mode, ssl-ca, ssl-cert, ssl-key or socket");
    }
    let ca = address.parameter("ssl-ca");
    let transport = match address.parameter("ssl-mode").map(str::to_ascii_lowercase).as_deref() {
        Some("disabled") => address.plain(),
        Some("required") => Transport::Unverified,
        Some("verify_ca") => Transport::Signed,
        Some("verify_identity") => Transport::Verified,
        Some("preferred") => return Err("has ssl-mode=preferred, which a network can turn off; use verify_identity"),
        Some(_) => return Err("has an ssl-mode that is not verify_identity, verify_ca, required or disabled"),
        None if ca.is_some() => Transport::Verified,
        None if address.has_password && !address.is_local() => {
            return Err(
                "has a password and no ssl-mode: choose verify_identity, or disabled if the network is private",
            );
        }
        None => address.plain(),
    };
    if ca.is_some() && !matches!(transport, Transport::Signed | Transport::Verified) {
        return Err("has an ssl-ca that its ssl-mode does not use; use verify_identity");
    }
    Ok(transport)
}

/// How the connections of a `redis://` or `rediss://` address are protected.
///
/// # Errors
/// Why the address is refused.
pub fn redis_transport(url: &str) -> Result<Transport, &'static str> {
    let address = ServerAddress::parse(url);
    if address.has_fragment {
        return Err("has a part behind #: verification cannot be switched off; use cluster.redis_ca");
    }
    Ok(if address.scheme == "rediss" { Transport::Verified } else { address.plain() })
}

/// Plain connections to these `host:port`, comma-separated.
pub(super) fn plain_transport(servers: &str) -> Transport {
    let is_here = servers.split(',').all(|server| is_loopback(host_of(server.trim())));
    if is_here { Transport::Loopback } else { Transport::Plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mysql_address_says_how_it_is_protected() {
        let check = |url: &str, expected: Option<Transport>| {
            let got = mysql_transport(url);
            assert_eq!(got.ok(), expected, "{url}: {got:?}");
        };
        check("mysql://gailou:p@127.0.0.1:3306/g", Some(Transport::Loopback));
        check("mysql://gailou:p@[::1]:3306/g", Some(Transport::Loopback));
        check("mysql://gailou:p@localhost/g", Some(Transport::Loopback));
        check("mysql://gailou@db1/g", Some(Transport::Plain));
        check("mysql://gailou:p@db1/g?ssl-mode=disabled", Some(Transport::Plain));
        check("mysql://gailou:p@db1/g?ssl-mode=REQUIRED", Some(Transport::Unverified));
        check("mysql://gailou:p@db1/g?ssl-mode=verify_ca&ssl-ca=/ca.pem", Some(Transport::Signed));
        check("mysql://gailou:p@db1/g?ssl-ca=/ca.pem", Some(Transport::Verified));
        check("mysql://gailou:p@db1/g?ssl-mode=VERIFY_IDENTITY", Some(Transport::Verified));
        check("mysql://gailou:p@h/g?socket=/run/my.sock", Some(Transport::Loopback));
        // Less than it seems.
        check("mysql://gailou:p@db1/g", None);
        check("mysql://gailou:p@127.0.0.1.example/g", None);
        check("mysql://gailou:p@db1/g?ssl-mode=preferred", None);
        check("mysql://gailou:p@db1/g?ssl-mode=on", None);
        check("mysql://gailou:p@db1/g?sslmode=required", None);
        check("mysql://gailou:p@db1/g?ssl-mode=required&ssl-ca=/ca.pem", None);
        check("mysql://gailou:p@db1/g?ssl-mode=disabled&ssl-ca=/ca.pem", None);
        check("mysql://gailou:p@db1/g?ssl-mode=disabled&ssl-mode=preferred", None);
    }

    #[test]
    fn verification_of_redis_cannot_be_switched_off() {
        let check = |url: &str, expected: Option<Transport>| assert_eq!(redis_transport(url).ok(), expected, "{url}");
        check("redis://127.0.0.1:6379", Some(Transport::Loopback));
        check("redis://:p@cache:6379/0", Some(Transport::Plain));
        check("rediss://:p@cache:6379/0", Some(Transport::Verified));
        check("rediss://cache:6379/0#insecure", None);
    }

    #[test]
    fn brokers_are_local_when_all_of_them_are() {
        assert_eq!(plain_transport("127.0.0.1:9092, localhost:9093"), Transport::Loopback);
        assert_eq!(plain_transport("127.0.0.1:9092,kafka1:9092"), Transport::Plain);
    }
}
