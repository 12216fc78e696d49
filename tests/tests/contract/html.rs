//! The rendering of Markdown and the HTML pages: hostile content stays text, and a page needs no script.

use gailou_shared::token::Role;
use gailou_tests::{ApiResponse, TestMember, TestOrigin, admin, ann, bob, id, poll_until};
use serde_json::{Value, json};

/// Texts that try to become markup, script or style.
const HOSTILE_TEXTS: [&str; 36] = [
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example/x.js></sCrIpT>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<a href=\"javascript:alert(1)\">x</a>",
    "<p style=\"background:url(javascript:alert(1))\">x</p>",
    "<style>*{display:none}</style>",
    "<form action=https://evil.example><button>log in</button></form>",
    "<base href=//evil.example>",
    "<meta http-equiv=refresh content=0;url=//evil.example>",
    "<object data=x></object><embed src=x>",
    "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "</p></article></section><script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](vbscript:msgbox(1))",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](//evil.example)",
    "[x](https://example.org \"onmouseover=alert(1)\")",
    "[x](https://example.org\" onmouseover=\"alert(1))",
    "<javascript:alert(1)>",
    "![x](javascript:alert(1))",
    "![x](https://evil.example/pixel.png)",
    "[x]: javascript:alert(1)\n\n[x]",
    "`<script>alert(1)</script>` and ```\n<script>alert(1)</script>\n```",
    "> <img src=x onerror=alert(1)>\n\n* <svg onload=alert(1)>\n\n# <b onclick=alert(1)>",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;img src=x onerror=alert(1)&#62;",
];

/// The tags of a piece of HTML as written, without `<` and `>`.
fn tags(html: &str) -> Vec<&str> {
    html.split('<').skip(1).map(|rest| rest.split('>').next().unwrap_or(rest)).collect()
}

/// Checks that there are only allowed tags, and only links with an allowed scheme.
#[track_caller]
fn check_safe(html: &str, allowed: &[&str]) {
    for tag in tags(html) {
        let name = tag.trim_start_matches('/').split_whitespace().next().unwrap_or_default();
        assert!(allowed.contains(&name), "<{tag}> in {html}");
        let mut rest = tag.trim_start_matches('/').strip_prefix(name).unwrap_or_default();
        while let Some((attribute, after)) = rest.trim_start().split_once("=\"") {
            let (value, after) = after.split_once('"').expect("a quoted value");
            let is_allowed = match attribute {
                "href" => {
                    name == "a" && ["https://", "http://", "mailto:"].iter().any(|scheme| value.starts_with(scheme))
                }
                "rel" => value == "nofollow ugc noopener",
                "start" => value.bytes().all(|b| b.is_ascii_digit()),
                // Any text; the quote above has ended it.
                "title" => true,
                _ => false,
            };
            assert!(is_allowed, "<{tag}> in {html}");
            rest = after;
        }
        assert!(matches!(rest.trim(), "" | "/"), "<{tag}> in {html}");
        assert!(!tag.contains("href") || tag.contains("rel=\"nofollow ugc noopener\""), "<{tag}> in {html}");
    }
}

/// The tags that Markdown may produce.
const ALLOWED_TAGS: [&str; 12] = ["p", "br", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li", "a"];

#[tokio::test(flavor = "multi_thread")]
async fn hostile_content_renders_as_text_everywhere() {
    let origin = TestOrigin::start().await;
    let attacker = TestMember::new(66, "<script>alert('name')</script>", Role::Member);
    let mut root = Value::Null;
    for text in HOSTILE_TEXTS {
        root = origin.post(&attacker, "article/hostile", text).await;
        assert_eq!(root["content"], text, "the content is stored as written");
        check_safe(root["html"].as_str().unwrap(), &ALLOWED_TAGS);
        let reply = origin.reply(&attacker, &root, text).await;
        assert_eq!(reply["html"], root["html"], "{text}");
        let edited = origin.edit(&attacker, &root, &format!("{text} ")).await.expect(200);
        check_safe(edited["html"].as_str().unwrap(), &ALLOWED_TAGS);
    }
    origin.set_flag(&admin(), "PUT", id(&root), "pin").await.expect(200);
    let hostile_title = json!({"title": "</title><script>alert(1)</script>", "url": "javascript:alert(1)"});
    origin.put_subject(&admin(), "article/hostile", &hostile_title).await.expect(200);
    let page = poll_until(|| origin.get("/t/article/hostile"), |page| page.text.contains("&lt;/title&gt;")).await;
    // The only script is JSON-LD, and its data cannot close it.
    let scripts: Vec<_> = page.text.match_indices("<script").collect();
    assert_eq!(scripts.len(), 1, "{}", page.text);
    assert!(page.text[scripts[0].0..].starts_with("<script type=\"application/ld+json\">"));
    let data = page.text.split("application/ld+json\">").nth(1).unwrap().split("</script>").next().unwrap();
    let data: Value = serde_json::from_str(data).expect("JSON-LD");
    assert_eq!(data["headline"], "</title><script>alert(1)</script>");
    for word in ["onerror=", "onload=", "javascript:", "onclick="] {
        for tag in tags(&page.text).iter().filter(|tag| !tag.starts_with("script")) {
            assert!(!tag.contains(word), "<{tag}>");
        }
    }
    let policy = page.header("content-security-policy");
    assert!(policy.contains("default-src 'none'") && !policy.contains("script-src"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), "nosniff");
}

#[tokio::test(flavor = "multi_thread")]
async fn html_page_has_visible_comments_and_is_indexed_once_registered() {
    let origin = TestOrigin::start().await;
    let root = origin.post(&ann(), "article/page", "the **root**").await;
    origin.reply(&bob(), &root, "the reply").await;
    let gone = origin.post(&bob(), "article/page", "gone text").await;
    origin.reply(&ann(), &gone, "below a tombstone").await;
    origin.delete(&bob(), &gone).await;
    let has_tombstone = |page: &ApiResponse| page.text.contains("This comment was deleted");
    let page = poll_until(|| origin.get("/t/article/page"), has_tombstone).await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(page.text.contains("noindex") && !page.text.contains("gone text"), "{}", page.text);
    let fragment = poll_until(|| origin.get("/t/article/page?fragment=1"), has_tombstone).await;
    assert!(
        fragment.text.contains("the reply") && !fragment.text.contains("<html") && !fragment.text.contains("<!doctype")
    );
    // Once an administrator has registered the subject, search engines may index it.
    let registered = json!({"title": "A & B", "url": "https://example.org/?a=1&b=2"});
    origin.put_subject(&admin(), "article/page", &registered).await.expect(200);
    let page = poll_until(|| origin.get("/t/article/page"), |page| !page.text.contains("noindex")).await;
    assert!(!page.text.contains("noindex"), "{}", page.text);
    assert!(
        page.text.contains("<title>A &amp; B</title>")
            && page.text.contains("href=\"https://example.org/?a=1&amp;b=2\"")
    );
    let empty = origin.get("/t/article/empty").await;
    assert_eq!((empty.status, empty.text.contains("noindex")), (200, true));
}
