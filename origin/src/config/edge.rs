//! The settings of the Worker in front.
//!
//! Connects to nothing. Promise: the address is one of a host, and no address is accepted without a
//! secret.

use documented::DocumentedFields;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::values::{switch, within};
use crate::config::{ConfigError, Secret, values};

/// `edge`: the Worker in front.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct EdgeSettings {
    /// The Worker's address without a path, such as `https://comments.example.com`. Without it nothing
    /// is pushed to the edge.
    #[serde(deserialize_with = "address")]
    pub url: Option<String>,
    /// The Worker's `EDGE_SECRET`, 32 bytes or more: it signs what edge and origin send to each other.
    /// Required with `edge.url` and `edge.require_edge`.
    #[serde(skip_serializing)]
    pub secret: Option<Secret>,
    /// The secret before it, still accepted from the Worker while the two are exchanged.
    #[serde(skip_serializing)]
    pub secret_previous: Option<Secret>,
    /// Whether requests without the Worker's signature are refused.
    #[serde(deserialize_with = "switch")]
    pub require_edge: bool,
    /// For how many seconds, from 5 to 60, the edge may serve a page of a popular subject without
    /// asking the origin.
    #[serde(deserialize_with = "within::<5, 60, _, _>")]
    pub fresh_for: u8,
    /// How many networks a minute, from 1 to 30000, make a subject popular by reading it at the origin.
    #[serde(deserialize_with = "within::<1, 30_000, _, _>")]
    pub hot_per_minute: u32,
    /// Most pages a day, from 0 to 1000000000, that are pushed to the edge's store, which is paid by the write.
    /// Beyond them only the dictionary is pushed until the next day.
    #[serde(deserialize_with = "within::<0, 1_000_000_000, _, _>")]
    pub max_writes_per_day: u32,
}

impl Default for EdgeSettings {
    fn default() -> Self {
        Self {
            url: None,
            secret: None,
            secret_previous: None,
            require_edge: false,
            fresh_for: 10,
            hot_per_minute: 600,
            // 5 dollars, by the price list of Workers KV.
            max_writes_per_day: 1_000_000,
        }
    }
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    values::server_address(deserializer, "the Worker's address without a path, such as https://comments.example.com")
}

impl EdgeSettings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let uses = [
            (self.require_edge, "if edge.require_edge is on"),
            (self.url.is_some(), "if edge.url is given: what is pushed is signed"),
            (self.secret_previous.is_some(), "beside edge.secret_previous"),
        ];
        match uses.into_iter().find(|(is_used, _)| *is_used && self.secret.is_none()) {
            Some((_, why)) => Err(ConfigError::new("GAILOU_EDGE_SECRET", format!("must be given {why}"))),
            None => Ok(()),
        }
    }
}
