//! How long requests take.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use metrics::{Histogram, histogram};

use crate::telemetry::{HTTP_REQUEST_DURATION, install};

thread_local! {
    /// The histograms that this thread has recorded into, by route; then by method and status. To find one in the
    /// recorder costs as much as a small request.
    static REQUEST_HISTOGRAMS: RefCell<HashMap<String, Vec<RequestHistogram>>> = RefCell::default();
}

/// The requests of one route, method and status.
struct RequestHistogram {
    method: &'static str,
    status: u16,
    durations: Histogram,
}

/// Records a request of this route, which the contract names, until the head of its response.
pub fn record_request(method: &'static str, route: &str, status: u16, duration: Duration) {
    REQUEST_HISTOGRAMS.with_borrow_mut(|routes| {
        let known = match routes.get_mut(route) {
            Some(known) => known,
            None => routes.entry(route.to_owned()).or_default(),
        };
        let found = known.iter().find(|known| (known.method, known.status) == (method, status));
        if let Some(found) = found {
            return found.durations.record(duration);
        }
        install();
        let labels = [("method", method.to_owned()), ("route", route.to_owned()), ("status", status.to_string())];
        let durations = histogram!(HTTP_REQUEST_DURATION, &labels);
        durations.record(duration);
        known.push(RequestHistogram { method, status, durations });
    });
}
