//! The words of mails, in twelve languages, and which of them a reader prefers.

mod languages;

use gailou_shared::page_language::best_match;

use crate::domain::notification::NotificationReason;
use crate::domain::review::Decision;

/// The language of a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MailLanguage {
    #[default]
    English,
    SimplifiedChinese,
    TraditionalChinese,
    Japanese,
    Korean,
    German,
    French,
    Spanish,
    Portuguese,
    Russian,
    Arabic,
    Hebrew,
}

impl MailLanguage {
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

    /// That of a language tag, by its first part; `None` for another language.
    ///
    /// Chinese is traditional where the tag names its script, or Taiwan, Hong Kong or Macau.
    pub fn of(tag: &str) -> Option<Self> {
        let mut parts = tag.split('-');
        let primary = parts.next().unwrap_or_default();
        let is_traditional = |part: &str| TRADITIONAL_SUBTAGS.iter().any(|each| part.eq_ignore_ascii_case(each));
        if primary.eq_ignore_ascii_case("zh") && parts.any(is_traditional) {
            return Some(Self::TraditionalChinese);
        }
        // The former code of Hebrew, which some browsers send.
        if primary.eq_ignore_ascii_case("iw") {
            return Some(Self::Hebrew);
        }
        Self::ALL.into_iter().find(|each| {
            let own = each.tag().split('-').next().unwrap_or_default();
            primary.eq_ignore_ascii_case(own)
        })
    }

    /// The one that a reader prefers, by `Accept-Language`; English when it has none of these.
    pub fn preferred(accept_language: &str) -> Self {
        best_match(accept_language, Self::of).unwrap_or_default()
    }

    /// Its tag, as a member's settings and the HTML of a mail have it.
    pub const fn tag(self) -> &'static str {
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

    /// Where its lines begin: the value of the attribute `dir`.
    pub const fn direction(self) -> &'static str {
        match self {
            Self::Arabic | Self::Hebrew => "rtl",
            _ => "ltr",
        }
    }

    pub(crate) const fn words(self) -> &'static MailWords {
        match self {
            Self::English => &languages::ENGLISH_WORDS,
            Self::SimplifiedChinese => &languages::SIMPLIFIED_CHINESE_WORDS,
            Self::TraditionalChinese => &languages::TRADITIONAL_CHINESE_WORDS,
            Self::Japanese => &languages::JAPANESE_WORDS,
            Self::Korean => &languages::KOREAN_WORDS,
            Self::German => &languages::GERMAN_WORDS,
            Self::French => &languages::FRENCH_WORDS,
            Self::Spanish => &languages::SPANISH_WORDS,
            Self::Portuguese => &languages::PORTUGUESE_WORDS,
            Self::Russian => &languages::RUSSIAN_WORDS,
            Self::Arabic => &languages::ARABIC_WORDS,
            Self::Hebrew => &languages::HEBREW_WORDS,
        }
    }
}

/// The parts of a tag that say that Chinese is written in traditional characters.
const TRADITIONAL_SUBTAGS: [&str; 4] = ["Hant", "TW", "HK", "MO"];

/// The words of one language. Of two texts the first is the name of who wrote a comment, the second the title of what it is
/// about.
pub(crate) struct MailWords {
    reply: fn(&str, &str) -> String,
    mention: fn(&str, &str) -> String,
    new: fn(&str, &str) -> String,
    held: fn(&str, &str) -> String,
    /// What was decided of the reader's comment: the title, and one of `decisions`.
    decided: fn(&str, &str) -> String,
    /// Approved, rejected, hidden, restored, deleted, featured, no longer featured.
    decisions: [&'static str; 7],
    /// The subject of a mail about several things: at least two.
    pub(crate) several: fn(usize) -> String,
    /// How much more there is than a mail shows.
    pub(crate) more: fn(usize) -> String,
    /// The link to a comment.
    pub(crate) open: &'static str,
    /// The link that ends such mails.
    pub(crate) unsubscribe: &'static str,
    /// The subject of the mail that signs in to the comments of a site.
    pub(crate) sign_in_title: fn(&str) -> String,
    /// Its text: the site, and the address that signs in.
    pub(crate) sign_in: fn(&str, &str) -> String,
}

impl MailWords {
    /// What happened, in a sentence. `name` is the author of the comment, `title` that of what it is about.
    pub(crate) fn sentence(&self, reason: NotificationReason, name: &str, title: &str) -> String {
        match reason {
            NotificationReason::Reply => (self.reply)(name, title),
            NotificationReason::Mention => (self.mention)(name, title),
            NotificationReason::New => (self.new)(name, title),
            NotificationReason::Held => (self.held)(name, title),
            NotificationReason::Decision(decision) => (self.decided)(title, self.decision(decision)),
        }
    }

