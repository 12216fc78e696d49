//! The search index of a cluster: it is lost, it is built anew by command, and it does not answer, while comments are
//! written. Everything is found in the end, and no post waits for it.

use std::process::Command;
use std::time::{Duration, Instant};

use gailou_tests::backing_servers::{available, shared};

use gailou_tests::{ApiClient, GailouProcess, TcpProxy, ann, id, poll_until, run_command};
use serde_json::Value;

use crate::test_bed::ClusterTestBed;

const OPENSEARCH_VARIABLE: &str = "GAILOU_TEST_OPENSEARCH";
const SEARCH_PATH: &str = "/v1/subjects/article/searched/search?q=thunderclap&limit=100";

fn command(bed: &ClusterTestBed, arguments: &[&str], engine: &str) -> Command {
    let mut command = bed.command(arguments);
    command.env("GAILOU_SEARCH__URL", engine).env("GAILOU_SEARCH__INDEX", &bed.name);
    command
}

async fn start(bed: &ClusterTestBed, role: &str, engine: &str) -> GailouProcess {
    let command = command(bed, &[role, "--bind", "127.0.0.1:0"], engine);
    GailouProcess::spawn_logging(command, bed.log_file(role)).await
}

/// A cluster without processes, and the address of the engine; `None` where this machine has none.
async fn bed_with_engine() -> Option<(ClusterTestBed, String)> {
    if !available() {
        return None;
    }
    let Ok(engine_url) = std::env::var(OPENSEARCH_VARIABLE) else {
        assert!(std::env::var_os("CI").is_none(), "{OPENSEARCH_VARIABLE} names no OpenSearch server");
        eprintln!("SKIPPED: {OPENSEARCH_VARIABLE} names no OpenSearch server");
        return None;
    };
    Some((ClusterTestBed::create(shared(), &[]).await, engine_url))
}

/// The index behind the alias that is searched.
async fn index_name(bed: &ClusterTestBed, engine: &ApiClient) -> String {
    let aliases = engine.get(&format!("/_alias/{}-search", bed.name)).await.expect(200);
    aliases.as_object().and_then(|indexes| indexes.keys().next()).expect("an index").clone()
}

/// Waits until exactly these comments are found, the newest first.
async fn expect_found(origin: &GailouProcess, expected: &[Value]) {
    let mut expected: Vec<&str> = expected.iter().map(id).collect();
    expected.reverse();
    let found = |page: &Value| -> Vec<String> {
        page["data"].as_array().map(|data| data.iter().map(|c| id(c).to_owned()).collect()).unwrap_or_default()
    };
    let answer = poll_until(|| origin.get(SEARCH_PATH), |answer| found(&answer.json) == expected).await;
    assert_eq!(found(&answer.json), expected, "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn index_that_is_lost_is_built_again_and_has_everything() {
    let Some((bed, engine_url)) = bed_with_engine().await else { return };
    let (origin, _job) = tokio::join!(start(&bed, "serve", &engine_url), start(&bed, "job", &engine_url));
    let post = async |n: u32| origin.post(&ann(), "article/searched", &format!("thunderclap {n}")).await;
    let mut posted = vec![post(1).await, post(2).await];
    expect_found(&origin, &posted).await;

    let engine = ApiClient::with_timeout(engine_url.clone(), Duration::from_secs(20));
    let index = index_name(&bed, &engine).await;
    engine.request(&format!("DELETE /{index}")).send().await.expect(200);
    posted.push(post(3).await);
    let answer = origin.get(SEARCH_PATH).await;
    assert!(answer.status == 503 || answer.status == 200, "{}", answer.text);
    expect_found(&origin, &posted).await;
    posted.push(post(4).await);
    expect_found(&origin, &posted).await;
    // An index that is asked for is built by the job, beside the one that answers.
    let index = index_name(&bed, &engine).await;
    let built = run_command(command(&bed, &["reindex"], &engine_url)).await;
    assert_eq!(built.code, Some(0), "{}{}", built.stdout, built.stderr);
    assert!(built.last_line().ends_with(" is built"), "{}", built.stdout);
    assert_ne!(index_name(&bed, &engine).await, index);
    expect_found(&origin, &posted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_post_waits_for_the_search_engine() {
    const POSTS: u32 = 30;
    let Some((bed, engine_url)) = bed_with_engine().await else { return };
    let port = engine_url.rsplit(':').next().and_then(|port| port.trim_end_matches('/').parse().ok()).expect("a port");
    let proxy = TcpProxy::start(port).await;
    let engine_url = format!("http://127.0.0.1:{}", proxy.port());
    let (origin, _job) = tokio::join!(start(&bed, "serve", &engine_url), start(&bed, "job", &engine_url));
    let mut posted = vec![];
    let mut slowest = [Duration::ZERO; 2];
    for (round, slowest) in slowest.iter_mut().enumerate() {
        if round == 1 {
            expect_found(&origin, &posted).await;
            proxy.hang();
        }
        for n in 0..POSTS {
            let begun = Instant::now();
            posted.push(origin.post(&ann(), "article/searched", &format!("thunderclap {round} {n}")).await);
            *slowest = begun.elapsed().max(*slowest);
        }
    }
    // The noise of a busy machine, and far less than a call to the engine may take.
    let [answered, hung] = slowest;
    assert!(hung <= (2 * answered).max(Duration::from_millis(500)), "{hung:?}, and {answered:?} while it answered");
    proxy.heal();
    expect_found(&origin, &posted).await;
}
