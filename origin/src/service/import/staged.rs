//! The good lines of an input between reading and writing: in parts, each with all lines of its subjects.
//!
//! Promise: memory holds a buffer of bounded size for each of [`PART_COUNT`] parts, however long the input is. What does not
//! fit is in files without a name, which end with the import.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gailou_shared::id::SLOT_COUNT;
use tokio::task::spawn_blocking;

use crate::domain::import_line::{ImportLine, ParsedLine};

/// Parts of an input, each of as many slots. Of a million comments in many threads each has about 16,000.
const PART_COUNT: usize = 64;
/// Bytes of a part that wait to be written to its file: 16 MiB in all.
const MAX_BUFFER_BYTES: usize = 256 * 1024;
/// Between the number of a line and the line.
const NUMBER_SEPARATOR: u8 = b'\t';

/// The lines of an input while it is read.
#[derive(Debug)]
pub(super) struct StagedLines {
    /// Where the files are.
    folder: PathBuf,
    parts: Vec<StagedPart>,
}

impl StagedLines {
    /// None yet. What does not fit into memory will be in this folder. `now`: what is later (in Unix milliseconds) was
    /// written then.
    pub(super) fn new(folder: &Path, now: u64) -> Self {
        let part = || StagedPart { now, ..StagedPart::default() };
        Self { folder: folder.to_owned(), parts: std::iter::repeat_with(part).take(PART_COUNT).collect() }
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
        part.comments += usize::from(matches!(parsed, ParsedLine::Comment(_)));
        Ok(())
    }

    /// The parts, when the input was read.
    pub(super) fn finish(self) -> Vec<Arc<StagedPart>> {
        self.parts.into_iter().map(Arc::new).collect()
    }
}

/// The lines of some slots, in the order of the input.
#[derive(Debug, Default)]
pub(super) struct StagedPart {
    /// Nothing was written later, in Unix milliseconds.
    now: u64,
    /// What came before the buffer.
    file: Option<File>,
    file_bytes: u64,
    buffer: Vec<u8>,
    comments: usize,
}

/// Where a line lies in its part.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct LineLocation {
    offset: u64,
    bytes: u32,
}

impl StagedPart {
    /// How many lines of comments it has.
    pub(super) const fn comments(&self) -> usize {
        self.comments
    }

    /// Reads all lines, one after the other. Blocks.
    ///
    /// # Errors
    /// When its file cannot be read, or `each` fails.
    pub(super) fn read_all(
        &self,
        mut each: impl FnMut(usize, LineLocation, ParsedLine) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut reader = BufReader::new(PartReader { part: self, offset: 0 });
        let (mut line, mut offset) = (Vec::new(), 0);
        while reader.read_until(b'\n', &mut line)? > 0 {
            let at = line.iter().position(|byte| *byte == NUMBER_SEPARATOR).ok_or_else(damaged)?;
            let number = str::from_utf8(&line[..at]).ok().and_then(|number| number.parse().ok()).ok_or_else(damaged)?;
            let text = line[at + 1..].trim_ascii_end();
            let bytes = u32::try_from(text.len()).map_err(|_| damaged())?;
            let location = LineLocation { offset: offset + at as u64 + 1, bytes };
            each(number, location, self.parse(text)?)?;
            offset += line.len() as u64;
            line.clear();
        }
        Ok(())
    }

    /// The comment in the line that lies here. Blocks.
    ///
    /// # Errors
    /// When its file cannot be read, or no comment lies here.
    pub(super) fn read_comment(&self, at: LineLocation) -> io::Result<ImportLine> {
        let mut text = vec![0; at.bytes as usize];
        PartReader { part: self, offset: at.offset }.read_exact(&mut text)?;
        match self.parse(&text)? {
            ParsedLine::Comment(line) => Ok(line),
            ParsedLine::Subject(_) => Err(damaged()),
        }
    }

