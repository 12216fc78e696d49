//! Where what the process says of itself goes: the log to standard error, and traces to a collector.

use std::io;

use tokio::runtime::Handle;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry};

#[cfg(feature = "otlp")]
use crate::adapters::trace_collector::TraceCollector;
use crate::config::{LogFormat, TelemetrySettings};

/// The library of passkeys logs each wrong answer of a stranger as an error; the service says which ones matter.
const LIBRARY_LEVELS: &str = "webauthn_rs=off,webauthn_rs_core=off";

/// What sends the traces of this process, if anything does.
#[derive(Debug)]
pub struct Traces {
    #[cfg(feature = "otlp")]
    collector: Option<TraceCollector>,
}

#[cfg(feature = "otlp")]
impl Traces {
    /// The collector that the settings or OpenTelemetry's variables name. Without a runtime nothing is traced.
    ///
    /// # Errors
    /// When its address is none.
    pub fn open(settings: &TelemetrySettings, runtime: Option<&Handle>) -> anyhow::Result<Self> {
        let collector = runtime.map(|runtime| TraceCollector::open(settings, runtime.clone())).transpose()?;
        Ok(Self { collector: collector.flatten() })
    }

    /// Logs this level (`RUST_LOG` changes it), and traces.
    pub fn start_log(&self, level: &str, settings: &TelemetrySettings) {
        start_log(level, settings, self.collector.as_ref().map(TraceCollector::layer));
    }

    /// Sends what waits.
    pub fn close(&self) {
        if let Some(collector) = &self.collector {
            collector.close();
        }
    }
}

/// This build has no traces.
#[cfg(not(feature = "otlp"))]
impl Traces {
    /// Nothing is traced.
    ///
    /// # Errors
    /// Never.
    pub fn open(_: &TelemetrySettings, _: Option<&Handle>) -> anyhow::Result<Self> {
        Ok(Self {})
    }

    /// Logs this level (`RUST_LOG` changes it).
    pub fn start_log(&self, level: &str, settings: &TelemetrySettings) {
        start_log(level, settings, None);
        if let Some(server) = &settings.otlp_url {
            tracing::warn!(server, "No traces are sent to {server}: this program was built without the feature otlp");
        }
    }

    /// There is nothing to send.
    pub fn close(&self) {}
}

fn start_log(level: &str, settings: &TelemetrySettings, traces: Option<Box<dyn Layer<Registry> + Send + Sync>>) {
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(format!("{level},{LIBRARY_LEVELS}")));
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let lines = match settings.log_format {
        LogFormat::Text => lines.with_ansi(io::IsTerminal::is_terminal(&io::stderr())).with_filter(filter).boxed(),
        LogFormat::Json => lines.json().with_filter(filter).boxed(),
    };
    tracing_subscriber::registry().with(traces).with(lines).init();
}
