//! Reactions among the dead letters, in tables.

use crate::adapters::mysql::tests::write::{assert_reconciled, comment, like, logged, publish};
use crate::adapters::mysql::tests::{TestDatabases, key, member, move_slot};
use crate::domain::operation::{LoggedOperation, OperationOutcome};
use crate::domain::reaction_state::DeadReaction;
use crate::ports::store::{BatchWriter as _, Checkpoints as _, DeadReactions as _, Sharding as _};

#[tokio::test]
async fn dead_letter_is_outdated_when_its_pair_changes_and_moves_with_its_slot() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let (key, new) = (key(1), comment(1, &key(1), None));
    let (id, slot) = (new.path.id(), key.slot());
    store.persist(&[logged(0, publish(&new))]).await.unwrap();
    let database = store.database_of(slot);
    let dead = |position, member| DeadReaction { id, member, position };
    let members = [1, 2].map(member);
    for (position, member) in members.into_iter().enumerate() {
        let buried = logged(position as u64, like(id, member.get()));
        assert!(!store.is_outdated(dead(position as u64, member)).await.unwrap(), "it may be stored yet");
        store.skip_operation(&buried, database, &[]).await.unwrap();
        assert!(!store.is_outdated(dead(position as u64, member)).await.unwrap());
    }
    let outcomes = store.persist(&[logged(2, like(id, 1))]).await.unwrap().outcomes;
    assert!(matches!(outcomes[..], [OperationOutcome::Reacted { likes: 1, .. }]), "{outcomes:?}");
    assert!(store.is_outdated(dead(0, members[0])).await.unwrap());
    move_slot(&store, slot, 1 - database).await;
    assert!(!store.is_outdated(dead(1, members[1])).await.unwrap(), "the slot has moved with it");
    let again =
        |position, member, died_at| LoggedOperation { died_at: Some(died_at), ..logged(position, like(id, member)) };
    let outcomes = store.persist(&[again(3, 1, 0), again(4, 2, 1), again(5, 2, 1)]).await.unwrap().outcomes;
    assert!(
        matches!(
            outcomes[..],
            [OperationOutcome::Outdated, OperationOutcome::Reacted { likes: 2, .. }, OperationOutcome::Outdated]
        ),
        "{outcomes:?}"
    );
    assert!(store.is_outdated(dead(1, members[1])).await.unwrap());
    assert_reconciled(&store, &[key]).await;
    databases.drop_all().await;
}
