//! The lines of an input: a file, standard input, what a client sends through the control socket, or a request's body.
//!
//! Not here: what they mean. Promise: memory holds at most one chunk and one line of bounded length beside the lines that
//! the caller keeps, and an input that is interrupted is an error, never an end.

use std::io;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, Decoder as _};

use crate::domain::import_line::MAX_LINE_BYTES;

/// A source of bytes.
#[async_trait]
pub trait Input: Send {
    /// The next bytes, at least one; `None` at the end.
    async fn read_chunk(&mut self) -> io::Result<Option<Bytes>>;
}

/// A line of an input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RawLine {
    /// Its bytes, without the line break.
    Complete(Bytes),
    /// It is longer than the limit, and was skipped.
    TooLong,
}

impl RawLine {
    /// What it holds of the input in memory, about. The line behind one that is too long shares that one's buffer.
    pub(super) fn held_bytes(&self) -> usize {
        match self {
            Self::Complete(bytes) => bytes.len(),
            Self::TooLong => MAX_LINE_BYTES,
        }
    }
}

/// Splits an input into lines of bounded length.
pub(super) struct InputLines<'a> {
    input: &'a mut dyn Input,
    codec: AnyDelimiterCodec,
    /// Bytes that were read and not returned yet.
    buffer: BytesMut,
    ended: bool,
}

impl std::fmt::Debug for InputLines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InputLines").field("codec", &self.codec).field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl<'a> InputLines<'a> {
    pub(super) fn new(input: &'a mut dyn Input, max_bytes: usize) -> Self {
        let codec = AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), b"\n".to_vec(), max_bytes);
        Self { input, codec, buffer: BytesMut::new(), ended: false }
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// When the input is interrupted.
    pub(super) async fn next_line(&mut self) -> io::Result<Option<RawLine>> {
        loop {
            let decoded = match self.ended {
                false => self.codec.decode(&mut self.buffer),
                true => self.codec.decode_eof(&mut self.buffer),
            };
            match decoded {
                Ok(Some(line)) => return Ok(Some(RawLine::Complete(line))),
                Err(AnyDelimiterCodecError::MaxChunkLengthExceeded) => return Ok(Some(RawLine::TooLong)),
                Err(AnyDelimiterCodecError::Io(error)) => return Err(error),
                Ok(None) if self.ended => return Ok(None),
                Ok(None) => match self.input.read_chunk().await? {
                    Some(chunk) => self.buffer.extend_from_slice(&chunk),
                    None => self.ended = true,
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Chunks(Vec<&'static str>);

    #[async_trait]
    impl Input for Chunks {
        async fn read_chunk(&mut self) -> io::Result<Option<Bytes>> {
            Ok((!self.0.is_empty()).then(|| self.0.remove(0).into()))
        }
    }

    #[tokio::test]
    async fn line_may_span_chunks_and_a_long_one_is_skipped() {
        for (chunks, expected) in [
            (vec![], vec![]),
            (vec!["a\nb\n"], vec!["a", "b"]),
            (vec!["a", "b\nc"], vec!["ab", "c"]),
            (vec!["\n\na", "\n"], vec!["", "", "a"]),
            (vec!["12345", "6\n7", "\n12345\n"], vec!["TOO LONG", "7", "12345"]),
            (vec!["123456"], vec!["TOO LONG"]),
        ] {
            let mut input = Chunks(chunks.clone());
            let mut lines = InputLines::new(&mut input, 5);
            let mut got = Vec::new();
            while let Some(line) = lines.next_line().await.unwrap() {
                got.push(match line {
                    RawLine::Complete(bytes) => String::from_utf8(bytes.into()).unwrap(),
                    RawLine::TooLong => "TOO LONG".into(),
                });
            }
            assert_eq!(got, expected, "{chunks:?}");
        }
    }
}
