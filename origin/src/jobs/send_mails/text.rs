//! The words of mails, in English and 中文.

use crate::domain::notification::NotificationReason;
use crate::domain::review::Decision;

/// The language of a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MailLanguage {
    English,
    Chinese,
}

impl MailLanguage {
    /// That of a language tag; English where it is another one, or none.
    pub(super) fn of(tag: Option<&str>) -> Self {
        let primary = tag.and_then(|tag| tag.split('-').next()).unwrap_or_default();
        if primary.eq_ignore_ascii_case("zh") { Self::Chinese } else { Self::English }
    }

    /// Its tag, for the HTML.
    pub(super) const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// What happened, in a sentence. `name` is the author of the comment, `title` that of what it is about.
    pub(super) fn sentence(self, reason: NotificationReason, name: &str, title: &str) -> String {
        match self {
            Self::English => match reason {
                NotificationReason::Reply => format!("{name} answered you on “{title}”"),
                NotificationReason::Mention => format!("{name} mentioned you on “{title}”"),
                NotificationReason::New => format!("{name} commented on “{title}”"),
                NotificationReason::Held => format!("A comment by {name} on “{title}” waits for a decision"),
                NotificationReason::Decision(decision) => {
                    format!("Your comment on “{title}” {}", english_decision(decision))
                }
            },
            Self::Chinese => match reason {
                NotificationReason::Reply => format!("{name} 在《{title}》中回复了你"),
                NotificationReason::Mention => format!("{name} 在《{title}》中提到了你"),
                NotificationReason::New => format!("{name} 评论了《{title}》"),
                NotificationReason::Held => format!("{name} 对《{title}》的评论等待审核"),
                NotificationReason::Decision(decision) => {
                    format!("你在《{title}》中的评论{}", chinese_decision(decision))
                }
            },
        }
    }

    /// The subject of a mail about several things.
    pub(super) fn several(self, count: usize) -> String {
        match self {
            Self::English => format!("{count} notifications"),
            Self::Chinese => format!("{count} 条通知"),
        }
    }

    /// How much more there is than a mail shows.
    pub(super) fn more(self, count: usize) -> String {
        match self {
            Self::English => format!("… and {count} more"),
            Self::Chinese => format!("……还有 {count} 条"),
        }
    }

    /// The link to a comment.
    pub(super) const fn open(self) -> &'static str {
        match self {
            Self::English => "Open the comment",
            Self::Chinese => "查看评论",
        }
    }

    /// The link that ends such mails.
    pub(super) const fn unsubscribe(self) -> &'static str {
        match self {
            Self::English => "Do not mail me any more",
            Self::Chinese => "不再接收邮件通知",
        }
    }
}

const fn english_decision(decision: Decision) -> &'static str {
    match decision {
        Decision::Approve => "was approved",
        Decision::Reject => "was not accepted",
        Decision::Hide => "was hidden",
        Decision::Restore => "was restored",
        Decision::Delete => "was deleted",
        Decision::Feature => "was featured",
        Decision::Unfeature => "is no longer featured",
    }
}

const fn chinese_decision(decision: Decision) -> &'static str {
    match decision {
        Decision::Approve => "已通过审核",
        Decision::Reject => "未通过审核",
        Decision::Hide => "已被隐藏",
        Decision::Restore => "已恢复",
        Decision::Delete => "已被删除",
        Decision::Feature => "已被设为精华",
        Decision::Unfeature => "已取消精华",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_is_that_of_the_primary_tag() {
        for (tag, expected) in [
            (Some("zh"), MailLanguage::Chinese),
            (Some("zh-CN"), MailLanguage::Chinese),
            (Some("ZH-Hant"), MailLanguage::Chinese),
            (Some("en-GB"), MailLanguage::English),
            (Some("zhx"), MailLanguage::English),
            (None, MailLanguage::English),
        ] {
            assert_eq!(MailLanguage::of(tag), expected, "{tag:?}");
        }
    }
}
