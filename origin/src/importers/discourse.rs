//! Topics of Discourse, as it answers `/t/ID.json?print=true`: one, an array of them, or one a line.
//!
//! The first post of an embedded topic is the page, and links to it; that of another topic is a comment. A post is
//! named by its topic and its number, as its address is, so a long topic may come in several answers.

use std::collections::{BTreeMap, HashSet};
use std::io::BufReader;

use anyhow::{Context as _, ensure};
use pulldown_cmark::{Event, Parser, Tag};
use serde::Deserialize;

use crate::importers::source::ExportSource;
use crate::importers::{Content, ForeignComment, Found, LeftOut, json, text};

#[derive(Deserialize)]
struct DiscourseTopic {
    id: u64,
    #[serde(default)]
    title: String,
    #[serde(default)]
    slug: String,
    /// Of the page that it is embedded in, where something has added it.
    embed_url: Option<String>,
    post_stream: PostStream,
}

#[derive(Deserialize)]
struct PostStream {
    posts: Vec<Post>,
    /// The ids of all posts, also of those that are not in this answer.
    #[serde(default)]
    stream: Vec<u64>,
}

#[derive(Deserialize)]
struct Post {
    id: u64,
    /// The full name, which may be empty.
    name: Option<String>,
    username: Option<String>,
    /// Stays when the username changes. None of an account that is gone.
    user_id: Option<i64>,
    created_at: String,
    #[serde(default)]
    updated_at: String,
    #[serde(default = "first_version")]
    version: u64,
    /// HTML, in which quotes and uploaded files are resolved.
    #[serde(default)]
    cooked: String,
    /// Markdown, as it was typed.
    #[serde(default)]
    raw: String,
    post_number: u64,
    reply_to_post_number: Option<u64>,
    #[serde(default = "regular_post")]
    post_type: u8,
    #[serde(default)]
    actions_summary: Vec<PostAction>,
    /// It was reported, and waits for a moderator.
    #[serde(default)]
    hidden: bool,
    /// `cooked` says that it is hidden, and not what it said.
    #[serde(default)]
    cooked_hidden: bool,
    deleted_at: Option<String>,
    #[serde(default)]
    user_deleted: bool,
}

#[derive(Deserialize)]
struct PostAction {
    id: u64,
    #[serde(default)]
    count: u64,
}

/// The action of who likes a post.
const LIKE_ACTION: u64 = 2;
/// Types of posts: that of a person, the line about what a moderator did, and a post that moderators alone read.
const REGULAR_POST: u8 = 1;
const NOTICE_POST: u8 = 3;
const WHISPER_POST: u8 = 4;
/// The number of the post that a topic begins with.
const FIRST_POST: u64 = 1;

const fn first_version() -> u64 {
    1
}

const fn regular_post() -> u8 {
    REGULAR_POST
}

/// The posts of a topic that were found in a file.
#[derive(Default)]
struct FoundPosts {
    found: HashSet<u64>,
    all: HashSet<u64>,
    /// Where the page of the topic is, after its first post was read.
    page: Option<TopicPage>,
}

/// What a topic is about.
#[derive(Clone)]
struct TopicPage {
    address: String,
    /// Whether it is embedded there: the first post is the page.
    is_embedded: bool,
}

pub(super) fn read(file: &ExportSource, found: &mut Found<'_>) -> anyhow::Result<()> {
    let (mut topics, mut number) = (BTreeMap::<u64, FoundPosts>::new(), 0);
    let mut each = |topic: Result<DiscourseTopic, String>| {
        number += 1;
        match topic {
            Ok(topic) => {
                let posts = topics.entry(topic.id).or_default();
                add(topic, posts, found)
            }
            Err(reason) => found.bad(&format!("topic {number} of the file"), &reason),
        }
    };
    if json::is_array(file)? {
        json::each(file, &[], &mut each)?;
    } else {
        let values = serde_json::Deserializer::from_reader(BufReader::new(file.open()?));
        for value in values.into_iter::<serde_json::Value>() {
            let value = value.context("the file is not the JSON that is expected")?;
            each(serde_json::from_value(value).map_err(|error| error.to_string()))?;
        }
    }
    ensure!(!topics.is_empty(), "the file has no topics, each with `id` and `post_stream.posts`");
    for (id, posts) in topics {
        let missing = posts.all.difference(&posts.found).count();
        if missing > 0 {
            let reason =
                format!("{missing} of its {} posts are not in the file; `?print=true` has them", posts.all.len());
            found.bad(&format!("topic {id}"), &reason)?;
        }
    }
    Ok(())
}

