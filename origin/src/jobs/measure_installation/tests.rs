//! What is measured of an installation with a database, with and without a backup.

use super::*;
use crate::adapters::sqlite::SqliteStore;
use crate::telemetry::render;

#[tokio::test]
async fn last_backup_and_room_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("gailou.db"), Default::default()).unwrap();
    let (metrics, clock) = (InstallationMetrics::new(Some(folder.path().into())), Clock::from_fn(|| 90_000));
    let exported = || render(|| metrics.collect());
    assert!(!exported().contains("gailou_review_queue_comments"), "nothing is known yet");
    metrics.measure(&store, &clock).await;
    let text = exported();
    assert!(text.contains("gailou_review_queue_comments{part=\"held\"} 0\n"), "{text}");
    assert!(!text.contains("gailou_backup_age_seconds"), "there is no backup: {text}");
    let free = text.lines().find_map(|line| line.strip_prefix("gailou_data_free_bytes ")).unwrap();
    let size = text.lines().find_map(|line| line.strip_prefix("gailou_data_size_bytes ")).unwrap();
    assert!(0.0 < free.parse::<f64>().unwrap() && free.parse::<f64>().unwrap() <= size.parse::<f64>().unwrap());
    for (made_at, age) in [(30_000, "60"), (80_000, "10")] {
        store.store_backup_time(made_at).await.unwrap();
        metrics.measure(&store, &clock).await;
        assert!(exported().contains(&format!("gailou_backup_age_seconds {age}\n")), "{}", exported());
    }
}
