//! What the test suite drives Gailou with: an origin in this process, the real program as a child
//! process, the servers behind a cluster, and a client of the HTTP contract.
//!
//! There are no tests here. Promise: everything that is started here is stopped by `Drop`, and its
//! directory is deleted. Nothing waits for a fixed time: what is not true at once is polled for, up
//! to [`POLL_TIMEOUT`].

#![expect(clippy::missing_panics_doc, reason = "a helper that panics fails the test, as it should")]

mod api_client;
pub mod backing_servers;
mod broker_records;
mod child_process;
mod comments;
mod filled_installation;
mod gailou_process;
mod manual_origin_clock;
mod persist_barrier;
mod picture_host;
mod redact;
mod sample_data;
mod smtp_receiver;
mod tcp_proxy;
mod test_bucket;
mod test_certificates;
mod test_member;
mod test_origin;
mod trace_receiver;
mod webhook_receiver;

use std::time::{Duration, Instant};

pub use api_client::{ApiClient, ApiRequest, ApiResponse};
pub use broker_records::{delete_topic, encoded_publication};
pub use child_process::ChildProcess;
pub use comments::{assert_floors_have_no_gap, comments_on, comments_path, floors, id, ids, replies_path, with_cursor};
pub use filled_installation::FilledInstallation;
pub use gailou_process::{CommandOutput, GailouProcess, gailou_command, run_command, run_command_within};
pub use persist_barrier::PersistBarrier;
pub use picture_host::{PictureHost, picture_import_report};
pub use redact::{redact, redact_html, redact_json};
pub use sample_data::{DATA_VARIABLE, sample_file};
pub use smtp_receiver::{ReceivedMail, SmtpReceiver};
pub use tcp_proxy::TcpProxy;
pub use test_bucket::TestBucket;
pub use test_certificates::{KAFKA_USER, TestCertificates};
pub use test_member::{TOKEN_SECRET, TestMember, admin, ann, bob, member, moderator, owner, token_key};
pub use test_origin::TestOrigin;
pub use trace_receiver::{ReceivedSpan, TraceReceiver};
pub use webhook_receiver::{ReceivedWebhook, ReceiverBehavior, WebhookReceiver};

/// How long something that must happen may take before the test fails. It is generous, because two
/// busy processors may run everything at once.
pub const POLL_TIMEOUT: Duration = Duration::from_secs(60);

/// The pause between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Repeats the query until its answer is accepted, up to [`POLL_TIMEOUT`]; returns the last answer.
pub async fn poll_until<T, F: Future<Output = T>>(mut query: impl FnMut() -> F, is_accepted: impl Fn(&T) -> bool) -> T {
    let started = Instant::now();
    loop {
        let answer = query().await;
        if is_accepted(&answer) || started.elapsed() > POLL_TIMEOUT {
            return answer;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
