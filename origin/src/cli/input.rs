//! What a command reads: a file, standard input, or what comes through the socket.
//!
//! Does not look into it, beyond cutting it into lines. Promise: at most one chunk and one line of
//! bounded length are held, and an input that breaks off is an error, never an end.

use std::io;
use std::path::Path;
use std::pin::Pin;

use anyhow::Context as _;
use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// Bytes read at a time.
const CHUNK_BYTES: usize = 64 * 1024;

/// A source of bytes.
#[async_trait]
pub trait Input: Send {
    /// The next bytes, never none of them; `None` at the end.
    async fn chunk(&mut self) -> io::Result<Option<Vec<u8>>>;
}

/// A file, or standard input.
pub struct Reader(Pin<Box<dyn AsyncRead + Send>>);

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reader(…)")
    }
}

impl Reader {
    /// The file at this path; `-` is standard input, no path is nothing at all.
    ///
    /// # Errors
    /// When the file cannot be opened; the path is named.
    pub async fn open(path: Option<&Path>) -> anyhow::Result<Self> {
        Ok(Self(match path {
            None => Box::pin(tokio::io::empty()),
            Some(path) if path == Path::new("-") => Box::pin(tokio::io::stdin()),
            Some(path) => {
                let opened = tokio::fs::File::open(path).await;
                Box::pin(opened.with_context(|| format!("cannot open {}", path.display()))?)
            }
        }))
    }
}

#[async_trait]
impl Input for Reader {
    async fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = Vec::with_capacity(CHUNK_BYTES);
        self.0.read_buf(&mut bytes).await?;
        Ok(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }
}

/// Everything the input holds.
///
/// # Errors
/// When it breaks off, or holds more than `most` bytes.
pub async fn read_all(input: &mut dyn Input, most: usize) -> anyhow::Result<Vec<u8>> {
    let mut all = Vec::new();
    while let Some(chunk) = input.chunk().await? {
        all.extend_from_slice(&chunk);
        anyhow::ensure!(all.len() <= most, "the input is longer than {most} bytes");
    }
    Ok(all)
}

/// A line of an input.
#[derive(Debug, PartialEq, Eq)]
pub enum RawLine {
    /// Its bytes, without the line break.
    Whole(Vec<u8>),
    /// It has more bytes than are read.
    TooLong,
}

/// Cuts an input into lines of at most `most` bytes.
pub struct Lines<'a> {
    input: &'a mut dyn Input,
    most: usize,
    /// Read and not yet given out, from `at` on.
    buffer: Vec<u8>,
    at: usize,
    ended: bool,
}

impl std::fmt::Debug for Lines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines").field("most", &self.most).field("ended", &self.ended).finish_non_exhaustive()
    }
}

impl<'a> Lines<'a> {
    pub fn new(input: &'a mut dyn Input, most: usize) -> Self {
        Self { input, most, buffer: Vec::new(), at: 0, ended: false }
    }

    /// The next line; `None` at the end.
    ///
    /// # Errors
    /// When the input breaks off.
    pub async fn next(&mut self) -> io::Result<Option<RawLine>> {
        let mut line = Vec::new();
        let (mut any, mut too_long) = (false, false);
        loop {
            let rest = self.buffer.get(self.at..).unwrap_or_default();
            let end = rest.iter().position(|b| *b == b'\n');
            let part = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            any |= end.is_some() || !part.is_empty();
            too_long |= line.len() + part.len() > self.most;
            if !too_long {
                line.extend_from_slice(part);
            }
            self.at += part.len() + usize::from(end.is_some());
            if end.is_some() || (self.ended && any) {
                return Ok(Some(if too_long { RawLine::TooLong } else { RawLine::Whole(line) }));
            }
            if self.ended {
                return Ok(None);
            }
            self.at = 0;
            self.buffer = self.input.chunk().await?.unwrap_or_else(|| {
                self.ended = true;
                Vec::new()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Chunks(Vec<&'static str>);

    #[async_trait]
    impl Input for Chunks {
        async fn chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
            Ok((!self.0.is_empty()).then(|| self.0.remove(0).into()))
        }
    }

    #[tokio::test]
    async fn lines_are_cut_wherever_the_chunks_end() {
        for (chunks, expected) in [
            (vec![], vec![]),
            (vec!["a\nb\n"], vec!["a", "b"]),
            (vec!["a", "b\nc"], vec!["ab", "c"]),
            (vec!["\n\na", "\n"], vec!["", "", "a"]),
            (vec!["12345", "6\n7", "\n12345\n"], vec!["TOO LONG", "7", "12345"]),
            (vec!["123456"], vec!["TOO LONG"]),
        ] {
            let mut input = Chunks(chunks.clone());
            let mut lines = Lines::new(&mut input, 5);
            let mut got = Vec::new();
            while let Some(line) = lines.next().await.unwrap() {
                got.push(match line {
                    RawLine::Whole(bytes) => String::from_utf8(bytes).unwrap(),
                    RawLine::TooLong => "TOO LONG".into(),
                });
            }
            assert_eq!(got, expected, "{chunks:?}");
        }
    }
}
