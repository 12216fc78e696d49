//! What is to be written of a part: its comments with their ids, where they stand, and in which order.
//!
//! Promise: memory holds about a hundred bytes for each comment, and the texts of a thousand at a time.

use gailou_shared::id::{CommentId, Slot, SubjectKey};
use gailou_shared::path::{Path, Threading};

use crate::domain::import_line::ImportLine;
use crate::service::import::ids::ImportIds;
use crate::service::import::parents::{self, ParentNode, ThreadLines, ThreadPosition};
use crate::service::import::part_lines::{PartLines, u32_of};
use crate::service::import::stored::{self, StoredComments};
use crate::service::import::{ImportObserver, ImportReport, Result};
use crate::state::AppState;

/// Ids that are allocated at a time, and lines that are read at a time to name them.
const LINES_PER_BATCH: usize = 1_000;

/// A part that is ready to be written.
#[derive(Debug)]
pub(super) struct PreparedPart {
    pub(super) comments: PartLines,
    pub(super) positions: Vec<ThreadPosition>,
    /// Those of the lines.
    pub(super) ids: Vec<CommentId>,
    /// The indexes of the lines that are written, in the order of writing.
    pub(super) order: Vec<u32>,
    /// The comments of the store that lines reply to.
    pub(super) stored: StoredComments,
}

impl PreparedPart {
    /// Finds out where the comments of a part stand. Those that the store has are skipped, and lines that cannot be written
    /// are named. `now`: Unix milliseconds.
    pub(super) async fn new(
        app: &AppState,
        mut comments: PartLines,
        now: u64,
        report: &mut ImportReport,
        observer: &mut dyn ImportObserver,
    ) -> Result<Self> {
        let (skipped, stored) = stored::drop_stored(&*app.store, &*app.tables, &mut comments).await?;
        report.skipped += skipped;
        // The types were checked when the lines were read.
        let threadings: Vec<Threading> =
            comments.subjects.iter().filter_map(|subject| app.threading(subject.kind())).collect();
        let positions = parents::resolve_parents(ThreadLines {
            lines: &comments.lines,
            keys: &comments.keys,
            by_id: &comments.by_id,
            threadings: &threadings,
            stored: &stored,
        });
        name_unplaced(&comments, &positions, report, observer).await?;
        comments.forget_keys();
        let order = parents::write_order(&comments.lines, &positions);
        // Slots are those of this part alone, so no other part issues these ids.
        let ids = allocate_ids(app, &comments, &mut ImportIds::new(now)).await?;
        Ok(Self { comments, positions, ids, order, stored })
    }

    /// The id of a comment that another one replies to.
    pub(super) fn id_of(&self, node: ParentNode) -> CommentId {
        match node {
            ParentNode::Line(index) => self.ids[index as usize],
            ParentNode::Stored(index) => self.stored.id(index),
        }
    }

    /// The path of a line.
    pub(super) fn path_of(&self, index: u32) -> Path {
        parents::path_of(index, &self.positions, &self.ids, &self.stored)
    }
}

/// Names the lines whose parent and root are missing.
async fn name_unplaced(
    comments: &PartLines,
    positions: &[ThreadPosition],
    report: &mut ImportReport,
    observer: &mut dyn ImportObserver,
) -> Result<()> {
    let indexes = 0..u32_of(positions.len());
    let unplaced: Vec<u32> = indexes.filter(|index| !positions[*index as usize].is_resolved()).collect();
    for batch in unplaced.chunks(LINES_PER_BATCH) {
        for (index, line) in batch.iter().zip(comments.read_comments(batch).await?) {
            let ImportLine { parent, root, .. } = line;
            let quoted = |id: Option<String>| id.map_or("none".into(), |id| format!("{id:?}"));
            let (parent, root) = (quoted(parent), quoted(root));
            let reason = format!("neither its parent ({parent}) nor its root ({root}) is in the file or in the store");
            report.add_bad_line(comments.lines[*index as usize].number, &reason, observer).await?;
        }
    }
    Ok(())
}

/// An id for each line, in the order of the lines; they are allocated in the order of time.
async fn allocate_ids(app: &AppState, comments: &PartLines, ids: &mut ImportIds) -> Result<Vec<CommentId>> {
    let lines = &comments.lines;
    let mut by_time: Vec<u32> = (0..u32_of(lines.len())).collect();
    by_time.sort_unstable_by_key(|index| (lines[*index as usize].created_at, *index));
    let slots: Vec<_> = comments.subjects.iter().map(SubjectKey::slot).collect();
    let mut allocated = vec![CommentId::from_parts(0, Slot::FIRST, 0, 0); lines.len()];
    for batch in by_time.chunks(LINES_PER_BATCH) {
        let wanted: Vec<_> = batch
            .iter()
            .map(|index| &lines[*index as usize])
            .map(|line| (slots[line.subject as usize], line.created_at))
            .collect();
        let issued = stored::allocate_ids(&*app.store, ids, &wanted).await?;
        for (index, id) in batch.iter().zip(issued) {
            allocated[*index as usize] = id;
        }
    }
    Ok(allocated)
}
