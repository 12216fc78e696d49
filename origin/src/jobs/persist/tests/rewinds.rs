//! Databases that go back.

use super::*;
use crate::ports::store::Checkpoints as _;

#[tokio::test(start_paused = true)]
async fn database_that_has_gone_back_is_filled_again_while_the_job_runs() {
    let bed = PersistTestBed::new(2);
    let like_both = |by| [4, 604].map(|slot| bed.like(slot, by));
    (1..=20).for_each(|by| _ = like_both(by));
    bed.runs(async {
        bed.until_liked(&[4, 604], 20).await;
        let copy = bed.tables.copy();
        (21..=40).for_each(|by| _ = like_both(by));
        bed.until_liked(&[4, 604], 40).await;
        until_committed(&bed, 80).await;
        bed.tables.rewind(1, &copy);
        assert_eq!([4, 604].map(|slot| bed.tables.count_likes(comment(slot, 1))), [40, 20]);
        // Without any new record, and after one.
        bed.until_liked(&[4, 604], 40).await;
        bed.tables.rewind(0, &copy);
        like_both(41);
        bed.until_liked(&[4, 604], 41).await;
    })
    .await;
    assert_eq!((bed.log.dead_letters().len(), bed.tables.passed_rewinds()), (0, vec![1, 0]));
}

#[tokio::test(start_paused = true)]
async fn comments_of_other_databases_owe_their_histories_again_to_one_that_has_gone_back() {
    for was_running in [true, false] {
        let bed = PersistTestBed::new(2);
        let put = |sequence| {
            let new = publish(&subject_in(4), comment(4, sequence));
            bed.log.put(Topic::Comments, 0, encode(&new).unwrap())
        };
        let until_replayed = async |count: u64| {
            for _ in 0..6_000 {
                sleep(Duration::from_millis(10)).await;
                if bed.job.metrics.comments.replayed.load(Ordering::Relaxed) >= count {
                    return;
                }
            }
            panic!("they were not read again");
        };
        let begin = async || {
            put(0);
            sleep(Duration::from_secs(2)).await;
            let copy = bed.tables.copy();
            (1..=9).for_each(|sequence| _ = put(sequence));
            until_committed_of(&bed, Topic::Comments, 10).await;
            copy
        };
        if was_running {
            bed.runs(async {
                let copy = begin().await;
                bed.tables.rewind(1, &copy);
                until_replayed(10).await;
            })
            .await;
        } else {
            let copy = bed.runs(begin()).await;
            bed.tables.rewind(1, &copy);
            bed.runs(until_replayed(10)).await;
        }
        assert_eq!(bed.tables.applied().len(), 10);
    }
}

#[tokio::test(start_paused = true)]
async fn database_that_went_back_while_no_job_ran_is_filled_again() {
    let bed = PersistTestBed::new(2);
    (1..=20).for_each(|by| _ = [4, 604].map(|slot| bed.like(slot, by)));
    bed.runs(bed.until_liked(&[4, 604], 20)).await;
    let copy = bed.tables.copy();
    (21..=40).for_each(|by| _ = [4, 604].map(|slot| bed.like(slot, by)));
    bed.runs(async {
        bed.until_liked(&[4, 604], 40).await;
        until_committed(&bed, 80).await;
    })
    .await;
    bed.tables.rewind(1, &copy);
    bed.runs(bed.until_liked(&[4, 604], 40)).await;
}

/// Slots that came to it before the job began explain nothing.
#[tokio::test(start_paused = true)]
async fn database_that_was_away_when_the_job_began_has_gone_back_where_it_lacks_what_is_committed() {
    let bed = PersistTestBed::new(2);
    let like_both = |by| [4, 604].map(|slot| bed.like(slot, by));
    bed.tables.reset_checkpoint(1, OperationStream::Reactions, 0, 0).await.unwrap();
    (1..=20).for_each(|by| _ = like_both(by));
    bed.runs(bed.until_liked(&[4, 604], 20)).await;
    let copy = bed.tables.copy();
    (21..=40).for_each(|by| _ = like_both(by));
    bed.runs(async {
        bed.until_liked(&[4, 604], 40).await;
        until_committed(&bed, 80).await;
    })
    .await;
    bed.tables.rewind(1, &copy);
    bed.tables.take_down(1);
    bed.runs(async {
        bed.like(4, 41);
        bed.until_liked(&[4], 41).await;
        bed.tables.heal();
        bed.until_liked(&[604], 40).await;
    })
    .await;
    assert_eq!(bed.tables.passed_rewinds(), [1]);
}

#[tokio::test(start_paused = true)]
async fn database_to_which_a_slot_came_has_not_gone_back() {
    let bed = PersistTestBed::new(2);
    let like_both = |by| [4, 604].map(|slot| bed.like(slot, by));
    (1..=20).for_each(|by| _ = like_both(by));
    bed.runs(async {
        bed.until_liked(&[4, 604], 20).await;
        sleep(Duration::from_secs(2)).await;
        // As a move does it.
        bed.tables.reset_checkpoint(1, OperationStream::Reactions, 0, 7).await.unwrap();
        like_both(21);
        bed.until_liked(&[4, 604], 21).await;
        until_committed(&bed, 42).await;
    })
    .await;
    assert_eq!((bed.log.dead_letters().len(), bed.tables.passed_rewinds()), (0, vec![]));
}
