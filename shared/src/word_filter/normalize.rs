//! Classifies single characters: kept, a gap, or dropped. No state, no lookahead.

#[cfg(feature = "lookalikes")]
use super::lookalikes;
use super::simplified::simplified;
use crate::visible_text::is_default_ignorable;

/// The kinds of characters in a gap, as a set of bits. Zero is no gap.
pub(super) type Gap = u8;
/// Spaces and tabs.
pub(super) const GAP_SPACE: Gap = 1;
/// Marks that occur inside ordinary words and addresses, and brackets and quotes.
pub(super) const GAP_MARK: Gap = 2;
/// Symbols that do not occur there.
pub(super) const GAP_SYMBOL: Gap = 4;
/// Marks that end a clause.
pub(super) const GAP_STOP: Gap = 8;
/// Line breaks.
pub(super) const GAP_LINE: Gap = 16;

/// Fewest kept characters of a term that matches letter by letter, or with symbols inside a word: in
/// shorter ones, such as `a*b` and `3 P`, the gap is probably meant.
pub(super) const MIN_BREAKABLE_CHARS: usize = 3;

/// Fed to the automaton before every word of the text, and the first character of the patterns of terms
/// that begin with a whole word. Most terms do (addresses), so inside a word of the text the automaton
/// stays at its root instead of trying them at every letter. Never a kept character.
pub(super) const WORD_START: char = '\0';

/// The class of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CharClass {
    /// Kept and folded; of a script with spaces between words.
    Word(char),
    /// Kept and folded; of a script without.
    Dense(char),
    /// Kept if the dictionary has a term with it, else a [`GAP_SYMBOL`].
    Picture(char),
    /// Dropped, and recorded as a gap.
    Gap(Gap),
    /// Dropped without a trace.
    Invisible,
}

/// Classifies `c`.
#[inline]
pub(super) fn classify(c: char) -> CharClass {
    match c {
        '\0'..='\x7f' => ascii(c),
        // All assigned, all letters; the bulk of Chinese text.
        '\u{4e00}'..='\u{9fff}' => CharClass::Dense(simplified(c)),
        // 0xFEE0 is the distance between a full-width form and its ASCII counterpart.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xFEE0).map_or(CharClass::Gap(GAP_SYMBOL), ascii),
        _ => other(c),
    }
}

/// The mark that `c` counts as when it is compared with the marks of a term: full-width forms as ASCII,
/// every dot as a full stop, line breaks as `\n`. `None` if `c` is a space, is invisible, or is kept.
pub(super) fn mark(c: char) -> Option<char> {
    match classify(c) {
        CharClass::Gap(GAP_SPACE) | CharClass::Invisible | CharClass::Word(_) | CharClass::Dense(_) => None,
        CharClass::Gap(GAP_LINE) => Some('\n'),
        CharClass::Gap(_) | CharClass::Picture(_) => Some(match c {
            '\u{3002}' | '\u{ff61}' | '\u{b7}' | '\u{2022}' | '\u{30fb}' | '\u{2027}' => '.',
            '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xFEE0).unwrap_or(c),
            '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
            '\u{2018}' | '\u{2019}' => '\'',
            '\u{201c}' | '\u{201d}' => '"',
            c => compatible(c).unwrap_or(c),
        }),
    }
}

#[inline]
fn ascii(c: char) -> CharClass {
    match c {
        'a'..='z' | '0'..='9' => CharClass::Word(c),
        'A'..='Z' => CharClass::Word(c.to_ascii_lowercase()),
        ' ' | '\t' => CharClass::Gap(GAP_SPACE),
        '\n' | '\r' | '\x0b' | '\x0c' => CharClass::Gap(GAP_LINE),
        '!' | ',' | ':' | ';' | '?' => CharClass::Gap(GAP_STOP),
        '*' | '|' | '~' | '^' => CharClass::Gap(GAP_SYMBOL),
        '\0'..='\x1f' | '\x7f' => CharClass::Invisible,
        _ => CharClass::Gap(GAP_MARK),
    }
}

fn other(c: char) -> CharClass {
    if is_invisible(c) {
        return CharClass::Invisible;
    }
    if c.is_alphanumeric() {
        if let Some(form_of) = compatible(c) {
            return classify(form_of);
        }
        let c = fold(c);
        return if is_dense(c) { CharClass::Dense(c) } else { CharClass::Word(c) };
    }
    match c {
        '\u{85}' | '\u{2028}' | '\u{2029}' => CharClass::Gap(GAP_LINE),
        // The blank pattern of Braille looks like a space, but Unicode does not class it as white space.
        '\u{2800}' => CharClass::Gap(GAP_SPACE),
        _ if c.is_whitespace() => CharClass::Gap(GAP_SPACE),
        '、' | '。' | '\u{ff61}' | '\u{ff64}' | '…' | '‥' | '\u{fe10}'..='\u{fe16}' => CharClass::Gap(GAP_STOP),
        '‘' | '’' | '“' | '”' | '‐'..='―' | '〈'..='】' | '〔'..='〟' | '«' | '»' => {
            CharClass::Gap(GAP_MARK)
        }
        '\u{2190}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}' => {
            CharClass::Picture(c)
        }
        _ => compatible(c).map_or(CharClass::Gap(GAP_SYMBOL), classify),
    }
}

