//! Reactions that become dead letters, and are sent again.

use gailou_shared::wire::Reaction;

use crate::domain::codec::operation::decode;
use crate::domain::operation::ReactionChange;
use crate::jobs::persist::tests::*;

#[tokio::test(start_paused = true)]
async fn letter_of_a_reaction_undoes_nothing_that_came_later() {
    let bed = PersistTestBed::new(1);
    let is_refused = Arc::new(AtomicBool::new(true));
    let refuses = is_refused.clone();
    bed.tables.fail_writes(move |batch| {
        let is_reaction = |logged: &LoggedOperation| matches!(logged.operation, Operation::React { .. });
        let refused = refuses.load(Ordering::Relaxed) && batch.iter().any(is_reaction);
        refused.then(|| (FaultPoint::Before, StoreError::Database("poison".into())))
    });
    bed.like(4, 1);
    bed.like(4, 2);
    let until = async |count: usize| {
        while bed.log.dead_letters().len() < count || bed.log.commits(Topic::Reactions).get(&0) != Some(&2) {
            sleep(Duration::from_millis(10)).await;
        }
    };
    bed.runs(until(2)).await;
    let letters: Vec<Vec<u8>> = bed.log.dead_letters().into_iter().map(|letter| letter.record.payload).collect();
    let died_at: Vec<_> = letters.iter().map(|bytes| decode(bytes).unwrap().died_at).collect();
    assert_eq!(died_at, [Some(0), Some(1)]);
    // One of the two takes the like back, which is not stored when the letters are sent again.
    is_refused.store(false, Ordering::Relaxed);
    let take = Operation::React { id: comment(4, 1), member: member(1), change: ReactionChange::Take(Reaction::Like) };
    bed.log.put(Topic::Reactions, 0, encode(&LoggedOperation::new(1, take)).unwrap());
    for letter in letters {
        bed.log.put(Topic::Reactions, 0, letter);
    }
    bed.runs(async {
        while bed.log.commits(Topic::Reactions).get(&0) != Some(&5) {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    let applied: Vec<_> = bed.tables.applied().iter().map(|logged| (logged.position, logged.died_at)).collect();
    assert_eq!(applied.last(), Some(&(Some(4), Some(1))), "{applied:?}");
    assert!(applied.contains(&(Some(2), None)) && !applied.contains(&(Some(3), Some(0))), "{applied:?}");
    assert_eq!(bed.tables.count_likes(comment(4, 1)), 1);
}
