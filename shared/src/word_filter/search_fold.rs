//! Folds single characters for a search: as the word filter folds them, and without accents.

use icu_normalizer::DecomposingNormalizerBorrowed;

use super::normalize::{CharClass, classify};

const NFD_NORMALIZER: DecomposingNormalizerBorrowed<'static> = DecomposingNormalizerBorrowed::new_nfd();

/// Letters that are no letter with an accent by Unicode's tables, and are typed as one where a keyboard lacks them.
const TYPED_WITHOUT_STROKE: [(char, char); 6] =
    [('ð', 'd'), ('ø', 'o'), ('đ', 'd'), ('ħ', 'h'), ('ı', 'i'), ('ł', 'l')];

/// What a character of a text is to a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchChar {
    /// A letter or digit of a script with spaces between words, in lower case and without accent.
    Word(char),
    /// A character of a script without: an ideograph in its simplified form, a syllable; or a picture.
    Dense(char),
    /// It ends a word.
    Gap,
    /// Nothing is seen of it.
    Invisible,
}

/// Folds a character. One character becomes one at most, so that a match keeps its place in the text.
#[must_use]
pub fn search_char(c: char) -> SearchChar {
    match classify(c) {
        CharClass::Word(word) if word.is_ascii() => SearchChar::Word(word),
        CharClass::Word(word) => SearchChar::Word(without_accent(word)),
        CharClass::Dense(dense) | CharClass::Picture(dense) => SearchChar::Dense(dense),
        CharClass::Gap(_) => SearchChar::Gap,
        CharClass::Invisible => SearchChar::Invisible,
    }
}

/// A letter in lower case without its accents.
fn without_accent(letter: char) -> char {
    let base = match NFD_NORMALIZER.normalize_iter(core::iter::once(letter)).next() {
        // What remains may look like a Latin letter.
        Some(base) if base != letter => match classify(base) {
            CharClass::Word(base) => base,
            _ => letter,
        },
        _ => letter,
    };
    TYPED_WITHOUT_STROKE.iter().find(|(stroked, _)| *stroked == base).map_or(base, |(_, plain)| *plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_folded_for_a_search() {
        for (c, expected) in [
            ('Q', SearchChar::Word('q')),
            ('Ｑ', SearchChar::Word('q')),
            ('É', SearchChar::Word('e')),
            ('ệ', SearchChar::Word('e')),
            ('Ø', SearchChar::Word('o')),
            ('Ǿ', SearchChar::Word('o')),
            ('ё', SearchChar::Word('e')),
            ('е', SearchChar::Word('e')),
            ('ά', SearchChar::Word('a')),
            ('ж', SearchChar::Word('ж')),
            ('7', SearchChar::Word('7')),
            ('說', SearchChar::Dense('说')),
            ('が', SearchChar::Dense('が')),
            ('한', SearchChar::Dense('한')),
            ('🔞', SearchChar::Dense('🔞')),
            ('。', SearchChar::Gap),
            (' ', SearchChar::Gap),
            ('\u{301}', SearchChar::Invisible),
            ('\u{200b}', SearchChar::Invisible),
        ] {
            assert_eq!(search_char(c), expected, "{c:?}");
        }
    }

    #[test]
    fn folding_twice_changes_nothing() {
        for c in '\0'..=char::MAX {
            if let SearchChar::Word(folded) | SearchChar::Dense(folded) = search_char(c) {
                assert_eq!(search_char(folded), search_char(c), "{c:?}");
            }
        }
    }
}
