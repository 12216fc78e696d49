//! The keeper of a node lease, on databases that go away.

use std::collections::BTreeSet;

use async_trait::async_trait;
use gailou_shared::id::Slot;

use super::*;
use crate::ports::store::StoreError;

const NOW: u64 = 1_800_000_000_000;

/// Databases with one number each: the number of the database.
#[derive(Debug, Default)]
struct OneNumberEach {
    away: parking_lot::Mutex<BTreeSet<usize>>,
    taken: parking_lot::Mutex<BTreeSet<usize>>,
    released_at: parking_lot::Mutex<Option<u64>>,
}

impl OneNumberEach {
    fn check(&self, database: usize) -> Result<()> {
        let is_away = self.away.lock().contains(&database);
        if is_away { Err(StoreError::Unavailable("away".into())) } else { Ok(()) }
    }
}

#[async_trait]
impl NodeLeases for OneNumberEach {
    async fn take_node(&self, database: usize, holder: &str, _: u64, _: u64) -> Result<Option<LeasedNode>> {
        self.check(database)?;
        Ok(self.taken.lock().insert(database).then(|| LeasedNode {
            node: database as u64,
            database,
            holder: holder.to_owned(),
            after_ms: NOW + 50,
            expiries: vec![],
        }))
    }

    async fn renew_node(&self, leased: &mut LeasedNode, _: u64, _: u64) -> Result<bool> {
        self.check(leased.database)?;
        Ok(self.taken.lock().contains(&leased.database))
    }

    async fn release_node(&self, leased: &LeasedNode, last_ms: u64) -> Result<()> {
        self.taken.lock().remove(&leased.database);
        *self.released_at.lock() = Some(last_ms);
        Ok(())
    }
}

fn keeper(databases: usize) -> (Arc<OneNumberEach>, NodeLeaseKeeper) {
    let leases = Arc::<OneNumberEach>::default();
    (leases.clone(), NodeLeaseKeeper::new(leases, databases, Clock::from_fn(|| NOW)))
}

#[tokio::test]
async fn any_database_leases_while_another_is_away() {
    let (leases, keeper) = keeper(3);
    for _ in 0..3 {
        let held = keeper.renew_or_take(0).await.unwrap().unwrap().node;
        assert_eq!(keeper.renew_or_take(0).await.unwrap().unwrap().node, held, "renewed");
        *leases.away.lock() = BTreeSet::from([held as usize]);
        leases.taken.lock().clear();
        assert_ne!(keeper.renew_or_take(0).await.unwrap().unwrap().node, held);
    }
    leases.away.lock().extend(0..3);
    keeper.renew_or_take(0).await.unwrap_err();
    // The number it has goes on when its database is back.
    leases.away.lock().clear();
    assert!(keeper.renew_or_take(0).await.unwrap().is_some());
    // A number that was lost is replaced.
    let held = keeper.renew_or_take(0).await.unwrap().unwrap().node as usize;
    *leases.taken.lock() = (0..3).filter(|node| *node != held).collect();
    assert!(keeper.renew_or_take(0).await.unwrap().is_some());
    keeper.leased.lock().await.take();
    assert_eq!(keeper.renew_or_take(0).await.unwrap(), None, "all are taken");
}

#[tokio::test]
async fn lease_bounds_the_ids_by_what_is_stored() {
    let (leases, keeper) = keeper(1);
    let lease = keeper.renew_or_take(0).await.unwrap().unwrap();
    assert_eq!((lease.after_ms, lease.last_ms), (NOW + 50, NOW + 50 + NODE_LEASE_MS));
    let ids = IdGenerator::new(Some(lease), 0);
    let used_ms = ids.next(Slot::FIRST, NOW).unwrap().created_ms();
    assert_eq!(used_ms, NOW + 51, "after those of the former holder");
    let lease = keeper.renew_or_take(used_ms).await.unwrap().unwrap();
    assert_eq!((lease.after_ms, lease.last_ms), (NOW - 1, NOW + 51 + NODE_LEASE_MS));
    keeper.release(&ids).await;
    assert_eq!(*leases.released_at.lock(), Some(used_ms));
    assert!(ids.next(Slot::FIRST, NOW + 1_000).is_none());
}
