//! Which characters a reader cannot see, and which deceive: the rules for names and for the text of comments.
//!
//! Not here: which words are allowed ([`crate::word_filter`]), and which name passes for another
//! (`word_filter::name_skeleton`).

use alloc::string::String;

use icu_properties::CodePointMapData;
use icu_properties::props::GeneralCategory;

/// Most marks over and under one letter of a name. Vietnamese has 2, Hebrew and Arabic 3.
const MAX_NAME_MARKS: usize = 3;
/// Most marks over and under one letter of a comment. Written Hebrew and Burmese have up to 5, stacks of Tibetan 6.
const MAX_TEXT_MARKS: usize = 6;

/// Why a name cannot be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameProblem {
    /// Nothing of it can be seen.
    NothingVisible,
    /// It has characters that cannot be seen, that turn the direction of the text, or that no font has.
    Hidden,
    /// It begins with a combining mark, or has more than three on one letter.
    Marks,
}

impl NameProblem {
    /// What is wrong, and what to do, for the field `name`.
    #[must_use]
    pub const fn detail(self) -> &'static str {
        match self {
            Self::NothingVisible => "must have a letter, a digit or a symbol that can be seen",
            Self::Hidden => {
                "must not have invisible, bidirectional, private or unassigned characters; write it without them"
            }
            Self::Marks => "must not begin with a combining mark, nor have more than three on one letter",
        }
    }
}

/// Checks the name that a guest chooses.
///
/// Joiners and variation selectors are allowed where a script or an emoji needs them: `علی‌رضا`, `👩‍💻`, `❤️`.
///
/// # Errors
/// The first rule that the name breaks.
///
/// ```
/// use gailou_shared::visible_text::{NameProblem, check_name};
/// for name in ["Ann", "Nguyễn", "علی\u{200c}رضا", "क्\u{200d}ष", "Bo 👩\u{200d}💻", "❤\u{fe0f}", "葛\u{e0100}城", "***"] {
///     assert_eq!(check_name(name), Ok(()), "{name:?}");
/// }
/// assert_eq!(check_name("Mod\u{200b}"), Err(NameProblem::Hidden));
/// assert_eq!(check_name("\u{3164}"), Err(NameProblem::NothingVisible));
/// assert_eq!(check_name("\u{301}Ann"), Err(NameProblem::Marks));
/// ```
pub fn check_name(name: &str) -> Result<(), NameProblem> {
    if !has_visible(name) {
        return Err(NameProblem::NothingVisible);
    }
    let categories = CodePointMapData::<GeneralCategory>::new();
    let hidden = |c| {
        use GeneralCategory as G;
        matches!(
            categories.get(c),
            G::PrivateUse | G::Unassigned | G::Surrogate | G::LineSeparator | G::ParagraphSeparator
        )
    };
    if name.chars().any(hidden) || strip_hidden(name) != name {
        return Err(NameProblem::Hidden);
    }
    if name.trim_start().chars().next().is_some_and(is_mark) || most_marks(name) > MAX_NAME_MARKS {
        return Err(NameProblem::Marks);
    }
    Ok(())
}

/// The name without characters that cannot be seen and that no script or emoji needs, and without spaces around
/// it; `None` when nothing of it can be seen. For names that the host has chosen: one that is stripped looks as
/// it did, and harms no reader.
///
/// ```
/// use gailou_shared::visible_text::strip_name;
/// assert_eq!(strip_name(" Ann\u{200b}\u{202e} ").as_deref(), Some("Ann"));
/// assert_eq!(strip_name("\u{200b}\u{3164}"), None);
/// ```
#[must_use]
pub fn strip_name(name: &str) -> Option<String> {
    let stripped = strip_hidden(name);
    let stripped = stripped.trim();
    has_visible(stripped).then(|| stripped.into())
}

/// What is wrong with the text of a comment: it turns the direction of what follows it, or its marks pile up
/// over the lines above and below. `None` for any other text, of any language.
#[must_use]
pub fn text_problem(text: &str) -> Option<&'static str> {
    if text.chars().any(|c| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')) {
        return Some(
            "must not hold bidirectional embeddings, overrides or isolates (U+202A to U+202E, U+2066 to U+2069)",
        );
    }
    (most_marks(text) > MAX_TEXT_MARKS).then_some("must not hold more than six combining marks on one letter")
}

/// Whether Unicode has `c` displayed as nothing (`Default_Ignorable_Code_Point`): zero-width and bidirectional
/// characters, fillers, variation selectors, tags.
#[must_use]
pub const fn is_default_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
        | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character is a space or shows nothing.
#[must_use]
pub fn is_blank(c: char) -> bool {
    // The blank pattern of Braille is a symbol to Unicode.
    c.is_whitespace() || c == '\u{2800}' || is_default_ignorable(c)
}

fn has_visible(text: &str) -> bool {
    !text.chars().all(is_blank)
}

/// The text without ignorable characters, but with one joiner between two characters that may need it, and with
/// one variation selector after a visible character. In Latin text neither has a meaning.
fn strip_hidden(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut before = None;
    while let Some(c) = chars.next() {
        let needed = match c {
            '\u{200c}' | '\u{200d}' => {
                let joins = |c: char| !c.is_ascii() && (is_variation_selector(c) || !is_blank(c));
                before.is_some_and(joins) && chars.peek().is_some_and(|after| !after.is_ascii() && !is_blank(*after))
            }
            c if is_variation_selector(c) => before.is_some_and(|c| !is_blank(c)),
            c => !is_default_ignorable(c),
        };
        if needed {
            out.push(c);
            before = Some(c);
        }
    }
    out
}

