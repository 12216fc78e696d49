//! A mail as text and HTML.
//!
//! Texts of readers are escaped; the HTML of a comment is the one that readers see, which was cleaned when it was
//! written. Nothing in a mail is loaded from a server.

use gailou_shared::content::summarize;
use gailou_shared::id::CommentId;
use gailou_shared::page_language::ReaderLanguage;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use sha2::{Digest as _, Sha256};

use crate::domain::building::{self, Frame, FrameRow};
use crate::domain::email_address::EmailAddress;
use crate::domain::notification::NotificationReason;
use crate::domain::row::{CommentRow, SubjectRow};
use crate::ports::mailer::Mail;
use crate::ports::store::DueMail;
use crate::service::mail_words::MailWords;

/// Longest part of a floor, in characters. The five floors that are drawn at most are 7 kB of HTML, where each character of
/// them and of their authors' names is one of the longest.
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
    /// What it stands on, as a page shows it at first: the lowest floors, and those directly below it.
    rows: Vec<FrameRow<&'a CommentRow>>,
    title: &'a str,
    link: String,
}

impl<'a> MailItem<'a> {
    /// `floor` has the comments below it that may be seen.
    pub(super) fn new(
        reason: NotificationReason,
        comment: &'a CommentRow,
        floor: impl Fn(CommentId) -> Option<&'a CommentRow>,
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
        let path: Vec<_> = comment.path.ids().collect();
        Self {
            reason,
            comment,
            rows: building::rows(&path, floor),
            title,
            link: format!("{page}#comment-{}", comment.id()),
        }
    }

    fn sentence(&self, language: ReaderLanguage) -> String {
        plain(&MailWords::of(language).sentence(self.reason, &self.comment.author.name, self.title))
    }
}

