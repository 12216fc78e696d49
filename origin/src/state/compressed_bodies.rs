//! A body in each coding: made when it is first asked for, and kept.

use std::sync::OnceLock;

use bytes::Bytes;

use crate::domain::content_coding::ContentCoding;

/// The bodies of one page.
#[derive(Debug, Default)]
pub struct CompressedBodies {
    brotli: OnceLock<Option<Bytes>>,
    gzip: OnceLock<Option<Bytes>>,
}

impl CompressedBodies {
    /// `body` in this coding. The caller keeps one of these for each body; `None` where it cannot be compressed.
    pub fn get_or_make(&self, coding: ContentCoding, body: &[u8]) -> Option<Bytes> {
        let kept = match coding {
            ContentCoding::Brotli => &self.brotli,
            ContentCoding::Gzip => &self.gzip,
        };
        kept.get_or_init(|| coding.compress(body).ok().map(Bytes::from)).clone()
    }
}
