//! An origin and a clock that stand still where a test wants them to, and requests that are taken
//! a step further one by one.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use axum::response::Response;

use crate::forward::Asker;
use crate::ports::doubles::{Answer, Hand, Script, Stage};
use crate::ports::{Clock, FromOrigin, Origin, OriginFailed, Task, ToOrigin, World};
use crate::{key, lock, pages};

/// Answers as the stage's origin does at the moment it is asked, but keeps back the answers to
/// `held`, until `opened`.
pub(crate) struct Held {
    origin: Arc<Script>,
    held: Mutex<&'static str>,
    opened: Arc<AtomicBool>,
}

impl Held {
    /// From now on answers to `path_query` are held; those held before stay so.
    pub(crate) fn hold(&self, path_query: &'static str) {
        *lock(&self.held) = path_query;
    }

    pub(crate) fn open(&self) {
        self.opened.store(true, Ordering::Relaxed);
    }
}

impl Origin for Held {
    fn send(&self, request: ToOrigin, deadline_ms: u32) -> Task<'_, Result<FromOrigin, OriginFailed>> {
        let is_held = request.path_query == *lock(&self.held);
        let answer = self.origin.send(request, deadline_ms);
        let mut answer = Some(futures_executor::block_on(answer));
        let opened = Arc::clone(&self.opened);
        Box::pin(poll_fn(move |_| {
            let answer = if is_held && !opened.load(Ordering::Relaxed) { None } else { answer.take() };
            answer.map_or(Poll::Pending, Poll::Ready)
        }))
    }
}

/// A clock whose pauses take a step.
struct Steps(Arc<Hand>);

impl Clock for Steps {
    fn now_ms(&self) -> u64 {
        self.0.now_ms()
    }

    fn pause(&self, ms: u32) -> Task<'static, ()> {
        let (hand, mut stopped) = (Arc::clone(&self.0), false);
        Box::pin(poll_fn(move |_| {
            if std::mem::replace(&mut stopped, true) {
                hand.0.fetch_add(ms.into(), Ordering::Relaxed);
                return Poll::Ready(());
            }
            Poll::Pending
        }))
    }
}

/// The ports of `stage`, with an origin that holds `path_query`.
pub(crate) fn world(stage: &Stage, path_query: &'static str) -> (World, Arc<Held>) {
    let origin = Arc::clone(&stage.origin);
    let held = Arc::new(Held { origin, held: Mutex::new(path_query), opened: Arc::default() });
    let clock = Arc::new(Steps(Arc::clone(&stage.clock)));
    (World { origin: Arc::clone(&held) as _, clock, ..stage.world() }, held)
}

/// A reader of a page who is under way.
pub(crate) struct Reader(Task<'static, Response>);

impl Reader {
    pub(crate) fn new(stage: &Stage, world: &World, path: &str) -> Self {
        let (edge, world) = (Arc::clone(&stage.edge), world.clone());
        let asker = Asker { id: edge.request_id(None), client: None };
        let ask = pages::Ask { key: key::page(path, None).unwrap(), if_none_match: None, no_cache: false, asker };
        Self(Box::pin(async move { pages::read(&edge, &world, ask).await }))
    }

    /// A step further; the answer when it is there.
    pub(crate) fn step(&mut self) -> Option<Answer> {
        let Poll::Ready(response) = self.0.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
            return None;
        };
        let (parts, body) = response.into_parts();
        let body = futures_executor::block_on(axum::body::to_bytes(body, usize::MAX)).unwrap();
        Some(Answer {
            status: parts.status.as_u16(),
            headers: parts.headers,
            body: String::from_utf8(body.into()).unwrap(),
        })
    }

    /// Up to the answer, in so many steps at most.
    pub(crate) fn steps(&mut self, most: usize) -> Option<Answer> {
        (0..most).find_map(|_| self.step())
    }
}