/// The mail that notifies a member of these, and says how many older ones there are.
pub(super) fn compose(
    due: &DueMail,
    to: EmailAddress,
    language: ReaderLanguage,
    items: &[MailItem<'_>],
    older: usize,
    unsubscribe_url: Option<String>,
) -> Mail {
    let subject = match items {
        [item] if older == 0 => item.sentence(language),
        _ => (MailWords::of(language).several)(items.len() + older),
    };
    let more = (older > 0).then(|| (MailWords::of(language).more)(older));
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

fn text_part(
    language: ReaderLanguage,
    items: &[MailItem<'_>],
    more: Option<&str>,
    unsubscribe: Option<&str>,
) -> String {
    let mut parts = Vec::new();
    for item in items {
        let mut lines = vec![item.sentence(language), String::new()];
        for (depth, row) in item.rows.iter().enumerate() {
            let quote = ">".repeat(item.rows.len() - depth);
            lines.push(match row {
                FrameRow::Floor(_, floor) => {
                    format!("{quote} {}: {}", plain(&floor.author.name), excerpt(&floor.content))
                }
                FrameRow::Gap(count) => format!("{quote} {}", gap(language, *count)),
            });
        }
        if !item.rows.is_empty() {
            lines.push(String::new());
        }
        lines.extend([summarize(&item.comment.content), String::new(), item.link.clone()]);
        parts.push(lines.join("\n"));
    }
    parts.extend(more.map(str::to_owned));
    parts.extend(unsubscribe.map(|url| format!("-- \n{}: {url}", MailWords::of(language).unsubscribe)));
    parts.join("\n\n")
}

fn html_part(
    language: ReaderLanguage,
    items: &[MailItem<'_>],
    more: Option<&str>,
    unsubscribe: Option<&str>,
) -> String {
    let markup = html! {
        (DOCTYPE)
        html lang=(language.tag()) dir=(language.direction()) {
            head { meta charset="utf-8"; }
            body style="font-family:sans-serif;max-width:640px" {
                @for item in items {
                    h3 { (item.sentence(language)) }
                    @if let Some(frame) = building::frames(item.rows.clone()) { (frames(language, &frame)) }
                    div { (PreEscaped(&item.comment.html)) }
                    p { a href=(item.link) { (MailWords::of(language).open) } }
                }
                @if let Some(more) = more { p { (more) } }
                @if let Some(url) = unsubscribe { hr; p { small { a href=(url) { (MailWords::of(language).unsubscribe) } } } }
            }
        }
    };
    markup.into_string()
}

/// The line in the place of so many floors.
fn gap(language: ReaderLanguage, count: usize) -> String {
    format!("⋯ {}", (MailWords::of(language).gap)(count))
}

/// The frames of a building, the newest floor outermost.
fn frames(language: ReaderLanguage, frame: &Frame<&CommentRow>) -> Markup {
    html! {
        div style="margin:4px 0;padding:3px;border:1px solid #d9b3a6;border-radius:4px;color:#555" {
            @if let Some(inside) = &frame.inside { (frames(language, inside)) }
            @for row in &frame.rows {
                @match row {
                    FrameRow::Floor(number, floor) => {
                        div style="padding:2px 6px" {
                            small { (number) " " } b { bdi { (floor.author.name) } } ": " (excerpt(&floor.content))
                        }
                    },
                    FrameRow::Gap(count) => div style="padding:2px 6px" { small { (gap(language, *count)) } },
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::{EventId, SubjectKey};
    use gailou_shared::limits::MAX_NAME_CHARS;
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
        let floor = |_| Some(&root);
        let item = || MailItem::new(NotificationReason::Reply, &comment, floor, &subject, "https://c.example");
        let stop = Some("https://c.example/v1/unsubscribe?x".to_owned());
        let mail = compose(&due(1), to(), ReaderLanguage::English, &[item()], 0, stop.clone());
        assert_eq!(mail.subject, "<i>Bob  Bcc: x</i> answered you on “a b/c”");
        let link = "https://c.example/t/article/a%20b%2Fc?comment=2#comment-2";
        assert!(mail.text.contains("> a: <b>root</b> text\n\nhello\n\n") && mail.text.contains(link), "{}", mail.text);
        assert!(mail.text.ends_with("-- \nDo not mail me any more: https://c.example/v1/unsubscribe?x"));
        let html = mail.html.unwrap();
        assert!(html.contains("&lt;b&gt;root") && html.contains("<p>hello</p>") && html.contains(link), "{html}");
        assert!(!html.contains("<i>") && !html.contains("<b>root"), "{html}");
        let digest = compose(&due(9), to(), ReaderLanguage::SimplifiedChinese, &[item(), item()], 7, stop);
        assert_eq!(digest.subject, "9 条通知");
        assert!(digest.text.contains("还有 7 条") && digest.html.unwrap().contains("lang=\"zh-CN\""));
    }

    /// The comments of a chain, the root first: each says its number.
    fn chain(key: &SubjectKey, floors: u64) -> Vec<CommentRow> {
        let mut path = Path::root(CommentId::new(1).unwrap());
        let mut comments = vec![comment_row(key, path.clone(), "floor 1")];
        for number in 2..=floors {
            path = path.child(CommentId::new(number).unwrap()).unwrap();
            comments.push(comment_row(key, path.clone(), &format!("floor {number}")));
        }
        comments
    }

    /// The mail of the last comment of a chain, without those floors that may not be seen.
    fn mail_of(chain: &[CommentRow], unseen: &[u64], language: ReaderLanguage) -> Mail {
        let comment = chain.last().unwrap();
        let floor = |id: CommentId| chain.iter().find(|row| row.id() == id && !unseen.contains(&id.get()));
        let subject = SubjectRow::empty(comment.subject.clone());
        let item = MailItem::new(NotificationReason::Reply, comment, floor, &subject, "https://c.example");
        compose(&due(1), to(), language, &[item], 0, None)
    }

    #[test]
    fn mail_draws_the_lowest_floors_and_those_directly_below_the_comment() {
        let key = SubjectKey::new("topic", "t").unwrap();
        let check = |floors: u64, unseen: &[u64], expected: &str| {
            let mail = mail_of(&chain(&key, floors), unseen, ReaderLanguage::English);
            let rows: Vec<_> = mail.text.lines().filter_map(|line| line.strip_prefix('>')).collect();
            let rows: Vec<_> =
                rows.iter().map(|row| row.trim_start_matches(['>', ' ']).replace("a: floor ", "")).collect();
            assert_eq!(rows.join(" "), expected, "{floors} without {unseen:?}");
        };
        check(1, &[], "");
        check(2, &[], "1");
        check(6, &[], "1 2 3 4 5");
        check(7, &[], "1 2 ⋯ 1 more floor 4 5 6");
        check(12, &[], "1 2 ⋯ 6 more floors 9 10 11");
        check(12, &[1, 10], "⋯ 1 more floor 2 ⋯ 6 more floors 9 ⋯ 1 more floor 11");
        check(3, &[1, 2], "⋯ 2 more floors");
        let chinese = mail_of(&chain(&key, 12), &[], ReaderLanguage::SimplifiedChinese);
        assert!(chinese.text.contains("\n>>>> ⋯ 还有 6 层\n"), "{}", chinese.text);
        assert!(chinese.html.unwrap().contains("<small>⋯ 还有 6 层</small>"));
    }

    #[test]
    fn largest_building_has_a_bound() {
        let key = SubjectKey::new("topic", "t").unwrap();
        let bytes = |chain: &[CommentRow]| {
            let mail = mail_of(chain, &[], ReaderLanguage::Russian);
            mail.html.map_or(0, |html| html.len())
        };
        let mut deepest = chain(&key, 128);
        let last = deepest.pop().unwrap();
        for floor in &mut deepest {
            floor.author.name = "\"".repeat(MAX_NAME_CHARS);
            floor.content = "\"".repeat(5_000);
        }
        deepest.push(last);
        let alone = bytes(&chain(&key, 1));
        let building = bytes(&deepest) - alone;
        assert!((6_000..7_500).contains(&building), "{building}");
    }

    #[test]
    fn same_rows_are_the_same_mail() {
        assert_eq!(mail_id(&due(3)), mail_id(&DueMail { tries: 4, claimed_until: 9, ..due(3) }));
        assert_ne!(mail_id(&due(3)), mail_id(&due(2)));
        assert_ne!(mail_id(&due(3)), mail_id(&DueMail { member: member(8), ..due(3) }));
        assert!(mail_id(&due(1)).len() <= 64);
    }
}
