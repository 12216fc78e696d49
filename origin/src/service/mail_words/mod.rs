//! The words of mails, in twelve languages.

mod languages;

use gailou_shared::page_language::ReaderLanguage;

use crate::domain::notification::NotificationReason;
use crate::domain::review::Decision;

/// The words of one language. Of two texts the first is the name of who wrote a comment, the second the title of what it is
/// about.
pub(crate) struct MailWords {
    reply: fn(&str, &str) -> String,
    mention: fn(&str, &str) -> String,
    watched: fn(&str, &str) -> String,
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
    /// How many floors of a building are not shown: at least one.
    pub(crate) gap: fn(usize) -> String,
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
    pub(crate) const fn of(language: ReaderLanguage) -> &'static Self {
        match language {
            ReaderLanguage::English => &languages::ENGLISH_WORDS,
            ReaderLanguage::SimplifiedChinese => &languages::SIMPLIFIED_CHINESE_WORDS,
            ReaderLanguage::TraditionalChinese => &languages::TRADITIONAL_CHINESE_WORDS,
            ReaderLanguage::Japanese => &languages::JAPANESE_WORDS,
            ReaderLanguage::Korean => &languages::KOREAN_WORDS,
            ReaderLanguage::German => &languages::GERMAN_WORDS,
            ReaderLanguage::French => &languages::FRENCH_WORDS,
            ReaderLanguage::Spanish => &languages::SPANISH_WORDS,
            ReaderLanguage::Portuguese => &languages::PORTUGUESE_WORDS,
            ReaderLanguage::Russian => &languages::RUSSIAN_WORDS,
            ReaderLanguage::Arabic => &languages::ARABIC_WORDS,
            ReaderLanguage::Hebrew => &languages::HEBREW_WORDS,
        }
    }

    /// What happened, in a sentence. `name` is the author of the comment, `title` that of what it is about.
    pub(crate) fn sentence(&self, reason: NotificationReason, name: &str, title: &str) -> String {
        match reason {
            NotificationReason::Reply => (self.reply)(name, title),
            NotificationReason::Mention => (self.mention)(name, title),
            NotificationReason::Watched => (self.watched)(name, title),
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
    fn every_language_says_everything_in_words_of_its_own() {
        let decisions = Decision::VARIANTS.iter().map(|name| name.parse::<Decision>().unwrap());
        let reasons = [
            NotificationReason::Reply,
            NotificationReason::Mention,
            NotificationReason::Watched,
            NotificationReason::New,
            NotificationReason::Held,
        ];
        let reasons: Vec<_> = reasons.into_iter().chain(decisions.map(NotificationReason::Decision)).collect();
        let mut all = BTreeSet::new();
        for language in ReaderLanguage::ALL {
            let words = MailWords::of(language);
            for reason in &reasons {
                let sentence = words.sentence(*reason, "NAME", "TITLE");
                let has_name = matches!(reason, NotificationReason::Decision(_)) || sentence.contains("NAME");
                assert!(has_name && sentence.contains("TITLE"), "{language:?} {reason:?}: {sentence}");
                all.insert(sentence);
            }
            let (several, more) = ((words.several)(12), (words.more)(34));
            assert!(several.contains("12") && more.contains("34"), "{language:?}: {several} {more}");
            let (one, gap) = ((words.gap)(1), (words.gap)(56));
            assert!(one.contains('1') && gap.contains("56"), "{language:?}: {one} {gap}");
            let (title, text) = ((words.sign_in_title)("SITE"), (words.sign_in)("SITE", "https://a.example/x"));
            assert!(title.contains("SITE") && text.contains("SITE"), "{language:?}: {title} {text}");
            assert!(text.contains("\n\nhttps://a.example/x\n\n") && text.contains("15"), "{language:?}: {text}");
            all.extend([title, text, gap, words.open.into(), words.unsubscribe.into()]);
        }
        assert_eq!(all.len(), ReaderLanguage::ALL.len() * (reasons.len() + 5));
    }
}
