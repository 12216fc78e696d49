//! Which slots to move so that databases have as many slots each. Pure.

use std::cmp::Reverse;

use gailou_shared::id::Slot;

/// A slot, the database that has it, and the database that it moves to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotMove {
    pub slot: Slot,
    pub from: usize,
    pub to: usize,
}

/// The fewest moves after which the first `databases` have as many slots each, give or take one, and
/// the others none. `owners` is the database of each slot.
pub(super) fn plan_even_moves(owners: &[usize], databases: usize) -> Vec<SlotMove> {
    let shards = owners.iter().copied().max().map_or(0, |last| last + 1).max(databases);
    let mut held = vec![0; shards];
    for owner in owners {
        held[*owner] += 1;
    }
    // The remainder stays with the databases that have most slots already.
    let mut by_held: Vec<usize> = (0..databases).collect();
    by_held.sort_by_key(|shard| (Reverse(held[*shard]), *shard));
    let mut due = vec![0; shards];
    for (rank, shard) in by_held.into_iter().enumerate() {
        due[shard] = owners.len() / databases + usize::from(rank < owners.len() % databases);
    }
    let mut moves = Vec::new();
    let mut to = 0;
    for (slot, from) in owners.iter().copied().enumerate().rev() {
        if held[from] <= due[from] {
            continue;
        }
        while held[to] >= due[to] {
            to += 1;
        }
        held[from] -= 1;
        held[to] += 1;
        moves.extend(Slot::new(slot as u16).map(|slot| SlotMove { slot, from, to }));
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_distribution_takes_the_fewest_moves() {
        let check = |before: &[usize], databases: usize, expected: usize| {
            let mut owners: Vec<usize> =
                before.iter().enumerate().flat_map(|(shard, count)| vec![shard; *count]).collect();
            let moves = plan_even_moves(&owners, databases);
            assert_eq!(moves.len(), expected, "{before:?} in {databases}");
            for m in &moves {
                assert_eq!(owners[usize::from(m.slot.get())], m.from);
                owners[usize::from(m.slot.get())] = m.to;
            }
            let held = |shard| owners.iter().filter(|owner| **owner == shard).count();
            let all: Vec<usize> = (0..databases).map(held).collect();
            assert_eq!(all.iter().sum::<usize>(), owners.len());
            assert!(all.iter().max().unwrap() - all.iter().min().unwrap() <= 1, "{all:?}");
            assert_eq!(plan_even_moves(&owners, databases), []);
        };
        check(&[1_024], 1, 0);
        check(&[1_024], 2, 512);
        check(&[512, 512], 3, 341);
        check(&[341, 342, 341], 2, 341);
        check(&[300, 700, 24, 0], 4, 44 + 444);
    }
}
