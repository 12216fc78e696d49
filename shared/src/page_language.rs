//! The languages of the pages that need no script, and which of them a reader prefers.
//!
//! Edge and origin choose alike, so the page that the edge stores is the one that the origin would send. Not here:
//! the texts.

/// A language of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ReaderLanguage {
    /// English.
    #[default]
    English,
    /// Simplified Chinese.
    Chinese,
}

impl ReaderLanguage {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::English, Self::Chinese];

    /// The value of the parameter `lang`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// The language of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.name() == name)
    }

    /// The language that a reader prefers, by `Accept-Language`; English when it has none of ours.
    ///
    /// ```
    /// use gailou_shared::page_language::ReaderLanguage;
    /// assert_eq!(ReaderLanguage::preferred("fr, zh-TW;q=0.8, en;q=0.7"), ReaderLanguage::Chinese);
    /// ```
    #[must_use]
    pub fn preferred(accept_language: &str) -> Self {
        let find = |tag: &str| {
            let primary = tag.split('-').next().unwrap_or_default();
            Self::ALL.into_iter().find(|each| primary.eq_ignore_ascii_case(each.name()))
        };
        best_match(accept_language, find).unwrap_or_default()
    }
}

/// What `find` has for the best of the languages in `Accept-Language`: it gets a tag, such as `zh-TW`, and answers `None` for
/// one that it does not know. Of two that are as good the first one counts.
#[must_use]
pub fn best_match<T>(accept_language: &str, find: impl Fn(&str) -> Option<T>) -> Option<T> {
    let mut best = (0, None);
    for range in accept_language.split(',') {
        let (tag, weight) = range.split_once(';').unwrap_or((range, "q=1"));
        let Some(found) = find(tag.trim()) else { continue };
        let weight = thousandths(weight.trim());
        if weight > best.0 {
            best = (weight, Some(found));
        }
    }
    best.1
}

/// `q=0.8` as 800; what is no weight as 0.
fn thousandths(weight: &str) -> u16 {
    let Some((whole, fraction)) = weight.strip_prefix("q=").map(|q| q.split_once('.').unwrap_or((q, ""))) else {
        return 0;
    };
    if whole == "1" {
        return 1_000;
    }
    let digits = fraction.bytes().chain([b'0'; 3]).take(3);
    digits.fold(0, |sum, digit| sum * 10 + u16::from(digit.wrapping_sub(b'0').min(9)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reader_gets_the_language_with_the_largest_weight() {
        let check = |header: &str, expected: ReaderLanguage| {
            assert_eq!(ReaderLanguage::preferred(header), expected, "{header}");
        };
        check("", ReaderLanguage::English);
        check("fr", ReaderLanguage::English);
        check("zh", ReaderLanguage::Chinese);
        check("ZH-hans-CN, en", ReaderLanguage::Chinese);
        check("en, zh", ReaderLanguage::English);
        check("en;q=0.5, zh;q=0.75", ReaderLanguage::Chinese);
        check("zh;q=0, en;q=0.1", ReaderLanguage::English);
        check("zh;q=0", ReaderLanguage::English);
        check("zh;nonsense", ReaderLanguage::English);
        check("*, zh;q=0.001", ReaderLanguage::Chinese);
    }
}
