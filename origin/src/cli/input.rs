//! The input of a command: a file, standard input, or what a client sends through the control socket.
//!
//! Not here: what the input means, except for its lines. Promise: memory holds at most one chunk and
//! one line of bounded length, and an input that is interrupted is an error, never an end.

use std::io;
use std::path::Path;
use std::pin::Pin;

use anyhow::Context as _;
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, Decoder as _};

/// Bytes read at a time.
const CHUNK_BYTES: usize = 64 * 1024;

/// A source of bytes.
#[async_trait]
pub trait Input: Send {
    /// The next bytes, at least one; `None` at the end.
    async fn read_chunk(&mut self) -> io::Result<Option<Bytes>>;
}

/// A file, or standard input.
pub struct InputReader(Pin<Box<dyn AsyncRead + Send>>);

impl std::fmt::Debug for InputReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InputReader(…)")
    }
}

impl InputReader {
    /// The file at this path; `-` is standard input, no path is an empty input.
    ///
    /// # Errors
    /// When the file cannot be opened; the message names the path.
    pub async fn open(path: Option<&Path>) -> anyhow::Result<Self> {
        Ok(Self(match path {
            None => Box::pin(tokio::io::empty()),
            Some(path) if path == Path::new("-") => Box::pin(tokio::io::stdin()),
            Some(path) => {
                let opened = tokio::fs::File::open(path).await;
                Box::pin(opened.with_context(|| format!("cannot open the file {}", path.display()))?)
            }
        }))
    }
}

#[async_trait]
impl Input for InputReader {
    async fn read_chunk(&mut self) -> io::Result<Option<Bytes>> {
        let mut bytes = BytesMut::with_capacity(CHUNK_BYTES);
        self.0.read_buf(&mut bytes).await?;
        Ok(Some(bytes.freeze()).filter(|bytes| !bytes.is_empty()))
    }
}

/// Reads the whole input.
///
/// # Errors
/// When it is interrupted, or has more than `max_bytes` bytes.
pub async fn read_all(input: &mut dyn Input, max_bytes: usize) -> anyhow::Result<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(chunk) = input.read_chunk().await? {
        all.extend_from_slice(&chunk);
        anyhow::ensure!(all.len() <= max_bytes, "the input is longer than {max_bytes} bytes");
    }
    Ok(all)
}

/// A line of an input.
#[derive(Debug, PartialEq, Eq)]
pub enum RawLine {
    /// Its bytes, without the line break.
    Complete(Bytes),
    /// It is longer than the limit, and was skipped.
    TooLong,
}

/// Splits an input into lines of bounded length.
pub struct InputLines<'a> {
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
    pub fn new(input: &'a mut dyn Input, max_bytes: usize) -> Self {
        let codec = AnyDelimiterCodec::new_with_max_length(b"\n".to_vec(), b"\n".to_vec(), max_bytes);
        Self { input, codec, buffer: BytesMut::new(), ended: false }
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// When the input is interrupted.
    pub async fn next_line(&mut self) -> io::Result<Option<RawLine>> {
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
