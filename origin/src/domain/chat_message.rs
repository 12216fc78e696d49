//! A notice in the forms that chat services accept: Slack, Telegram, Lark, DingTalk and Discord.
//!
//! Pure. Promise: what a reader wrote is shown as it was written; it mentions no member of the chat and is no markup of it.

use gailou_shared::wire::WebhookTemplate;
use serde_json::{Value, json};

/// Most characters of a text, and most bytes of a link: Discord accepts 2,000 together, the others more.
const MAX_CHAT_CHARS: usize = 900;
const MAX_LINK_BYTES: usize = 1_000;

/// What is said in a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatNotice {
    pub text: String,
    /// A web address.
    pub link: Option<String>,
}

impl ChatNotice {
    /// The body that this service accepts. `chat` is the one that the address names, for a service that wants it in the
    /// body.
    pub fn body(&self, template: WebhookTemplate, chat: Option<&str>) -> Value {
        match template {
            WebhookTemplate::Slack => json!({ "text": self.lines(slack_text), "unfurl_links": false, "mrkdwn": false }),
            WebhookTemplate::Telegram => json!({
                "chat_id": chat,
                "text": self.lines(telegram_text),
                "link_preview_options": { "is_disabled": true },
            }),
            WebhookTemplate::Lark => json!({ "msg_type": "text", "content": { "text": self.lines(lark_text) } }),
            WebhookTemplate::Dingtalk => {
                json!({ "msgtype": "text", "text": { "content": self.lines(str::to_owned) } })
            }
            WebhookTemplate::Discord => {
                json!({ "content": self.lines(discord_text), "allowed_mentions": { "parse": [] } })
            }
        }
    }

    /// The text, shortened and escaped, and the link below it.
    fn lines(&self, escape: impl Fn(&str) -> String) -> String {
        let mut characters = self.text.chars();
        let mut text: String = characters.by_ref().take(MAX_CHAT_CHARS).collect();
        if characters.next().is_some() {
            text.push('…');
        }
        let text = escape(&text);
        // An address that the parser of URLs wrote has no character that is markup.
        match &self.link {
            Some(link) if link.len() <= MAX_LINK_BYTES => format!("{text}\n{link}"),
            _ => text,
        }
    }
}

/// Slack's three characters that are markup, without which nothing is a mention or a link.
fn slack_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Telegram makes mentions of `@name` and commands of `/name`: a character without width comes between.
fn telegram_text(text: &str) -> String {
    text.replace('@', "@\u{2060}").replace('/', "/\u{2060}")
}

/// Lark reads `<at …>` as a mention and has no escape: a look-alike stands for the bracket.
fn lark_text(text: &str) -> String {
    text.replace('<', "＜")
}

/// Markdown's characters escaped. A text of them alone is twice as long, and Discord refuses it: it is cut again.
fn discord_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut length = 0;
    for c in text.chars() {
        let is_markup = r"\*_~`|<>[]()#-:@".contains(c);
        length += 1 + usize::from(is_markup);
        if length > MAX_CHAT_CHARS {
            out.push('…');
            break;
        }
        if is_markup {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(template: WebhookTemplate, text: &str) -> Value {
        let link = Some("https://blog.example/a#comment-7".to_owned());
        ChatNotice { text: text.into(), link }.body(template, Some("-100"))
    }

    #[test]
    fn each_service_has_its_form() {
        let check = |template, expected: Value| assert_eq!(body(template, "Ann: a <b> & *c*"), expected);
        check(
            WebhookTemplate::Slack,
            json!({"text": "Ann: a &lt;b&gt; &amp; *c*\nhttps://blog.example/a#comment-7", "unfurl_links": false, "mrkdwn": false}),
        );
        check(
            WebhookTemplate::Telegram,
            json!({
                "chat_id": "-100",
                "text": "Ann: a <b> & *c*\nhttps://blog.example/a#comment-7",
                "link_preview_options": {"is_disabled": true},
            }),
        );
        check(
            WebhookTemplate::Lark,
            json!({
                "msg_type": "text",
                "content": {"text": "Ann: a ＜b> & *c*\nhttps://blog.example/a#comment-7"},
            }),
        );
        check(
            WebhookTemplate::Dingtalk,
            json!({
                "msgtype": "text",
                "text": {"content": "Ann: a <b> & *c*\nhttps://blog.example/a#comment-7"},
            }),
        );
        check(
            WebhookTemplate::Discord,
            json!({
                "content": "Ann\\: a \\<b\\> & \\*c\\*\nhttps://blog.example/a#comment-7",
                "allowed_mentions": {"parse": []},
            }),
        );
    }

    #[test]
    fn no_member_of_a_chat_is_mentioned_by_a_reader() {
        let text = body(WebhookTemplate::Telegram, "@all /stop")["text"].clone();
        assert!(text.as_str().unwrap().starts_with("@\u{2060}all /\u{2060}stop\n"), "{text}");
    }

    #[test]
    fn long_text_is_shortened_to_what_every_service_accepts() {
        let characters =
            |value: &Value, pointer: &str| value.pointer(pointer).unwrap().as_str().unwrap().chars().count();
        for text in ["好".repeat(5_000), "*".repeat(5_000)] {
            for link in [990, 1_100].map(|length| format!("https://blog.example/{}", "a".repeat(length - 21))) {
                let body = ChatNotice { text: text.clone(), link: Some(link) }.body(WebhookTemplate::Discord, None);
                assert!((900..=2_000).contains(&characters(&body, "/content")), "{body}");
            }
        }
        let without_link = ChatNotice { text: "a".into(), link: None };
        assert_eq!(without_link.body(WebhookTemplate::Dingtalk, None)["text"]["content"], "a");
    }
}
