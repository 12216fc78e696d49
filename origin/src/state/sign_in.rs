//! What signing in needs: the key of everything that signs in, the providers, and the address that leads back here.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};

use gailou_shared::wire::SignInProvider;
use tokio::sync::Semaphore;

use crate::domain::sign_in::SignInKey;
use crate::ports::identity_provider::IdentityProvider;

/// Mails that sign in and are on their way: 2 kB each. Further ones are refused.
const MAX_MAILS_IN_PROGRESS: usize = 256;
/// Visitors of one provider that are being identified: three calls of 5 s at most each. Those of another one do not wait
/// for them.
const MAX_IDENTIFICATIONS: usize = 32;

/// See the module.
#[derive(Debug)]
pub struct SignIn {
    pub key: SignInKey,
    /// In the order of the configuration.
    pub providers: Vec<KnownProvider>,
    pub mails: Arc<Semaphore>,
    configured_url: Option<String>,
    bind: SocketAddr,
    /// Where this process listens, once it does.
    listening: OnceLock<SocketAddr>,
}

/// A provider of identities.
#[derive(Debug)]
pub struct KnownProvider {
    /// As readers see it.
    pub described: SignInProvider,
    pub asked: Arc<dyn IdentityProvider>,
    /// One for each visitor that is being identified.
    pub identifications: Semaphore,
}

impl KnownProvider {
    pub fn new(described: SignInProvider, asked: Arc<dyn IdentityProvider>) -> Self {
        Self { described, asked, identifications: Semaphore::new(MAX_IDENTIFICATIONS) }
    }
}

impl SignIn {
    /// With this key and these providers, for an installation that readers reach at this address, or where it listens.
    pub fn new(key: SignInKey, providers: Vec<KnownProvider>, public_url: Option<&str>, bind: SocketAddr) -> Self {
        Self {
            key,
            providers,
            mails: Arc::new(Semaphore::new(MAX_MAILS_IN_PROGRESS)),
            configured_url: public_url.map(|url| url.trim_end_matches('/').to_owned()),
            bind,
            listening: OnceLock::new(),
        }
    }

    /// Says where this process listens.
    pub fn set_listening(&self, address: SocketAddr) {
        let _ = self.listening.set(address);
    }

    /// The address that leads here, without a slash at the end. Never one that a request names: its sender would
    /// choose where mails lead.
    pub fn public_url(&self) -> String {
        self.configured_url.clone().unwrap_or_else(|| {
            let mut address = *self.listening.get().unwrap_or(&self.bind);
            if address.ip().is_unspecified() {
                address.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
            }
            format!("http://{address}")
        })
    }

    /// Whether readers are on an encrypted connection: cookies are for such alone.
    pub fn is_secure(&self) -> bool {
        self.configured_url.as_ref().is_some_and(|url| url.starts_with("https://"))
    }

    /// The provider of this id.
    pub fn provider(&self, id: &str) -> Option<&KnownProvider> {
        self.providers.iter().find(|provider| provider.described.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_the_configured_one_or_where_the_process_listens() {
        let check = |public_url: Option<&str>, bind: &str, listening: Option<&str>, expected: &str, is_secure: bool| {
            let sign_in = SignIn::new(SignInKey::new(b"k"), vec![], public_url, bind.parse().unwrap());
            if let Some(address) = listening {
                sign_in.set_listening(address.parse().unwrap());
            }
            assert_eq!((sign_in.public_url().as_str(), sign_in.is_secure()), (expected, is_secure));
        };
        check(Some("https://c.example/"), "127.0.0.1:80", Some("127.0.0.1:9"), "https://c.example", true);
        check(None, "127.0.0.1:0", Some("127.0.0.1:9"), "http://127.0.0.1:9", false);
        check(None, "0.0.0.0:8080", None, "http://127.0.0.1:8080", false);
        check(None, "[::]:8080", None, "http://127.0.0.1:8080", false);
        check(Some("http://10.0.0.1"), "127.0.0.1:80", None, "http://10.0.0.1", false);
    }
}
