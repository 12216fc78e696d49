//! The paging law: how a list is walked so that no comment is shown twice or left out.
//!
//! `new` and `old` go by floor, which never changes. Any other sort is a stored [`Snapshot`] of at most
//! [`limits::MAX_SNAPSHOT_IDS`] ranked ids, followed by all other listed comments by descending floor: so
//! each id has exactly one place in the walk, whatever is liked meanwhile. A comment that is published
//! after the walk began has a higher floor than any below the cursor, so it cannot appear twice either.
//! No IO here: [`ListWalk`] says which floors it needs and is fed them.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use sha2::{Digest, Sha256};

use crate::cursor::{SnapshotId, WalkPosition};
use crate::id::CommentId;
use crate::limits;
use crate::rank::{self, Sort};

/// The ranked part of a list at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    id: SnapshotId,
    ids: Vec<CommentId>,
    members: BTreeSet<CommentId>,
}

impl Snapshot {
    /// The snapshot of these comments and their keys: the best [`limits::MAX_SNAPSHOT_IDS`] of them,
    /// each once (of two keys for one id the better counts).
    #[must_use]
    pub fn rank(mut candidates: Vec<(i64, CommentId)>) -> Self {
        candidates.sort_unstable_by(|a, b| rank::compare_ranked(*a, *b));
        let mut seen = BTreeSet::new();
        candidates.retain(|(_, id)| seen.insert(*id));
        candidates.truncate(limits::MAX_SNAPSHOT_IDS);
        Self::from_ids(candidates.into_iter().map(|(_, id)| id).collect())
    }

    fn from_ids(ids: Vec<CommentId>) -> Self {
        let mut hasher = Sha256::new();
        for id in &ids {
            hasher.update(id.get().to_be_bytes());
        }
        let mut name = SnapshotId::default();
        name.iter_mut().zip(hasher.finalize()).for_each(|(to, from)| *to = from);
        Self { id: name, members: ids.iter().copied().collect(), ids }
    }

    /// Its name: a hash of its ids, so that the same ranking is stored once.
    #[must_use]
    pub const fn id(&self) -> SnapshotId {
        self.id
    }

    /// The ids, best first.
    #[must_use]
    pub fn ids(&self) -> &[CommentId] {
        &self.ids
    }

    /// The stored form: eight bytes for each id.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.ids.iter().flat_map(|id| id.get().to_be_bytes()).collect()
    }

    /// The snapshot in its stored form; `None` for anything else.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (numbers, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() || numbers.len() > limits::MAX_SNAPSHOT_IDS {
            return None;
        }
        let ids: Option<Vec<_>> = numbers.iter().map(|n| CommentId::new(u64::from_be_bytes(*n)).ok()).collect();
        ids.map(Self::from_ids)
    }
}

/// The rows that a walk needs next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkNeed {
    /// Nothing: the page is complete.
    Nothing,
    /// The next `count` listed comments by floor, after `beyond` (exclusive; `None`: from the start).
    Floors {
        /// Whether the lowest floor comes first.
        ascending: bool,
        /// The floor after which to continue, exclusive.
        beyond: Option<u64>,
        /// The number of comments.
        count: usize,
    },
}

/// One page of a walk.
#[derive(Debug)]
pub struct ListWalk<'s> {
    snapshot: Option<&'s Snapshot>,
    sort: Sort,
    limit: usize,
    /// The next place of the snapshot to return.
    place: usize,
    /// The last floor that was read.
    beyond: Option<u64>,
    /// The comments of the page; with their floor, where they are none of the snapshot's.
    page: Vec<(CommentId, Option<u64>)>,
    /// Whether more comments follow the page.
    more: bool,
    ended: bool,
}

/// Snapshot and cursor do not belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotMismatch;

