//! A note in the log: a list was read past the cache and wants to be put there.

use gailou_shared::id::SubjectKey;
use gailou_shared::path::Path;
use serde::{Deserialize, Serialize};

use crate::domain::row::CommentList;
use crate::ports::cache::Range;

/// Changes with every field below.
const FORMAT: u8 = 1;

/// The list, and the part of it that was read.
#[derive(Debug, Clone)]
pub struct RebuildRequest {
    pub list: CommentList,
    pub range: Range,
}

#[derive(Serialize, Deserialize)]
enum Flat<'a> {
    Roots { kind: &'a str, key: &'a str },
    Under { path: &'a [u8] },
}

impl RebuildRequest {
    pub fn to_bytes(&self) -> Vec<u8> {
        let list = match &self.list {
            CommentList::Roots(subject) => Flat::Roots { kind: subject.kind(), key: subject.key() },
            CommentList::Under(path) => Flat::Under { path: path.as_bytes() },
        };
        let Range { ascending, beyond, count } = self.range;
        // Nothing in here can fail to be written into memory.
        postcard::to_extend(&(list, ascending, beyond, count), vec![FORMAT]).unwrap_or_default()
    }

    /// The note of these bytes; `None` for another format: it is only a note.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&FORMAT, body) = bytes.split_first()? else { return None };
        let ((list, ascending, beyond, count), []) = postcard::take_from_bytes(body).ok()? else { return None };
        let list = match list {
            Flat::Roots { kind, key } => CommentList::Roots(SubjectKey::new(kind, key).ok()?),
            Flat::Under { path } => CommentList::Under(Path::from_bytes(path).ok()?),
        };
        Some(Self { list, range: Range { ascending, beyond, count } })
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::CommentId;

    use super::*;

    #[test]
    fn what_was_noted_is_read() {
        let roots = CommentList::Roots(SubjectKey::new("video", "中/2").unwrap());
        let under = CommentList::Under(Path::root(CommentId::new(9).unwrap()));
        for list in [roots, under] {
            let note = RebuildRequest { list, range: Range { ascending: true, beyond: Some(7), count: 21 } };
            let bytes = note.to_bytes();
            assert_eq!(format!("{:?}", RebuildRequest::from_bytes(&bytes).unwrap()), format!("{note:?}"));
            assert!(RebuildRequest::from_bytes(&bytes[..bytes.len() - 1]).is_none());
            assert!(RebuildRequest::from_bytes(&[&[2], &bytes[1..]].concat()).is_none());
        }
        assert!(RebuildRequest::from_bytes(&[]).is_none());
    }
}
