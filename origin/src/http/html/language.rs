//! The sentences of the pages that need no script, in each of their languages, and which of them a request asks for.

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::wire::{Code, StaffRole};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::extract::QueryParameters;
use crate::http::openapi::parameters;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;

/// The language of a page: that of `lang`, else the one that the reader prefers.
#[derive(Debug, Clone, Copy)]
pub(in crate::http) struct RequestLanguage {
    pub(super) language: ReaderLanguage,
    /// Whether another reader would get another page at this address.
    pub(super) is_negotiated: bool,
}

impl FromRequestParts<HttpState> for RequestLanguage {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let accepted = parts.headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let asked = query.get("lang");
        let language = ReaderLanguage::preferred(asked.or(accepted).unwrap_or_default());
        Ok(Self { language, is_negotiated: asked.is_none() })
    }
}

impl IntoParams for RequestLanguage {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let names = parameters::text().enum_values(Some(ReaderLanguage::ALL.map(ReaderLanguage::name)));
        vec![
            parameters::query("lang", "The language of the page; by `Accept-Language` where it is left out.", names)
                .build(),
        ]
    }
}

/// What a page says in its own words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Phrases(pub(super) ReaderLanguage);

impl Phrases {
    const fn of(self, english: &'static str, chinese: &'static str) -> &'static str {
        match self.0 {
            ReaderLanguage::English => english,
            ReaderLanguage::Chinese => chinese,
        }
    }

    fn counted(self, n: u64, one: &str, many: &str, chinese: &str) -> String {
        match self.0 {
            ReaderLanguage::English => format!("{n} {}", if n == 1 { one } else { many }),
            ReaderLanguage::Chinese => format!("{n} {chinese}"),
        }
    }

    /// The value of an attribute `lang`.
    pub(super) const fn tag(self) -> &'static str {
        self.of("en", "zh-CN")
    }

    pub(super) fn heading(self, comments: u64) -> String {
        match comments {
            0 => self.of("Comments", "评论").into(),
            n => self.counted(n, "comment", "comments", "条评论"),
        }
    }

    pub(super) const fn closed(self) -> &'static str {
        self.of("Comments are closed here.", "评论已关闭。")
    }

    pub(super) const fn hidden(self) -> &'static str {
        self.of("The comments of this page are hidden.", "本页评论已隐藏。")
    }

    pub(super) const fn empty(self) -> &'static str {
        self.of("No comments yet.", "还没有评论。")
    }

    pub(super) const fn more_comments(self) -> &'static str {
        self.of("More comments", "更多评论")
    }

    pub(super) const fn more_replies(self) -> &'static str {
        self.of("More replies", "更多回复")
    }

    pub(super) const fn all_comments(self) -> &'static str {
        self.of("All comments", "全部评论")
    }

    /// The link to all replies of a comment.
    pub(super) fn replies(self, left: u64) -> String {
        self.counted(left, "more reply", "more replies", "条回复未显示")
    }

    pub(super) const fn replying_to(self) -> &'static str {
        self.of("replying to", "回复")
    }

    pub(super) fn likes(self, likes: u64) -> String {
        self.counted(likes, "like", "likes", "赞")
    }

    pub(super) const fn deleted(self) -> &'static str {
        self.of("This comment was deleted.", "该评论已删除")
    }

    pub(super) const fn deleted_author(self) -> &'static str {
        self.of("Deleted", "已删除")
    }

    pub(super) const fn guest(self) -> &'static str {
        self.of("Guest", "访客")
    }

    pub(super) const fn guest_title(self) -> &'static str {
        self.of("Has no account here", "没有本站账号")
    }

    pub(super) const fn role(self, role: StaffRole) -> &'static str {
        match role {
            StaffRole::Moderator => self.of("Moderator", "版主"),
            StaffRole::Admin => self.of("Admin", "管理员"),
        }
    }

    pub(super) const fn pinned(self) -> &'static str {
        self.of("Pinned", "置顶")
    }

    pub(super) const fn featured(self) -> &'static str {
        self.of("Featured", "神评论")
    }

    pub(super) const fn edited(self) -> &'static str {
        self.of("edited", "已编辑")
    }

    pub(super) const fn write_comment(self) -> &'static str {
        self.of("Write a comment", "发表评论")
    }

    pub(super) const fn write_reply(self) -> &'static str {
        self.of("Write a reply", "写回复")
    }

    pub(super) const fn reply(self) -> &'static str {
        self.of("Reply", "回复")
    }

    pub(super) const fn your_name(self) -> &'static str {
        self.of("Your name", "昵称")
    }

    pub(super) const fn your_comment(self) -> &'static str {
        self.of("Your comment", "评论内容")
    }

    pub(super) const fn post(self) -> &'static str {
        self.of("Post", "发表")
    }

    pub(super) const fn held(self) -> &'static str {
        self.of("Your comment is awaiting review.", "评论正在等待审核。")
    }

    /// Why a comment was not taken; `None` where the refusal's own words are the best.
    pub(super) const fn refusal(self, code: Code) -> Option<&'static str> {
        Some(match code {
            Code::ChallengeRequired => self.of(
                "This site asks guests to show that they are no robots, and that needs JavaScript. Your text is kept \
                 here: comment on the page of the article, with JavaScript switched on.",
                "本站要求访客证明自己不是机器人，这需要 JavaScript。文字已保留在此：请打开 JavaScript，在文章页面评论。",
            ),
            Code::GuestsNotAllowed => self.of("Guests cannot comment here.", "此处不接受访客评论。"),
            Code::SubjectClosed => self.of("Comments are closed here.", "评论已关闭。"),
            Code::ParentNotFound | Code::CommentNotFound => {
                self.of("The comment that you answer is no longer there.", "您要回复的评论已不存在。")
            }
            Code::RateLimited => self.of("You are going a little fast. Try again in a minute.", "操作太快了，请稍后再试。"),
            Code::TokenInvalid | Code::TokenMissing => self.of(
                "This form is too old. Your text is kept here: copy it, and open the form again.",
                "表单已过期。文字已保留在此，请复制后重新打开表单。",
            ),
            Code::Unavailable | Code::Overloaded => self.of(
                "The comment server is busy. Whether this was done is not known; sending it again is safe.",
                "评论服务器繁忙，结果未知，再次发送是安全的。",
            ),
            _ => return None,
        })
    }

    /// The number of a root in the list.
    pub(super) fn floor(self, n: u64) -> String {
        match self.0 {
            ReaderLanguage::English => format!("#{n}"),
            ReaderLanguage::Chinese => format!("{n} 楼"),
        }
    }

    /// The place of an answer in its building.
    pub(super) fn storey(self, n: usize) -> String {
        match self.0 {
            ReaderLanguage::English => format!("floor {n}"),
            ReaderLanguage::Chinese => format!("{n} 层"),
        }
    }

    pub(super) fn conversation(self, floors: usize) -> String {
        match self.0 {
            ReaderLanguage::English => format!("conversation, {floors} floors"),
            ReaderLanguage::Chinese => format!("对话，共 {floors} 层"),
        }
    }

    pub(super) fn gap(self, floors: usize) -> String {
        match self.0 {
            ReaderLanguage::English => format!("{floors} more {}", if floors == 1 { "floor" } else { "floors" }),
            ReaderLanguage::Chinese => format!("还有 {floors} 层"),
        }
    }
}
