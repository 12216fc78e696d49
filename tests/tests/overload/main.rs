//! Five times of what the program carries: what is accepted is answered in less than a second, the rest is
//! 503, pages that everybody reads are always answered, and afterwards the server is as fast as before.
//!
//! A test program of its own: what runs beside it would be measured, too.

mod load;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use gailou_tests::{GailouProcess, TestMember, ann, comments_path, member, poll_until};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::load::{LoadReport, Requests, send_as_answered, send_at_rate};

const SUBJECTS: u64 = 24;
const ROOTS_OF_A_SUBJECT: u64 = 60;
/// Connections that saturate the server, and fewer than it lets wait.
const SATURATING_CONNECTIONS: usize = 24;
/// How much more is offered than was carried.
const OVERLOAD_FACTOR: f64 = 5.0;
/// The share of what is carried that the server gets before and after.
const CALM_SHARE: f64 = 0.25;
/// How long each load lasts.
const LOAD_TIME: Duration = Duration::from_secs(5);
const OVERLOAD_TIME: Duration = Duration::from_secs(8);
/// The 99th percentile of what is accepted in an overload. Without optimisation a request waits twice as long
/// for the cores, which the client shares; without admission it waits longer with each second of the overload.
const MAX_ACCEPTED_TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 2 } else { 1 });
/// How much slower the server may be afterwards: a ratio, and what a busy machine adds.
const MAX_SLOWDOWN: (f64, Duration) = (1.5, Duration::from_millis(15));
/// How much memory the overload may take: the bodies and pages of all that is admitted or waits.
const MAX_GROWTH_KB: u64 = 200_000;

/// The same page for everybody.
fn popular_page(_: u64) -> Vec<u8> {
    get(&comments_path("article/popular"))
}

fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").into_bytes()
}

/// Nine reads of a page that no other request asks for, then a post.
fn mixed_requests(authors: Vec<TestMember>) -> Requests {
    Arc::new(move |number| {
        // Mixed well, and the same in each run.
        let random = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        let path = comments_path(&format!("article/{}", random % SUBJECTS));
        if number % 10 < 9 {
            let sorts = ["hot", "new", "old", "top", "best", "replies", "controversial"];
            let (sort, limit) = (sorts[random as usize / 31 % sorts.len()], 30 + random / 1_001 % 70);
            return get(&format!("{path}?sort={sort}&limit={limit}"));
        }
        let token = &authors[random as usize % authors.len()].token;
        let body = json!({"content": format!("post {number}")}).to_string();
        let head = format!("authorization: Bearer {token}\r\ncontent-type: application/json");
        let length = body.len();
        format!("POST {path} HTTP/1.1\r\nhost: x\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}").into_bytes()
    })
}

/// Subjects with roots, some of them liked and answered.
async fn fill(origin: &GailouProcess, authors: &[TestMember]) {
    let subjects = (0..SUBJECTS).map(|n| format!("article/{n}")).chain(["article/popular".to_owned()]);
    join_all(subjects.map(|subject| async move {
        for n in 0..ROOTS_OF_A_SUBJECT {
            let author = &authors[n as usize % authors.len()];
            let root = origin.post(author, &subject, &format!("{n} {}", "a text of some length ".repeat(20))).await;
            if n % 6 == 0 {
                origin.reply(author, &root, "a reply").await;
                origin.like(&ann(), &root).await;
            }
        }
    }))
    .await;
}

