//! Folds letters that look like others: compatibility forms (`𝐜`, `ⓒ`, `⒞`, `ﾊ`, `⼈`) by the tables of Unicode,
//! and letters of other scripts that look like Latin ones by the table below.
//!
//! One character always becomes one character, so that a match keeps its place in the text as written. Not
//! here: forms that stand for several characters (`ﬁ`, `㎏`), accented letters, which are letters of their
//! own, and digits for letters, because dates and model numbers would match words.

use icu_normalizer::DecomposingNormalizerBorrowed;

const NFKD_NORMALIZER: DecomposingNormalizerBorrowed<'static> = DecomposingNormalizerBorrowed::new_nfkd();

/// First code points of alphabets in frames, which Unicode does not decompose to a letter alone:
/// parentheses, and letters cut out of circles and squares.
const FRAMED_ALPHABETS: [u32; 4] = [0x249C, 0x1F110, 0x1F150, 0x1F170];

/// A letter in lower case, and the Latin letter that it looks like in lower case or in upper case: Greek,
/// Cyrillic, Armenian, Cherokee and Lisu letters, and Latin small capitals. Ordered by the letter.
///
/// A letter has one fold, whatever its case, so that words of its own script are found in any case. Where the
/// two cases look like different letters (`ν`, `Ν`), the small one counts.
#[rustfmt::skip]
const LATIN_LOOKALIKES: &[(char, char)] = &[
    ('ɑ', 'a'), ('ɡ', 'g'), ('ɢ', 'g'), ('ɪ', 'i'), ('ɴ', 'n'), ('ʀ', 'r'), ('ʏ', 'y'), ('ʙ', 'b'), ('ʜ', 'h'), ('ʟ', 'l'),
    ('α', 'a'), ('β', 'b'), ('ε', 'e'), ('ζ', 'z'), ('η', 'h'), ('ι', 'i'), ('κ', 'k'), ('μ', 'm'), ('ν', 'v'), ('ο', 'o'),
    ('ρ', 'p'), ('τ', 't'), ('υ', 'y'), ('χ', 'x'),
    ('а', 'a'), ('в', 'b'), ('е', 'e'), ('к', 'k'), ('м', 'm'), ('н', 'h'), ('о', 'o'), ('р', 'p'), ('с', 'c'), ('т', 't'),
    ('у', 'y'), ('х', 'x'), ('ѕ', 's'), ('і', 'i'), ('ј', 'j'), ('ѵ', 'v'), ('һ', 'h'), ('ӏ', 'l'), ('ԁ', 'd'), ('ԛ', 'q'),
    ('ԝ', 'w'),
    ('զ', 'q'), ('հ', 'h'), ('ո', 'n'), ('ս', 'u'), ('ց', 'g'), ('օ', 'o'),
    ('ᏼ', 'b'), ('ᴀ', 'a'), ('ᴄ', 'c'), ('ᴅ', 'd'), ('ᴇ', 'e'), ('ᴊ', 'j'), ('ᴋ', 'k'), ('ᴍ', 'm'), ('ᴏ', 'o'), ('ᴘ', 'p'),
    ('ᴛ', 't'), ('ᴜ', 'u'), ('ᴠ', 'v'), ('ᴡ', 'w'), ('ᴢ', 'z'),
    ('ꓐ', 'b'), ('ꓑ', 'p'), ('ꓒ', 'd'), ('ꓓ', 'd'), ('ꓔ', 't'), ('ꓖ', 'g'), ('ꓗ', 'k'), ('ꓙ', 'j'), ('ꓚ', 'c'), ('ꓜ', 'z'),
    ('ꓝ', 'f'), ('ꓟ', 'm'), ('ꓠ', 'n'), ('ꓡ', 'l'), ('ꓢ', 's'), ('ꓣ', 'r'), ('ꓦ', 'v'), ('ꓧ', 'h'), ('ꓪ', 'w'), ('ꓫ', 'x'),
    ('ꓬ', 'y'), ('ꓮ', 'a'), ('ꓰ', 'e'), ('ꓲ', 'i'), ('ꓳ', 'o'), ('ꓴ', 'u'),
    ('ꜰ', 'f'), ('ꜱ', 's'),
    ('ꭰ', 'd'), ('ꭲ', 't'), ('ꭵ', 'i'), ('ꭺ', 'a'), ('ꭻ', 'j'), ('ꭼ', 'e'), ('ꮃ', 'w'), ('ꮇ', 'm'), ('ꮋ', 'h'), ('ꮐ', 'g'),
    ('ꮓ', 'z'), ('ꮢ', 'r'), ('ꮩ', 'v'), ('ꮪ', 's'), ('ꮮ', 'l'), ('ꮯ', 'c'), ('ꮲ', 'p'), ('ꮶ', 'k'),
];

