//! Checks a text and returns a [`FilterVerdict`]: one pass folds, runs the automaton and verifies what it
//! finds; a second pass over the folded characters follows if words are split into pieces, and one over
//! the graphemes if something is masked.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use daachorse::charwise::iter::FindOverlappingStepper;
use unicode_segmentation::UnicodeSegmentation;

use super::normalize::{
    CharClass, GAP_LINE, GAP_STOP, GAP_SYMBOL, Gap, MIN_BREAKABLE_CHARS, WORD_START, classify, mark,
};
use super::{Dictionary, DictionaryEntry, FilterVerdict, TermAction};

/// How often a text is masked before it is held for review instead. Two are already rare: `日黄片本` with
/// the terms `黄片` and `日本`. Without a bound, a text of nested terms would cost the square of its length.
const MAX_MASK_PASSES: usize = 4;

/// A kept character of the text.
struct KeptChar {
    /// Its offset in bytes.
    start: usize,
    /// Folded.
    c: char,
    /// The gap between it and the previous kept character, or the start of the text.
    gap: Gap,
    dense: bool,
}

/// What one pass over a text found.
#[derive(Default)]
struct Matches {
    /// The most severe action.
    action: Option<TermAction>,
    categories: BTreeSet<u32>,
    /// Matches as `start..end` in bytes; complete only as long as `action` is [`TermAction::Mask`].
    spans: Vec<(usize, usize)>,
}

impl Dictionary {
    /// Finds every term in `text` by the rules in the documentation of the module. Matches may overlap; all
    /// of them count, and the most severe action decides.
    ///
    /// Takes time and memory proportional to the text and its matches, whatever the number of
    /// terms: up to 32 bytes of memory for each character, and a few passes at most.
    #[must_use]
    pub fn check(&self, text: &str) -> FilterVerdict {
        let mut categories = BTreeSet::new();
        let mut masked: Option<String> = None;
        for _ in 0..MAX_MASK_PASSES {
            let now = masked.as_deref().unwrap_or(text);
            let mut found = self.find(now);
            categories.append(&mut found.categories);
            match found.action {
                None => {
                    return match masked {
                        None => FilterVerdict::Pass,
                        Some(text) => FilterVerdict::Mask { text, categories: self.names(&categories) },
                    };
                }
                Some(TermAction::Mask) => masked = Some(mask(now, found.spans)),
                Some(TermAction::Review) => break,
                Some(TermAction::Block) => {
                    return FilterVerdict::Block { categories: self.names(&categories) };
                }
            }
        }
        FilterVerdict::Review { categories: self.names(&categories) }
    }

    /// The categories of all terms in a text that has one to block; `None` for any other text.
    ///
    /// One pass. What [`Dictionary::check`] finds only after it has masked something is not found, and nothing of
    /// masking is needed: the tables of graphemes would be a twentieth of the Worker.
    #[must_use]
    pub fn find_blocked(&self, text: &str) -> Option<Vec<String>> {
        let found = self.find(text);
        (found.action == Some(TermAction::Block)).then(|| self.names(&found.categories))
    }

    fn names(&self, categories: &BTreeSet<u32>) -> Vec<String> {
        categories.iter().filter_map(|&i| self.categories.get(i as usize)).cloned().collect()
    }

    fn find(&self, text: &str) -> Matches {
        let Some(automaton) = &self.automaton else {
            return Matches::default();
        };
        let mut stepper = automaton.find_overlapping_stepper();
        let mut search = TextSearch {
            words: self,
            text,
            // Chinese text has three bytes for each character. For other text the vector grows once or twice.
            kept: Vec::with_capacity(text.len() / 3 + 1),
            found: Matches::default(),
        };
        // Groups whose kept characters end at the last one kept. They are verified when the next one is
        // known, because it decides whether the match ends at the edge of a word.
        let mut pending: Vec<u32> = Vec::new();
        let mut gap = 0;
        let (mut after_word, mut after_start) = (false, false);
        // How many words of one letter are in a row, and whether a second pass is needed.
        let (mut letters, mut broken) = (0, false);
        for (start, c) in text.char_indices() {
            let (c, dense) = match classify(c) {
                CharClass::Word(c) => (c, false),
                CharClass::Dense(c) => (c, true),
                CharClass::Picture(c) if self.pictures.binary_search(&c).is_ok() => (c, true),
                CharClass::Picture(_) => {
                    gap |= GAP_SYMBOL;
                    continue;
                }
                CharClass::Gap(g) => {
                    gap |= g;
                    continue;
                }
                CharClass::Invisible => continue,
            };
            search.kept.push(KeptChar { start, c, gap, dense });
            if !pending.is_empty() {
                search.settle(&mut pending, search.kept.len() - 1);
            }
            let starts = !dense && (gap != 0 || !after_word);
            if starts {
                if after_word {
                    letters = if after_start { letters + 1 } else { 0 };
                    broken |= gap == GAP_SYMBOL || letters > 1;
                }
                stepper.consume(WORD_START);
            }
            (after_word, after_start) = (!dense, starts);
            gap = 0;
            stepper.consume(c);
            pending.extend(stepper.matches().map(|m| m.value()));
        }
        search.settle(&mut pending, search.kept.len());
        if broken {
            search.walk_joined(automaton.find_overlapping_stepper(), &mut pending);
        }
        search.found
    }
}

