//! What the program says of itself: logs, slow statements, traces.
//!
//! Connects to nothing. Promise: the address is one of a host.

use documented::DocumentedFields;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::values;
use crate::config::values::within;

/// `telemetry`: logs, slow statements, traces.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct TelemetrySettings {
    /// How the log on standard error is written: `text`, or `json`, one object a line.
    pub log_format: LogFormat,
    /// Statements that take so many milliseconds or more, from 1 to 3600000, are logged, without their values.
    #[serde(deserialize_with = "within::<1, 3_600_000, _, _>")]
    pub slow_statement_ms: u32,
    /// The address of a collector of traces by OTLP over HTTP, without a path, such as `http://127.0.0.1:4318`. The
    /// variables of OpenTelemetry come first: `OTEL_EXPORTER_OTLP_ENDPOINT` and the others. Without either, nothing is
    /// traced.
    #[serde(deserialize_with = "address")]
    pub otlp_url: Option<String>,
    /// One request in so many, from 1 to 1000000, is traced. Of those that come through the Worker, the Worker decides.
    #[serde(deserialize_with = "within::<1, 1_000_000, _, _>")]
    pub trace_one_in: u32,
}

/// How the log is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

impl Default for TelemetrySettings {
    fn default() -> Self {
        Self { log_format: LogFormat::Text, slow_statement_ms: 1_000, otlp_url: None, trace_one_in: 100 }
    }
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    values::server_address(deserializer, "the address of a server without a path, such as http://127.0.0.1:4318")
}
