//! The markup by case: elements, escapes, tombstones, where replies are drawn.

use gailou_shared::path::Mode;
use gailou_shared::wire::{Code, FieldError, PageInfo, QuotedFloor};
use serde_json::{Value, json};

use super::comment::ShownReplies;
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
    CommentPage { data, page: info, subject: None, floors: None }
}

fn shown<'p>(subject: &'p Subject, page: &'p CommentPage) -> PageContent<'p> {
    PageContent { subject, page, chain: &[], is_first_page: true, language: ReaderLanguage::English }
}

/// A comment as a root of a list.
fn item(comment: Comment) -> String {
    let (subject, page) = (subject(&json!({})), page(vec![comment], None));
    list(shown(&subject, &page), &PageLinks::in_document(&subject, ReaderLanguage::English)).into_string()
}

/// The tags in their order, without attributes.
fn tags(html: &str) -> String {
    let tags = html.split('<').skip(1).filter_map(|rest| rest.split(['>', ' ']).next());
    tags.collect::<Vec<_>>().join(" ")
}

#[test]
fn fragment_takes_no_size_from_the_page_around_it() {
    assert!(!THREAD_STYLE.contains("rem"), "a page may set another size at its root");
}

#[test]
fn comment_has_the_elements_of_the_embed_element() {
    let html = item(comment(5, &json!({"flags": ["pinned", "edited"], "edited_at": 1})));
    assert_eq!(
        tags(html.split("<div class=\"foot\"").next().unwrap()),
        "ol li article div /div div header strong bdi /bdi /strong span /span a time /time /a span /span span /span \
         /header div div div p /p /div /div /div footer span /span a /a /footer /div /article /li /ol"
    );
    let head = "<a class=\"when\" href=\"/t/article/a%2Fb?lang=en&amp;comment=5\">\
        <time datetime=\"2023-11-14T22:13:20Z\">2023-11-14</time></a>";
    for part in [
        head,
        "<div class=\"body\" dir=\"auto\"><p>x</p></div>",
        "<footer class=\"actions\"><span>2 likes</span><a href=\"/write/article/a%2Fb?lang=en&amp;to=5\" rel=\"nofollow\">Reply</a></footer>",
    ] {
        assert!(html.contains(part), "{part} is not in {html}");
    }
}

#[test]
fn guests_and_staff_are_marked() {
    for (author, mark) in [
        (json!({"id": "7", "name": "Ann", "avatar": null, "level": 0}), None),
        (json!({"id": "7", "name": "Ann", "avatar": null, "level": 0, "guest": true}), Some(">Guest<")),
        (json!({"id": "7", "name": "Ann", "avatar": null, "level": 0, "role": "moderator"}), Some(">Moderator<")),
        (json!({"id": "7", "name": "Ann", "avatar": null, "level": 0, "role": "admin"}), Some(">Admin<")),
    ] {
        let html = item(comment(5, &json!({"author": author})));
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
        tags(&document(shown(&subject, &page(vec![comment], Some(key)))))
    };
    let plain = comment(5, &json!({"author": {"id": "7", "name": "Ann", "avatar": null, "level": 3}}));
    assert_eq!(check(hostile, hostile, comment(5, &evil)), check("k", "t", plain));
}

#[test]
fn tombstone_has_no_text() {
    let gone = comment(5, &json!({"author": null, "html": "", "content": ""}));
    let html = item(gone);
    assert!(html.contains("<div class=\"body gone\">") && !html.contains("footer class"), "{html}");
}