struct TextSearch<'a> {
    words: &'a Dictionary,
    text: &'a str,
    kept: Vec<KeptChar>,
    found: Matches,
}

impl TextSearch<'_> {
    /// A second pass for texts with words in pieces, `po*rn` or `p o r n`: the pieces count as one word, so
    /// that patterns without a [`WORD_START`] between them match.
    fn walk_joined(&mut self, mut stepper: FindOverlappingStepper<'_, u32>, pending: &mut Vec<u32>) {
        for at in 0..self.kept.len() {
            let Some(kept) = self.kept.get(at) else { break };
            let joined = kept.gap == GAP_SYMBOL && self.follows_word(at) || self.spelled(at);
            if !kept.dense && self.starts(at) && !joined {
                stepper.consume(WORD_START);
            }
            stepper.consume(kept.c);
            pending.extend(stepper.matches().map(|m| m.value()));
            self.settle(pending, at + 1);
        }
    }

    fn follows_word(&self, at: usize) -> bool {
        at.checked_sub(1).and_then(|i| self.kept.get(i)).is_some_and(|k| !k.dense)
    }

    /// Whether a word begins at the kept character `at`, or none can continue there.
    fn starts(&self, at: usize) -> bool {
        self.kept.get(at).is_none_or(|k| k.dense || k.gap != 0 || !self.follows_word(at))
    }

    /// Whether the kept character `at` and the one before it are words of one letter each.
    fn spelled(&self, at: usize) -> bool {
        self.follows_word(at)
            && at.checked_sub(1).is_some_and(|i| self.starts(i))
            && self.starts(at)
            && self.starts(at + 1)
    }

    /// Adds every entry of `groups` that really ends before the kept character `end`.
    fn settle(&mut self, groups: &mut Vec<u32>, end: usize) {
        for group in groups.drain(..) {
            let Some(&(from, to)) = self.words.groups.get(group as usize) else {
                continue;
            };
            for entry in self.words.entries.get(from as usize..to as usize).unwrap_or_default() {
                let found = &self.found;
                let held = found.action > Some(TermAction::Mask);
                // Only masking needs the spans.
                if held && found.action >= Some(entry.action) && found.categories.contains(&entry.category) {
                    continue;
                }
                let Some(span) = self.span(entry, end) else {
                    continue;
                };
                self.found.action = self.found.action.max(Some(entry.action));
                self.found.categories.insert(entry.category);
                if !held {
                    self.found.spans.push(span);
                }
            }
        }
    }

    /// The bytes of `entry` if it ends before the kept character `end`.
    fn span(&self, entry: &DictionaryEntry, end: usize) -> Option<(usize, usize)> {
        let begin = end.checked_sub(usize::from(entry.len))?;
        let run = self.kept.get(begin..end)?;
        let (first, last) = (run.first()?, run.last()?);
        let joints = || run.iter().zip(run.iter().skip(1)).zip(1u16..);
        let whole = joints().all(|((a, b), at)| self.joined(entry, a, b, at));
        let broken = || usize::from(entry.len) >= MIN_BREAKABLE_CHARS && joints().all(|((_, b), _)| b.gap != 0);
        if !whole && !broken() {
            return None;
        }
        let before = begin.checked_sub(1).and_then(|i| self.kept.get(i));
        let after = self.kept.get(end);
        // Letters that are separated one by one form a whole word or none.
        let (edge_before, edge_after) = if whole { entry.edge } else { (true, true) };
        if edge_before && before.is_some_and(|k| within_word(k, first))
            || edge_after && after.is_some_and(|k| within_word(last, k))
        {
            return None;
        }
        let mut start = first.start;
        if let Some(marks) = self.marks(entry, 0) {
            let from = before.map_or(0, |k| self.end_of(k));
            let gap = self.text.get(from..start)?;
            start = from + find_marks(gap.char_indices().rev(), marks.chars().rev())?;
        }
        let mut stop = self.end_of(last);
        if let Some(marks) = self.marks(entry, entry.len) {
            let gap = self.text.get(stop..after.map_or(self.text.len(), |k| k.start))?;
            let at = stop + find_marks(gap.char_indices(), marks.chars())?;
            stop = at + self.char_len(at);
        }
        Some((start, stop))
    }

    /// Whether the gap between two kept characters lets them follow each other in `entry`.
    fn joined(&self, entry: &DictionaryEntry, a: &KeptChar, b: &KeptChar, at: u16) -> bool {
        if a.dense || b.dense {
            return b.gap & (GAP_STOP | GAP_LINE) == 0 || self.marks(entry, at).is_some();
        }
        match self.marks(entry, at) {
            None => b.gap == 0 || b.gap == GAP_SYMBOL && usize::from(entry.len) >= MIN_BREAKABLE_CHARS,
            Some(marks) => {
                b.gap != 0
                    && (b.gap & GAP_LINE == 0 || marks.contains('\n'))
                    && (marks.is_empty()
                        || self
                            .text
                            .get(self.end_of(a)..b.start)
                            .is_some_and(|gap| find_marks(gap.char_indices(), marks.chars()).is_some()))
            }
        }
    }

    /// The marks the term has after `at` of its kept characters, if it has a gap there.
    fn marks(&self, entry: &DictionaryEntry, at: u16) -> Option<&str> {
        let from = entry.gaps as usize;
        let gaps = self.words.gaps.get(from..from + usize::from(entry.gaps_len))?;
        let gap = gaps.iter().find(|g| g.at == at)?;
        self.words.marks.get(gap.marks as usize).map(|m| &**m)
    }

    fn end_of(&self, kept: &KeptChar) -> usize {
        kept.start + self.char_len(kept.start)
    }

    fn char_len(&self, at: usize) -> usize {
        self.text.get(at..).and_then(|t| t.chars().next()).map_or(0, char::len_utf8)
    }
}

