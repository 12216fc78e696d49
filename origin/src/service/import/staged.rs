//! The good lines of an input between reading and writing: in parts, each with all lines of its subjects.
//!
//! Promise: memory holds a buffer of bounded size for each of [`PART_COUNT`] parts, and one part at a time, however long the
//! input is. What does not fit is in files without a name, which end with the import.

use std::fs::File;
use std::io::{self, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use gailou_shared::id::SLOT_COUNT;
use tokio::task::spawn_blocking;

use crate::domain::import_line::ParsedLine;

/// Parts of an input, each of as many slots. Of a million comments in many threads each has about 16,000.
const PART_COUNT: usize = 64;
/// Bytes of a part that wait to be written to its file: 16 MiB in all.
const MAX_BUFFER_BYTES: usize = 256 * 1024;
/// Between the number of a line and the line.
const NUMBER_SEPARATOR: u8 = b'\t';

/// A line with its number in the input, from 1.
pub(super) type NumberedLine = (usize, ParsedLine);

/// The lines of an input.
#[derive(Debug)]
pub(super) struct StagedLines {
    /// Where the files are.
    folder: PathBuf,
    parts: Vec<LinesOfSlots>,
    count: u64,
}

/// The lines of some slots.
#[derive(Debug, Default)]
struct LinesOfSlots {
    /// What came before the buffer.
    file: Option<File>,
    buffer: Vec<u8>,
}

impl StagedLines {
    /// None yet. What does not fit into memory will be in this folder.
    pub(super) fn new(folder: &Path) -> Self {
        let parts = std::iter::repeat_with(LinesOfSlots::default).take(PART_COUNT).collect();
        Self { folder: folder.to_owned(), parts, count: 0 }
    }

    /// How many lines of comments there are.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// How many parts there are.
    pub(super) const fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Takes a line, with its bytes as they are in the input.
    ///
    /// # Errors
    /// When there is no room for the files.
    pub(super) async fn add(&mut self, number: usize, parsed: &ParsedLine, line: &[u8]) -> io::Result<()> {
        let part = usize::from(parsed.subject().slot().get()) * PART_COUNT / usize::from(SLOT_COUNT);
        let part = self.parts.get_mut(part).ok_or_else(|| io::Error::other("a slot without a part"))?;
        if part.buffer.len() + line.len() > MAX_BUFFER_BYTES {
            part.write_buffer(&self.folder).await?;
        }
        part.buffer.extend_from_slice(number.to_string().as_bytes());
        part.buffer.push(NUMBER_SEPARATOR);
        part.buffer.extend_from_slice(line);
        part.buffer.push(b'\n');
        self.count += u64::from(matches!(parsed, ParsedLine::Comment(_)));
        Ok(())
    }

    /// The lines of a part, in the order of the input. They can be read again.
    ///
    /// # Errors
    /// When its file cannot be read.
    pub(super) async fn read_part(&self, part: usize) -> io::Result<Vec<NumberedLine>> {
        let part = self.parts.get(part).ok_or_else(|| io::Error::other("there is no such part"))?;
        let (file, buffer) = (part.file.as_ref().map(File::try_clone).transpose()?, part.buffer.clone());
        let read = move || {
            let mut lines = Vec::new();
            if let Some(mut file) = file {
                file.rewind()?;
                read_lines(BufReader::new(file), &mut lines)?;
            }
            read_lines(&buffer[..], &mut lines)?;
            Ok(lines)
        };
        spawn_blocking(read).await.map_err(io::Error::other)?
    }
}

impl LinesOfSlots {
    async fn write_buffer(&mut self, folder: &Path) -> io::Result<()> {
        let (file, folder) = (self.file.take(), folder.to_owned());
        let mut buffer = std::mem::take(&mut self.buffer);
        let write = move || {
            let mut file = file.map_or_else(|| tempfile::tempfile_in(folder), Ok)?;
            file.seek(SeekFrom::End(0))?;
            file.write_all(&buffer)?;
            buffer.clear();
            Ok::<_, io::Error>((file, buffer))
        };
        let (file, buffer) = spawn_blocking(write).await.map_err(io::Error::other)??;
        *self = Self { file: Some(file), buffer };
        Ok(())
    }
}

fn read_lines(mut from: impl io::BufRead, into: &mut Vec<NumberedLine>) -> io::Result<()> {
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "a file of an import has changed");
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        let at = line.iter().position(|byte| *byte == NUMBER_SEPARATOR).ok_or_else(damaged)?;
        let number = str::from_utf8(&line[..at]).ok().and_then(|number| number.parse().ok()).ok_or_else(damaged)?;
        into.push((number, ParsedLine::parse(line[at + 1..].trim_ascii_end()).map_err(|_| damaged())?));
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::SubjectKey;

    use super::*;

    #[tokio::test]
    async fn lines_of_a_subject_are_together_and_in_their_order_however_many() {
        const LINES: usize = 3_000;
        let subject = |n: usize| SubjectKey::new("article", &(n % 7).to_string()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut staged = StagedLines::new(folder.path());
        for number in 1..=LINES {
            let subject = subject(number);
            let content = "字".repeat(300);
            let line = format!(
                r#"{{"subject":"article:{}","id":"{number}","author":"A","content":"{content}","created_at":5}}"#,
                subject.key()
            );
            let parsed = ParsedLine::parse(line.as_bytes()).unwrap();
            staged.add(number, &parsed, line.as_bytes()).await.unwrap();
        }
        assert_eq!(staged.count(), LINES as u64);
        assert!(
            staged.parts.iter().any(|part| part.file.is_some()) && staged.parts.iter().any(|part| part.file.is_none())
        );
        for _ in 0..2 {
            let mut seen = 0;
            for part in 0..staged.parts() {
                let lines = staged.read_part(part).await.unwrap();
                seen += lines.len();
                assert!(lines.iter().map(|(number, _)| number).is_sorted());
                for (number, line) in &lines {
                    let ParsedLine::Comment(comment) = line else { panic!("{line:?}") };
                    assert_eq!((&comment.subject, comment.id.parse()), (&subject(*number), Ok(*number)));
                    let together = lines.iter().filter(|(_, other)| other.subject() == line.subject()).count();
                    assert!(together >= LINES / 7, "{together}");
                }
            }
            assert_eq!(seen, LINES);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "they have no name");
        drop(folder);
        let mut staged = StagedLines::new(Path::new("/nowhere"));
        let line = vec![b'x'; MAX_BUFFER_BYTES];
        let parsed = ParsedLine::parse(br#"{"subject":"article:1","title":"x"}"#).unwrap();
        staged.add(1, &parsed, &line).await.unwrap();
        staged.add(2, &parsed, &line).await.unwrap_err();
    }
}