/// Simple case folding through the upper case, so that `ς` and `ſ` equal `σ` and `s`, and then the Latin
/// letter that it looks like. A character whose other case is several characters stays as it is.
fn fold(c: char) -> char {
    let upper = only(c.to_uppercase()).unwrap_or(c);
    latin(only(upper.to_lowercase()).unwrap_or(c))
}

#[cfg(feature = "lookalikes")]
use lookalikes::compatible;

#[cfg(feature = "lookalikes")]
fn latin(c: char) -> char {
    lookalikes::latin(c).unwrap_or(c)
}

#[cfg(not(feature = "lookalikes"))]
const fn compatible(_: char) -> Option<char> {
    None
}

#[cfg(not(feature = "lookalikes"))]
const fn latin(c: char) -> char {
    c
}

fn only(mut chars: impl Iterator<Item = char>) -> Option<char> {
    chars.next().filter(|_| chars.next().is_none())
}

/// Scripts written without spaces, and Hangul: its words have spaces between them, but its syllables can
/// be separated as easily as ideographs.
fn is_dense(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}'          // Thai, Lao
        | '\u{1000}'..='\u{109f}'      // Burmese
        | '\u{1100}'..='\u{11ff}'      // Hangul letters
        | '\u{1780}'..='\u{17ff}'      // Khmer
        | '\u{2e80}'..='\u{a4cf}'      // radicals, kana, bopomofo, ideographs, Yi
        | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}'      // Hangul syllables
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ffdc}'      // half-width kana and Hangul
        | '\u{1aff0}'..='\u{1b2ff}'
        | '\u{20000}'..='\u{3ffff}')
}

fn is_invisible(c: char) -> bool {
    is_default_ignorable(c)
        || matches!(c,
            '\u{80}'..='\u{84}' | '\u{86}'..='\u{9f}'   // controls but the line break
            | '\u{300}'..='\u{36f}'                     // combining marks
            | '\u{483}'..='\u{489}'
            | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}'
            | '\u{302a}'..='\u{302f}' | '\u{3099}' | '\u{309a}'
            | '\u{fe20}'..='\u{fe2f}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{13430}'..='\u{1345f}'
            | '\u{1f3fb}'..='\u{1f3ff}') // skin tones
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        for (c, class) in [
            ('Q', CharClass::Word('q')),
            ('Ｑ', CharClass::Word('q')),
            ('É', CharClass::Word('é')),
            ('ς', CharClass::Word('σ')),
            ('陰', CharClass::Dense('阴')),
            ('ー', CharClass::Dense('ー')),
            ('〇', CharClass::Dense('〇')),
            ('한', CharClass::Dense('한')),
            ('\u{3000}', CharClass::Gap(GAP_SPACE)),
            ('，', CharClass::Gap(GAP_STOP)),
            ('。', CharClass::Gap(GAP_STOP)),
            ('．', CharClass::Gap(GAP_MARK)),
            ('「', CharClass::Gap(GAP_MARK)),
            ('·', CharClass::Gap(GAP_SYMBOL)),
            ('・', CharClass::Gap(GAP_SYMBOL)),
            ('\n', CharClass::Gap(GAP_LINE)),
            ('\u{2028}', CharClass::Gap(GAP_LINE)),
            ('\u{200d}', CharClass::Invisible),
            ('\u{0}', CharClass::Invisible),
            ('\u{fe0f}', CharClass::Invisible),
            ('🔞', CharClass::Picture('🔞')),
        ] {
            assert_eq!(classify(c), class, "{c:?}");
        }
    }

    #[test]
    fn folding_twice_changes_nothing() {
        for c in '\0'..=char::MAX {
            if let CharClass::Word(k) | CharClass::Dense(k) = classify(c) {
                assert_eq!(classify(k), classify(c), "{c:?}");
            }
        }
    }

    #[test]
    fn marks() {
        for (c, expected) in [('。', Some('.')), ('．', Some('.')), ('／', Some('/')), (' ', None), ('a', None)] {
            assert_eq!(mark(c), expected, "{c:?}");
        }
    }
}
