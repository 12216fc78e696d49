//! `/t/{type}/{key}`: the first page as HTML, readable without JavaScript.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use gailou_shared::content::summary;
use gailou_shared::limits;
use gailou_shared::wire::{Comment, Page, Subject};
use serde_json::json;

use super::request::{Query, known_type, page_key, subject};
use super::send;
use crate::app::App;
use crate::cache::Built;
use crate::error::ApiError;
use crate::service::page::{self, Asked};

const HTML: &str = "text/html; charset=utf-8";

pub(super) async fn get_thread(State(app): State<Arc<App>>, request: Request) -> Result<Response, ApiError> {
    let path = request.uri().path();
    let key = subject(&known_type(&app, path, 1)?, path, 2)?;
    let fragment = Query::of(&request)?.get("fragment") == Some("1");
    let name = page_key(path, &[("fragment", fragment.then(|| "1".to_owned()))]);
    let page = app
        .pages
        .get_or_build(&name, || async {
            let page = page::roots(&app, &key, Asked::first(limits::PAGE_DEFAULT)).await?;
            let body = if fragment { thread(&page) } else { document(&page) };
            Ok(Built { body: body.into_bytes(), content_type: HTML, subjects: vec![key.clone()] })
        })
        .await?;
    Ok(send(&page, request.headers()))
}

/// What keeps a page of strangers' texts from doing anything.
pub(super) fn headers() -> HeaderMap {
    let policy = "default-src 'none'; style-src 'unsafe-inline'; img-src https: http: data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";
    HeaderMap::from_iter([
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::REFERRER_POLICY, HeaderValue::from_static("strict-origin-when-cross-origin")),
    ])
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

fn title(subject: &Subject) -> &str {
    subject.title.as_deref().unwrap_or(&subject.key)
}

fn document(page: &Page) -> String {
    let Some(subject) = &page.subject else { return String::new() };
    let title = escape(title(subject));
    // A page nobody has registered must not fill search engines with strangers' texts.
    let robots = if subject.title.is_none() && subject.url.is_none() {
        "<meta name=\"robots\" content=\"noindex\">\n"
    } else {
        ""
    };
    let canonical = subject.url.as_deref().filter(|u| u.starts_with("https://") || u.starts_with("http://"));
    let canonical = canonical.map_or(String::new(), |u| format!("<link rel=\"canonical\" href=\"{}\">\n", escape(u)));
    format!(
        "<!doctype html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n{robots}{canonical}<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{}</body>\n</html>\n",
        thread(page)
    )
}

const STYLE: &str = "body{max-width:44rem;margin:2rem auto;padding:0 1rem;font:1rem/1.6 system-ui,sans-serif;color-scheme:light dark}\
    ol{list-style:none;padding:0}ol ol{padding-left:1.5rem;border-left:2px solid #8884}article{margin:1rem 0}\
    article header,article footer{font-size:.85rem;opacity:.8}p{margin:.3rem 0;overflow-wrap:anywhere}pre{overflow-x:auto}";

/// The comments alone, for a page of the host's.
fn thread(page: &Page) -> String {
    let Some(subject) = &page.subject else { return String::new() };
    let pinned: Vec<_> = subject.pinned.iter().map(|c| c.id).collect();
    let mut out = format!("<section class=\"gailou\">\n<h2>{} comments · 评论</h2>\n<ol>\n", subject.comments);
    for comment in subject.pinned.iter().chain(page.data.iter().filter(|c| !pinned.contains(&c.id))) {
        item(&mut out, comment);
    }
    out.push_str("</ol>\n");
    out.push_str(&json_ld(subject, page));
    out.push_str("</section>\n");
    out
}

fn item(out: &mut String, comment: &Comment) {
    let id = comment.id;
    out.push_str(&format!("<li><article id=\"comment-{id}\">\n"));
    match &comment.author {
        None => out.push_str("<p><em>This comment was deleted · 该评论已删除</em></p>\n"),
        Some(author) => {
            let floor = comment.floor.map_or(String::new(), |f| format!(" · #{f}"));
            let answers = comment.reply_to.as_ref().filter(|_| comment.level > 1);
            let answers = answers.map_or(String::new(), |m| format!(" → {}", escape(&m.name)));
            out.push_str(&format!(
                "<header><strong>{}</strong>{answers}{floor} · <time datetime=\"{t}\">{t}</time></header>\n{}\
                 <footer>♥ {}</footer>\n",
                escape(&author.name),
                comment.html,
                comment.likes,
                t = iso(comment.created_at),
            ));
        }
    }
    out.push_str("</article>\n");
    if let Some(replies) = comment.top_replies.as_ref().filter(|r| !r.is_empty()) {
        out.push_str("<ol>\n");
        replies.iter().for_each(|reply| item(out, reply));
        out.push_str("</ol>\n");
    }
    out.push_str("</li>\n");
}

fn iso(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(chrono::DateTime::from_timestamp_millis);
    time.map_or(String::new(), |t| t.format("%Y-%m-%dT%H:%M:%SZ").to_string())
}

fn json_ld(subject: &Subject, page: &Page) -> String {
    let comments: Vec<_> = page
        .data
        .iter()
        .filter_map(|c| {
            Some(json!({"@type": "Comment", "text": summary(&c.content), "dateCreated": iso(c.created_at),
                "upvoteCount": c.likes, "author": {"@type": "Person", "name": c.author.as_ref()?.name}}))
        })
        .collect();
    let whole = json!({"@context": "https://schema.org", "@type": "DiscussionForumPosting", "headline": title(subject),
        "url": subject.url, "commentCount": subject.comments, "comment": comments});
    // Inside a script element only `<` could end the data.
    format!("<script type=\"application/ld+json\">{}</script>\n", whole.to_string().replace('<', "\\u003c"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hostile_gets_out_of_its_place() {
        assert_eq!(escape("<a href='x'>\"&"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;");
        assert_eq!(iso(1_700_000_000_000), "2023-11-14T22:13:20Z");
    }
}
