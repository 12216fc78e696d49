//! The word filter: finds the terms of a dictionary in a comment and decides what to do.
//!
//! A [`Dictionary`] is built once from [`Term`]s and is immutable. [`Dictionary::check`] reads the text
//! once, whatever the number of terms, and returns a [`FilterVerdict`]. Not here: storing and loading
//! terms, and IO. The filter does not recognise pinyin, homophones, accents, digits for letters or the
//! meaning of a sentence.
//!
//! **Promises.** No text makes it panic. A masked text has as many characters as the original, differs
//! from it only by `*` for matched characters, and passes when it is checked again. Invisible characters
//! never change which terms are found.
//!
//! # What is compared
//!
//! Both terms and text are reduced to their *kept* characters: letters, digits and ideographs,
//! with full-width forms converted to half-width, letters to lower case (simple folding) and traditional
//! characters to simplified ones (by the table of `OpenCC`). With the feature `lookalikes`, which the origin has
//! and the Worker has not, compatibility forms (`𝐱`, `ⓧ`) and letters that look like Latin ones (`х`, `χ`)
//! become what they look like.
//!
//! - *Invisible* characters are dropped everywhere: zero-width spaces and joiners, soft
//!   hyphens, byte order marks, variation selectors, bidirectional controls, tags, other control
//!   characters, combining marks, skin tones.
//! - Spaces, punctuation and symbols are dropped too, but the *gap* that they leave is recorded.
//! - Emoji and similar pictures are symbols, except for those that occur in a term of the dictionary:
//!   these are kept like ideographs.
//!
//! # What a gap does
//!
//! *Dense* characters are those of scripts written without spaces (Chinese, Japanese, Thai …),
//! Hangul and kept pictures; all others are *word* characters.
//!
//! 1. Beside a dense character a gap is skipped, both in the text and in the term:
//!    `赌 博`, `赌*博`, `加 QQ`. It is not skipped if it has a mark that ends a clause
//!    (`，。！？；：、…`) or a line break, unless the term has one there: `他很黄。片子` is not `黄片`.
//! 2. Between two word characters a gap prevents the match: `pass it` is not `assi`. Where the term
//!    has a gap itself, the text must have one with the same marks in the same order; other characters
//!    around them do not matter: `www.x.com` matches `ＷＷＷ。x . com` but neither `wwwxcom` nor
//!    `www x com`. In terms of three kept characters or more, symbols that do not occur inside
//!    ordinary words (`*`, `|`, `·`, `~`, `^`, pictures and the like, without a space) are skipped: `po*rn`.
//! 3. A term of three kept characters or more also matches if there is a gap of any kind between *all* of
//!    its characters: `p o r n`, `法，轮，功`. Terms with gaps of their own (addresses) do not match letter
//!    by letter.
//! 4. The text must have the marks at the ends of a term: `C++` is not found in `C`.
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
#[cfg(feature = "lookalikes")]
mod lookalikes;
mod normalize;
mod scan;
#[cfg(feature = "lookalikes")]
mod search_fold;
mod simplified;
#[cfg(feature = "lookalikes")]
mod skeleton;
mod tsv;

pub use scan::{MASK_CHARACTER, count_masked};
#[cfg(feature = "lookalikes")]
pub use search_fold::{SearchChar, search_char};
#[cfg(feature = "lookalikes")]
pub use skeleton::name_skeleton;
pub use tsv::{InvalidTsvLine, TsvError, parse_tsv};

/// Most terms in a dictionary.
pub const MAX_TERMS: usize = 200_000;
/// Longest term, in bytes.
pub const MAX_TERM_BYTES: usize = 256;
/// Most bytes in all terms of a dictionary together: 200,000 terms of 20 bytes. The automaton
/// has at most one state of 16 bytes for each byte of a term: at most 67 MB.
pub const MAX_DICTIONARY_BYTES: usize = 4 << 20;
/// Longest category, in bytes.
pub const MAX_CATEGORY_BYTES: usize = 64;

/// What happens to a text with a term. Ordered by severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum TermAction {
    /// Publish, with `*` in place of the term.
    Mask,
    /// Hold until a moderator decides.
    Review,
    /// Refuse.
    Block,
}

/// One entry of a dictionary, as an operator writes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Term {
    /// The text to find; 1 to [`MAX_TERM_BYTES`] bytes.
    pub term: String,
    /// Why it is listed, such as `ad`; 1 to [`MAX_CATEGORY_BYTES`] bytes.
    pub category: String,
    /// What happens to a text with it.
    pub action: TermAction,
}

/// Why a dictionary cannot be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DictionaryError {
    /// More than [`MAX_TERMS`] terms; their number.
    TooMany(usize),
    /// More than [`MAX_DICTIONARY_BYTES`] bytes in all terms together; their number.
    TooLarge(usize),
    /// An invalid term.
    Term {
        /// Its index among the terms, from 0.
        index: usize,
        /// What is wrong with it.
        reason: InvalidTerm,
    },
    /// The automaton exceeds its own limits. Not expected within the limits above.
    Automaton,
}

/// What is wrong with a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidTerm {
    /// More than [`MAX_TERM_BYTES`] bytes.
    TooLong,
    /// It has no kept characters: it is empty, or consists of spaces, marks and invisible characters.
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

/// The result of checking a text. The categories are those of all matched terms, whatever their action,
/// sorted and without duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilterVerdict {
    /// No term was found.
    Pass,
    /// Only terms to mask were found.
    Mask {
        /// The text with one `*` for each character in a match, or in a grapheme cluster that a match
        /// touches.
        text: String,
        /// See above.
        categories: Vec<String>,
    },
    /// A term with review was found and none that blocks; or each masking joined further terms, which does
    /// not happen with ordinary text.
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

/// An immutable set of terms, prepared for searching. Share it in an `Arc`.
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
    /// `None` if there are no terms. The value of a pattern is its index in `groups`.
    automaton: Option<CharwiseDoubleArrayAhoCorasick<u32>>,
    /// Entries that share their kept characters, as `start..end` in `entries`.
    groups: Box<[(u32, u32)]>,
    entries: Box<[DictionaryEntry]>,
    /// The gaps of terms that the text must or may have; those of one entry are together.
    gaps: Box<[TermGap]>,
    /// Every distinct run of marks in `gaps`.
    marks: Box<[Box<str>]>,
    /// Sorted.
    categories: Box<[String]>,
    /// Pictures that occur in a term; sorted.
    pictures: Box<[char]>,
}

/// A normalised term.
struct DictionaryEntry {
    category: u32,
    /// The index of its first gap.
    gaps: u32,
    gaps_len: u16,
    /// Number of kept characters, at least 1.
    len: u16,
    action: TermAction,
    /// The match must begin, or end, at the edge of a word.
    edge: (bool, bool),
}

/// A gap in a term that affects the match. Between word characters or at an end, the text must have it.
/// Beside a dense character, the text may have marks there that otherwise prevent the match.
struct TermGap {
    /// Number of kept characters before it.
    at: u16,
    /// The index of its marks.
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

    /// Number of entries: terms that are equal after normalisation and have the same category count once.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has no terms.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Its bytes on the heap, without the overhead of the allocator.
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
