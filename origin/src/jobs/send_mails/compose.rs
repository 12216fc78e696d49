//! A mail as text and HTML.
//!
//! Texts of readers are escaped; the HTML of a comment is the one that readers see, which was cleaned when it was
//! written. Nothing in a mail is loaded from a server.

use gailou_shared::content::summarize;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use sha2::{Digest as _, Sha256};

use crate::domain::building::{self, Frame, FrameRow};
use crate::domain::email_address::EmailAddress;
use crate::domain::notification::NotificationReason;
use crate::domain::row::{CommentRow, SubjectRow};
use crate::ports::mailer::Mail;
use crate::ports::store::DueMail;
use crate::service::mail_words::MailLanguage;

/// Longest part of a comment above, in characters.
const EXCERPT_CHARS: usize = 140;
/// What a key may not have in an address.
const KEY_CHARACTERS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'/')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// One thing that a mail notifies of.
pub(super) struct MailItem<'a> {
    reason: NotificationReason,
    comment: &'a CommentRow,
    /// The comments above it, the highest first.
    above: Vec<&'a CommentRow>,
    title: &'a str,
    link: String,
}

impl<'a> MailItem<'a> {
    pub(super) fn new(
        reason: NotificationReason,
        comment: &'a CommentRow,
        above: Vec<&'a CommentRow>,
        subject: &'a SubjectRow,
        public_url: &str,
    ) -> Self {
        let is_web = |url: &&str| url.starts_with("https://") || url.starts_with("http://");
        let page = match subject.url.as_deref().filter(is_web) {
            Some(url) => url.split('#').next().unwrap_or_default().to_owned(),
            // The page without JavaScript has one of its own for each comment.
            None => {
                let key = utf8_percent_encode(subject.key.key(), KEY_CHARACTERS);
                format!("{public_url}/t/{}/{key}?comment={}", subject.key.kind(), comment.id())
            }
        };
        let title = subject.title.as_deref().unwrap_or_else(|| subject.key.key());
        Self { reason, comment, above, title, link: format!("{page}#comment-{}", comment.id()) }
    }

    /// What the comment stands on, as far as the mail shows it.
    fn frame(&self) -> Option<Frame<&'a CommentRow>> {
        let path: Vec<_> = self.comment.path.ids().collect();
        let find = |id| self.above.iter().find(|above| above.id() == id).copied();
        building::frames(building::all_rows(&path, find))
    }

    fn sentence(&self, language: MailLanguage) -> String {
        plain(&language.words().sentence(self.reason, &self.comment.author.name, self.title))
    }
}

