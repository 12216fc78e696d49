//! Builds a [`Dictionary`] from terms.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use daachorse::{CharwiseDoubleArrayAhoCorasick, CharwiseDoubleArrayAhoCorasickBuilder};

use super::normalize::{CharClass, GAP_LINE, GAP_STOP, MIN_BREAKABLE_CHARS, WORD_START, classify, mark};
use super::{
    Dictionary, DictionaryEntry, DictionaryError, InvalidTerm, MAX_CATEGORY_BYTES, MAX_DICTIONARY_BYTES,
    MAX_TERM_BYTES, MAX_TERMS, Term, TermAction, TermGap,
};

/// A term that begins or ends with at most this many word characters matches only at the edge of a word
/// there. Most abbreviations are that short, and most words that are part of unrelated ones (`anal`).
const MAX_SHORT_END_CHARS: usize = 4;

/// A normalised term, before the strings that it shares with others are extracted. The order is that of
/// the entries: equal kept characters together, and the most severe action first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct ReducedTerm {
    /// The kept characters, with [`WORD_START`] wherever a matching text has one too.
    pattern: String,
    /// The number of kept characters before each gap, and the marks of the gap.
    gaps: Vec<(usize, String)>,
    category: u32,
    severity: core::cmp::Reverse<TermAction>,
    edge: (bool, bool),
    /// Number of kept characters.
    len: usize,
}

impl Dictionary {
    /// Builds a dictionary, which may have no terms. Of terms that are equal after normalisation and have the
    /// same category, the one with the most severe action counts.
    ///
    /// # Errors
    ///
    /// [`DictionaryError`] if a limit of this module is exceeded, or a term is empty after normalisation. It
    /// names the first such term.
    pub fn build(version: u64, terms: &[Term]) -> Result<Self, DictionaryError> {
        let bytes = terms.iter().map(|t| t.term.len()).sum();
        if terms.len() > MAX_TERMS {
            return Err(DictionaryError::TooMany(terms.len()));
        }
        if bytes > MAX_DICTIONARY_BYTES {
            return Err(DictionaryError::TooLarge(bytes));
        }
        let categories: BTreeSet<&str> = terms.iter().map(|t| t.category.as_str()).collect();
        let category_of: BTreeMap<&str, u32> = categories.iter().copied().zip(0..).collect();
        let mut pictures = BTreeSet::new();
        let mut reduced = Vec::with_capacity(terms.len());
        for (index, term) in terms.iter().enumerate() {
            let category = category_of.get(term.category.as_str()).copied().unwrap_or_default();
            let one =
                reduce(term, category, &mut pictures).map_err(|reason| DictionaryError::Term { index, reason })?;
            reduced.push(one);
        }
        reduced.sort_unstable();
        reduced.dedup_by(|later, kept| {
            (&later.pattern, &later.gaps, later.category) == (&kept.pattern, &kept.gaps, kept.category)
        });
        let categories = categories.into_iter().map(ToString::to_string).collect();
        Self::assemble(version, &reduced, categories, pictures.into_iter().collect())
    }

    fn assemble(
        version: u64,
        reduced: &[ReducedTerm],
        categories: Box<[String]>,
        pictures: Box<[char]>,
    ) -> Result<Self, DictionaryError> {
        let mut marks = Interned::default();
        let mut gaps = Vec::new();
        let mut entries = Vec::with_capacity(reduced.len());
        let mut groups = Vec::new();
        let mut patterns = Vec::new();
        for same in reduced.chunk_by(|a, b| a.pattern == b.pattern) {
            let Some(first) = same.first() else { continue };
            let len = number(first.len)?;
            let start = number(entries.len())?;
            for one in same {
                entries.push(DictionaryEntry {
                    category: one.category,
                    gaps: number(gaps.len())?,
                    gaps_len: number(one.gaps.len())?,
                    len,
                    action: one.severity.0,
                    edge: one.edge,
                });
                for (at, text) in &one.gaps {
                    gaps.push(TermGap { at: number(*at)?, marks: marks.place(text)? });
                }
            }
            patterns.push((first.pattern.as_str(), number::<u32>(groups.len())?));
            groups.push((start, number(entries.len())?));
        }
        Ok(Self {
            version,
            automaton: automaton(patterns)?,
            groups: groups.into(),
            entries: entries.into(),
            gaps: gaps.into(),
            marks: marks.all.into(),
            categories,
            pictures,
        })
    }
}

