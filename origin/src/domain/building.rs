//! How the chain below a comment is drawn as a building (盖楼): which floors, and which stands inside which.
//!
//! The newest floor is the outermost frame, each older one is inside the next, and what is older than the frames
//! reach is rows of the innermost. Pure. Not here: markup, and the element's own account of the same rules
//! (`edge/web/src/building/frames.ts`).

use gailou_shared::id::CommentId;

/// Floors shown from the ground up.
const BOTTOM_FLOORS: usize = 2;
/// Floors shown directly below the comment.
const TOP_FLOORS: usize = 3;
/// Frames inside each other.
const MAX_FRAMES: usize = 5;

/// What a frame has in a line of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrameRow<T> {
    /// A floor with its number, from 1 at the ground.
    Floor(usize, T),
    /// So many floors that are not drawn.
    Gap(usize),
}

/// A floor, around everything that is older.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame<T> {
    /// What is older.
    pub inside: Option<Box<Frame<T>>>,
    /// The floors of this frame, the oldest first.
    pub rows: Vec<FrameRow<T>>,
}

/// The comments of a chain below its last one that are drawn at first.
pub fn quoted(path: &[CommentId]) -> impl Iterator<Item = CommentId> {
    let below = path.len().saturating_sub(1);
    let drawn = path.iter().take(below).enumerate().filter(move |(at, _)| is_drawn(*at, below));
    drawn.map(|(_, id)| *id)
}

/// Whether the floor at this place, from 0, is drawn at first when so many are below the comment.
const fn is_drawn(at: usize, below: usize) -> bool {
    at < BOTTOM_FLOORS || at + TOP_FLOORS >= below
}

/// The floors below the last comment of a chain; one that `find` does not have is not drawn.
pub fn rows<T>(path: &[CommentId], find: impl Fn(CommentId) -> Option<T>) -> Vec<FrameRow<T>> {
    let below = path.len().saturating_sub(1);
    rows_where(path, |at, id| is_drawn(at, below).then(|| find(id)).flatten())
}

/// As [`rows`], with every floor.
pub fn all_rows<T>(path: &[CommentId], find: impl Fn(CommentId) -> Option<T>) -> Vec<FrameRow<T>> {
    rows_where(path, |_, id| find(id))
}

fn rows_where<T>(path: &[CommentId], find: impl Fn(usize, CommentId) -> Option<T>) -> Vec<FrameRow<T>> {
    let below = path.len().saturating_sub(1);
    let mut rows = Vec::new();
    for (at, id) in path.iter().take(below).enumerate() {
        match (find(at, *id), rows.last_mut()) {
            (Some(floor), _) => rows.push(FrameRow::Floor(at + 1, floor)),
            (None, Some(FrameRow::Gap(count))) => *count += 1,
            (None, _) => rows.push(FrameRow::Gap(1)),
        }
    }
    rows
}

/// The outermost frame; `None` without a row.
pub fn frames<T>(rows: Vec<FrameRow<T>>) -> Option<Frame<T>> {
    nest(rows, MAX_FRAMES)
}

fn nest<T>(mut rows: Vec<FrameRow<T>>, left: usize) -> Option<Frame<T>> {
    if rows.is_empty() {
        return None;
    }
    let newest = rows.iter().rposition(|row| matches!(row, FrameRow::Floor(..))).unwrap_or(0);
    let own = rows.split_off(if left > 1 { newest } else { 0 });
    Some(Frame { inside: nest(rows, left.saturating_sub(1)).map(Box::new), rows: own })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(len: u64) -> Vec<CommentId> {
        (1..=len).map(|n| CommentId::new(n).unwrap()).collect()
    }

    /// `[[1] 2 ..8] 11`: frames in brackets, numbers of floors, a gap with its count.
    fn drawing(frame: Option<&Frame<u64>>) -> String {
        let Some(frame) = frame else { return String::new() };
        let inside = frame.inside.as_deref().map(|inside| drawing(Some(inside)));
        let rows = frame.rows.iter().map(|row| match row {
            FrameRow::Floor(number, _) => number.to_string(),
            FrameRow::Gap(count) => format!("..{count}"),
        });
        format!("[{}]", inside.into_iter().chain(rows).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn newest_floor_is_the_outermost_frame() {
        let check = |len: u64, missing: &[u64], expected: &str| {
            let find = |id: CommentId| Some(id.get()).filter(|id| !missing.contains(id));
            assert_eq!(drawing(frames(rows(&path(len), find)).as_ref()), expected, "{len} without {missing:?}");
        };
        check(1, &[], "");
        check(2, &[], "[1]");
        check(4, &[], "[[[1] 2] 3]");
        check(6, &[], "[[[[[1] 2] 3] 4] 5]");
        check(7, &[], "[[[[[1] 2 ..1] 4] 5] 6]");
        check(16, &[], "[[[[[1] 2 ..10] 13] 14] 15]");
        check(16, &[2, 13], "[[[1 ..12] 14] 15]");
        check(4, &[1], "[[[..1] 2] 3]");
        check(4, &[1, 2, 3], "[..3]");
    }

    #[test]
    fn quoted_are_the_floors_that_are_drawn() {
        let check = |len: u64, expected: &[u64]| {
            assert_eq!(quoted(&path(len)).map(CommentId::get).collect::<Vec<_>>(), expected, "{len}");
        };
        check(1, &[]);
        check(2, &[1]);
        check(6, &[1, 2, 3, 4, 5]);
        check(16, &[1, 2, 13, 14, 15]);
        check(128, &[1, 2, 125, 126, 127]);
    }
}