/// The most memory that a process has had so far, in kB.
fn peak_memory_kb(process: u32) -> u64 {
    let status = std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("status")).expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn assert_all_answered(name: &str, load: &LoadReport) {
    assert!(load.broken.is_empty(), "{name}: {} without a response, such as {}", load.broken.len(), load.broken[0]);
    let wrong = load.samples.iter().find(|sample| match sample.status {
        200 | 201 => false,
        503 => !sample.has_retry_after,
        _ => true,
    });
    assert!(wrong.is_none(), "{name}: {wrong:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn overload_is_refused_and_leaves_nothing_behind() {
    let data = tempfile::tempdir().unwrap();
    let mut origin = GailouProcess::start(data.path()).await;
    let process = origin.process().child().id();
    let address = origin.base().strip_prefix("http://").expect("an address").to_owned();
    let authors: Vec<TestMember> = (0..50).map(|n| member(100 + n)).collect();
    fill(&origin, &authors).await;
    let requests = mixed_requests(authors);

    let carried = send_as_answered(&address, SATURATING_CONNECTIONS, LOAD_TIME, &requests).await;
    assert_all_answered("saturated", &carried);
    let carried_rate = carried.accepted_per_second();
    let calm_rate = carried_rate * CALM_SHARE;
    let before = send_at_rate(&address, calm_rate, LOAD_TIME, &requests).await;
    assert_all_answered("before", &before);
    assert_eq!(before.accepted().count(), before.samples.len(), "nothing is refused before");
    let memory_before = peak_memory_kb(process);

    let popular = async {
        let popular: Requests = Arc::new(popular_page);
        // The first reads may meet a page that is not in memory yet.
        origin.page(&comments_path("article/popular")).await;
        send_at_rate(&address, 20.0, OVERLOAD_TIME, &popular).await
    };
    let looked = async {
        sleep(OVERLOAD_TIME / 2).await;
        (
            origin.metric("gailou_overloaded{kind=\"reads\"}").await,
            origin.metric("gailou_degraded{switch=\"hot_as_new\"}").await,
        )
    };
    let overload = send_at_rate(&address, carried_rate * OVERLOAD_FACTOR, OVERLOAD_TIME, &requests);
    let (overload, popular, looked) = tokio::join!(overload, popular, looked);
    let refused = overload.samples.iter().filter(|sample| sample.status == 503).count();
    let grown_kb = peak_memory_kb(process) - memory_before;
    println!(
        "carried {carried_rate:.0}/s; offered {:.0}/s: accepted {:.0}/s, p50 {:?}, p99 {:?}, {refused} of {} refused; {grown_kb} kB",
        carried_rate * OVERLOAD_FACTOR,
        overload.accepted_per_second(),
        overload.accepted_within(0.5),
        overload.accepted_within(0.99),
        overload.samples.len(),
    );
    println!("popular page: {} answered, p99 {:?}", popular.accepted().count(), popular.accepted_within(0.99));
    let after = send_at_rate(&address, calm_rate, LOAD_TIME, &requests).await;
    let (fast, slow) = (before.accepted_within(0.5), after.accepted_within(0.5));
    println!(
        "before p50 {fast:?} p99 {:?}; after p50 {slow:?} p99 {:?}",
        before.accepted_within(0.99),
        after.accepted_within(0.99)
    );

    assert_all_answered("overload", &overload);
    assert!(refused > 0, "an overload");
    assert_eq!(looked, (Some(1.0), Some(1.0)), "the metrics say so");
    assert!(overload.accepted_within(0.99) < MAX_ACCEPTED_TIME, "p99 {:?}", overload.accepted_within(0.99));
    assert!(overload.accepted_per_second() > carried_rate / 3.0, "what is carried does not collapse");
    assert!(grown_kb < MAX_GROWTH_KB, "{grown_kb} kB");
    assert_all_answered("popular page", &popular);
    assert_eq!(popular.accepted().count(), popular.samples.len(), "a page in memory is never refused");
    assert_all_answered("after", &after);
    let (ratio, noise) = MAX_SLOWDOWN;
    assert!(slow < fast.mul_f64(ratio) + noise, "p50 {slow:?} after, {fast:?} before");
    // Hot lists were answered newest first, said so, and are ranked again.
    let sort_of = |body: &[u8]| serde_json::from_slice::<Value>(body).unwrap_or_default()["page"]["sort"].clone();
    let hot = comments_path("article/popular");
    let ranked = poll_until(|| origin.get(&hot), |page| sort_of(page.text.as_bytes()) == "hot").await;
    assert_eq!(sort_of(ranked.text.as_bytes()), "hot", "within seconds after the overload");
}
