//! Collects the comments with the largest ids.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tantivy::collector::{Collector, SegmentCollector};
use tantivy::columnar::Column;
use tantivy::{DocId, Score, SegmentOrdinal, SegmentReader};

use crate::adapters::tantivy::schema::{CREATED_COLUMN, ID_COLUMN, VISIBLE_COLUMN};
use crate::domain::search_index::SearchFilter;

/// The comments with the largest ids, of those that a query finds and whose columns fit.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewestIds {
    count: usize,
    visible_only: bool,
    /// From this time on, and before that one.
    written: Option<(u64, u64)>,
    below: u64,
}

impl NewestIds {
    pub(super) fn new(filter: &SearchFilter, count: usize) -> Self {
        let bounds = (filter.from.unwrap_or(0), filter.to.unwrap_or(u64::MAX));
        Self {
            count,
            visible_only: filter.visible_only,
            written: (bounds != (0, u64::MAX)).then_some(bounds),
            below: filter.below.map_or(u64::MAX, |id| id.get()),
        }
    }
}

/// The same of one segment.
pub(super) struct SegmentNewestIds {
    wanted: NewestIds,
    ids: Column<u64>,
    visible: Column<u64>,
    created_at: Column<u64>,
    /// The smallest id is on top.
    found: BinaryHeap<Reverse<u64>>,
}

impl Collector for NewestIds {
    type Fruit = Vec<u64>;
    type Child = SegmentNewestIds;

    fn for_segment(&self, _: SegmentOrdinal, segment: &SegmentReader) -> tantivy::Result<SegmentNewestIds> {
        let columns = segment.fast_fields();
        Ok(SegmentNewestIds {
            wanted: *self,
            ids: columns.u64(ID_COLUMN)?,
            visible: columns.u64(VISIBLE_COLUMN)?,
            created_at: columns.u64(CREATED_COLUMN)?,
            found: BinaryHeap::with_capacity(self.count + 1),
        })
    }

    fn requires_scoring(&self) -> bool {
        false
    }

    fn merge_fruits(&self, segments: Vec<Vec<u64>>) -> tantivy::Result<Vec<u64>> {
        let mut ids: Vec<u64> = segments.into_iter().flatten().collect();
        ids.sort_unstable_by_key(|id| Reverse(*id));
        ids.truncate(self.count);
        Ok(ids)
    }
}

impl SegmentCollector for SegmentNewestIds {
    type Fruit = Vec<u64>;

    fn collect(&mut self, doc: DocId, _: Score) {
        let Some(id) = self.ids.first(doc) else { return };
        let smallest = if self.found.len() < self.wanted.count { None } else { self.found.peek() };
        if id >= self.wanted.below || smallest.is_some_and(|Reverse(smallest)| id <= *smallest) {
            return;
        }
        if self.wanted.visible_only && self.visible.first(doc) != Some(1) {
            return;
        }
        if let Some((from, to)) = self.wanted.written
            && !self.created_at.first(doc).is_some_and(|at| (from..to).contains(&at))
        {
            return;
        }
        self.found.push(Reverse(id));
        if self.found.len() > self.wanted.count {
            self.found.pop();
        }
    }

    fn harvest(self) -> Vec<u64> {
        self.found.into_iter().map(|Reverse(id)| id).collect()
    }
}
