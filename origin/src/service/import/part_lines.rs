//! What memory holds of the comments of a part while it is found out where they stand: a few numbers for each.
//!
//! Texts and names stay in the part. Promise: of lines with one id, the first one counts; an equal one is skipped, and one that
//! differs is named.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::sync::Arc;

use gailou_shared::id::SubjectKey;
use tokio::task::spawn_blocking;

use crate::domain::import_line::{ImportLine, ParsedLine};
use crate::service::import::staged::{LineLocation, StagedPart};
use crate::service::import::subjects::SubjectDescriptions;

/// A comment's id in its subject, as 128 bits under random keys: two of a part are equal by chance once in 10^26 imports of a
/// million comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SourceKey([u64; 2]);

impl SourceKey {
    /// Of no comment.
    pub(super) const NONE: Self = Self([0, 0]);
}

/// Makes keys. Those of another one are others.
#[derive(Debug, Default)]
pub(super) struct SourceHasher([RandomState; 2]);

impl SourceHasher {
    /// The key of an id in the subject with this index.
    pub(super) fn key(&self, subject: u32, id: &str) -> SourceKey {
        SourceKey([0, 1].map(|half: usize| self.0[half].hash_one((subject, id))))
    }
}

/// A comment of a part.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartLine {
    pub(super) at: LineLocation,
    /// Its number in the input, from 1.
    pub(super) number: usize,
    /// Unix milliseconds.
    pub(super) created_at: u64,
    /// The index of its subject.
    pub(super) subject: u32,
    /// Whether it waits for a moderator, so that nothing stands under it.
    pub(super) is_held: bool,
}

/// The ids that a line names.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineKeys {
    pub(super) id: SourceKey,
    pub(super) parent: SourceKey,
    pub(super) root: SourceKey,
}

/// The comments of a part, in the order of the input.
#[derive(Debug)]
pub(super) struct PartLines {
    part: Arc<StagedPart>,
    pub(super) lines: Vec<PartLine>,
    pub(super) keys: Vec<LineKeys>,
    /// The indexes of the lines, in the order of the keys of their ids.
    pub(super) by_id: Vec<u32>,
    /// The subjects by their index.
    pub(super) subjects: Vec<SubjectKey>,
    /// What the lines say of subjects.
    pub(super) descriptions: SubjectDescriptions,
}

/// Lines with the id of a line before them.
#[derive(Debug, Default)]
pub(super) struct RepeatedLines {
    /// How many are equal to it.
    pub(super) equal: u64,
    /// The numbers of those that differ, each with that of the first.
    pub(super) different: Vec<(usize, usize)>,
}

impl PartLines {
    /// Reads a part once. Lines with the id of a line before them are left out.
    pub(super) async fn read(part: Arc<StagedPart>) -> io::Result<(Self, RepeatedLines)> {
        let read = move || {
            let mut lines = Self::read_part(part)?;
            let repeated = lines.drop_repeated()?;
            Ok((lines, repeated))
        };
        spawn_blocking(read).await.map_err(io::Error::other)?
    }

    fn read_part(part: Arc<StagedPart>) -> io::Result<Self> {
        let hasher = SourceHasher::default();
        let (mut lines, mut keys) = (Vec::with_capacity(part.comments()), Vec::with_capacity(part.comments()));
        u32::try_from(part.comments()).map_err(|_| io::Error::other("too many comments in one part"))?;
        let mut subjects: HashMap<SubjectKey, u32> = HashMap::new();
        let mut descriptions = SubjectDescriptions::default();
        part.read_all(|number, at, line| {
            let line = match line {
                ParsedLine::Comment(line) => line,
                ParsedLine::Subject(description) => {
                    descriptions.add(description);
                    return Ok(());
                }
            };
            let next = u32_of(subjects.len());
            let ImportLine { subject, id, parent, root, created_at, deleted, held, .. } = line;
            let subject = *subjects.entry(subject).or_insert(next);
            let key = |id: Option<String>| id.map_or(SourceKey::NONE, |id| hasher.key(subject, &id));
            keys.push(LineKeys { id: hasher.key(subject, &id), parent: key(parent), root: key(root) });
            lines.push(PartLine { at, number, created_at, subject, is_held: held && !deleted });
            Ok(())
        })?;
        let mut subjects: Vec<_> = subjects.into_iter().collect();
        subjects.sort_unstable_by_key(|(_, index)| *index);
        let subjects = subjects.into_iter().map(|(key, _)| key).collect();
        let by_id = sorted_by_id(&keys);
        Ok(Self { part, lines, keys, by_id, subjects, descriptions })
    }

    fn drop_repeated(&mut self) -> io::Result<RepeatedLines> {
        let mut repeated = RepeatedLines::default();
        let mut is_repeated = vec![false; self.lines.len()];
        for same in self.by_id.chunk_by(|a, b| self.keys[*a as usize].id == self.keys[*b as usize].id) {
            let [first, others @ ..] = same else { continue };
            if others.is_empty() {
                continue;
            }
            let line = |index: &u32| self.lines[*index as usize];
            let kept = self.part.read_comment(line(first).at)?;
            for other in others {
                is_repeated[*other as usize] = true;
                if self.part.read_comment(line(other).at)? == kept {
                    repeated.equal += 1;
                } else {
                    repeated.different.push((line(other).number, line(first).number));
                }
            }
        }
        repeated.different.sort_unstable();
        self.drop_lines(&is_repeated);
        Ok(repeated)
    }

    /// Leaves out lines.
    pub(super) fn drop_lines(&mut self, is_dropped: &[bool]) {
        if !is_dropped.contains(&true) {
            return;
        }
        let is_kept = || is_dropped.iter().map(|is_dropped| !is_dropped);
        let mut kept = is_kept();
        self.lines.retain(|_| kept.next().unwrap_or(true));
        let mut kept = is_kept();
        self.keys.retain(|_| kept.next().unwrap_or(true));
        self.by_id = sorted_by_id(&self.keys);
    }

    /// Drops what only finding the parents needs.
    pub(super) fn forget_keys(&mut self) {
        (self.keys, self.by_id) = (Vec::new(), Vec::new());
    }

    /// The comments with these indexes.
    pub(super) async fn read_comments(&self, indexes: &[u32]) -> io::Result<Vec<ImportLine>> {
        self.part.read_comments(indexes.iter().map(|index| self.lines[*index as usize].at).collect()).await
    }
}

/// The indexes of lines, in the order of their ids; of one id in the order of the input.
pub(super) fn sorted_by_id(keys: &[LineKeys]) -> Vec<u32> {
    let mut by_id: Vec<u32> = (0..u32_of(keys.len())).collect();
    by_id.sort_unstable_by_key(|index| (keys[*index as usize].id, *index));
    by_id
}

/// An index of a part, which has fewer lines than a `u32` counts.
pub(super) fn u32_of(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