fn automaton(patterns: Vec<(&str, u32)>) -> Result<Option<CharwiseDoubleArrayAhoCorasick<u32>>, DictionaryError> {
    if patterns.is_empty() {
        return Ok(None);
    }
    CharwiseDoubleArrayAhoCorasickBuilder::new()
        // Helps only searches of whole slices; the scan feeds one character at a time.
        .use_prefilter(false)
        .build_with_values(patterns)
        .map(Some)
        .map_err(|_| DictionaryError::Automaton)
}

/// Within the limits of this module every number fits its type.
fn number<T: TryFrom<usize>>(n: usize) -> Result<T, DictionaryError> {
    T::try_from(n).map_err(|_| DictionaryError::Automaton)
}

#[derive(Default)]
struct Interned {
    all: Vec<Box<str>>,
    places: BTreeMap<Box<str>, u32>,
}

impl Interned {
    fn place(&mut self, text: &str) -> Result<u32, DictionaryError> {
        if let Some(&place) = self.places.get(text) {
            return Ok(place);
        }
        let place = number(self.all.len())?;
        self.all.push(text.into());
        self.places.insert(text.into(), place);
        Ok(place)
    }
}

fn reduce(term: &Term, category: u32, pictures: &mut BTreeSet<char>) -> Result<ReducedTerm, InvalidTerm> {
    if term.term.len() > MAX_TERM_BYTES {
        return Err(InvalidTerm::TooLong);
    }
    if !(1..=MAX_CATEGORY_BYTES).contains(&term.category.len()) {
        return Err(InvalidTerm::Category);
    }
    let mut pattern = String::new();
    // Whether each kept character is dense.
    let mut dense: Vec<bool> = Vec::new();
    let mut gaps = Vec::new();
    let mut inner = false;
    let mut marks = String::new();
    let mut gap = 0;
    for c in term.term.trim().chars() {
        let (folded, is_dense) = match classify(c) {
            CharClass::Word(c) => (c, false),
            CharClass::Dense(c) => (c, true),
            CharClass::Picture(c) => {
                pictures.insert(c);
                (c, true)
            }
            CharClass::Gap(g) => {
                gap |= g;
                marks.extend(mark(c));
                continue;
            }
            CharClass::Invisible => continue,
        };
        let counts = match dense.last() {
            None => !marks.is_empty(),
            Some(&before) if before || is_dense => gap & (GAP_STOP | GAP_LINE) != 0,
            Some(_) => gap != 0,
        };
        if counts {
            inner |= dense.last() == Some(&false) && !is_dense;
            gaps.push((dense.len(), core::mem::take(&mut marks)));
        }
        if !is_dense && dense.last().is_some_and(|&before| before || gap != 0) {
            pattern.push(WORD_START);
        }
        marks.clear();
        gap = 0;
        pattern.push(folded);
        dense.push(is_dense);
    }
    if !marks.is_empty() {
        gaps.push((dense.len(), marks));
    }
    if dense.is_empty() {
        return Err(InvalidTerm::Nothing);
    }
    let edge = |run: usize| run > 0 && (inner || run <= MAX_SHORT_END_CHARS);
    let edge = (edge(dense.iter().take_while(|&&d| !d).count()), edge(dense.iter().rev().take_while(|&&d| !d).count()));
    // Not for a term that may also match letter by letter: its pieces are not words of their own.
    if edge.0 && (inner || dense.len() < MIN_BREAKABLE_CHARS) {
        pattern.insert(0, WORD_START);
    }
    Ok(ReducedTerm { edge, len: dense.len(), pattern, gaps, category, severity: core::cmp::Reverse(term.action) })
}