fn within_word(a: &KeptChar, b: &KeptChar) -> bool {
    !a.dense && !b.dense && b.gap == 0
}

/// The index of the last of `marks` if `gap` has all of them in their order; others may be between them.
fn find_marks(mut gap: impl Iterator<Item = (usize, char)>, marks: impl Iterator<Item = char>) -> Option<usize> {
    let mut place = None;
    for wanted in marks {
        place = Some(gap.find(|&(_, c)| mark(c) == Some(wanted))?.0);
    }
    place
}

/// What the filter writes for each character that it masks.
pub const MASK_CHARACTER: char = '*';

/// How many passages of `written` are masked in `shown`, which the filter made of it.
///
/// ```
/// use gailou_shared::word_filter::count_masked;
/// assert_eq!(count_masked("a darn, damn * day", "a ****, **** * day"), 2);
/// assert_eq!(count_masked("a day", "a day"), 0);
/// ```
#[must_use]
pub fn count_masked(written: &str, shown: &str) -> u32 {
    let (mut passages, mut is_inside) = (0, false);
    for (as_written, as_shown) in written.chars().zip(shown.chars()) {
        let is_masked = as_written != as_shown;
        passages += u32::from(is_masked && !is_inside);
        is_inside = is_masked;
    }
    passages
}

/// `text` with a `*` for each character of every grapheme cluster that one of `spans` touches:
/// half an emoji sequence or an accent without its letter would be neither masked nor as written.
fn mask(text: &str, mut spans: Vec<(usize, usize)>) -> String {
    spans.sort_unstable();
    let mut out = String::with_capacity(text.len());
    let mut spans = spans.into_iter().peekable();
    let mut covered_to = 0;
    for (start, cluster) in text.grapheme_indices(true) {
        let end = start + cluster.len();
        while let Some((_, to)) = spans.next_if(|&(from, _)| from < end) {
            covered_to = covered_to.max(to);
        }
        if covered_to > start {
            out.extend(cluster.chars().map(|_| MASK_CHARACTER));
        } else {
            out.push_str(cluster);
        }
    }
    out
}
