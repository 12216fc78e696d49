//! Logs that are not what the tables remember.

use super::*;

/// Runs the loops until they refuse to go on; why.
async fn refusal(bed: &PersistTestBed) -> String {
    let error = run(bed.job.clone(), CancellationToken::new()).await.unwrap_err();
    assert_eq!(bed.tables.count_likes(comment(4, 1)), 20, "nothing more was stored");
    assert!(bed.log.dead_letters().is_empty());
    format!("{error:#}")
}

#[tokio::test(start_paused = true)]
async fn recreated_topic_stops_the_process() {
    let bed = PersistTestBed::new(2);
    store_twenty_likes(&bed).await;
    bed.log.recreate(Topic::Reactions);
    bed.like(4, 21);
    let error = refusal(&bed).await;
    assert!(
        error.contains("partition 0 of topic reactions ends at 1, but the tables have applied it up to 20"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn recreated_topic_is_known_however_long_it_is() {
    let bed = PersistTestBed::new(2);
    store_twenty_likes(&bed).await;
    bed.log.recreate(Topic::Reactions);
    (101..=160).for_each(|by| _ = bed.like(4, by));
    let error = refusal(&bed).await;
    assert!(error.contains("partition 0 of topic reactions holds another record at 19"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn truncated_topic_is_known_after_it_was_filled_again() {
    let bed = PersistTestBed::new(2);
    store_twenty_likes(&bed).await;
    bed.log.truncate(Topic::Reactions, 0, 17);
    (101..=110).for_each(|by| _ = bed.like(4, by));
    let error = refusal(&bed).await;
    assert!(error.contains("holds another record at 19"), "{error}");
}

/// The batch has the last record first, because it is of the lower slot.
#[tokio::test(start_paused = true)]
async fn last_record_of_a_batch_of_two_slots_is_known() {
    let bed = PersistTestBed::new(1);
    [(8, 1), (8, 2), (4, 1)].into_iter().for_each(|(slot, by)| _ = bed.like(slot, by));
    bed.runs(until_committed(&bed, 3)).await;
    bed.log.truncate(Topic::Reactions, 0, 2);
    bed.like(4, 9);
    let error = run(bed.job.clone(), CancellationToken::new()).await.unwrap_err();
    assert!(format!("{error:#}").contains("holds another record at 2"), "{error:#}");
}

/// The first record of the partition is not stored yet, so the checkpoint stays before it.
#[tokio::test(start_paused = true)]
async fn record_that_is_stored_beyond_the_checkpoint_is_known() {
    let bed = PersistTestBed::new(1);
    [(4, 1), (8, 1), (8, 2), (8, 3)].into_iter().for_each(|(slot, by)| _ = bed.like(slot, by));
    bed.tables.fail_writes(|batch| {
        let is_first = batch.iter().any(|operation| operation.position == Some(0));
        is_first.then(|| (FaultPoint::Before, StoreError::Moved))
    });
    bed.runs(bed.until_liked(&[8], 3)).await;
    bed.log.truncate(Topic::Reactions, 0, 2);
    (101..=105).for_each(|by| _ = bed.like(8, by));
    let refused = tokio::time::timeout(Duration::from_secs(60), run(bed.job.clone(), CancellationToken::new())).await;
    let error = refused.expect("it is noticed").unwrap_err();
    assert!(format!("{error:#}").contains("holds another record at 3"), "{error:#}");
}

/// The partition is compared while records of the former log are on their way to the database.
#[tokio::test(start_paused = true)]
async fn record_of_the_former_log_that_is_stored_later_is_known() {
    let bed = PersistTestBed::new(1);
    (1..=3).for_each(|by| _ = bed.like(8, by));
    bed.tables.delay_writes(Duration::from_secs(3));
    let loops = tokio::spawn(run(bed.job.clone(), CancellationToken::new()));
    sleep(Duration::from_secs(2)).await;
    bed.log.truncate(Topic::Reactions, 0, 1);
    (101..=105).for_each(|by| _ = bed.like(8, by));
    bed.log.lose_connections();
    let refused = tokio::time::timeout(Duration::from_secs(60), loops).await;
    let error = refused.expect("it is noticed").unwrap().unwrap_err();
    assert!(format!("{error:#}").contains("holds another record at 2"), "{error:#}");
}

#[tokio::test(start_paused = true)]
async fn records_that_were_deleted_before_they_were_stored_stop_the_process() {
    let bed = PersistTestBed::new(2);
    store_twenty_likes(&bed).await;
    (21..=40).for_each(|by| _ = bed.like(4, by));
    bed.log.delete_before(Topic::Reactions, 0, 30);
    let error = refusal(&bed).await;
    assert!(error.contains("begins at 30, but database 0 has applied it up to 20 only"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn deletion_of_stored_records_changes_nothing() {
    let bed = PersistTestBed::new(2);
    store_twenty_likes(&bed).await;
    bed.log.delete_before(Topic::Reactions, 0, 20);
    bed.log.forget_commits();
    bed.like(4, 21);
    bed.runs(bed.until_liked(&[4], 21)).await;
    assert_eq!(bed.metric(|counts| &counts.replayed), 0);
}

#[tokio::test(start_paused = true)]
async fn topic_recreated_while_it_is_read_stops_the_process() {
    let bed = PersistTestBed::new(1);
    for by in 1..=20 {
        bed.like(4, by);
    }
    let loops = tokio::spawn(run(bed.job.clone(), CancellationToken::new()));
    bed.until_liked(&[4], 20).await;
    sleep(Duration::from_secs(2)).await;
    bed.log.recreate(Topic::Reactions);
    bed.like(4, 21);
    let error = loops.await.unwrap().unwrap_err();
    assert!(format!("{error:#}").contains("ends at 1, but the tables have applied it up to 20"), "{error:#}");
}
