//! The settings of pictures of members by the hashes of their e-mail addresses.
//!
//! Connects to nothing. Promise: the hash is a part of the path, so no setting lets a reader choose the host.

use documented::DocumentedFields;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::values::{parse_optional, service_url, switch};

/// What stands for the hash in the address.
const HASH_PLACE: &str = "{hash}";

/// `avatars`: pictures of members by the hashes of their e-mail addresses.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct AvatarSettings {
    /// Where a service has the picture of a hash: an address by https, or by http on this machine, with `{hash}` in its
    /// path, such as `https://www.gravatar.com/avatar/{hash}?s=160&d=404`. This program asks it, and no reader does.
    /// Without it, `/v1/avatars/{hash}` is a drawing that the hash decides.
    #[serde(deserialize_with = "address")]
    pub url: Option<String>,
    /// Whether readers get the pictures that a host's tokens, its service of members and imports name through this server,
    /// at `/v1/avatars/`, so that no reader asks where they are. It needs `public_url`, and fetches from public addresses
    /// alone, unless `webhooks.allow_private` is on.
    #[serde(deserialize_with = "switch")]
    pub proxy: bool,
}

impl Default for AvatarSettings {
    fn default() -> Self {
        Self { url: None, proxy: true }
    }
}

impl AvatarSettings {
    /// The address of this hash's picture; `None` without a service.
    #[must_use]
    pub fn address_of(&self, hash: &str) -> Option<String> {
        Some(self.url.as_ref()?.replace(HASH_PLACE, hash))
    }

    /// The service without what may be secret in its address; `None` without one.
    #[must_use]
    pub fn shown_address(&self) -> Option<&str> {
        self.url.as_deref()?.split('?').next()
    }
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let expected = "an address by https, or by http on this machine, with {hash} once, in its path";
    parse_optional(deserializer, expected, |url| {
        let uri: http::Uri = service_url(&url.replacen(HASH_PLACE, "hash-place", 1))?.parse().ok()?;
        let is_in_path = uri.path().contains("hash-place") && !uri.path_and_query()?.as_str().contains(['{', '}']);
        is_in_path.then(|| url.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_is_once_and_in_the_path() {
        for (url, is_taken) in [
            ("https://www.gravatar.com/avatar/{hash}?s=160&d=404", true),
            ("http://127.0.0.1:8080/{hash}", true),
            ("https://a.example/avatar", false),
            ("https://a.example/avatar?hash={hash}", false),
            ("https://{hash}.a.example/", false),
            ("https://a.example/{hash}/{hash}", false),
            ("http://a.example/{hash}", false),
            ("https://user:secret@a.example/{hash}", false),
            ("ftp://a.example/{hash}", false),
        ] {
            let read = serde_json::from_value::<AvatarSettings>(serde_json::json!({"url": url}));
            assert_eq!(read.is_ok(), is_taken, "{url}");
        }
        let settings =
            AvatarSettings { url: Some("https://a.example/{hash}?s=160".into()), ..AvatarSettings::default() };
        assert_eq!(settings.address_of("0f").as_deref(), Some("https://a.example/0f?s=160"));
        assert_eq!(settings.shown_address(), Some("https://a.example/{hash}"));
    }
}
