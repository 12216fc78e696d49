//! Texts in fewer bytes, as HTTP names the ways to write them.

use std::io::{self, Write as _};

use brotli::BrotliCompress;
use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::write::GzEncoder;
use gailou_shared::http_headers::MIN_COMPRESSED_BYTES;
use strum::IntoStaticStr;

/// Longest body that is compressed while its reader waits: about 5 ms of work, in which its thread does nothing else.
const MAX_COMPRESSED_BYTES: usize = 512 * 1024;
/// A page of 26 kB is 4.5 kB then, in a quarter of a millisecond; level 7 takes two thirds longer for a tenth less.
const BROTLI_QUALITY: i32 = 5;
/// The logarithm of the bytes that brotli looks back: more than a page has.
const BROTLI_WINDOW: i32 = 18;

/// Whether a body of so many bytes is compressed.
#[must_use]
pub fn is_compressible(bytes: usize) -> bool {
    (MIN_COMPRESSED_BYTES..=MAX_COMPRESSED_BYTES).contains(&bytes)
}

/// A value of `Content-Encoding` (RFC 9110, 8.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
pub enum ContentCoding {
    /// A page is a seventh smaller than as gzip.
    #[strum(serialize = "br")]
    Brotli,
    #[strum(serialize = "gzip")]
    Gzip,
}

impl ContentCoding {
    /// The text in this coding, by the effort that a page is worth which lives for moments.
    ///
    /// # Errors
    /// None is known: memory takes everything that is written to it.
    pub fn compress(self, text: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Brotli => {
                let params = BrotliEncoderParams {
                    quality: BROTLI_QUALITY,
                    lgwin: BROTLI_WINDOW,
                    size_hint: text.len(),
                    ..Default::default()
                };
                let mut compressed = Vec::new();
                BrotliCompress(&mut &*text, &mut compressed, &params)?;
                Ok(compressed)
            }
            Self::Gzip => gzip(text, Compression::default()),
        }
    }
}

/// The text as gzip.
///
/// # Errors
/// As [`ContentCoding::compress`].
pub fn gzip(text: &[u8], effort: Compression) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), effort);
    encoder.write_all(text)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use brotli::Decompressor;
    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn neither_a_packet_nor_a_huge_body_is_compressed() {
        for (bytes, expected) in [(999, false), (1_000, true), (524_288, true), (524_289, false)] {
            assert_eq!(is_compressible(bytes), expected, "{bytes}");
        }
    }

    #[test]
    fn either_coding_is_shorter_and_says_the_same() {
        let text: String = (0..500).map(|number| format!("{{\"id\":\"{number}\",\"likes\":0}},")).collect();
        for coding in [ContentCoding::Brotli, ContentCoding::Gzip] {
            let compressed = coding.compress(text.as_bytes()).expect("memory takes it");
            assert!(compressed.len() < text.len() / 5, "{coding:?}: {}", compressed.len());
            let mut reader: Box<dyn Read> = match coding {
                ContentCoding::Brotli => Box::new(Decompressor::new(&*compressed, 4_096)),
                ContentCoding::Gzip => Box::new(GzDecoder::new(&*compressed)),
            };
            let mut read = String::new();
            reader.read_to_string(&mut read).expect("a text");
            assert_eq!(read, text, "{coding:?}");
        }
    }
}
