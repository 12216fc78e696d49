//! What the suite drives Gailou with: an origin in this process, the real program, a client.
//!
//! Everything started here is stopped by `Drop` and takes its directory with it. Nothing waits for
//! a fixed time: what is not there at once is polled for, up to [`DEADLINE`].

#![expect(clippy::missing_panics_doc, reason = "a helper that panics fails the test, as it should")]

mod client;
mod process;
mod program;
mod proxy;
pub mod services;
mod settle;
mod site;
mod who;

use std::time::Duration;

pub use client::{Answer, Call, Client, id, ids, with_cursor};
pub use process::Process;
pub use program::{Program, Ran, gailou, ran};
pub use proxy::Proxy;
pub use settle::Settle;
pub use site::Site;
pub use who::{Who, token_key, who};

/// How long something that must happen may take before the test gives up.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// Asks again until the answer is right, up to [`DEADLINE`]; the last answer otherwise.
pub async fn until<T, F: Future<Output = T>>(mut ask: impl FnMut() -> F, right: impl Fn(&T) -> bool) -> T {
    let begun = std::time::Instant::now();
    loop {
        let answer = ask().await;
        if right(&answer) || begun.elapsed() > DEADLINE {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
