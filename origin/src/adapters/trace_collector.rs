//! The collector of traces, by OTLP over HTTP.
//!
//! Spans wait in a bounded queue (2,048) for a thread of their own, which sends them in batches; what does not fit is
//! dropped. Promise: a collector that is slow or away costs no request.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full, Limited};
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use tokio::runtime::Handle;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::{Layer, Registry};

use crate::adapters::https_client::{HttpsClient, https_client};
use crate::config::TelemetrySettings;
use crate::outage_log::OutageLog;
use crate::telemetry::measure_bounded;
use crate::telemetry::trace::TRACE_TARGET;

/// How long a batch may take.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the last batch may take, at the end of the process.
const LAST_EXPORT_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest answer that is read.
const MAX_ANSWER_BYTES: usize = 64 << 10;
/// Variables of OpenTelemetry that name a collector.
const ENDPOINT_VARIABLES: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// What sends the traces of this process.
#[derive(Debug)]
pub struct TraceCollector {
    provider: SdkTracerProvider,
}

impl TraceCollector {
    /// The collector of the settings or of OpenTelemetry's variables; `None` without one.
    ///
    /// # Errors
    /// When its address is none.
    pub fn open(settings: &TelemetrySettings, runtime: Handle) -> anyhow::Result<Option<Self>> {
        let named = ENDPOINT_VARIABLES.iter().find_map(|name| env::var(name).ok().filter(|url| !url.is_empty()));
        let Some(server) = named.clone().or_else(|| settings.otlp_url.clone()) else { return Ok(None) };
        let client = CollectorClient(Arc::new(TraceServer {
            client: https_client(),
            server: server.clone(),
            outage: OutageLog::default(),
            runtime,
        }));
        let mut exporter = SpanExporter::builder().with_http().with_http_client(client);
        if named.is_none() {
            exporter = exporter.with_endpoint(format!("{server}/v1/traces"));
        }
        let mut provider =
            SdkTracerProvider::builder().with_batch_exporter(exporter.build()?).with_resource(resource());
        if env::var_os("OTEL_TRACES_SAMPLER").is_none() {
            let ratio = Sampler::TraceIdRatioBased(1.0 / f64::from(settings.trace_one_in));
            provider = provider.with_sampler(Sampler::ParentBased(Box::new(ratio)));
        }
        Ok(Some(Self { provider: provider.build() }))
    }

    /// Takes the spans of traces, and the warnings within them.
    #[must_use]
    pub fn layer(&self) -> Box<dyn Layer<Registry> + Send + Sync> {
        let levels = [(TRACE_TARGET, LevelFilter::DEBUG), ("gailou", LevelFilter::WARN)];
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("gailou"))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(Targets::new().with_targets(levels))
            .boxed()
    }

    /// Sends what waits. It blocks, and needs the runtime.
    pub fn close(&self) {
        // What cannot be sent in time is dropped.
        let _ = self.provider.shutdown_with_timeout(LAST_EXPORT_TIMEOUT);
    }
}

fn resource() -> Resource {
    // Its builder reads OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
    let resource = Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    if env::var_os("OTEL_SERVICE_NAME").is_some() { resource } else { resource.with_service_name("gailou") }.build()
}

/// Sends requests of the exporter, whose thread knows no runtime.
#[derive(Debug, Clone)]
struct CollectorClient(Arc<TraceServer>);

#[derive(Debug)]
struct TraceServer {
    client: HttpsClient,
    server: String,
    outage: OutageLog,
    runtime: Handle,
}

#[async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let collector = self.0.clone();
        self.0.runtime.spawn(async move { collector.send(request).await }).await?
    }
}

impl TraceServer {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let call = async {
            let (head, body) = self.client.request(request.map(Full::new)).await?.into_parts();
            let body = Limited::new(body, MAX_ANSWER_BYTES).collect().await?.to_bytes();
            if !head.status.is_success() {
                return Err(format!("it answered {}", head.status).into());
            }
            Ok::<_, HttpError>(Response::from_parts(head, body))
        };
        let answered = measure_bounded("collector", "export", EXPORT_TIMEOUT, call).await;
        let answered = answered.unwrap_or_else(|_| Err(format!("no answer in {} s", EXPORT_TIMEOUT.as_secs()).into()));
        let server = &self.server;
        match &answered {
            Ok(_) => self.outage.end(|| tracing::info!(server, "Traces are sent to {server} again")),
            Err(error) => self.outage.begin(|| {
                tracing::warn!(server, %error, "Could not send traces to {server}; they are dropped until it takes them");
            }),
        }
        answered
    }
}
