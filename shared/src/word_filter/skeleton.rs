//! What a name looks like, for finding names that pass for another.

use alloc::string::String;

use icu_normalizer::DecomposingNormalizerBorrowed;

use super::normalize::{CharClass, classify};

const NFKD_NORMALIZER: DecomposingNormalizerBorrowed<'static> = DecomposingNormalizerBorrowed::new_nfkd();

/// What two names that a reader takes for one have in common (after UTS 39): case, width, accents, spaces,
/// punctuation and invisible characters do not count, nor does the script of a letter, and `0`/`o`,
/// `1`/`l`/`i`/`|` and `rn`/`m` are one each. A name of symbols alone is compared as it is written.
///
/// It is for comparing, not for reading. Equal skeletons mean that the names are alike, not that they are equal.
///
/// ```
/// use gailou_shared::word_filter::name_skeleton;
/// for alike in ["admin", "Аdmin", "A d-m|n", "𝐀𝐝𝐦𝐢𝐧", "Ádmìn", "ADM1N", "ad\u{200b}rnin"] {
///     assert_eq!(name_skeleton(alike), name_skeleton("Admin"), "{alike}");
/// }
/// assert_ne!(name_skeleton("Ann"), name_skeleton("Anna"));
/// assert_ne!(name_skeleton("***"), name_skeleton("---"));
/// ```
#[must_use]
pub fn name_skeleton(name: &str) -> String {
    let mut skeleton = String::with_capacity(name.len());
    for c in NFKD_NORMALIZER.normalize_iter(name.chars()) {
        match classify(if c == '|' { 'i' } else { c }) {
            CharClass::Word('0') => skeleton.push('o'),
            CharClass::Word('1' | 'l') => skeleton.push('i'),
            CharClass::Word('m') => skeleton.push_str("rn"),
            CharClass::Word(c) | CharClass::Dense(c) | CharClass::Picture(c) => skeleton.push(c),
            CharClass::Gap(_) | CharClass::Invisible => {}
        }
    }
    if skeleton.is_empty() {
        skeleton.extend(name.chars().filter(|c| !c.is_whitespace() && classify(*c) != CharClass::Invisible));
    }
    skeleton
}