impl<'s> ListWalk<'s> {
    /// The page of `limit` comments at `at` (`None`: the first). Ranked sorts need their snapshot.
    ///
    /// # Errors
    /// [`SnapshotMismatch`] when a ranked sort comes without its snapshot, with another than the cursor's,
    /// or with a position of another kind of list.
    pub fn new(
        sort: Sort,
        snapshot: Option<&'s Snapshot>,
        at: Option<WalkPosition>,
        limit: usize,
    ) -> Result<Self, SnapshotMismatch> {
        let snapshot = if sort.is_ranked() { Some(snapshot.ok_or(SnapshotMismatch)?) } else { None };
        let whole = snapshot.map_or(0, |s| s.ids.len());
        let named = |id: SnapshotId| snapshot.is_some_and(|s| s.id == id);
        let (place, beyond) = match at {
            None => (0, None),
            Some(WalkPosition::Snapshot(id, place)) if named(id) => (usize::from(place), None),
            Some(WalkPosition::Tail(id, floor)) if named(id) => (whole, (floor > 0).then_some(floor)),
            Some(WalkPosition::After(floor)) if snapshot.is_none() => (0, Some(floor)),
            Some(_) => return Err(SnapshotMismatch),
        };
        let mut walk =
            Self { snapshot, sort, limit, place, beyond, page: Vec::with_capacity(limit), more: false, ended: false };
        if let Some(snapshot) = snapshot {
            walk.page.extend(snapshot.ids.iter().skip(place).take(limit).map(|id| (*id, None)));
            walk.place = place + walk.page.len();
            walk.more = walk.place < whole;
        }
        Ok(walk)
    }

    /// What must be read before [`ListWalk::finish`].
    #[must_use]
    pub fn need(&self) -> WalkNeed {
        if self.more || self.ended {
            return WalkNeed::Nothing;
        }
        // One row more than fits shows whether another page follows.
        let count = self.limit + 1 - self.page.len();
        WalkNeed::Floors { ascending: self.sort == Sort::Old, beyond: self.beyond, count }
    }

    /// Feeds the rows that [`ListWalk::need`] asked for, in its order. Fewer rows than that mean the end.
    pub fn feed(&mut self, asked: usize, rows: &[(u64, CommentId)]) {
        for (floor, id) in rows {
            if self.snapshot.is_some_and(|s| s.members.contains(id)) {
                self.beyond = Some(*floor);
            } else if self.page.len() < self.limit {
                self.beyond = Some(*floor);
                self.page.push((*id, Some(*floor)));
            } else {
                self.more = true;
                return;
            }
        }
        self.ended = rows.len() < asked;
    }

    /// The page.
    #[must_use]
    pub fn finish(self) -> WalkedPage {
        let begin = self.place - self.page.iter().filter(|(_, floor)| floor.is_none()).count();
        let position = |place: usize, beyond: Option<u64>| match self.snapshot {
            Some(s) if place < s.ids.len() => WalkPosition::Snapshot(s.id, place as u16),
            Some(s) => WalkPosition::Tail(s.id, beyond.unwrap_or(0)),
            None => WalkPosition::After(beyond.unwrap_or(0)),
        };
        let mut after: Vec<_> = self
            .page
            .iter()
            .enumerate()
            .map(|(n, (_, floor))| position(if floor.is_none() { begin + n + 1 } else { self.place }, *floor))
            .collect();
        if let Some(last) = after.last_mut() {
            // Floors of the snapshot's comments were read beyond the page's last one.
            *last = position(self.place, self.beyond);
        }
        WalkedPage { ids: self.page.iter().map(|(id, _)| *id).collect(), after, more: self.more }
    }
}

/// The comments of one page of a walk, and the places where it may end.
#[derive(Debug)]
pub struct WalkedPage {
    ids: Vec<CommentId>,
    /// The position behind each comment.
    after: Vec<WalkPosition>,
    more: bool,
}

impl WalkedPage {
    /// The ids of the page, in its order.
    #[must_use]
    pub fn ids(&self) -> &[CommentId] {
        &self.ids
    }

