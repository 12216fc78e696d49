//! Traces: the spans of a request, of its calls, and of the rows that come of it, in this process or another.
//!
//! The spans are those of the crate `tracing`, under a target of their own: without a collector, or without the feature
//! `otlp`, they cost a comparison. A trace is handed on as the header `traceparent` of the W3C, in requests of the edge
//! and in records of the broker. Not here: where spans are sent.

use tracing::{Span, field};

/// The target of every span of a trace.
pub const TRACE_TARGET: &str = "gailou::trace";
/// The header of requests and records that hands a trace on.
pub const TRACE_PARENT: &str = "traceparent";

/// The span of a request, in the trace of `parent`, or in a new one.
pub fn request_span(method: &'static str, route: &str, parent: Option<&str>) -> Span {
    let span = tracing::debug_span!(
        target: TRACE_TARGET,
        parent: None,
        "request",
        otel.kind = "server",
        otel.name = %format_args!("{method} {route}"),
        http.request.method = method,
        http.route = route,
        http.response.status_code = field::Empty,
        request_id = field::Empty,
    );
    if let Some(parent) = parent {
        propagation::set_parent(&span, parent);
    }
    span
}

/// The span of a call to a dependency, in the current trace.
pub(super) fn call_span(dependency: &'static str, operation: &'static str) -> Span {
    tracing::debug_span!(
        target: TRACE_TARGET,
        "call",
        otel.kind = "client",
        otel.name = %format_args!("{dependency} {operation}"),
        dependency,
        operation,
        outcome = field::Empty,
    )
}

/// The spans of a batch that is written: its own, and one for each traced operation, in the trace of its request. They
/// end when this is dropped.
#[derive(Debug)]
#[must_use]
pub struct BatchSpans {
    pub batch: Span,
    rows: Vec<Span>,
}

/// Begins the spans of a batch of so many operations; `parents` are those that are traced.
pub fn batch_spans<'a>(operations: usize, parents: impl Iterator<Item = &'a str>) -> BatchSpans {
    let batch = tracing::debug_span!(target: TRACE_TARGET, parent: None, "persist batch", operations);
    let row = |parent: &str| {
        let row = tracing::debug_span!(target: TRACE_TARGET, parent: None, "row");
        propagation::set_parent(&row, parent);
        propagation::link(&batch, &row, parent);
        row
    };
    let rows = parents.map(row).collect();
    BatchSpans { batch, rows }
}

impl BatchSpans {
    /// How many rows are traced.
    pub fn traced(&self) -> usize {
        self.rows.len()
    }
}

pub use propagation::{current_parent, trace_id};

/// How spans of different processes become one trace.
#[cfg(feature = "otlp")]
mod propagation {
    use opentelemetry::Context;
    use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState};
    use tracing::Span;
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    /// The header that hands the current trace on; `None` where it is not recorded.
    #[must_use]
    pub fn current_parent() -> Option<String> {
        let current = Context::current();
        let current = current.span().span_context().clone();
        current.is_sampled().then(|| format!("00-{}-{}-01", current.trace_id(), current.span_id()))
    }

    /// The id of a span's trace, recorded or not; `None` without a collector.
    #[must_use]
    pub fn trace_id(span: &Span) -> Option<String> {
        let context = span.context();
        let id = context.span().span_context().trace_id();
        (id != TraceId::INVALID).then(|| id.to_string())
    }

    /// What `traceparent` says: `00-TRACE-SPAN-FLAGS`.
    fn parse(header: &str) -> Option<SpanContext> {
        let [version, trace, span, flags] = header.split('-').collect::<Vec<_>>()[..] else { return None };
        let is_hex = |text: &str, digits: usize| {
            text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        if version != "00" || !is_hex(trace, 32) || !is_hex(span, 16) || !is_hex(flags, 2) {
            return None;
        }
        let (trace, span) = (TraceId::from_hex(trace).ok()?, SpanId::from_hex(span).ok()?);
        let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?);
        let parent = SpanContext::new(trace, span, flags, true, TraceState::NONE);
        parent.is_valid().then_some(parent)
    }

    pub(super) fn set_parent(span: &Span, header: &str) {
        if let Some(parent) = parse(header) {
            // Fails for a span that nothing listens to.
            let _ = span.set_parent(Context::new().with_remote_span_context(parent));
        }
    }

    /// Links a batch with the request of a row, and the row with the batch.
    pub(super) fn link(batch: &Span, row: &Span, parent: &str) {
        if let Some(parent) = parse(parent) {
            batch.add_link(parent);
        }
        row.add_link(batch.context().span().span_context().clone());
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn header_of_the_w3c_is_read_and_anything_else_is_left() {
            let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
            let parent = parse(&format!("00-{trace}-{span}-01")).unwrap();
            assert_eq!((parent.trace_id().to_string(), parent.span_id().to_string()), (trace.into(), span.into()));
            assert!(parent.is_sampled() && !parse(&format!("00-{trace}-{span}-00")).unwrap().is_sampled());
            let zeros = "0".repeat(32);
            for wrong in [
                String::new(),
                format!("01-{trace}-{span}-01"),
                format!("00-{trace}-{span}"),
                format!("00-{trace}-{span}-01-more"),
                format!("00-{zeros}-{span}-01"),
                format!("00-{trace}-{}-01", &zeros[..16]),
                format!("00-{}-{span}-01", trace.to_uppercase()),
                format!("00-+{}-{span}-01", &trace[1..]),
            ] {
                assert!(parse(&wrong).is_none(), "{wrong}");
            }
        }
    }
}

/// Without traces.
#[cfg(not(feature = "otlp"))]
mod propagation {
    use tracing::Span;

    /// There is no trace.
    #[must_use]
    pub const fn current_parent() -> Option<String> {
        None
    }

    /// There is no trace.
    #[must_use]
    pub const fn trace_id(_: &Span) -> Option<String> {
        None
    }

    pub(super) const fn set_parent(_: &Span, _: &str) {}

    pub(super) const fn link(_: &Span, _: &Span, _: &str) {}
}