/// The mail that notifies a member of these, and says how many older ones there are.
pub(super) fn compose(
    due: &DueMail,
    to: EmailAddress,
    language: MailLanguage,
    items: &[MailItem<'_>],
    older: usize,
    unsubscribe_url: Option<String>,
) -> Mail {
    let subject = match items {
        [item] if older == 0 => item.sentence(language),
        _ => (language.words().several)(items.len() + older),
    };
    let more = (older > 0).then(|| (language.words().more)(older));
    let unsubscribe = unsubscribe_url.as_deref();
    let text = text_part(language, items, more.as_deref(), unsubscribe);
    let html = html_part(language, items, more.as_deref(), unsubscribe);
    Mail { id: mail_id(due), to, subject, text, html: Some(html), unsubscribe_url }
}

/// What a mail is known by: the same for the same rows.
fn mail_id(due: &DueMail) -> String {
    let mut hasher = Sha256::new_with_prefix(due.member.get().to_be_bytes());
    for row in &due.rows {
        hasher.update(row.id.get().to_be_bytes());
    }
    let hash = hasher.finalize();
    format!("n-{}", hex::encode(hash.get(..16).unwrap_or(&hash)))
}

/// A text as one line without control characters.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn excerpt(text: &str) -> String {
    let line = plain(text);
    match line.char_indices().nth(EXCERPT_CHARS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

fn text_part(language: MailLanguage, items: &[MailItem<'_>], more: Option<&str>, unsubscribe: Option<&str>) -> String {
    let mut parts = Vec::new();
    for item in items {
        let mut lines = vec![item.sentence(language), String::new()];
        for (depth, above) in item.above.iter().enumerate() {
            let quote = ">".repeat(item.above.len() - depth);
            lines.push(format!("{quote} {}: {}", plain(&above.author.name), excerpt(&above.content)));
        }
        if !item.above.is_empty() {
            lines.push(String::new());
        }
        lines.extend([summarize(&item.comment.content), String::new(), item.link.clone()]);
        parts.push(lines.join("\n"));
    }
    parts.extend(more.map(str::to_owned));
    parts.extend(unsubscribe.map(|url| format!("-- \n{}: {url}", language.words().unsubscribe)));
    parts.join("\n\n")
}

fn html_part(language: MailLanguage, items: &[MailItem<'_>], more: Option<&str>, unsubscribe: Option<&str>) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang=(language.tag()) dir=(language.direction()) {
            head { meta charset="utf-8"; }
            body style="font-family:sans-serif;max-width:640px" {
                @for item in items {
                    h3 { (item.sentence(language)) }
                    @if let Some(frame) = item.frame() { (frames(&frame)) }
                    div { (PreEscaped(&item.comment.html)) }
                    p { a href=(item.link) { (language.words().open) } }
                }
                @if let Some(more) = more { p { (more) } }
                @if let Some(url) = unsubscribe { hr; p { small { a href=(url) { (language.words().unsubscribe) } } } }
            }
        }
    };
    markup.into_string()
}

/// The frames of a building, the newest floor outermost.
fn frames(frame: &Frame<&CommentRow>) -> Markup {
    html! {
        div style="margin:4px 0;padding:3px;border:1px solid #d9b3a6;border-radius:4px;color:#555" {
            @if let Some(inside) = &frame.inside { (frames(inside)) }
            @for row in &frame.rows {
                @match row {
                    FrameRow::Floor(number, above) => {
                        div style="padding:2px 6px" {
                            small { (number) " " } b { bdi { (above.author.name) } } ": " (excerpt(&above.content))
                        }
                    },
                    FrameRow::Gap(count) => div style="padding:2px 6px" { small { "⋯ " (count) } },
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::{CommentId, EventId, SubjectKey};
    use gailou_shared::path::Path;

    use super::*;
    use crate::domain::notification::StoredNotification;
    use crate::testing::fixtures::{comment_row, member};

    fn due(count: u64) -> DueMail {
        let row = |n| StoredNotification {
            id: EventId::new(n).unwrap(),
            reason: NotificationReason::Reply,
            comment: CommentId::new(2).unwrap(),
            at: n,
            is_read: false,
        };
        DueMail {
            member: member(7),
            claimed_until: 1,
            tries: 1,
            mailed_lately: 0,
            rows: (1..=count).map(row).collect(),
        }
    }

    fn to() -> EmailAddress {
        EmailAddress::parse("ann@example.com").unwrap()
    }

    #[test]
    fn mail_shows_the_comment_with_those_above_it_and_nothing_runs_in_it() {
        let key = SubjectKey::new("article", "a b/c").unwrap();
        let root = comment_row(&key, Path::root(CommentId::new(1).unwrap()), "<b>root</b>\ntext");
        let path = root.path.child(CommentId::new(2).unwrap()).unwrap();
        let mut comment = CommentRow { html: "<p>hello</p>".into(), ..comment_row(&key, path, "hello") };
        comment.author.name = "<i>Bob\r\nBcc: x</i>".into();
        let subject = SubjectRow::empty(key);
        let item = || MailItem::new(NotificationReason::Reply, &comment, vec![&root], &subject, "https://c.example");
        let stop = Some("https://c.example/v1/unsubscribe?x".to_owned());
        let mail = compose(&due(1), to(), MailLanguage::English, &[item()], 0, stop.clone());
        assert_eq!(mail.subject, "<i>Bob  Bcc: x</i> answered you on “a b/c”");
        let link = "https://c.example/t/article/a%20b%2Fc?comment=2#comment-2";
        assert!(mail.text.contains("> a: <b>root</b> text\n\nhello\n\n") && mail.text.contains(link), "{}", mail.text);
        assert!(mail.text.ends_with("-- \nDo not mail me any more: https://c.example/v1/unsubscribe?x"));
        let html = mail.html.unwrap();
        assert!(html.contains("&lt;b&gt;root") && html.contains("<p>hello</p>") && html.contains(link), "{html}");
        assert!(!html.contains("<i>") && !html.contains("<b>root"), "{html}");
        let digest = compose(&due(9), to(), MailLanguage::SimplifiedChinese, &[item(), item()], 7, stop);
        assert_eq!(digest.subject, "9 条通知");
        assert!(digest.text.contains("还有 7 条") && digest.html.unwrap().contains("lang=\"zh\""));
    }

    #[test]
    fn same_rows_are_the_same_mail() {
        assert_eq!(mail_id(&due(3)), mail_id(&DueMail { tries: 4, claimed_until: 9, ..due(3) }));
        assert_ne!(mail_id(&due(3)), mail_id(&due(2)));
        assert_ne!(mail_id(&due(3)), mail_id(&DueMail { member: member(8), ..due(3) }));
        assert!(mail_id(&due(1)).len() <= 64);
    }
}
