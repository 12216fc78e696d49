//! The sentences of the pages that need no script, in each of their languages, and which of them a request asks for.

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use gailou_shared::page_language::PageLanguage;
use gailou_shared::wire::StaffRole;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::extract::QueryParameters;
use crate::http::openapi::parameters;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;

/// The language of a page: that of `lang`, else the one that the reader prefers.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestLanguage {
    pub(super) language: PageLanguage,
    /// Whether another reader would get another page at this address.
    pub(super) is_negotiated: bool,
}

impl FromRequestParts<HttpState> for RequestLanguage {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let accepted = parts.headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        let asked = query.get("lang");
        let language = PageLanguage::preferred(asked.or(accepted).unwrap_or_default());
        Ok(Self { language, is_negotiated: asked.is_none() })
    }
}

impl IntoParams for RequestLanguage {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let names = parameters::text().enum_values(Some(PageLanguage::ALL.map(PageLanguage::name)));
        vec![
            parameters::query("lang", "The language of the page; by `Accept-Language` where it is left out.", names)
                .build(),
        ]
    }
}

/// What a page says in its own words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Phrases(pub(super) PageLanguage);

impl Phrases {
    const fn of(self, english: &'static str, chinese: &'static str) -> &'static str {
        match self.0 {
            PageLanguage::English => english,
            PageLanguage::Chinese => chinese,
        }
    }

    fn counted(self, n: u64, one: &str, many: &str, chinese: &str) -> String {
        match self.0 {
            PageLanguage::English => format!("{n} {}", if n == 1 { one } else { many }),
            PageLanguage::Chinese => format!("{n} {chinese}"),
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

    /// The number of a root in the list.
    pub(super) fn floor(self, n: u64) -> String {
        match self.0 {
            PageLanguage::English => format!("#{n}"),
            PageLanguage::Chinese => format!("{n} 楼"),
        }
    }

    /// The place of an answer in its building.
    pub(super) fn storey(self, n: usize) -> String {
        match self.0 {
            PageLanguage::English => format!("floor {n}"),
            PageLanguage::Chinese => format!("{n} 层"),
        }
    }

    pub(super) fn conversation(self, floors: usize) -> String {
        match self.0 {
            PageLanguage::English => format!("conversation, {floors} floors"),
            PageLanguage::Chinese => format!("对话，共 {floors} 层"),
        }
    }

    pub(super) fn gap(self, floors: usize) -> String {
        match self.0 {
            PageLanguage::English => format!("{floors} more {}", if floors == 1 { "floor" } else { "floors" }),
            PageLanguage::Chinese => format!("还有 {floors} 层"),
        }
    }
}
