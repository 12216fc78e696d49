//! Elements of a file of XML, one at a time.

use std::collections::HashMap;
use std::io::BufReader;

use anyhow::{Context as _, ensure};
use quick_xml::Reader;
use quick_xml::escape::resolve_html5_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use crate::importers::source::{CountedFile, ExportSource};

/// Longest text of one element, in bytes: a page of a blog with pictures in it.
const MAX_ELEMENT_BYTES: usize = 64 << 20;

/// A file of XML.
pub(super) struct XmlFile {
    reader: Reader<BufReader<CountedFile>>,
    buffer: Vec<u8>,
}

/// The texts below an element, by their path from it: `author/name`; an attribute stands behind an `@`: `thread@dsq:id`.
pub(super) type Fields = HashMap<String, String>;

impl XmlFile {
    /// # Errors
    /// When the file cannot be opened.
    pub(super) fn open(file: &ExportSource) -> anyhow::Result<Self> {
        let mut reader = Reader::from_reader(BufReader::new(file.open()?));
        reader.config_mut().expand_empty_elements = true;
        Ok(Self { reader, buffer: Vec::new() })
    }

    /// The next element that begins, at whatever depth; `None` at the end of the file.
    ///
    /// # Errors
    /// When the file is no XML.
    pub(super) fn next_start(&mut self) -> anyhow::Result<Option<(String, Fields)>> {
        loop {
            self.buffer.clear();
            match self.read()? {
                Event::Start(start) => {
                    let name = name_of(&start);
                    return Ok(Some((name, attributes(&start, "")?)));
                }
                Event::Eof => return Ok(None),
                _ => {}
            }
        }
    }

    /// Reads to the end of the element that has begun.
    ///
    /// # Errors
    /// When the file is no XML, or ends before.
    pub(super) fn fields(&mut self) -> anyhow::Result<Fields> {
        let (mut fields, mut path, mut bytes) = (Fields::new(), Vec::<String>::new(), 0);
        loop {
            self.buffer.clear();
            let text = match self.read()? {
                Event::Start(start) => {
                    path.push(name_of(&start));
                    fields.extend(attributes(&start, &path.join("/"))?);
                    continue;
                }
                Event::End(_) => {
                    if path.pop().is_none() {
                        return Ok(fields);
                    }
                    continue;
                }
                Event::Text(text) => text.decode()?.into_owned(),
                Event::CData(text) => text.decode()?.into_owned(),
                Event::GeneralRef(reference) => resolved(&reference)?,
                Event::Eof => anyhow::bail!("the file ends in the middle of an element"),
                _ => continue,
            };
            bytes += text.len();
            ensure!(bytes <= MAX_ELEMENT_BYTES, "an element is larger than {MAX_ELEMENT_BYTES} bytes");
            fields.entry(path.join("/")).or_default().push_str(&text);
        }
    }

    fn read(&mut self) -> anyhow::Result<Event<'_>> {
        let at = self.reader.buffer_position();
        self.reader.read_event_into(&mut self.buffer).with_context(|| format!("the file is no XML at byte {at}"))
    }
}

fn name_of(start: &BytesStart<'_>) -> String {
    String::from_utf8_lossy(start.name().as_ref()).into_owned()
}

fn attributes(start: &BytesStart<'_>, path: &str) -> anyhow::Result<Fields> {
    let named = start.attributes().map(|attribute| {
        let attribute = attribute?;
        let name = String::from_utf8_lossy(attribute.key.as_ref()).into_owned();
        Ok((format!("{path}@{name}"), String::from_utf8_lossy(&attribute.value).into_owned()))
    });
    named.collect()
}

/// The text of `&amp;` or `&#8212;`; one of another name stays as it is.
fn resolved(reference: &BytesRef<'_>) -> anyhow::Result<String> {
    if let Some(character) = reference.resolve_char_ref()? {
        return Ok(character.to_string());
    }
    let name = reference.decode()?;
    Ok(resolve_html5_entity(&name).map_or_else(|| format!("&{name};"), str::to_owned))
}
