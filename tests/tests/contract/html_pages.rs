//! The pages without JavaScript: one language each, a page for each comment, and a form that posts.

use gailou_shared::page_key::encode;
use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::token::Role;
use gailou_shared::word_filter::TermAction;
use gailou_tests::{ApiResponse, TestMember, TestOrigin, admin, ann, bob, comments_on, comments_path, id, poll_until};
use serde_json::json;

/// The value of a hidden field of a form.
#[track_caller]
fn hidden<'a>(form: &'a ApiResponse, name: &str) -> &'a str {
    let field = format!("<input type=\"hidden\" name=\"{name}\" value=\"");
    let (_, rest) = form.text.split_once(&field).unwrap_or_else(|| panic!("no {name}: {}", form.text));
    rest.split('"').next().unwrap()
}

/// Sends a form with what it holds, a name and a text.
async fn send(origin: &TestOrigin, path: &str, form: &ApiResponse, name: &str, text: &str) -> ApiResponse {
    let mut fields =
        vec![("name", name), ("content", text), ("key", hidden(form, "key")), ("token", hidden(form, "token"))];
    if form.text.contains("name=\"to\"") {
        fields.push(("to", hidden(form, "to")));
    }
    let body: Vec<_> = fields.into_iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
    let request = origin.request(&format!("POST {path}")).header("content-type", "application/x-www-form-urlencoded");
    request.bytes(body.join("&")).send().await
}