    /// The comments in the lines that lie here.
    ///
    /// # Errors
    /// When its file cannot be read, or one of them is no comment.
    pub(super) async fn read_comments(self: &Arc<Self>, at: Vec<LineLocation>) -> io::Result<Vec<ImportLine>> {
        let part = self.clone();
        let read = move || at.into_iter().map(|at| part.read_comment(at)).collect();
        spawn_blocking(read).await.map_err(io::Error::other)?
    }

    fn parse(&self, text: &[u8]) -> io::Result<ParsedLine> {
        let mut parsed = ParsedLine::parse(text).map_err(|_| damaged())?;
        if let ParsedLine::Comment(line) = &mut parsed {
            line.created_at = line.created_at.min(self.now);
            line.edited_at = line.edited_at.map(|at| at.min(self.now));
        }
        Ok(parsed)
    }

    async fn write_buffer(&mut self, folder: &Path) -> io::Result<()> {
        let (file, folder) = (self.file.take(), folder.to_owned());
        let mut buffer = std::mem::take(&mut self.buffer);
        self.file_bytes += buffer.len() as u64;
        let write = move || {
            let mut file = file.map_or_else(|| tempfile::tempfile_in(folder), Ok)?;
            file.write_all(&buffer)?;
            buffer.clear();
            Ok::<_, io::Error>((file, buffer))
        };
        let (file, buffer) = spawn_blocking(write).await.map_err(io::Error::other)??;
        (self.file, self.buffer) = (Some(file), buffer);
        Ok(())
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a file of an import has changed")
}

/// Reads a part from some offset on: its file, and then its buffer.
struct PartReader<'a> {
    part: &'a StagedPart,
    offset: u64,
}

impl Read for PartReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let StagedPart { file, file_bytes, buffer, .. } = self.part;
        let read = match (file, self.offset.checked_sub(*file_bytes)) {
            (Some(file), None) => file.read_at(into, self.offset)?,
            (_, in_buffer) => {
                let at = usize::try_from(in_buffer.unwrap_or(0)).map_err(io::Error::other)?;
                buffer.get(at..).unwrap_or_default().read(into)?
            }
        };
        self.offset += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::SubjectKey;

    use super::*;

    #[tokio::test]
    async fn lines_of_a_subject_are_together_and_in_their_order_however_many() {
        const LINES: usize = 3_000;
        const NOW: u64 = 4_000;
        let subject = |n: usize| SubjectKey::new("article", &(n % 7).to_string()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut staged = StagedLines::new(folder.path(), NOW);
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
        let parts = staged.finish();
        assert_eq!(parts.iter().map(|part| part.comments()).sum::<usize>(), LINES);
        assert!(parts.iter().any(|part| part.file.is_some()) && parts.iter().any(|part| part.file.is_none()));
        for _ in 0..2 {
            let mut seen = 0;
            for part in &parts {
                let mut lines = Vec::new();
                let each = |number, at, line| {
                    lines.push((number, at, line));
                    Ok(())
                };
                part.read_all(each).unwrap();
                seen += lines.len();
                assert!(lines.iter().map(|(number, ..)| number).is_sorted());
                let locations = lines.iter().map(|(_, at, _)| *at).rev().collect();
                let mut comments = part.read_comments(locations).await.unwrap();
                comments.reverse();
                for ((number, _, line), comment) in lines.iter().zip(comments) {
                    assert_eq!((&comment.subject, comment.id.parse()), (&subject(*number), Ok(*number)));
                    assert_eq!(comment.created_at, NOW, "the future is now");
                    assert_eq!(*line, ParsedLine::Comment(comment), "as it is read by where it lies");
                    let together = lines.iter().filter(|(.., other)| other.subject() == line.subject()).count();
                    assert!(together >= LINES / 7, "{together}");
                }
            }
            assert_eq!(seen, LINES);
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "they have no name");
        drop(folder);
        let mut staged = StagedLines::new(Path::new("/nowhere"), NOW);
        let line = vec![b'x'; MAX_BUFFER_BYTES];
        let parsed = ParsedLine::parse(br#"{"subject":"article:1","title":"x"}"#).unwrap();
        staged.add(1, &parsed, &line).await.unwrap();
        staged.add(2, &parsed, &line).await.unwrap_err();
    }
}
