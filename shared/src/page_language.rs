//! The languages that readers are spoken to in, and which of them a reader prefers.
//!
//! Edge and origin choose alike, so the page that the edge stores is the one that the origin would send. Not here:
//! the texts.

/// A language that readers are spoken to in: the pages without a script, and the mails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(missing_docs, reason = "names of languages")]
pub enum ReaderLanguage {
    #[default]
    English,
    SimplifiedChinese,
    TraditionalChinese,
    Japanese,
    Korean,
    German,
    French,
    Spanish,
    /// As it is written in Brazil.
    Portuguese,
    Russian,
    Arabic,
    Hebrew,
}

/// The parts of a tag that say that Chinese is written in traditional characters.
const TRADITIONAL_SUBTAGS: [&str; 4] = ["Hant", "TW", "HK", "MO"];
/// The part that says that it is not, wherever that is.
const SIMPLIFIED_SUBTAG: &str = "Hans";

impl ReaderLanguage {
    /// All of them, in the order of the documents.
    pub const ALL: [Self; 12] = [
        Self::English,
        Self::SimplifiedChinese,
        Self::TraditionalChinese,
        Self::Japanese,
        Self::Korean,
        Self::German,
        Self::French,
        Self::Spanish,
        Self::Portuguese,
        Self::Russian,
        Self::Arabic,
        Self::Hebrew,
    ];

    /// The value of the parameter `lang`, and of a member's settings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::SimplifiedChinese => "zh",
            Self::TraditionalChinese => "zh-TW",
            Self::Japanese => "ja",
            Self::Korean => "ko",
            Self::German => "de",
            Self::French => "fr",
            Self::Spanish => "es",
            Self::Portuguese => "pt-BR",
            Self::Russian => "ru",
            Self::Arabic => "ar",
            Self::Hebrew => "he",
        }
    }

    /// The value of an attribute `lang`, as the element has it.
    #[must_use]
    pub const fn tag(self) -> &'static str {
        match self {
            Self::SimplifiedChinese => "zh-CN",
            _ => self.name(),
        }
    }

    /// Where its lines begin: the value of an attribute `dir`.
    #[must_use]
    pub const fn direction(self) -> &'static str {
        match self {
            Self::Arabic | Self::Hebrew => "rtl",
            _ => "ltr",
        }
    }

    /// The language of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.name() == name)
    }

    /// That of a language tag, by its first part; `None` for another language.
    ///
    /// Chinese is traditional where the tag names its script, or Taiwan, Hong Kong or Macau without the other script.
    #[must_use]
    pub fn of(tag: &str) -> Option<Self> {
        let primary = tag.split('-').next().unwrap_or_default();
        let has = |subtag: &str| tag.split('-').skip(1).any(|part| part.eq_ignore_ascii_case(subtag));
        if primary.eq_ignore_ascii_case("zh") && !has(SIMPLIFIED_SUBTAG) && TRADITIONAL_SUBTAGS.into_iter().any(has) {
            return Some(Self::TraditionalChinese);
        }
        // The former code of Hebrew, which some browsers send.
        if primary.eq_ignore_ascii_case("iw") {
            return Some(Self::Hebrew);
        }
        Self::ALL.into_iter().find(|each| {
            let own = each.name().split('-').next().unwrap_or_default();
            primary.eq_ignore_ascii_case(own)
        })
    }

    /// The language that a reader prefers, by `Accept-Language`; English when it has none of ours.
    ///
    /// ```
    /// use gailou_shared::page_language::ReaderLanguage;
    /// assert_eq!(ReaderLanguage::preferred("pl, zh-TW;q=0.8, en;q=0.7"), ReaderLanguage::TraditionalChinese);
    /// ```
    #[must_use]
    pub fn preferred(accept_language: &str) -> Self {
        best_match(accept_language, Self::of).unwrap_or_default()
    }
}

/// What `find` has for the best of the languages in `Accept-Language`: it gets a tag, such as `zh-TW`, and answers `None` for
/// one that it does not know. Of two that are as good the first one counts.
fn best_match<T>(accept_language: &str, find: impl Fn(&str) -> Option<T>) -> Option<T> {
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
    fn language_is_that_of_the_tag() {
        let check = |tag: &str, expected: Option<ReaderLanguage>| {
            assert_eq!(ReaderLanguage::of(tag), expected, "{tag:?}");
        };
        check("zh", Some(ReaderLanguage::SimplifiedChinese));
        check("zh-CN", Some(ReaderLanguage::SimplifiedChinese));
        check("ZH-Hans-HK", Some(ReaderLanguage::SimplifiedChinese));
        check("zh-Hant-CN", Some(ReaderLanguage::TraditionalChinese));
        check("ZH-Hant", Some(ReaderLanguage::TraditionalChinese));
        check("zh-tw", Some(ReaderLanguage::TraditionalChinese));
        check("zh-HK", Some(ReaderLanguage::TraditionalChinese));
        check("pt", Some(ReaderLanguage::Portuguese));
        check("pt-PT", Some(ReaderLanguage::Portuguese));
        check("iw-IL", Some(ReaderLanguage::Hebrew));
        check("en-GB", Some(ReaderLanguage::English));
        check("hk", None);
        check("zhx", None);
        check("", None);
    }

    #[test]
    fn each_language_has_a_name_of_its_own() {
        for language in ReaderLanguage::ALL {
            assert_eq!(ReaderLanguage::parse(language.name()), Some(language));
            assert_eq!(ReaderLanguage::of(language.name()), Some(language));
            assert_eq!(ReaderLanguage::of(language.tag()), Some(language));
        }
        for no_name in ["EN", "zh-CN", "pt", "iw", "pl", ""] {
            assert_eq!(ReaderLanguage::parse(no_name), None, "{no_name}");
        }
    }

    #[test]
    fn reader_gets_the_language_with_the_largest_weight() {
        let check = |header: &str, expected: ReaderLanguage| {
            assert_eq!(ReaderLanguage::preferred(header), expected, "{header}");
        };
        check("", ReaderLanguage::English);
        check("pl", ReaderLanguage::English);
        check("zh", ReaderLanguage::SimplifiedChinese);
        check("ZH-hans-CN, en", ReaderLanguage::SimplifiedChinese);
        check("en, zh", ReaderLanguage::English);
        check("en;q=0.5, zh;q=0.75", ReaderLanguage::SimplifiedChinese);
        check("zh;q=0, en;q=0.1", ReaderLanguage::English);
        check("zh;q=0", ReaderLanguage::English);
        check("zh;nonsense", ReaderLanguage::English);
        check("*, zh;q=0.001", ReaderLanguage::SimplifiedChinese);
        check("de-AT, en;q=0.8", ReaderLanguage::German);
        check("pl, fr;q=0.4, ja;q=0.6", ReaderLanguage::Japanese);
    }
}
