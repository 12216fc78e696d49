//! An origin and a clock that block where a test wants them to, and requests that a test polls step by
//! step.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use axum::response::Response;

use super::{EdgeTestBed, ManualEdgeClock, ScriptedOrigin, TestResponse};
use crate::forward::Requester;
use crate::lock;
use crate::page_key::PageKey;
use crate::page_service::{self, PageRequest};
use crate::ports::{EdgeClock, Origin, OriginError, OriginRequest, OriginResponse, PortFuture, Ports};

/// Takes the answer of the bed's origin at the moment of the request, but holds back the answers to one
/// path until it is released.
pub(crate) struct HoldingOrigin {
    origin: Arc<ScriptedOrigin>,
    held_path: Mutex<&'static str>,
    released: Arc<AtomicBool>,
}

impl HoldingOrigin {
    /// From here on answers to `path_query` are held back; answers that are held already stay so.
    pub(crate) fn hold(&self, path_query: &'static str) {
        *lock(&self.held_path) = path_query;
    }

    pub(crate) fn release(&self) {
        self.released.store(true, Ordering::Relaxed);
    }
}

impl Origin for HoldingOrigin {
    fn send(&self, request: OriginRequest, timeout_ms: u32) -> PortFuture<'_, Result<OriginResponse, OriginError>> {
        let is_held = request.path_query == *lock(&self.held_path);
        let answer = self.origin.send(request, timeout_ms);
        let mut answer = Some(futures_executor::block_on(answer));
        let released = Arc::clone(&self.released);
        Box::pin(poll_fn(move |_| {
            let answer = if is_held && !released.load(Ordering::Relaxed) { None } else { answer.take() };
            answer.map_or(Poll::Pending, Poll::Ready)
        }))
    }
}

/// A clock whose pauses take one step.
struct SteppingClock(Arc<ManualEdgeClock>);

impl EdgeClock for SteppingClock {
    fn now_ms(&self) -> u64 {
        self.0.now_ms()
    }

    fn pause(&self, ms: u32) -> PortFuture<'static, ()> {
        let (clock, mut is_paused) = (Arc::clone(&self.0), false);
        Box::pin(poll_fn(move |_| {
            if std::mem::replace(&mut is_paused, true) {
                clock.0.fetch_add(ms.into(), Ordering::Relaxed);
                return Poll::Ready(());
            }
            Poll::Pending
        }))
    }
}

/// The ports of `bed` with an origin that holds back the answers to `path_query`.
pub(crate) fn holding_ports(bed: &EdgeTestBed, path_query: &'static str) -> (Ports, Arc<HoldingOrigin>) {
    let origin = Arc::clone(&bed.origin);
    let held_path = Mutex::new(path_query);
    let holding = Arc::new(HoldingOrigin { origin, held_path, released: Arc::default() });
    let clock = Arc::new(SteppingClock(Arc::clone(&bed.clock)));
    (Ports { origin: Arc::clone(&holding) as _, clock, ..bed.ports() }, holding)
}

/// A request for a page that has not been answered yet.
pub(crate) struct PendingRead(PortFuture<'static, Response>);

impl PendingRead {
    pub(crate) fn new(bed: &EdgeTestBed, ports: &Ports, path: &str) -> Self {
        let (isolate, ports) = (Arc::clone(&bed.isolate), ports.clone());
        let requester = Requester { id: isolate.request_id(None), client: None };
        let key = PageKey::parse(path, None).unwrap();
        let request = PageRequest { key, if_none_match: None, no_cache: false, has_written: false, requester };
        Self(Box::pin(async move { page_service::answer_page(&isolate, &ports, request).await }))
    }

    /// Polls the request once; the answer when it is ready.
    pub(crate) fn step(&mut self) -> Option<TestResponse> {
        match self.0.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(response) => Some(TestResponse::read(response)),
            Poll::Pending => None,
        }
    }

    /// Polls the request until it is answered, at most `max` times.
    pub(crate) fn steps(&mut self, max: usize) -> Option<TestResponse> {
        (0..max).find_map(|_| self.step())
    }
}