fn add(topic: DiscourseTopic, found_posts: &mut FoundPosts, found: &mut Found<'_>) -> anyhow::Result<()> {
    let DiscourseTopic { id, title, slug, embed_url, post_stream } = topic;
    let PostStream { posts, stream } = post_stream;
    found_posts.all.extend(stream);
    found_posts.found.extend(posts.iter().map(|post| post.id));
    let first = posts.iter().find(|post| post.post_number == FIRST_POST);
    let embedded = embed_url.filter(|url| !url.is_empty()).or_else(|| embedded_in(&first?.cooked));
    let page = match (embedded, &found_posts.page) {
        (Some(address), _) => TopicPage { address, is_embedded: true },
        (None, Some(page)) => page.clone(),
        (None, None) => TopicPage { address: format!("/t/{slug}/{id}"), is_embedded: false },
    };
    found_posts.page = Some(page.clone());
    for post in posts {
        let name = post_name(id, post.post_number);
        let parent = post.reply_to_post_number.map(|number| post_name(id, number));
        let why = match post.post_type {
            NOTICE_POST => LeftOut::Notice,
            WHISPER_POST => LeftOut::Private,
            _ if page.is_embedded && post.post_number == FIRST_POST => LeftOut::Page,
            _ if post.hidden && post.cooked_hidden => LeftOut::NotApproved,
            _ if post.hidden => {
                found.waiting(name.clone(), parent.clone(), || comment(&page, &title, name, parent, post))?;
                continue;
            }
            _ => {
                let what = format!("post {name:?}");
                found.comment_or_bad(&what, comment(&page, &title, name, parent, post))?;
                continue;
            }
        };
        found.left_out(why, name, parent);
    }
    Ok(())
}

/// The end of a post's address.
fn post_name(topic: u64, number: u64) -> String {
    format!("{topic}/{number}")
}

/// The page that the first post of an embedded topic links to, in small letters: under a line at its end, or where a blog
/// has written the post, at its beginning. The sentence around the link is in the forum's language.
fn embedded_in(cooked: &str) -> Option<String> {
    let post = cooked.trim();
    let post = post.strip_prefix("<p>").unwrap_or(post);
    let end =
        post.strip_suffix("</p>").unwrap_or(post).strip_suffix("</small>").and_then(|rest| rest.rsplit_once("<small>"));
    let under_line = end.filter(|(before, _)| {
        let before = before.trim_end();
        let before = before.strip_suffix("<p>").unwrap_or(before).trim_end();
        ["<hr>", "<hr/>", "<hr />"].iter().any(|line| before.ends_with(line))
    });
    let at_beginning = || Some(post.strip_prefix("<small>")?.split_once("</small>")?.0);
    let sentence = text::markdown(under_line.map(|(_, sentence)| sentence).or_else(at_beginning)?);
    let addresses = Parser::new(&sentence).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. }) => Some(dest_url.into_string()),
        _ => None,
    });
    addresses.last().filter(|address| address.starts_with("http"))
}

fn comment(
    page: &TopicPage,
    title: &str,
    name: String,
    parent: Option<String>,
    post: Post,
) -> Result<ForeignComment, String> {
    let deleted = post.deleted_at.is_some() || post.user_deleted;
    let content = match (deleted, post.cooked.is_empty()) {
        (true, _) => Content::default(),
        (false, true) => Content::Markdown(post.raw),
        (false, false) => Content::Html(post.cooked),
    };
    let is_edited = post.version > first_version() && !deleted;
    let some = |name: Option<String>| name.filter(|name| !name.trim().is_empty());
    let username = some(post.username);
    Ok(ForeignComment {
        page: page.address.clone(),
        title: title.to_owned(),
        id: name,
        parent,
        name: some(post.name).or_else(|| username.clone()).unwrap_or_default(),
        author_key: post.user_id.map(|id| id.to_string()).or(username),
        content,
        created_at: text::time(&post.created_at)?,
        edited_at: is_edited.then(|| text::time(&post.updated_at)).transpose()?,
        likes: post.actions_summary.iter().find(|action| action.id == LIKE_ACTION).map_or(0, |action| action.count),
        deleted,
        ..ForeignComment::default()
    })
}