    const fn decision(&self, decision: Decision) -> &'static str {
        let [approved, rejected, hidden, restored, deleted, featured, unfeatured] = self.decisions;
        match decision {
            Decision::Approve => approved,
            Decision::Reject => rejected,
            Decision::Hide => hidden,
            Decision::Restore => restored,
            Decision::Delete => deleted,
            Decision::Feature => featured,
            Decision::Unfeature => unfeatured,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use strum::VariantNames as _;

    use super::*;

    #[test]
    fn language_is_that_of_the_tag() {
        for (tag, expected) in [
            ("zh", Some(MailLanguage::SimplifiedChinese)),
            ("zh-CN", Some(MailLanguage::SimplifiedChinese)),
            ("ZH-Hans-HK", Some(MailLanguage::TraditionalChinese)),
            ("ZH-Hant", Some(MailLanguage::TraditionalChinese)),
            ("zh-tw", Some(MailLanguage::TraditionalChinese)),
            ("pt", Some(MailLanguage::Portuguese)),
            ("pt-PT", Some(MailLanguage::Portuguese)),
            ("iw-IL", Some(MailLanguage::Hebrew)),
            ("en-GB", Some(MailLanguage::English)),
            ("zhx", None),
            ("", None),
        ] {
            assert_eq!(MailLanguage::of(tag), expected, "{tag:?}");
        }
        for language in MailLanguage::ALL {
            assert_eq!(MailLanguage::of(language.tag()), Some(language));
        }
    }

    #[test]
    fn reader_gets_the_preferred_language() {
        for (header, expected) in [
            ("de-AT, en;q=0.8", MailLanguage::German),
            ("pl, fr;q=0.4, ja;q=0.6", MailLanguage::Japanese),
            ("pl", MailLanguage::English),
            ("", MailLanguage::English),
        ] {
            assert_eq!(MailLanguage::preferred(header), expected, "{header}");
        }
    }

    #[test]
    fn every_language_says_everything_in_words_of_its_own() {
        let decisions = Decision::VARIANTS.iter().map(|name| name.parse::<Decision>().unwrap());
        let reasons =
            [NotificationReason::Reply, NotificationReason::Mention, NotificationReason::New, NotificationReason::Held];
        let reasons: Vec<_> = reasons.into_iter().chain(decisions.map(NotificationReason::Decision)).collect();
        let mut all = BTreeSet::new();
        for language in MailLanguage::ALL {
            let words = language.words();
            for reason in &reasons {
                let sentence = words.sentence(*reason, "NAME", "TITLE");
                let has_name = matches!(reason, NotificationReason::Decision(_)) || sentence.contains("NAME");
                assert!(has_name && sentence.contains("TITLE"), "{language:?} {reason:?}: {sentence}");
                all.insert(sentence);
            }
            let (several, more) = ((words.several)(12), (words.more)(34));
            assert!(several.contains("12") && more.contains("34"), "{language:?}: {several} {more}");
            let (title, text) = ((words.sign_in_title)("SITE"), (words.sign_in)("SITE", "https://a.example/x"));
            assert!(title.contains("SITE") && text.contains("SITE"), "{language:?}: {title} {text}");
            assert!(text.contains("\n\nhttps://a.example/x\n\n") && text.contains("15"), "{language:?}: {text}");
            all.extend([title, text, words.open.into(), words.unsubscribe.into()]);
        }
        assert_eq!(all.len(), MailLanguage::ALL.len() * (reasons.len() + 4));
    }
}