#[test]
fn only_first_page_of_registered_subject_is_indexed() {
    let check = |more: Value, is_first_page: bool, expected: bool| {
        let (subject, page) = (subject(&more), page(vec![], None));
        let html = document(PageContent { is_first_page, ..shown(&subject, &page) });
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
    let (subject, page) = (subject(&json!({"state": "hidden"})), page(vec![comment(5, &json!({}))], Some("c")));
    let html = document(shown(&subject, &page));
    assert!(!html.contains("<article") && !html.contains("rel=\"next\"") && !html.contains("ld+json"), "{html}");
}

#[test]
fn next_page_has_an_encoded_address() {
    let (subject, page) = (subject(&json!({})), page(vec![], Some("c+/=")));
    let html = document(shown(&subject, &page));
    assert!(html.contains("<a rel=\"next\" href=\"/t/article/a%2Fb?lang=en&amp;cursor=c%2B%2F%3D\">"), "{html}");
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

/// A root in a building with one reply, which is the fourth floor; the two between are quoted.
fn building() -> (Subject, CommentPage) {
    let top = reply(13, &[10, 11, 12, 13], 4);
    let root = comment(10, &json!({"replies": 3, "more_replies": 2, "top_replies": [top], "html": "<p>ground</p>"}));
    let floor = |html: &str, author: Value| {
        let floor = json!({"author": author, "html": html, "likes": 0, "created_at": 5, "state": "published"});
        serde_json::from_value::<QuotedFloor>(floor).unwrap()
    };
    let bo = json!({"id": "9", "name": "Bo", "avatar": null, "level": 0, "guest": true});
    let floors = [(11, floor("<p>second</p>", bo)), (12, floor("", Value::Null))];
    let floors = floors.map(|(id, floor)| (id.to_string().parse().unwrap(), floor));
    let page = CommentPage { floors: Some(floors.into()), ..page(vec![root], None) };
    (subject(&json!({"mode": "building"})), page)
}

#[test]
fn answer_in_a_building_stands_on_its_frames() {
    let (subject, page) = building();
    let html = document(shown(&subject, &page));
    let at = |part: &str| html.find(part).unwrap_or_else(|| panic!("{part} is not in {html}"));
    let frames = [
        "class=\"bld\" role=\"list\" aria-label=\"conversation, 4 floors\"",
        "class=\"fr fr-1\"",
        "class=\"fr fr-2\"",
        "class=\"fr fr-3\"",
    ];
    let places: Vec<_> = frames.into_iter().map(at).collect();
    assert!(places.is_sorted(), "{html}");
    // The ground floor is innermost; a tombstone has no text.
    let frames = &html[at("class=\"fr fr-3\"")..];
    assert!(frames.find("ground") < frames.find("second"), "{html}");
    assert!(frames.contains("<bdi>Bo</bdi>") && frames.contains(">Guest<"), "{html}");
    assert!(frames.contains("<div class=\"body gone\">This comment was deleted.</div>"), "{html}");
    for (number, count) in [("floor\">#1 · floor 1", 1), ("number\">floor 1", 1), ("floor\">floor 4", 1)] {
        assert_eq!(html.matches(&format!("<span class=\"{number}</span>")).count(), count, "{number} in {html}");
    }
    assert!(!html.contains("replying to"), "{html}");
    assert!(
        html.contains("<a class=\"more-replies\" href=\"/t/article/a%2Fb?lang=en&amp;comment=10\">2 more replies</a>")
    );
}

#[test]
fn floors_that_are_missing_are_a_gap_that_leads_to_the_page_of_the_comment() {
    let (subject, mut page) = building();
    page.floors = None;
    let html = document(shown(&subject, &page));
    let gap = "<div class=\"gap\" role=\"listitem\"><a href=\"/t/article/a%2Fb?lang=en&amp;comment=13\">\
        <span>2 more floors</span></a></div>";
    assert!(html.contains(gap), "{html}");
    // A fragment is on a host's page, whose addresses are others.
    let html = fragment(shown(&subject, &page));
    assert!(html.contains("<div class=\"gap\" role=\"listitem\"><div><span>"), "{html}");
    assert!(!html.contains("href=\"/t/"), "{html}");
}

#[test]
fn page_of_a_comment_has_every_floor_and_its_replies() {
    let chain: Vec<Comment> = (1..=12_u64)
        .map(|n| {
            let path: Vec<_> = (1..=n).collect();
            let text = json!({"html": format!("<p>text {n}.</p>")});
            let mut value =
                if n > 1 { reply(n, &path, 1) } else { serde_json::to_value(comment(1, &json!({}))).unwrap() };
            value.as_object_mut().unwrap().extend(text.as_object().unwrap().clone());
            serde_json::from_value(value).unwrap()
        })
        .collect();
    let answer: Comment = serde_json::from_value(reply(13, &(1..=13).collect::<Vec<_>>(), 1)).unwrap();
    let (subject, page) = (subject(&json!({"mode": "building"})), page(vec![answer], Some("c")));
    let html = document(PageContent { chain: &chain, ..shown(&subject, &page) });
    for n in 1..=12 {
        assert_eq!(html.matches(&format!("<p>text {n}.</p>")).count(), 1, "{n}: {html}");
    }
    assert!(html.contains("id=\"comment-13\"") && html.contains("noindex") && !html.contains("class=\"gap\""));
    assert!(
        html.contains("<a rel=\"next\" href=\"/t/article/a%2Fb?lang=en&amp;comment=12&amp;cursor=c\">More replies")
    );
    assert!(html.contains(">All comments</a>"), "{html}");
}

/// The page without the links to its other languages, which have their own words.
fn without_languages(html: &str) -> String {
    let (before, rest) = html.split_once("<nav class=\"languages\"").unwrap();
    let (_, after) = rest.split_once("</nav>").unwrap();
    format!("{before}{after}")
}

/// What readers read or hear: texts, and the attributes that are texts.
fn read_texts(html: &str) -> Vec<&str> {
    let spoken = ["aria-label=\"", "title=\""].into_iter().flat_map(|name| html.split(name).skip(1));
    let spoken = spoken.filter_map(|rest| rest.split('"').next());
    let written = html.split('<').filter(|part| !part.starts_with("style") && !part.starts_with("script"));
    let written = written.filter_map(|part| Some(part.split_once('>')?.1.trim()));
    spoken.chain(written).filter(|text| text.contains(char::is_alphabetic)).collect()
}

/// A page, and the page of a comment, with everything that has words.
fn pages_with_words(language: ReaderLanguage) -> [String; 3] {
    let (subject, mut quoting) = building();
    let author = json!({"id": "7", "name": "Ann", "avatar": null, "level": 3, "role": "moderator"});
    let more = json!({"author": author, "flags": ["pinned", "featured", "edited"], "edited_at": 1, "likes": 5});
    quoting.data.push(comment(20, &more));
    quoting.data.push(comment(21, &json!({"author": null, "html": ""})));
    quoting.page.next = Some("c".into());
    let list = document(PageContent { language, ..shown(&subject, &quoting) });
    let chain =
        [comment(10, &json!({"html": "<p>ground</p>"})), serde_json::from_value(reply(13, &[10, 13], 2)).unwrap()];
    let of_comment = document(PageContent { chain: &chain, language, ..shown(&subject, &quoting) });
    let closed = Subject { state: SubjectState::Closed, comments: 0, ..subject };
    let empty = document(PageContent { language, ..shown(&closed, &page(vec![], None)) });
    [list, of_comment, empty]
}

/// The forms: empty, of an answer, refused, and held.
fn forms_with_words(language: ReaderLanguage) -> [String; 3] {
    let fields = FormFields { name: "Zoe".into(), ..FormFields::default() };
    let errors = ["name", "content"].map(|field| FieldError::new(field, "is missing"));
    let refused = FormNotice::Refused { code: Code::InvalidRequest, errors: &errors, max_chars: 500 };
    let answered = comment(5, &json!({"author": null, "html": ""}));
    let document = |form, answered, notice| FormPage { form, answered, notice }.document("article", "k", language);
    [
        document(Some(&fields), Some(&answered), None),
        document(Some(&fields), None, Some(refused)),
        document(None, None, Some(FormNotice::Held)),
    ]
}

#[test]
fn page_speaks_one_language() {
    // Names, texts of comments, and what some languages say as English does.
    let same = ["a/b", "Ann", "Bo", "Bob", "Zoe", "A", "ground", "second", "x", "Lv 3", "Moderator"];
    let texts = |html: &str| read_texts(html).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let all = |language| {
        pages_with_words(language)
            .map(|html| without_languages(&html))
            .into_iter()
            .chain(forms_with_words(language))
            .collect::<Vec<_>>()
    };
    let english: Vec<_> = all(ReaderLanguage::English).iter().flat_map(|html| texts(html)).collect();
    for expected in [
        "Pinned",
        "Featured",
        "edited",
        "5 likes",
        "2 more replies",
        "conversation, 4 floors",
        "floor 4",
        "Guest",
        "Deleted",
        "More comments",
        "More replies",
        "All comments",
        "Write a reply",
        "Your name",
        "Post",
        "Your comment is awaiting review.",
        "Comments are closed here.",
        "No comments yet.",
    ] {
        assert!(english.iter().any(|text| text == expected), "{expected} is not in {english:?}");
    }
    for language in ReaderLanguage::ALL {
        let begin = format!("<html lang=\"{}\" dir=\"{}\">", language.tag(), language.direction());
        for html in all(language) {
            assert!(html.contains(&begin), "{begin} is not in {html}");
            let left = texts(&html).into_iter().find(|text| english.contains(text) && !same.contains(&&**text));
            assert_eq!(left.filter(|_| language != ReaderLanguage::English), None, "{language:?}: {html}");
        }
        // A host's page may have another language and direction.
        let (subject, page) = building();
        let html = fragment(PageContent { language, ..shown(&subject, &page) });
        let own = format!("lang=\"{}\" dir=\"{}\"><style>", language.tag(), language.direction());
        assert!(html.contains(&own), "{own} is not in {html}");
    }
}

#[test]
fn page_leads_to_its_other_languages_in_their_own_words() {
    for language in ReaderLanguage::ALL {
        let [list, of_comment, _] = pages_with_words(language);
        for (html, comment) in [(list, ""), (of_comment, "&amp;comment=13")] {
            let (_, rest) = html.split_once("<nav class=\"languages\"").unwrap();
            let (links, _) = rest.split_once("</nav>").unwrap();
            for other in ReaderLanguage::ALL {
                let (name, tag) = (other.name(), other.tag());
                let link =
                    format!("<a href=\"/t/article/a%2Fb?lang={name}{comment}\" hreflang=\"{tag}\" lang=\"{tag}\">");
                assert_eq!(links.contains(&link), other != language, "{language:?} {link}: {links}");
                assert!(links.contains(&format!(">{}</", PageWords::of(other).name)), "{language:?} {other:?}");
            }
        }
    }
}

#[test]
fn style_has_no_left_and_no_right() {
    for style in [THREAD_STYLE, DOCUMENT_STYLE] {
        for declaration in style.split(['{', ';', '}']).map(str::trim) {
            let (property, value) = declaration.split_once(':').unwrap_or((declaration, ""));
            let is_physical = property.contains("left")
                || property.contains("right")
                || value.contains(" left")
                || value.contains(" right");
            // Of four values the second and the last are sides.
            let sides: Vec<_> = value.split_whitespace().collect();
            let is_uneven = ["margin", "padding", "inset", "border-width", "border-radius"].contains(&property)
                && matches!(sides[..], [_, right, _, left] if right != left);
            assert!(!is_physical && !is_uneven, "{declaration}");
        }
    }
}
