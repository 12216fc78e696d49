//! The word filter: finds the terms of a dictionary in a comment and decides what to do.
//!
//! A [`Dictionary`] is built once from [`Term`]s and then only read. [`Dictionary::check`] walks
//! the text once, whatever the number of terms, and answers with a [`FilterVerdict`]. It does not store,
//! load or reload terms, does not read pinyin, homophones, look-alike letters, `NFKC` forms
//! (`𝐱`, `ⓧ`) or the meaning of a sentence, and does no IO.
//!
//! **Promises.** No text makes it panic. A masked text has as many characters as the text as
//! written, differs from it only in `*` on matched characters, and passes when checked again.
//! Characters that cannot be seen never change which terms are found.
//!
//! # What is compared
//!
//! Both terms and text are reduced to their *kept* characters: letters, digits and ideographs,
//! with full-width forms made half-width, letters in lower case (simple folding) and traditional
//! characters made simplified (the table of `OpenCC`).
//!
//! - *Invisible* characters are dropped wherever they stand: zero-width spaces and joiners, soft
//!   hyphens, byte order marks, variation selectors, bidirectional controls, tags, other control
//!   characters, combining marks, skin tones.
//! - Spaces, punctuation and symbols are dropped too, but the *gap* they leave is remembered.
//! - Emoji and similar pictures are symbols, except those that stand in some term of the
//!   dictionary: these are kept, as ideographs are.
//!
//! # What a gap does
//!
//! *Dense* characters are those of scripts written without spaces (Chinese, Japanese, Thai …),
//! Hangul and kept pictures; all others are *word* characters.
//!
//! 1. Beside a dense character a gap is noise and is skipped, in the text and in the term alike:
//!    `赌 博`, `赌*博`, `加 QQ`. It is not skipped if it holds a mark that ends a clause
//!    (`，。！？；：、…`) or a line break, unless the term has one there: `他很黄。片子` is not `黄片`.
//! 2. Between two word characters a gap breaks the match: `pass it` is not `assi`. Where the term
//!    has a gap itself, the text must have one with the same marks in the same order, whatever
//!    else stands around them: `www.x.com` matches `ＷＷＷ。x . com` but neither `wwwxcom` nor
//!    `www x com`. In terms of three kept characters or more, symbols that do not occur inside
//!    ordinary words (`*`, `|`, `·`, `~`, `^`, pictures and the like, without a space) are skipped: `po*rn`.
//! 3. A term of three kept characters or more also matches if *every* joint has a gap, of whatever
//!    kind: `p o r n`, `法，轮，功`. Terms with gaps of their own (addresses) are not looked for
//!    letter by letter.
//! 4. Marks at the ends of a term must be there: `C++` is not found in `C`.
//!
//! # Where a match may begin and end
//!
//! A term that begins or ends with one to four word characters, or that has a gap between word
//! characters (an address, a phrase), begins or ends there only at the edge of a word: `JS` is
//! found in `用JS写` and `JS-1` and not in `JSON`; `x.com` is not found in `lax.com`. Dense
//! characters, gaps and the ends of the text are edges. Longer words are found inside others.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use daachorse::CharwiseDoubleArrayAhoCorasick;
use serde::{Deserialize, Serialize};

mod build;
mod normalize;
mod scan;
mod simplified;
mod tsv;

pub use tsv::{InvalidTsvLine, TsvError, parse_tsv};

/// Most terms a dictionary takes.
pub const MAX_TERMS: usize = 200_000;
/// Longest term, in bytes.
pub const MAX_TERM_BYTES: usize = 256;
/// Most bytes in all terms of a dictionary together: 200,000 terms of 20 bytes. The automaton
/// has at most one state of 16 bytes per byte of a term, so 67 MB at the very worst.
pub const MAX_DICTIONARY_BYTES: usize = 4 << 20;
/// Longest category, in bytes.
pub const MAX_CATEGORY_BYTES: usize = 64;

/// What is to be done with a text that holds a term. Ordered by severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TermAction {
    /// Publish, with `*` in place of the term.
    Mask,
    /// Hold until a person has looked at it.
    Review,
    /// Refuse.
    Block,
}

/// One entry of a dictionary, as an operator writes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Term {
    /// What to look for; 1 to [`MAX_TERM_BYTES`] bytes.
    pub term: String,
    /// Why it is listed, such as `ad`; 1 to [`MAX_CATEGORY_BYTES`] bytes.
    pub category: String,
    /// What is to be done.
    pub action: TermAction,
}

/// Why a dictionary cannot be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DictionaryError {
    /// More than [`MAX_TERMS`] terms; their number.
    TooMany(usize),
    /// More than [`MAX_DICTIONARY_BYTES`] bytes in all terms together; their number.
    TooLarge(usize),
    /// A term that cannot be taken.
    Term {
        /// Its place among the terms given, from 0.
        index: usize,
        /// What is wrong with it.
        reason: InvalidTerm,
    },
    /// The automaton does not fit its own limits. Not expected within the limits above.
    Automaton,
}