#[tokio::test(flavor = "multi_thread")]
async fn page_is_in_the_language_of_its_address_or_of_its_reader() {
    let origin = TestOrigin::start().await;
    let check = async |query: &str, accepted: &str, language: ReaderLanguage, varies: bool| {
        let request = origin.request(&format!("GET /t/article/language{query}")).header("accept-language", accepted);
        let page = request.send().await;
        assert_eq!(page.status, 200, "{}", page.text);
        let begin = format!("<html lang=\"{}\" dir=\"{}\">", language.tag(), language.direction());
        assert!(page.text.contains(&begin), "{query} {accepted}: {}", page.text);
        assert_eq!(
            page.headers.get_all("vary").iter().any(|name| name == "Accept-Language"),
            varies,
            "{query} {accepted}"
        );
        page
    };
    // Twice: the second answer comes from memory.
    for _ in 0..2 {
        for language in ReaderLanguage::ALL {
            let by_reader = check("", &format!("pl, {};q=0.9, en;q=0.5", language.tag()), language, true).await;
            let by_address = check(&format!("?lang={}", language.name()), "pl, en", language, false).await;
            assert_eq!(by_reader.text, by_address.text);
        }
        check("", "zh-CN,zh;q=0.9,en;q=0.5", ReaderLanguage::SimplifiedChinese, true).await;
        check("", "pl, en;q=0.5", ReaderLanguage::English, true).await;
        check("", "pl", ReaderLanguage::English, true).await;
        check("?lang=zh-CN", "en", ReaderLanguage::SimplifiedChinese, false).await;
        check("?lang=pl", "zh", ReaderLanguage::English, false).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn comment_has_a_page_with_its_building_and_all_its_replies() {
    let origin = TestOrigin::start().await;
    let subject = "topic/pages";
    let mut chain = vec![origin.post(&ann(), subject, "text 1.").await];
    for n in 2..=9 {
        chain.push(origin.reply(&bob(), &chain[n - 2], &format!("text {n}.")).await);
    }
    for n in 0..25 {
        origin.reply(&TestMember::new(100 + n, "Zoe", Role::Member), &chain[8], &format!("answer {n}.")).await;
    }
    let list = origin.current_page(subject, &comments_path(subject)).await;
    let root = &comments_on(&list)[0];
    // The list leads to all replies of a root.
    let page = origin.get(&format!("/t/{subject}?lang=en")).await.text;
    let more = format!("href=\"/t/{subject}?lang=en&amp;comment={}\">{} more replies", id(root), root["more_replies"]);
    assert!(page.contains(&more), "{more} is not in {page}");
    // A comment stands on every floor below it.
    let mut address = format!("/t/{subject}?lang=en&comment={}", id(&chain[8]));
    let page = origin.get(&address).await;
    for n in 1..=9 {
        assert_eq!(page.text.matches(&format!("<p>text {n}.</p>")).count(), 1, "{n}: {}", page.text);
    }
    // Links lead through all its replies, each once.
    let mut seen = Vec::new();
    for _ in 0..5 {
        let page = origin.get(&address).await;
        assert_eq!(page.status, 200, "{}", page.text);
        seen.extend((0..25).filter(|n| page.text.contains(&format!("<p>answer {n}.</p>"))));
        let Some((_, next)) = page.text.split_once("rel=\"next\" href=\"") else { break };
        address = next.split('"').next().unwrap().replace("&amp;", "&");
    }
    assert_eq!(seen, (0..25).collect::<Vec<_>>());
    // A comment that is taken down is gone from the pages of those above it.
    origin.delete(&bob(), &chain[4]).await.expect(204);
    let address = format!("/t/{subject}?lang=en&comment={}", id(&chain[8]));
    let page = poll_until(|| origin.get(&address), |page| !page.text.contains("text 5.")).await;
    assert!(!page.text.contains("text 5.") && page.text.contains("This comment was deleted."), "{}", page.text);
    for (address, status) in [
        (format!("/t/topic/another?comment={}", id(&chain[8])), 404),
        (format!("/t/{subject}?comment=1"), 404),
        (format!("/t/{subject}?comment=x"), 400),
    ] {
        assert_eq!(origin.get(&address).await.status, status, "{address}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn form_posts_once_however_often_it_is_sent() {
    let origin = TestOrigin::start().await;
    let subject = "article/form";
    let root = origin.post(&ann(), subject, "the root").await;
    let path = format!("/write/{subject}?lang=en&to={}", id(&root));
    let form = origin.get(&path).await;
    assert_eq!((form.status, form.header("cache-control")), (200, "private, no-store"));
    assert!(form.header("content-security-policy").contains("form-action 'self'"));
    assert!(form.text.contains("the root") && form.text.contains("Write a reply"), "{}", form.text);
    for _ in 0..2 {
        let sent = send(&origin, &path, &form, "Zoë", "a <b>reply</b>\r\nof two lines").await;
        assert_eq!(sent.status, 303, "{}", sent.text);
        let page = origin.get(sent.header("location")).await;
        assert!(page.text.contains("&lt;b&gt;reply&lt;/b&gt;") && page.text.contains("Zoë"), "{}", page.text);
        assert!(page.text.contains(">Guest<"), "{}", page.text);
    }
    let replies = origin.current_page(subject, &format!("/v1/comments/{}/replies", id(&root))).await;
    assert_eq!(comments_on(&replies).len(), 1);
    assert_eq!(comments_on(&replies)[0]["content"], "a <b>reply</b>\nof two lines");
    assert_eq!(comments_on(&replies)[0]["author"]["guest"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn form_obeys_every_rule_and_keeps_its_text() {
    let origin = TestOrigin::start().await;
    origin.load_terms(&[("blockme", TermAction::Block), ("holdme", TermAction::Review)]).await;
    let path = "/write/article/rules?lang=zh";
    let form = origin.get(path).await;
    let check = async |name: &str, text: &str, status: u16, says: &str| {
        let sent = send(&origin, path, &form, name, text).await;
        assert_eq!(sent.status, status, "{}", sent.text);
        assert!(sent.text.contains(says), "{says} is not in {}", sent.text);
        assert!(status == 200 || sent.text.contains(&format!("rows=\"8\">{text}</textarea>")), "{}", sent.text);
    };
    check("Zoe", "please blockme now", 422, "role=\"alert\"><p>评论中含有此处不允许的词语").await;
    check("", "no name", 400, "请填写昵称").await;
    check("admin", "a reserved name", 422, "此昵称不允许使用或已被占用，请换一个。").await;
    check("Zoe", "please holdme now", 200, "评论正在等待审核。").await;
    // A page of another site cannot send it.
    let foreign = origin.request(&format!("POST {path}")).header("origin", "https://evil.example");
    let foreign =
        foreign.header("content-type", "application/x-www-form-urlencoded").header("sec-fetch-site", "cross-site");
    let foreign = foreign.bytes("name=Zoe&content=spam").send().await;
    assert_eq!((foreign.status, &foreign.json["code"]), (403, &json!("site_not_allowed")));
    // A challenge needs JavaScript, and the page says so.
    let challenge = json!({"challenge": {"guests": "always"}});
    origin.request("PATCH /v1/admin/settings").by(&admin()).json(&challenge).send().await.expect(200);
    let says = |page: &ApiResponse| page.text.contains("JavaScript");
    let challenged = || async {
        let form = origin.get(path).await;
        send(&origin, path, &form, "Zoe", "a challenged text").await
    };
    let refused = poll_until(challenged, says).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    assert!(refused.text.contains("a challenged text</textarea>"));
    // Nor is there a form where guests may not write.
    let off = json!({"rules": {"guests": "off"}});
    origin.request("PATCH /v1/admin/settings").by(&admin()).json(&off).send().await.expect(200);
    let closed = poll_until(|| origin.get(path), |page| !page.text.contains("<form")).await;
    assert!(closed.text.contains("此处不接受访客评论。"), "{}", closed.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn browser_without_javascript_reads_why_there_is_no_page() {
    let origin = TestOrigin::start().await;
    let subject = "topic/refused";
    origin.post(&ann(), subject, "something").await;
    let check = async |path: &str, status: u16, sentence: &str, link: Option<&str>| {
        let request = origin.request(&format!("GET {path}"));
        let page = request.header("accept", "text/html,*/*;q=0.8").header("accept-language", "de").send().await;
        assert_eq!((page.status, page.header("content-type")), (status, "text/html; charset=utf-8"), "{path}");
        assert!(page.text.contains(&format!("<h1>{sentence}</h1>")), "{path}: {}", page.text);
        assert!(page.text.contains(page.header("x-request-id")), "{path}: {}", page.text);
        assert_eq!(page.header("cache-control"), "no-store", "{path}");
        match link {
            Some(link) => assert!(page.text.contains(&format!("href=\"{link}\"")), "{path}: {}", page.text),
            None => assert!(!page.text.contains("<a "), "{path}: {}", page.text),
        }
        // A program reads the problem.
        let problem = origin.get(path).await;
        assert_eq!((problem.status, problem.header("content-type")), (status, "application/problem+json"), "{path}");
    };
    let (page, form) = (format!("/t/{subject}"), format!("/write/{subject}"));
    let list = format!("{page}?lang=de");
    let gone = "Diesen Kommentar gibt es hier nicht oder nicht mehr.";
    check(&format!("{page}?comment=1"), 404, gone, Some(&list)).await;
    check(&format!("{form}?to=1"), 404, gone, Some(&list)).await;
    let moved = "Diesen Teil der Liste gibt es hier nicht oder nicht mehr. Beginne mit der ersten Seite.";
    check(&format!("{page}?cursor=nonsense"), 400, moved, Some(&list)).await;
    check("/t/nothing/7", 404, "Für diese Seite sind keine Kommentare eingerichtet.", None).await;
    check(&format!("{page}?comment=x"), 400, "Unter dieser Adresse gibt es keine Seite.", None).await;
    let fragment =
        origin.request(&format!("GET {page}?comment=1&fragment=1")).header("accept", "text/html").send().await;
    assert_eq!(fragment.header("content-type"), "application/problem+json");
}
