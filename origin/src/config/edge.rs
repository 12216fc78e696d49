//! The settings of the Worker in front.
//!
//! Connects to nothing. Promise: an address is one of a host, and there is none without a secret.

use crate::config::layers::Layers;
use crate::config::{ConfigError, Secret};

/// `edge`: the Worker in front.
#[derive(Debug, Clone)]
pub struct EdgeSettings {
    /// Where the Worker answers: `https://comments.example.com`. Without it nothing is pushed, and no
    /// subject is declared hot.
    pub url: Option<String>,
    /// Signs what edge and origin say to each other.
    pub secret: Option<Secret>,
    /// The secret before it, accepted from the edge while the two are exchanged.
    pub secret_previous: Option<Secret>,
    /// Refuse what did not come through the edge.
    pub require_edge: bool,
    /// For how many seconds the edge may serve a page of a hot subject without asking.
    pub fresh_for: u8,
    /// Reads a minute, as they reach the origin, that make a subject hot.
    pub hot_per_minute: u32,
}

impl Default for EdgeSettings {
    fn default() -> Self {
        Self { url: None, secret: None, secret_previous: None, require_edge: false, fresh_for: 10, hot_per_minute: 600 }
    }
}

pub(super) fn take(layers: &mut Layers) -> Result<EdgeSettings, ConfigError> {
    let default = EdgeSettings::default();
    let called = layers.present("edge.url").unwrap_or_default();
    let url: Option<String> = layers.take("edge.url")?;
    let url = url.map(|url| address(&url).ok_or_else(|| ConfigError::new(called, ADDRESS))).transpose()?;
    Ok(EdgeSettings {
        url,
        secret: layers.take("edge.secret")?,
        secret_previous: layers.take("edge.secret_previous")?,
        require_edge: layers.or("edge.require_edge", default.require_edge)?,
        fresh_for: layers.number("edge.fresh_for", default.fresh_for, 5..=60)?,
        hot_per_minute: layers.number("edge.hot_per_minute", default.hot_per_minute, 1..=1_000_000)?,
    })
}

const ADDRESS: &str = "must be the Worker's address without a path, such as https://comments.example.com";

/// Scheme and host, without the slash at the end.
fn address(url: &str) -> Option<String> {
    let url = url.strip_suffix('/').unwrap_or(url);
    let uri: axum::http::Uri = url.parse().ok()?;
    let known = matches!(uri.scheme_str(), Some("http" | "https"));
    let bare = uri.path() == "/" && uri.query().is_none() && !uri.authority()?.as_str().contains('@');
    (known && bare).then(|| url.to_owned())
}

impl EdgeSettings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let needed = [
            (self.require_edge, "where edge.require_edge is on"),
            (self.url.is_some(), "where edge.url is given: what is pushed is signed"),
            (self.secret_previous.is_some(), "beside edge.secret_previous"),
        ];
        match needed.into_iter().find(|(needed, _)| *needed && self.secret.is_none()) {
            Some((_, why)) => Err(ConfigError::new("GAILOU_EDGE_SECRET", format!("must be given {why}"))),
            None => Ok(()),
        }
    }
}
