//! A trace through the processes of a cluster.

use gailou_tests::backing_servers::{available, shared};
use gailou_tests::{GailouProcess, TraceReceiver, ann, comments_path};
use serde_json::json;

use crate::test_bed::ClusterTestBed;

#[tokio::test(flavor = "multi_thread")]
async fn one_trace_leads_from_a_request_through_the_broker_to_its_row() {
    if !available() {
        return;
    }
    let (bed, collector) = (ClusterTestBed::create(shared(), &[]).await, TraceReceiver::start().await);
    let start = async |role: &str| {
        let mut command = bed.command(&[role, "--bind", "127.0.0.1:0"]);
        command.env("GAILOU_TELEMETRY__OTLP_URL", &collector.url).env("GAILOU_TELEMETRY__TRACE_ONE_IN", "1");
        command.env("OTEL_BSP_SCHEDULE_DELAY", "100");
        GailouProcess::spawn_logging(command, bed.log_file(role)).await
    };
    let (origin, _job) = tokio::join!(start("serve"), start("job"));
    let post = origin.request(&format!("POST {}", comments_path("article/traced"))).by(&ann());
    let posted = post.json(&json!({"content": "text"})).send().await;
    assert_eq!(posted.status, 201, "{}", posted.text);
    let trace = posted.header("x-request-id");
    collector.trace_with(trace, "POST /v1/subjects/{type}/{key}/comments").await;
    let spans = collector.trace_with(trace, "row").await;
    let named =
        |name: &str| spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name}: {spans:#?}"));
    let request = named("POST /v1/subjects/{type}/{key}/comments");
    assert_eq!(named("kafka append_record").parent, request.id);
    let row = named("row");
    assert_eq!(row.parent, request.id);
    let batch = collector.trace_with(&row.links[0], "persist batch").await;
    assert!(batch.iter().any(|span| span.links == [trace]), "{batch:#?}");
    assert!(batch.iter().any(|span| span.name == "mysql persist"), "{batch:#?}");
}