    /// Where the next page begins when this one ends after its first `shown` comments; `None` at the end
    /// of the list. A page that ends before its first comment would never get anywhere: at least one is
    /// shown.
    #[must_use]
    pub fn next_after(&self, shown: usize) -> Option<WalkPosition> {
        let shown = shown.clamp(1, self.ids.len().max(1));
        let is_followed = shown < self.ids.len() || self.more;
        if is_followed { self.after.get(shown - 1).copied() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::{Cursor, CursorKey, CursorList};
    use crate::id::SubjectKey;
    use crate::rank::{EngagementCounts, HotWeights};
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    #[derive(Debug, Clone)]
    enum Change {
        Post,
        Hold,
        Approve(prop::sample::Index),
        Like(prop::sample::Index, u64),
        Delete(prop::sample::Index),
        Restore(prop::sample::Index),
        Pin(prop::sample::Index),
        /// The process dies: what was not stored is gone.
        Restart,
        /// The reader asks for the next page.
        Read,
    }

    fn change() -> impl Strategy<Value = Change> {
        let i = any::<prop::sample::Index>;
        prop_oneof![
            2 => Just(Change::Post),
            1 => Just(Change::Hold),
            1 => i().prop_map(Change::Approve),
            4 => (i(), 0u64..30).prop_map(|(i, n)| Change::Like(i, n)),
            1 => i().prop_map(Change::Delete),
            1 => i().prop_map(Change::Restore),
            1 => i().prop_map(Change::Pin),
            1 => Just(Change::Restart),
            3 => Just(Change::Read),
        ]
    }

    #[derive(Debug, Clone, Copy)]
    struct Row {
        floor: Option<u64>,
        deleted: bool,
        pinned: bool,
        counts: EngagementCounts,
    }

    impl Row {
        fn visible(&self) -> bool {
            self.floor.is_some() && !self.deleted
        }
    }

    /// A list with what a database would hold, and nothing else.
    #[derive(Default)]
    struct Model {
        rows: BTreeMap<CommentId, Row>,
        floors: u64,
        stored: BTreeMap<SnapshotId, Vec<u8>>,
    }

    impl Model {
        fn apply(&mut self, change: &Change) {
            let pick = |rows: &BTreeMap<CommentId, Row>, i: &prop::sample::Index| {
                (!rows.is_empty()).then(|| *rows.keys().nth(i.index(rows.len())).unwrap())
            };
            match change {
                Change::Post | Change::Hold => {
                    let id = CommentId::new(self.rows.len() as u64 * 3 + 1).unwrap();
                    let floor = matches!(change, Change::Post).then(|| {
                        self.floors += 1;
                        self.floors
                    });
                    self.rows
                        .insert(id, Row { floor, deleted: false, pinned: false, counts: EngagementCounts::default() });
                }
                Change::Approve(i) => {
                    if let Some(row) = pick(&self.rows, i).and_then(|id| self.rows.get_mut(&id))
                        && row.floor.is_none()
                    {
                        self.floors += 1;
                        row.floor = Some(self.floors);
                    }
                }
                Change::Like(i, n) => {
                    if let Some(row) = pick(&self.rows, i).and_then(|id| self.rows.get_mut(&id)) {
                        row.counts = EngagementCounts { likes: *n, dislikes: n / 3, replies: n % 4 };
                    }
                }
                Change::Delete(i) | Change::Restore(i) => {
                    if let Some(row) = pick(&self.rows, i).and_then(|id| self.rows.get_mut(&id)) {
                        row.deleted = matches!(change, Change::Delete(_));
                    }
                }
                Change::Pin(i) => {
                    if let Some(row) = pick(&self.rows, i).and_then(|id| self.rows.get_mut(&id)) {
                        row.pinned = !row.pinned;
                    }
                }
                Change::Restart | Change::Read => {}
            }
        }

        fn floors(&self, ascending: bool, beyond: Option<u64>, count: usize) -> Vec<(u64, CommentId)> {
            let mut rows: Vec<_> =
                self.rows.iter().filter(|(_, r)| r.visible()).map(|(id, r)| (r.floor.unwrap(), *id)).collect();
            rows.sort_unstable();
            if !ascending {
                rows.reverse();
            }
            rows.retain(|(f, _)| beyond.is_none_or(|b| if ascending { *f > b } else { *f < b }));
            rows.truncate(count);
            rows
        }

        /// One request, as a server with empty memory answers it. At most `shown` of the `limit` comments
        /// fit into the answer.
        fn page(
            &mut self,
            sort: Sort,
            cursor: Option<&str>,
            (limit, shown): (usize, usize),
            ranked_rows: usize,
        ) -> (Vec<CommentId>, Option<String>) {
            let key = CursorKey::new(b"k");
            let list = CursorList::roots(&SubjectKey::new("video", "2").unwrap());
            let at = cursor.map(|text| key.decode(text).unwrap().at);
            let snapshot = match at {
                Some(WalkPosition::Snapshot(id, _) | WalkPosition::Tail(id, _)) => {
                    Snapshot::from_bytes(&self.stored[&id])
                }
                _ => sort.is_ranked().then(|| {
                    let keyed = self
                        .rows
                        .iter()
                        .filter(|(_, r)| r.visible())
                        .map(|(id, r)| (rank::sort_key(sort, r.counts, id.get(), &HotWeights::default()), *id));
                    let mut keyed: Vec<_> = keyed.collect();
                    keyed.sort_unstable_by(|a, b| rank::compare_ranked(*a, *b));
                    keyed.truncate(ranked_rows);
                    let snapshot = Snapshot::rank(keyed);
                    self.stored.insert(snapshot.id(), snapshot.to_bytes());
                    snapshot
                }),
            };
            let mut walk = ListWalk::new(sort, snapshot.as_ref(), at, limit).unwrap();
            while let WalkNeed::Floors { ascending, beyond, count } = walk.need() {
                walk.feed(count, &self.floors(ascending, beyond, count));
            }
            let page = walk.finish();
            assert!(page.ids().len() <= limit);
            let shown = shown.min(page.ids().len());
            let visible = page.ids()[..shown].iter().copied().filter(|id| self.rows[id].visible()).collect();
            (visible, page.next_after(shown).map(|at| key.encode(&Cursor { list, sort, epoch: 1, at })))
        }
    }

    use alloc::string::String;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

        #[test]
        fn every_comment_of_the_epoch_that_stays_is_shown_exactly_once(
            before in prop::collection::vec(change(), 0..80),
            during in prop::collection::vec(change(), 0..80),
            sort in prop::sample::select(Sort::ALL),
            limit in 1usize..9,
            shown in 1usize..12,
            ranked_rows in 0usize..40,
        ) {
            let limit = (limit, shown);
            let mut model = Model::default();
            before.iter().for_each(|c| model.apply(c));
            let mut stays: BTreeSet<CommentId> =
                model.rows.iter().filter(|(_, r)| r.visible()).map(|(id, _)| *id).collect();
            let (mut shown, mut cursor) = model.page(sort, None, limit, ranked_rows);
            for c in &during {
                model.apply(c);
                stays.retain(|id| model.rows[id].visible());
                if let (Change::Read, Some(at)) = (c, &cursor) {
                    let (page, next) = model.page(sort, Some(at), limit, ranked_rows);
                    shown.extend(page);
                    cursor = next;
                }
            }
            while let Some(at) = cursor {
                let (page, next) = model.page(sort, Some(&at), limit, ranked_rows);
                shown.extend(page);
                cursor = next;
            }
            let once: BTreeSet<CommentId> = shown.iter().copied().collect();
            prop_assert_eq!(once.len(), shown.len(), "shown twice");
            prop_assert!(stays.is_subset(&once), "left out: {:?}", stays.difference(&once));
        }

        #[test]
        fn snapshot_decodes_to_itself(numbers in prop::collection::vec((any::<i64>(), 1u64..1 << 62), 0..1_200)) {
            let snapshot = Snapshot::rank(numbers.into_iter().map(|(k, n)| (k, CommentId::new(n).unwrap())).collect());
            prop_assert!(snapshot.ids().len() <= limits::MAX_SNAPSHOT_IDS);
            prop_assert_eq!(Snapshot::from_bytes(&snapshot.to_bytes()), Some(snapshot));
        }
    }
}
