//! Bounded admission: so many requests run at a time, so many wait, none for long, and the rest is
//! refused at once.
//!
//! A process that admits everything answers nothing in time: what it has begun competes for the same
//! cores, connections and disk. Pages that are ready in memory never come here, and nothing that was
//! admitted is refused later by this. Promise: what is refused has not begun, so nothing of it was written.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use metrics::{counter, describe_counter, describe_gauge, gauge};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout};

use crate::outage_log::OutageLog;
use crate::telemetry::{Collector, measure_pool_wait};

/// How long a request waits for its turn, so that a burst is answered. With as much again to run, an answer
/// takes less than a second.
const MAX_ADMISSION_WAIT: Duration = Duration::from_millis(500);
/// The same in an overload: there the queue never becomes empty, and a longer wait answers no more requests.
const MAX_WAIT_IN_OVERLOAD: Duration = Duration::from_millis(100);
/// Requests that wait at a time. A write holds a body of at most 64 KiB meanwhile: 32 MiB in all.
const MAX_WAITING_REQUESTS: usize = 512;
/// A wait that is longer keeps an overload from ending.
const CALM_WAIT: Duration = Duration::from_millis(50);
/// After how long without a refusal and without a longer wait than [`CALM_WAIT`] an overload is over.
const CALM_TIME: Duration = Duration::from_secs(10);

/// The process has more to do than it can: this request was not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many requests at once; nothing of this one was done")]
pub struct NotAdmitted;

/// A place among the requests that run.
pub type AdmissionPlace<'a> = SemaphorePermit<'a>;

/// Admits one kind of requests.
#[derive(Debug)]
pub struct Admission {
    kind: &'static str,
    max_running: usize,
    places: Semaphore,
    waiting: AtomicUsize,
    refused: AtomicU64,
    started: Instant,
    /// The last moment of an overload, in milliseconds after `started`, from 1; 0 before the first.
    pressed_ms: AtomicU64,
    overload: OutageLog,
}

impl Admission {
    /// Admits `max_running` requests of this kind at a time.
    pub fn new(kind: &'static str, max_running: usize) -> Self {
        Self {
            kind,
            max_running,
            places: Semaphore::new(max_running),
            waiting: AtomicUsize::new(0),
            refused: AtomicU64::new(0),
            started: Instant::now(),
            pressed_ms: AtomicU64::new(0),
            overload: OutageLog::default(),
        }
    }

    /// A place among those that run, until it is dropped.
    ///
    /// # Errors
    /// [`NotAdmitted`] when too many wait already, or the wait took too long.
    pub async fn admit(&self) -> Result<AdmissionPlace<'_>, NotAdmitted> {
        self.admit_within(if self.is_overloaded() { MAX_WAIT_IN_OVERLOAD } else { MAX_ADMISSION_WAIT }).await
    }

    /// The same for what many wait for: in an overload it outlasts the others in front of it.
    ///
    /// # Errors
    /// [`NotAdmitted`] when too many wait already, or the wait took too long.
    pub async fn admit_patiently(&self) -> Result<AdmissionPlace<'_>, NotAdmitted> {
        self.admit_within(MAX_ADMISSION_WAIT).await
    }

    async fn admit_within(&self, max_wait: Duration) -> Result<AdmissionPlace<'_>, NotAdmitted> {
        if let Ok(place) = self.places.try_acquire() {
            self.note_wait(Duration::ZERO);
            return Ok(place);
        }
        let Some(_waiting) = self.begin_wait() else { return Err(self.refuse()) };
        let begun = Instant::now();
        match measure_pool_wait(self.kind, timeout(max_wait, self.places.acquire())).await {
            Ok(Ok(place)) => {
                self.note_wait(begun.elapsed());
                Ok(place)
            }
            _ => Err(self.refuse()),
        }
    }

    /// Whether requests are refused, or were a moment ago.
    pub fn is_overloaded(&self) -> bool {
        let pressed_ms = self.pressed_ms.load(Ordering::Relaxed);
        pressed_ms > 0 && self.elapsed_ms().saturating_sub(pressed_ms) < CALM_TIME.as_millis() as u64
    }

    fn begin_wait(&self) -> Option<WaitingRequest<'_>> {
        let request = WaitingRequest(&self.waiting);
        (self.waiting.fetch_add(1, Ordering::Relaxed) < MAX_WAITING_REQUESTS).then_some(request)
    }

    fn note_wait(&self, wait: Duration) {
        if !self.is_overloaded() {
            let kind = self.kind;
            self.overload.end(|| tracing::info!(kind, "Admitting all {kind} again"));
        } else if wait > CALM_WAIT {
            self.pressed_ms.store(self.elapsed_ms(), Ordering::Relaxed);
        }
    }

    fn refuse(&self) -> NotAdmitted {
        self.refused.fetch_add(1, Ordering::Relaxed);
        self.pressed_ms.store(self.elapsed_ms(), Ordering::Relaxed);
        let (kind, running, wait_ms) = (self.kind, self.max_running, MAX_ADMISSION_WAIT.as_millis());
        self.overload.begin(|| {
            tracing::warn!(
                kind,
                running,
                wait_ms,
                "Refusing {kind}: {running} are in progress, and others would wait for more than {wait_ms} ms"
            );
        });
        NotAdmitted
    }

    fn elapsed_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64 + 1
    }
}

