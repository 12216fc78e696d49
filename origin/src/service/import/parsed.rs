//! The lines of an input with what they mean, in its order. They are parsed in batches, on other threads.
//!
//! Promise: memory holds a few batches of bounded size.

use std::io;
use std::panic::resume_unwind;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesOrdered;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::domain::import_line::{MAX_LINE_BYTES, ParsedLine};
use crate::service::import::lines::{Input, InputLines, RawLine};

/// Lines of a batch at most.
const LINES_PER_BATCH: usize = 1_000;
/// Bytes of a batch, after which it takes no further line.
const BYTES_PER_BATCH: usize = 256 * 1024;
/// Batches that are parsed at the same time.
const MAX_BATCHES: usize = 3;

/// A line that is not empty.
#[derive(Debug)]
pub(super) struct NumberedLine {
    /// From 1.
    pub(super) number: usize,
    /// As it is in the input, without white space around it.
    pub(super) bytes: Bytes,
    /// What it means, or why it is bad.
    pub(super) parsed: Result<ParsedLine, String>,
}

/// Reads and parses an input.
#[derive(Debug)]
pub(super) struct ParsedLines<'a> {
    lines: InputLines<'a>,
    /// Of the last line that was read.
    number: usize,
    /// How reading has ended. What was read before an error comes before it.
    end: Option<io::Result<()>>,
    batches: FuturesOrdered<JoinHandle<Vec<NumberedLine>>>,
}

impl<'a> ParsedLines<'a> {
    pub(super) fn new(input: &'a mut dyn Input) -> Self {
        let lines = InputLines::new(input, MAX_LINE_BYTES);
        Self { lines, number: 0, end: None, batches: FuturesOrdered::new() }
    }

    /// The next lines; `None` at the end.
    ///
    /// # Errors
    /// When the input is interrupted.
    pub(super) async fn next_batch(&mut self) -> io::Result<Option<Vec<NumberedLine>>> {
        while self.end.is_none() && self.batches.len() < MAX_BATCHES {
            let batch = self.read_batch().await;
            self.batches.push_back(spawn_blocking(|| batch.into_iter().filter_map(parse).collect()));
        }
        match self.batches.next().await {
            Some(Ok(batch)) => Ok(Some(batch)),
            Some(Err(error)) if error.is_panic() => resume_unwind(error.into_panic()),
            Some(Err(error)) => Err(io::Error::other(error)),
            None => self.end.take().unwrap_or(Ok(())).map(|()| None),
        }
    }

    /// The next lines as they are, as far as the input goes.
    async fn read_batch(&mut self) -> Vec<(usize, RawLine)> {
        let (mut batch, mut bytes) = (Vec::with_capacity(LINES_PER_BATCH), 0);
        while self.end.is_none() && batch.len() < LINES_PER_BATCH && bytes < BYTES_PER_BATCH {
            match self.lines.next_line().await {
                Ok(Some(line)) => {
                    self.number += 1;
                    bytes += line.held_bytes();
                    batch.push((self.number, line));
                }
                Ok(None) => self.end = Some(Ok(())),
                Err(error) => self.end = Some(Err(error)),
            }
        }
        batch
    }
}

/// The line with what it means; `None` for an empty one.
fn parse((number, raw): (usize, RawLine)) -> Option<NumberedLine> {
    let RawLine::Complete(line) = raw else {
        let parsed = Err(format!("is longer than {MAX_LINE_BYTES} bytes"));
        return Some(NumberedLine { number, bytes: Bytes::new(), parsed });
    };
    let bytes = line.slice_ref(strip_byte_order_mark(&line, number).trim_ascii());
    let parsed = if bytes.is_empty() { return None } else { ParsedLine::parse(&bytes) };
    Some(NumberedLine { number, bytes, parsed })
}

/// The first line without the byte order mark that a file may begin with.
fn strip_byte_order_mark(bytes: &[u8], number: usize) -> &[u8] {
    let mark = if number == 1 { "\u{feff}".as_bytes() } else { &[] };
    bytes.strip_prefix(mark).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;

    /// So many chunks of two lines; the first line has a mark, and every third one is empty.
    struct Lines(std::ops::Range<usize>);

    #[async_trait]
    impl Input for Lines {
        async fn read_chunk(&mut self) -> io::Result<Option<Bytes>> {
            let line = |n: usize| match n {
                0 => "\u{feff}{}\r\n".to_owned(),
                n if n % 3 == 2 => " \n".to_owned(),
                n => format!("  {n}\n"),
            };
            Ok(self.0.next().map(|n| format!("{}{}", line(2 * n), line(2 * n + 1)).into()))
        }
    }

    #[tokio::test]
    async fn lines_come_in_the_order_of_the_input_with_their_numbers() {
        let mut input = Lines(0..3_000);
        let mut lines = ParsedLines::new(&mut input);
        let mut got = Vec::new();
        while let Some(batch) = lines.next_batch().await.unwrap() {
            assert!(batch.len() <= LINES_PER_BATCH);
            got.extend(batch);
        }
        let text = |n: usize| if n == 0 { "{}".to_owned() } else { n.to_string() };
        let expected: Vec<_> = (0..6_000).filter(|n| n % 3 != 2).map(|n| (n + 1, text(n))).collect();
        let found: Vec<_> =
            got.iter().map(|line| (line.number, String::from_utf8(line.bytes.to_vec()).unwrap())).collect();
        assert_eq!(found, expected);
        assert!(got.iter().all(|line| line.parsed.is_err()), "none of these is a comment");
    }

    #[tokio::test]
    async fn batch_ends_where_its_bytes_are_enough() {
        struct Long(usize);
        #[async_trait]
        impl Input for Long {
            async fn read_chunk(&mut self) -> io::Result<Option<Bytes>> {
                self.0 += 1;
                Ok((self.0 <= 7).then(|| format!("{}\n", "x".repeat(BYTES_PER_BATCH / 2)).into()))
            }
        }
        let mut input = Long(0);
        let mut lines = ParsedLines::new(&mut input);
        let mut sizes = Vec::new();
        while let Some(batch) = lines.next_batch().await.unwrap() {
            sizes.push(batch.len());
        }
        assert_eq!(sizes, [2, 2, 2, 1]);
    }

    #[tokio::test]
    async fn lines_before_an_interruption_come_before_its_error() {
        struct Broken(Vec<io::Result<Bytes>>);
        #[async_trait]
        impl Input for Broken {
            async fn read_chunk(&mut self) -> io::Result<Option<Bytes>> {
                self.0.pop().transpose()
            }
        }
        let too_long = format!("{}\nx\n", "x".repeat(MAX_LINE_BYTES + 1));
        let mut input = Broken(vec![Err(io::Error::other("gone")), Ok(too_long.into()), Ok("a\nb\n".into())]);
        let mut lines = ParsedLines::new(&mut input);
        let numbers = |batch: Vec<NumberedLine>| batch.iter().map(|line| line.number).collect::<Vec<_>>();
        // One that is too long ends its batch, since the line behind it holds its buffer.
        assert_eq!(numbers(lines.next_batch().await.unwrap().unwrap()), [1, 2, 3]);
        assert_eq!(numbers(lines.next_batch().await.unwrap().unwrap()), [4]);
        assert_eq!(lines.next_batch().await.unwrap_err().to_string(), "gone");
    }
}
