//! The JSON file of Twikoo's export: an array of comments in HTML.

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::importers::source::ExportSource;
use crate::importers::{Content, ForeignComment, Found, LeftOut, json, text};

#[derive(Deserialize)]
struct TwikooComment {
    #[serde(rename = "_id", alias = "id")]
    id: Value,
    url: String,
    #[serde(default)]
    href: Option<String>,
    #[serde(default)]
    nick: Option<String>,
    #[serde(default)]
    mail: Option<String>,
    #[serde(default, rename = "mailMd5")]
    mail_md5: Option<String>,
    #[serde(default)]
    comment: String,
    #[serde(default)]
    pid: Option<String>,
    #[serde(default)]
    rid: Option<String>,
    #[serde(default, rename = "isSpam")]
    is_spam: bool,
    created: Value,
    /// The members who like it.
    #[serde(default, alias = "like")]
    ups: Option<Vec<Value>>,
    #[serde(default)]
    downs: Option<Vec<Value>>,
    #[serde(default)]
    top: bool,
}

pub(super) fn read(file: &ExportSource, found: &mut Found<'_>) -> anyhow::Result<()> {
    let mut number = 0;
    json::each(file, if json::is_array(file)? { &[] } else { &["data"] }, |entry: Result<TwikooComment, String>| {
        number += 1;
        match entry {
            Ok(entry) if entry.is_spam => found.left_out(LeftOut::Spam, id_of(&entry), entry.pid),
            Ok(entry) => {
                let what = format!("comment {:?}", id_of(&entry));
                found.comment_or_bad(&what, comment(&entry))?;
            }
            Err(reason) => found.bad(&format!("comment {number} of the file"), &reason)?,
        }
        Ok(())
    })
}

/// The id, which some databases write as an object.
fn id_of(entry: &TwikooComment) -> String {
    let id = entry.id.get("$oid").unwrap_or(&entry.id);
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

/// A time in milliseconds, as a number or as a text.
fn time_of(value: &Value) -> Result<u64, String> {
    let value = value.get("$date").or_else(|| value.get("$numberLong")).unwrap_or(value);
    match value {
        Value::Number(number) => {
            let whole = number.as_u64().or_else(|| number.as_f64().filter(|ms| *ms >= 0.0).map(|ms| ms as u64));
            whole.ok_or_else(|| format!("{number} is no time"))
        }
        Value::String(text) => text.parse().or_else(|_| text::time(text)),
        other => Err(format!("{other} is no time")),
    }
}

/// The path of a page on the site where it was commented on.
fn page_of(path: &str, href: Option<&str>) -> String {
    let page = href.and_then(|href| Url::parse(href).ok()).and_then(|site| site.join(path).ok());
    page.map_or_else(|| path.to_owned(), String::from)
}

fn comment(entry: &TwikooComment) -> Result<ForeignComment, String> {
    let created_at = time_of(&entry.created)?;
    let count = |members: &Option<Vec<Value>>| members.as_ref().map_or(0, Vec::len) as u64;
    let some = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    Ok(ForeignComment {
        page: page_of(&entry.url, entry.href.as_deref()),
        id: id_of(entry),
        parent: some(&entry.pid),
        root: some(&entry.rid),
        name: entry.nick.clone().unwrap_or_default(),
        author_key: some(&entry.mail).or_else(|| some(&entry.mail_md5)),
        avatar_hash: some(&entry.mail_md5),
        content: Content::Html(entry.comment.clone()),
        created_at,
        likes: count(&entry.ups),
        dislikes: count(&entry.downs),
        pinned: entry.top,
        ..ForeignComment::default()
    })
}