/// One of the requests that wait.
struct WaitingRequest<'a>(&'a AtomicUsize);

impl Drop for WaitingRequest<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Collector for Admission {
    fn collect(&self) {
        describe_gauge!("gailou_admission_running", "Requests in progress, by kind.");
        gauge!("gailou_admission_running", "kind" => self.kind)
            .set((self.max_running - self.places.available_permits()) as f64);
        describe_gauge!("gailou_admission_max", "Requests that may be in progress, by kind.");
        gauge!("gailou_admission_max", "kind" => self.kind).set(self.max_running as f64);
        describe_gauge!("gailou_admission_waiting", "Requests that wait for their turn, by kind.");
        gauge!("gailou_admission_waiting", "kind" => self.kind).set(self.waiting.load(Ordering::Relaxed) as f64);
        describe_counter!("gailou_admission_refused_total", "Requests refused for overload, by kind.");
        counter!("gailou_admission_refused_total", "kind" => self.kind).absolute(self.refused.load(Ordering::Relaxed));
        describe_gauge!("gailou_overloaded", "Whether requests are refused or were a moment ago, by kind.");
        gauge!("gailou_overloaded", "kind" => self.kind).set(f64::from(u8::from(self.is_overloaded())));
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waiting_requests_are_bounded_in_number_and_time() {
        let admission = Admission::new("reads", 2);
        let running = [admission.admit().await.unwrap(), admission.admit().await.unwrap()];
        let begun = Instant::now();
        let waits = join_all((0..MAX_WAITING_REQUESTS + 5).map(|_| async {
            let answer = admission.admit().await.map(drop);
            (answer, begun.elapsed())
        }));
        let answers = waits.await;
        assert!(answers.iter().all(|(answer, _)| *answer == Err(NotAdmitted)));
        let at_once = answers.iter().filter(|(_, waited)| waited.is_zero()).count();
        assert_eq!(at_once, 5, "one more than may wait is refused at once");
        assert!(answers.iter().all(|(_, waited)| *waited <= MAX_ADMISSION_WAIT + Duration::from_millis(2)));
        assert_eq!(admission.waiting.load(Ordering::Relaxed), 0);
        drop(running);
        assert!(admission.admit().await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn freed_place_goes_to_the_request_that_waits() {
        let admission = Admission::new("reads", 1);
        let running = admission.admit().await.unwrap();
        let next = async { admission.admit().await.map(drop) };
        let free = async {
            tokio::time::sleep(MAX_ADMISSION_WAIT / 2).await;
            drop(running);
        };
        assert_eq!(tokio::join!(next, free).0, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn overload_ends_after_a_calm_time() {
        let admission = Admission::new("reads", 1);
        let running = admission.admit().await.unwrap();
        assert!(!admission.is_overloaded());
        admission.admit().await.unwrap_err();
        assert!(admission.is_overloaded());
        tokio::time::advance(CALM_TIME / 2).await;
        // A long wait prolongs it.
        let waiting = async { admission.admit().await.map(drop) };
        let free = async {
            tokio::time::sleep(CALM_WAIT * 3 / 2).await;
            drop(running);
        };
        assert_eq!(tokio::join!(waiting, free).0, Ok(()));
        tokio::time::advance(CALM_TIME * 3 / 4).await;
        assert!(admission.is_overloaded());
        assert!(admission.admit().await.is_ok());
        tokio::time::advance(CALM_TIME / 2).await;
        assert!(!admission.is_overloaded());
    }
}
