//! A record of the broker that requests to load a list into the cache, because it was read past it.

use gailou_shared::id::SubjectKey;
use gailou_shared::path::Path;
use serde::{Deserialize, Serialize};

use crate::domain::row::{CommentList, FloorRange};

/// The format of the bytes. It changes with every field of [`FlatList`] and of the tuple in
/// [`RebuildRequest::to_bytes`].
const REQUEST_FORMAT: u8 = 1;

/// The list, and the part of it that was read.
#[derive(Debug, Clone)]
pub struct RebuildRequest {
    pub list: CommentList,
    pub range: FloorRange,
}

#[derive(Serialize, Deserialize)]
enum FlatList<'a> {
    Roots { kind: &'a str, key: &'a str },
    Under { path: &'a [u8] },
}

impl RebuildRequest {
    pub fn to_bytes(&self) -> Vec<u8> {
        let list = match &self.list {
            CommentList::Roots(subject) => FlatList::Roots { kind: subject.kind(), key: subject.key() },
            CommentList::Under(path) => FlatList::Under { path: path.as_bytes() },
        };
        let FloorRange { ascending, beyond, count } = self.range;
        // Writing these types into memory cannot fail.
        postcard::to_extend(&(list, ascending, beyond, count), vec![REQUEST_FORMAT]).unwrap_or_default()
    }

    /// The request in these bytes; `None` in another format: a lost request is repeated by the next
    /// reader.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&REQUEST_FORMAT, body) = bytes.split_first()? else { return None };
        let ((list, ascending, beyond, count), []) = postcard::take_from_bytes(body).ok()? else { return None };
        let list = match list {
            FlatList::Roots { kind, key } => CommentList::Roots(SubjectKey::new(kind, key).ok()?),
            FlatList::Under { path } => CommentList::Under(Path::from_bytes(path).ok()?),
        };
        Some(Self { list, range: FloorRange { ascending, beyond, count } })
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::CommentId;

    use super::*;

    #[test]
    fn request_survives_its_bytes() {
        let roots = CommentList::Roots(SubjectKey::new("video", "中/2").unwrap());
        let under = CommentList::Under(Path::root(CommentId::new(9).unwrap()));
        for list in [roots, under] {
            let request = RebuildRequest { list, range: FloorRange { ascending: true, beyond: Some(7), count: 21 } };
            let bytes = request.to_bytes();
            assert_eq!(format!("{:?}", RebuildRequest::from_bytes(&bytes).unwrap()), format!("{request:?}"));
            assert!(RebuildRequest::from_bytes(&bytes[..bytes.len() - 1]).is_none());
            assert!(RebuildRequest::from_bytes(&[&[2], &bytes[1..]].concat()).is_none());
        }
        assert!(RebuildRequest::from_bytes(&[]).is_none());
    }
}