/// The Latin letter that a letter in lower case looks like; `None` where it looks like none.
pub(super) fn latin(c: char) -> Option<char> {
    let at = LATIN_LOOKALIKES.binary_search_by_key(&c, |pair| pair.0).ok()?;
    LATIN_LOOKALIKES.get(at).map(|pair| pair.1)
}

/// The character that `c` is a compatibility form of; `None` where it is not one, or stands for several.
pub(super) fn compatible(c: char) -> Option<char> {
    if !has_compatibility_forms(c) {
        return None;
    }
    let framed = FRAMED_ALPHABETS.iter().find_map(|first| (c as u32).checked_sub(*first).filter(|n| *n < 26));
    if let Some(n) = framed {
        return char::from_u32(u32::from(b'a') + n);
    }
    let mut decomposed = NFKD_NORMALIZER.normalize_iter(core::iter::once(c));
    decomposed.next().filter(|one| *one != c && decomposed.next().is_none())
}

/// Whether the block of `c` may have such forms: most letters of ordinary texts are in blocks that have none.
fn has_compatibility_forms(c: char) -> bool {
    !matches!(c,
        '\0'..='\u{9f}'
        | '\u{400}'..='\u{52f}'         // Cyrillic
        | '\u{3040}'..='\u{30fe}'       // kana
        | '\u{3400}'..='\u{a63f}'       // ideographs, Yi
        | '\u{ac00}'..='\u{d7ff}'       // Hangul syllables
        | '\u{20000}'..='\u{2f7ff}')
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec::Vec;

    use unicode_security::confusable_detection::skeleton;

    use super::super::normalize::{CharClass, classify};
    use super::*;

    /// The letter in each case, and what UTS 39 holds to look like it.
    fn appearances(c: char) -> Vec<String> {
        let cases = [String::from(c), c.to_uppercase().collect(), c.to_lowercase().collect()];
        cases.iter().map(|letter| skeleton(letter).collect()).collect()
    }

    /// UTS 39 compares small capitals only where the small letters have the same form.
    #[test]
    fn lookalikes_are_those_of_uts_39() {
        let small_capitals = "ɢɪʀʙʜʟɴᴀᴅᴇᴊᴋᴍᴘᴛꜰ";
        for &(c, to) in LATIN_LOOKALIKES {
            let known = appearances(to).iter().any(|one| appearances(c).contains(one));
            assert!(known || small_capitals.contains(c), "{c} for {to}: {:?} {:?}", appearances(c), appearances(to));
        }
    }

    #[test]
    fn table_is_ordered_and_in_lower_case() {
        assert!(LATIN_LOOKALIKES.is_sorted_by(|a, b| a.0 < b.0));
        for &(c, to) in LATIN_LOOKALIKES {
            for form in c.to_uppercase().chain([c]) {
                assert_eq!(classify(form), CharClass::Word(to), "{form}");
            }
        }
    }

    #[test]
    fn skipped_blocks_have_no_forms() {
        for c in ('\u{80}'..=char::MAX).filter(|c| !has_compatibility_forms(*c)) {
            let mut decomposed = NFKD_NORMALIZER.normalize_iter(core::iter::once(c));
            let forms = (decomposed.next(), decomposed.next());
            assert!(forms.0 == Some(c) || forms.1.is_some(), "{c:?}");
        }
    }

    #[test]
    fn forms_become_what_they_are_forms_of() {
        for (c, to) in [
            ('𝐜', 'c'),
            ('𝓒', 'C'),
            ('ⓒ', 'c'),
            ('⒞', 'c'),
            ('🅲', 'c'),
            ('ᶜ', 'c'),
            ('①', '1'),
            ('𝟞', '6'),
            ('ﾊ', 'ハ'),
            ('⼈', '人'),
            ('\u{f900}', '豈'),
            ('ﺏ', 'ب'),
            ('﹒', '.'),
        ] {
            assert_eq!(compatible(c), Some(to), "{c}");
        }
        for c in ['c', 'é', 'ﬁ', '㎏', '人', 'が', '한', '🇨', '🔞'] {
            assert_eq!(compatible(c), None, "{c}");
        }
    }
}