const fn is_variation_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

fn is_mark(c: char) -> bool {
    is_stacking_mark(c) || CodePointMapData::<GeneralCategory>::new().get(c) == GeneralCategory::SpacingMark
}

/// Whether a character is drawn over or under the one before it.
fn is_stacking_mark(c: char) -> bool {
    use GeneralCategory as G;
    // There is none below U+0300, where most texts are.
    c >= '\u{300}'
        && !is_default_ignorable(c)
        && matches!(CodePointMapData::<GeneralCategory>::new().get(c), G::NonspacingMark | G::EnclosingMark)
}

/// The most stacking marks that follow each other; invisible characters between them do not part them.
fn most_marks(text: &str) -> usize {
    let (mut most, mut marks) = (0, 0);
    for c in text.chars() {
        if is_stacking_mark(c) {
            marks += 1;
            most = most.max(marks);
        } else if !is_default_ignorable(c) {
            marks = 0;
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use icu_properties::CodePointSetData;
    use icu_properties::props::DefaultIgnorableCodePoint;

    use super::*;

    #[test]
    fn ignorable_characters_are_those_of_unicode() {
        let ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>();
        for c in '\0'..=char::MAX {
            assert_eq!(is_default_ignorable(c), ignorable.contains(c), "{c:?}");
        }
    }

    #[test]
    fn names_that_hide_something_are_refused() {
        use NameProblem as P;
        for (name, problem) in [
            ("", P::NothingVisible),
            (" \u{200b}", P::NothingVisible),
            ("\u{34f}", P::NothingVisible),
            ("\u{ffa0}", P::NothingVisible),
            ("\u{180e}", P::NothingVisible),
            ("\u{e0041}\u{e007f}", P::NothingVisible),
            ("\u{2800}\u{3000}", P::NothingVisible),
            ("\u{200d}", P::NothingVisible),
            ("Mod\u{200b}", P::Hidden),
            ("A\u{200d}nn", P::Hidden),
            ("Ann\u{200d}", P::Hidden),
            ("عل\u{200c}", P::Hidden),
            ("\u{202e}Admin", P::Hidden),
            ("Ann\u{2066}", P::Hidden),
            ("Ann\u{200f}", P::Hidden),
            ("A\u{ad}nn", P::Hidden),
            ("❤\u{fe0f}\u{fe0f}", P::Hidden),
            ("\u{fe0f}x", P::Hidden),
            ("Ann\u{e000}", P::Hidden),
            ("Ann\u{378}", P::Hidden),
            ("A\u{2028}B", P::Hidden),
            ("\u{301}Ann", P::Marks),
            ("\u{93e}क", P::Marks),
            ("A\u{300}\u{301}\u{302}\u{303}", P::Marks),
        ] {
            assert_eq!(check_name(name), Err(problem), "{name:?}");
        }
        for name in ["A\u{300}\u{301}\u{302}nn", "กำแพง", "ဖြုံ့", "שָׁלוֹם", "Ann B", "\u{1f3f3}\u{fe0f}\u{200d}🌈"]
        {
            assert_eq!(check_name(name), Ok(()), "{name:?}");
        }
    }

    #[test]
    fn names_of_the_host_are_stripped() {
        for (name, shown) in [
            ("Ann", Some("Ann")),
            ("\u{202e}Admin\u{202c}", Some("Admin")),
            ("\u{2068}علی\u{200c}رضا\u{2069}", Some("علی\u{200c}رضا")),
            ("\u{200b} Bo \u{200b}", Some("Bo")),
            ("\u{200b}\u{ad}", None),
            ("", None),
        ] {
            assert_eq!(strip_name(name).as_deref(), shown, "{name:?}");
        }
    }

    #[test]
    fn text_of_every_language_is_allowed() {
        for text in [
            "می\u{200c}خواهم",
            "क्\u{200d}ष श्री हिन्दी",
            "👨\u{200d}👩\u{200d}👧\u{200d}👦 🏴\u{e0067}\u{e0062}\u{e007f} ❤\u{fe0f} 👍🏽 1\u{fe0f}\u{20e3}",
            "\u{200f}שלום\u{200e} hi",
            "Ti\u{1ebf}ng Vi\u{1ec7}t, Tie\u{302}\u{301}ng",
            "בְּרֵאשִׁ֖ית בָּרָ֣א",
            "ကျွန်ုပ်တို့ ဖြုံ့",
            "ཧྐྵྨླྺཾ",
            "น้ำ ที่",
        ] {
            assert_eq!(text_problem(text), None, "{text:?}");
        }
    }

    #[test]
    fn text_that_deceives_or_piles_up_is_refused() {
        for text in ["a\u{202e}b", "\u{2066}a\u{2069}", "\u{202a}"] {
            assert!(text_problem(text).unwrap().contains("bidirectional"), "{text:?}");
        }
        for pile in ["\u{301}".repeat(7), "\u{301}\u{200b}".repeat(7), "\u{e47}".repeat(7), "\u{489}".repeat(7)] {
            assert!(text_problem(&alloc::format!("a{pile}")).unwrap().contains("six"), "{pile:?}");
        }
        assert_eq!(text_problem(&alloc::format!("a{}", "\u{301}".repeat(6))), None);
    }
}