/// What is wrong with a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidTerm {
    /// More than [`MAX_TERM_BYTES`] bytes.
    TooLong,
    /// Nothing is left of it to compare: it is empty, or spaces, marks and invisible characters.
    Nothing,
    /// Its category is not 1 to [`MAX_CATEGORY_BYTES`] bytes long.
    Category,
}

impl fmt::Display for DictionaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany(n) => write!(f, "{n} terms are more than {MAX_TERMS}"),
            Self::TooLarge(n) => write!(f, "{n} bytes of terms are more than {MAX_DICTIONARY_BYTES}"),
            Self::Term { index, reason } => write!(f, "term at index {index}: {reason}"),
            Self::Automaton => f.write_str("the terms do not fit an automaton"),
        }
    }
}

impl fmt::Display for InvalidTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "longer than {MAX_TERM_BYTES} bytes"),
            Self::Nothing => f.write_str("no letter, digit, ideograph or picture in it"),
            Self::Category => write!(f, "its category is not 1 to {MAX_CATEGORY_BYTES} bytes"),
        }
    }
}

impl core::error::Error for DictionaryError {}
impl core::error::Error for InvalidTerm {}

/// What a dictionary says of a text. Categories are those of every matched term, whatever its
/// action, sorted and without repetition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilterVerdict {
    /// No term was found.
    Pass,
    /// Only terms to mask were found.
    Mask {
        /// The text with one `*` for each character that stands in a match, or in a grapheme
        /// cluster that a match touches.
        text: String,
        /// See above.
        categories: Vec<String>,
    },
    /// A term that asks for review was found and none that blocks, or masking kept bringing
    /// further terms together, which ordinary text does not do.
    Review {
        /// See above.
        categories: Vec<String>,
    },
    /// A term that blocks was found.
    Block {
        /// See above.
        categories: Vec<String>,
    },
}

/// An immutable set of terms, ready to be searched for. Share it in an `Arc`.
///
/// ```
/// use gailou_shared::word_filter::{TermAction, Dictionary, Term, FilterVerdict};
/// let term = |term: &str, action| Term { term: term.into(), category: "ad".into(), action };
/// let words = Dictionary::build(7, &[term("兼职", TermAction::Mask), term("x.com", TermAction::Block)])?;
/// assert_eq!(
///     words.check("诚招 兼-職 ，日结"),
///     FilterVerdict::Mask { text: "诚招 *** ，日结".into(), categories: vec!["ad".into()] }
/// );
/// assert_eq!(words.check("見 Ｘ.COM"), FilterVerdict::Block { categories: vec!["ad".into()] });
/// # Ok::<(), gailou_shared::word_filter::DictionaryError>(())
/// ```
pub struct Dictionary {
    version: u64,
    /// `None` if there are no terms. The value of a pattern is its place in `groups`.
    automaton: Option<CharwiseDoubleArrayAhoCorasick<u32>>,
    /// Entries that share their kept characters, as `start..end` in `entries`.
    groups: Box<[(u32, u32)]>,
    entries: Box<[DictionaryEntry]>,
    /// The gaps inside terms that the text must or may show, each entry's together.
    gaps: Box<[TermGap]>,
    /// Every distinct run of marks in `gaps`.
    marks: Box<[Box<str>]>,
    /// Sorted.
    categories: Box<[String]>,
    /// Pictures that stand in some term; sorted.
    pictures: Box<[char]>,
}

/// A term, reduced.
struct DictionaryEntry {
    category: u32,
    /// Place of the first of its gaps.
    gaps: u32,
    gaps_len: u16,
    /// Number of kept characters, at least 1.
    len: u16,
    action: TermAction,
    /// The match must begin, or end, at the edge of a word.
    edge: (bool, bool),
}

/// A gap in a term that bears on the match: between word characters or at an end the text must
/// have it, and beside a dense character it may hold there what otherwise breaks the match.
struct TermGap {
    /// Number of kept characters before it.
    at: u16,
    /// Place of its marks.
    marks: u32,
}

impl Dictionary {
    /// A dictionary of version 0 without terms: every text passes.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            version: 0,
            automaton: None,
            groups: Box::default(),
            entries: Box::default(),
            gaps: Box::default(),
            marks: Box::default(),
            categories: Box::default(),
            pictures: Box::default(),
        }
    }

    /// The version it was built with.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Number of entries: terms that are equal once normalised, in the same category, count once.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has no terms.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes it holds on the heap, without what the allocator adds.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let strings: usize = self.categories.iter().map(String::capacity).sum();
        let marks: usize = self.marks.iter().map(|m| m.len()).sum();
        self.automaton.as_ref().map_or(0, CharwiseDoubleArrayAhoCorasick::heap_bytes)
            + size_of_val(&*self.groups)
            + size_of_val(&*self.entries)
            + size_of_val(&*self.gaps)
            + size_of_val(&*self.marks)
            + size_of_val(&*self.categories)
            + size_of_val(&*self.pictures)
            + strings
            + marks
    }
}

impl Default for Dictionary {
    fn default() -> Self {
        Self::empty()
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dictionary").field("version", &self.version).field("len", &self.len()).finish_non_exhaustive()
    }
}
