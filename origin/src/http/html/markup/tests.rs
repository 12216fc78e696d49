//! The markup by case: elements, escapes, tombstones, where replies are drawn.

use gailou_shared::wire::PageInfo;
use serde_json::{Value, json};

use super::*;

fn comment(id: u64, more: &Value) -> Comment {
    let mut comment = json!({"id": id.to_string(), "subject": {"type": "article", "key": "k"},
        "author": {"id": "7", "name": "Ann", "avatar": null, "level": 0}, "parent_id": null, "root_id": id.to_string(),
        "reply_to": null, "path": [id.to_string()], "level": 1, "floor": 1, "content": "x", "html": "<p>x</p>",
        "mentions": [], "media": [], "state": "published", "visibility": "everyone", "flags": [], "likes": 2,
        "dislikes": 0, "replies": 0, "created_at": 1_700_000_000_000_u64, "edited_at": null});
    comment.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(comment).unwrap()
}

fn reply(id: u64, path: &[u64], level: u8) -> Value {
    let path: Vec<_> = path.iter().map(u64::to_string).collect();
    let parent = &path[path.len() - 2];
    let value = json!({"root_id": path[0], "parent_id": parent, "path": path, "level": level,
        "reply_to": {"id": "8", "name": "Bob"}});
    serde_json::to_value(comment(id, &value)).unwrap()
}

fn subject(more: &Value) -> Subject {
    let mut subject = json!({"type": "article", "key": "a/b", "title": null, "url": null, "owner_id": null,
        "mode": "tree", "state": "open", "roots": 1, "comments": 1, "pinned": []});
    subject.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(subject).unwrap()
}

fn page(data: Vec<Comment>, next: Option<&str>) -> CommentPage {
    let info =
        PageInfo { next: next.map(str::to_owned), has_more: next.is_some(), sort: <_>::default(), epoch: "1".into() };
    CommentPage { data, page: info, subject: None }
}

/// The tags in their order, without attributes.
fn tags(html: &str) -> String {
    let tags = html.split('<').skip(1).filter_map(|rest| rest.split(['>', ' ']).next());
    tags.collect::<Vec<_>>().join(" ")
}

#[test]
fn comment_has_the_elements_of_the_embed_element() {
    let html =
        item(&ShownReplies(HashMap::new()), &comment(5, &json!({"flags": ["pinned", "edited"], "edited_at": 1})), None);
    let html = html.into_string();
    assert_eq!(
        tags(&html),
        "li article div /div div header strong bdi /bdi /strong span /span a time /time /a span /span span /span /header \
         div p /p /div footer /footer /div /article /li"
    );
    let head = "<a class=\"when\" href=\"#comment-5\"><time datetime=\"2023-11-14T22:13:20Z\">2023-11-14</time></a>";
    for part in [head, "<div class=\"body\" dir=\"auto\"><p>x</p></div>", "<footer class=\"actions\">♥ 2</footer>"] {
        assert!(html.contains(part), "{part} is not in {html}");
    }
}

#[test]
fn guests_and_staff_are_marked() {
    for (author, mark) in [
        (json!({"id": "7", "name": "Ann", "avatar": null, "level": 0}), None),
        (json!({"id": "7", "name": "Ann", "avatar": null, "level": 0, "guest": true}), Some(">Guest · 访客<")),
        (
            json!({"id": "7", "name": "Ann", "avatar": null, "level": 0, "role": "moderator"}),
            Some(">Moderator · 版主<"),
        ),
        (json!({"id": "7", "name": "Ann", "avatar": null, "level": 0, "role": "admin"}), Some(">Admin · 管理员<")),
    ] {
        let html = head(&comment(5, &json!({"author": author}))).into_string();
        assert_eq!(html.matches("badge").count(), usize::from(mark.is_some()), "{html}");
        assert!(mark.is_none_or(|mark| html.contains(mark)), "{html}");
    }
}

#[test]
fn hostile_texts_add_no_tag() {
    let hostile = "\"'`></bdi></script></style></title><img src=x onerror=alert(1)><!--";
    let author = json!({"id": "7", "name": hostile, "avatar": hostile, "level": 3});
    let evil = json!({"author": author, "content": hostile, "subject": {"type": "article", "key": hostile}});
    let check = |key: &str, title: &str, comment: Comment| {
        let subject = subject(&json!({"key": key, "title": title, "url": "https://example.org"}));
        tags(&document(&subject, &page(vec![comment], Some(key)), true))
    };
    let plain = comment(5, &json!({"author": {"id": "7", "name": "Ann", "avatar": null, "level": 3}}));
    assert_eq!(check(hostile, hostile, comment(5, &evil)), check("k", "t", plain));
}

#[test]
fn tombstone_has_no_text() {
    let gone = comment(5, &json!({"author": null, "html": "", "content": ""}));
    let html = item(&ShownReplies(HashMap::new()), &gone, None).into_string();
    assert!(html.contains("<div class=\"body gone\">") && !html.contains("footer class"), "{html}");
}

#[test]
fn only_first_page_of_registered_subject_is_indexed() {
    let check = |more: Value, is_first_page: bool, expected: bool| {
        let html = document(&subject(&more), &page(vec![], None), is_first_page);
        assert_eq!(!html.contains("noindex"), expected, "{more} {is_first_page}");
    };
    check(json!({"title": "t"}), true, true);
    check(json!({"url": "https://example.org"}), true, true);
    check(json!({}), true, false);
    check(json!({"title": "t"}), false, false);
    check(json!({"title": "t", "state": "hidden"}), true, false);
}

#[test]
fn hidden_subject_shows_no_comment_and_no_next_page() {
    let html = document(&subject(&json!({"state": "hidden"})), &page(vec![comment(5, &json!({}))], Some("c")), true);
    assert!(!html.contains("<article") && !html.contains("rel=\"next\"") && !html.contains("ld+json"), "{html}");
}

#[test]
fn next_page_has_an_encoded_address() {
    let html = document(&subject(&json!({})), &page(vec![], Some("c+/=")), true);
    assert!(html.contains("<a rel=\"next\" href=\"/t/article/a%2Fb?cursor=c%2B%2F%3D\">"), "{html}");
}

#[test]
fn replies_are_drawn_under_the_nearest_shown_ancestor() {
    let replies = [reply(12, &[10, 11, 12], 3), reply(13, &[10, 99, 13], 3)];
    let root = comment(
        10,
        &json!({"replies": 3, "more_replies": 0, "top_replies": [reply(11, &[10, 11], 2), replies[0], replies[1]]}),
    );
    let check = |mode: Mode, parent: u64, expected: &[u64]| {
        let shown = ShownReplies::of(&root, mode);
        let of = comment(parent, &json!({}));
        let ids: Vec<u64> = shown.under(&of).iter().map(|reply| reply.id.get()).collect();
        assert_eq!(ids, expected, "{mode:?} under {parent}");
    };
    check(Mode::Tree, 10, &[11, 13]);
    check(Mode::Tree, 11, &[12]);
    check(Mode::TwoLevel, 10, &[11, 12, 13]);
}

#[test]
fn pinned_roots_come_first_and_once() {
    let (pinned, other) = (comment(5, &json!({})), comment(6, &json!({})));
    let subject = subject(&json!({"pinned": [pinned]}));
    let page = page(vec![other, comment(5, &json!({"more_replies": 4}))], None);
    let roots: Vec<_> = listed_roots(&subject, &page).iter().map(|c| (c.id.get(), c.more_replies)).collect();
    assert_eq!(roots, [(5, Some(4)), (6, None)]);
}
