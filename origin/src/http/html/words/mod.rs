//! The words of the pages without a script, a constant for each language, as the element says it.
//!
//! A word that a language lacks does not compile. Where a language has more forms beside a number than one and many,
//! its words stand where no form depends on it.

mod arabic;
mod english;
mod french;
mod german;
mod hebrew;
mod japanese;
mod korean;
mod portuguese;
mod russian;
mod simplified_chinese;
mod spanish;
mod traditional_chinese;

use gailou_shared::limits;
use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::refusal_page::RefusalPageWords;
use gailou_shared::wire::{Code, FieldError, StaffRole};

/// The words of one language.
#[derive(Debug)]
pub(super) struct PageWords {
    /// The language in itself.
    pub(super) name: &'static str,
    /// What the links to the other languages are.
    pub(super) languages: &'static str,
    no_comments: &'static str,
    comments: fn(u64) -> String,
    pub(super) closed: &'static str,
    pub(super) hidden: &'static str,
    pub(super) empty: &'static str,
    pub(super) more_comments: &'static str,
    pub(super) more_replies: &'static str,
    /// The link to all replies of a comment: how many are not shown.
    pub(super) replies_left: fn(u64) -> String,
    /// Before a name.
    pub(super) replying_to: &'static str,
    pub(super) likes: fn(u64) -> String,
    pub(super) deleted: &'static str,
    /// In the place of a name.
    pub(super) deleted_author: &'static str,
    pub(super) guest: &'static str,
    pub(super) guest_title: &'static str,
    moderator: &'static str,
    admin: &'static str,
    pub(super) level: fn(u8) -> String,
    pub(super) pinned: &'static str,
    pub(super) featured: &'static str,
    pub(super) edited: &'static str,
    /// The number of a root in the list.
    pub(super) floor: fn(u64) -> String,
    /// The place of an answer in its building.
    pub(super) storey: fn(usize) -> String,
    /// The name of a building of so many floors: at least two.
    pub(super) conversation: fn(usize) -> String,
    /// How many floors are not drawn.
    pub(super) gap: fn(usize) -> String,
    pub(super) write_comment: &'static str,
    pub(super) write_reply: &'static str,
    pub(super) reply: &'static str,
    pub(super) your_name: &'static str,
    pub(super) your_comment: &'static str,
    pub(super) post: &'static str,
    pub(super) held: &'static str,
    /// What the page in place of a problem says too.
    pub(super) common: &'static RefusalPageWords,
    refusals: RefusalWords,
}

/// Why a comment was not taken, and what to do.
#[derive(Debug)]
struct RefusalWords {
    challenge: &'static str,
    no_guests: &'static str,
    parent_gone: &'static str,
    form_too_old: &'static str,
    sent_before: &'static str,
    busy: &'static str,
    muted: &'static str,
    level_too_low: &'static str,
    /// The categories of the words.
    blocked_words: fn(&str) -> String,
    name_not_allowed: &'static str,
    /// The most characters of a name, and of a text.
    wrong_name: fn(usize) -> String,
    wrong_text: fn(usize) -> String,
    other: &'static str,
}

impl PageWords {
    pub(super) const fn of(language: ReaderLanguage) -> &'static Self {
        match language {
            ReaderLanguage::English => &english::ENGLISH_PAGE_WORDS,
            ReaderLanguage::SimplifiedChinese => &simplified_chinese::SIMPLIFIED_CHINESE_PAGE_WORDS,
            ReaderLanguage::TraditionalChinese => &traditional_chinese::TRADITIONAL_CHINESE_PAGE_WORDS,
            ReaderLanguage::Japanese => &japanese::JAPANESE_PAGE_WORDS,
            ReaderLanguage::Korean => &korean::KOREAN_PAGE_WORDS,
            ReaderLanguage::German => &german::GERMAN_PAGE_WORDS,
            ReaderLanguage::French => &french::FRENCH_PAGE_WORDS,
            ReaderLanguage::Spanish => &spanish::SPANISH_PAGE_WORDS,
            ReaderLanguage::Portuguese => &portuguese::PORTUGUESE_PAGE_WORDS,
            ReaderLanguage::Russian => &russian::RUSSIAN_PAGE_WORDS,
            ReaderLanguage::Arabic => &arabic::ARABIC_PAGE_WORDS,
            ReaderLanguage::Hebrew => &hebrew::HEBREW_PAGE_WORDS,
        }
    }

    pub(super) fn heading(&self, comments: u64) -> String {
        match comments {
            0 => self.no_comments.into(),
            n => (self.comments)(n),
        }
    }

    pub(super) const fn role(&self, role: StaffRole) -> &'static str {
        match role {
            StaffRole::Moderator => self.moderator,
            StaffRole::Admin => self.admin,
        }
    }

    /// Why a comment of at most `max_chars` was not taken: a sentence for each wrong field, or one for all.
    pub(super) fn refusal(&self, code: Code, errors: &[FieldError], max_chars: usize) -> Vec<String> {
        let words = &self.refusals;
        let sentence = |error: &FieldError| match (code, &*error.field) {
            (Code::InvalidRequest, "name") => Some((words.wrong_name)(limits::MAX_NAME_CHARS)),
            (Code::InvalidRequest, "content") => Some((words.wrong_text)(max_chars)),
            (Code::ContentRejected, "name") => Some(words.name_not_allowed.into()),
            (Code::ContentRejected, "content") => Some((words.blocked_words)(&error.detail)),
            _ => None,
        };
        let sentences: Vec<_> = errors.iter().filter_map(sentence).collect();
        if sentences.is_empty() { vec![self.reason(code).into()] } else { sentences }
    }

    const fn reason(&self, code: Code) -> &'static str {
        let words = &self.refusals;
        match code {
            Code::ChallengeRequired => words.challenge,
            Code::GuestsNotAllowed => words.no_guests,
            Code::SubjectClosed => self.closed,
            Code::ParentNotFound | Code::CommentNotFound => words.parent_gone,
            Code::RateLimited => self.common.too_fast,
            Code::TokenInvalid | Code::TokenMissing => words.form_too_old,
            Code::IdempotencyMismatch => words.sent_before,
            Code::Unavailable | Code::Overloaded => words.busy,
            Code::Internal => self.common.failed,
            Code::Muted => words.muted,
            Code::LevelTooLow => words.level_too_low,
            Code::UnknownSubjectType => self.common.not_set_up,
            _ => words.other,
        }
    }
}

/// A number with the word for one, or for many.
fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests;
