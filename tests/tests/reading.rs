//! What readers and their browsers get: counts, histories, overlays, edits, HTML, headers.

use std::collections::BTreeSet;

use futures_util::stream::{self, StreamExt as _};
use gailou_tests::{Answer, Site, Who, id, ids, until, who, with_cursor};
use serde_json::{Value, json};

fn ann() -> Who {
    who(7, "Ann", "member")
}

fn bob() -> Who {
    who(8, "Bob", "member")
}

fn admin() -> Who {
    who(51, "Admin", "admin")
}

#[tokio::test(flavor = "multi_thread")]
async fn counts() {
    let site = Site::start().await;
    let root = site.post(&ann(), "video/2", "root").await;
    site.reply(&bob(), &root, "reply").await;
    site.post(&ann(), "article/a%2Fb%3F%E6%A5%BC", "x").await;
    let gone = site.post(&ann(), "post/7", "gone").await;
    site.delete(&ann(), &gone).await;
    let asked = "subject=video/2&subject=article/a%2Fb%3F%E6%A5%BC&subject=post/7&subject=topic/none&subject=video/2";
    let counts = site.page(&format!("/v1/counts?{asked}")).await;
    let expected = json!({"data": {
        "video/2": {"roots": 1, "comments": 2}, "article/a/b?楼": {"roots": 1, "comments": 1},
        "post/7": {"roots": 0, "comments": 0}, "topic/none": {"roots": 0, "comments": 0}}});
    assert_eq!(counts, expected);
    let many: String = (0..100).map(|n| format!("subject=video/{n}&")).collect();
    assert_eq!(site.page(&format!("/v1/counts?{many}")).await["data"].as_object().unwrap().len(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn histories_are_walked_once_newest_first() {
    let site = Site::start().await;
    let mut own = Vec::new();
    for n in 0..30 {
        let kind = ["post", "video", "article"][n % 3];
        own.push(site.post(&ann(), &format!("{kind}/{}", n % 4), &n.to_string()).await);
        site.post(&bob(), "post/1", "not hers").await;
    }
    site.try_post(&ann(), "post/1", &json!({"content": "own", "visibility": "self"})).await.expect(201);
    for comment in own.iter().skip(3).step_by(7) {
        site.delete(&ann(), comment).await;
    }
    let kept: Vec<Value> = (0..30).filter(|n| n % 7 != 3).rev().map(|n| own[n].clone()).collect();
    let path = "/v1/members/7/comments?limit=4";
    let first = until(|| site.page(path), |p| ids(p["data"].as_array().unwrap()) == ids(&kept[..4])).await;
    assert!(first.get("subject").is_none(), "a history has no subject: {first}");
    // What is posted meanwhile does not move the walk.
    let next = first["page"]["next"].as_str().unwrap();
    site.post(&ann(), "post/9", "later").await;
    let rest = site.walk(&with_cursor(path, next)).await;
    assert_eq!(ids(&rest), ids(&kept[4..]));
    assert_eq!(site.walk("/v1/members/12345/comments").await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overlay_is_exact_for_400() {
    let site = Site::start().await;
    let post = |n: u64| {
        let site = &site;
        async move { site.post(&if n.is_multiple_of(2) { ann() } else { bob() }, "article/overlay", "x").await }
    };
    let all: Vec<Value> = stream::iter(0..400u64).map(post).buffered(16).collect().await;
    let mut expected = serde_json::Map::new();
    for (n, comment) in all.iter().enumerate() {
        let reaction = match n % 5 {
            0 => Some("like"),
            1 => Some("dislike"),
            _ => None,
        };
        if let Some(reaction) = reaction {
            site.mark(&ann(), "PUT", id(comment), reaction).await.expect(200);
        }
        // Somebody else's reactions are not hers.
        if n % 3 == 0 {
            site.mark(&bob(), "PUT", id(comment), "like").await.expect(200);
        }
        let own = n % 2 == 0;
        expected.insert(id(comment).into(), json!({"reaction": reaction, "can_edit": own, "can_delete": own}));
    }
    let overlay = async |by: &Who, ids: &[String]| {
        site.call(&format!("GET /v1/me/overlay?ids={}", ids.join(","))).by(by).send().await
    };
    let answer = overlay(&ann(), &ids(&all)).await;
    assert_eq!(answer.header("cache-control"), "private, no-store");
    assert_eq!(answer.expect(200), json!({"data": expected, "pending": []}));
    // Unknown ids are left out, and none is asked for.
    assert_eq!(overlay(&ann(), &["1".into(), "9223372036854775807".into()]).await.expect(200)["data"], json!({}));
    assert_eq!(overlay(&ann(), &[]).await.expect(200)["data"], json!({}));
    // Time and roles decide what may be done.
    site.put_subject(&admin(), "article/overlay", &json!({"owner_id": "99"})).await.expect(200);
    let may = async |by: Who| {
        let answer = overlay(&by, &ids(&all[..1])).await.expect(200);
        let own = &answer["data"][id(&all[0])];
        (own["can_edit"].as_bool().unwrap(), own["can_delete"].as_bool().unwrap())
    };
    let moderator = who(50, "M", "moderator");
    assert_eq!(
        (may(bob()).await, may(moderator).await, may(who(99, "O", "member")).await),
        ((false, false), (false, true), (false, true))
    );
    site.pass(15 * 60_000);
    assert_eq!(may(ann()).await, (false, true));
    site.delete(&ann(), &all[0]).await;
    assert_eq!(may(ann()).await, (false, false));
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_leave_a_mark() {
    let site = Site::start().await;
    let comment = site.post(&ann(), "post/1", "first").await;
    let comment = site.with_floor(&comment).await;
    site.like(&bob(), &comment).await;
    let mut last = 0;
    for text in ["second", "**third**"] {
        site.pass(60_000);
        let edited = site.edit(&ann(), &comment, text).await.expect(200);
        assert_eq!(
            (&edited["content"], &edited["flags"], &edited["likes"]),
            (&json!(text), &json!(["edited"]), &json!(1))
        );
        assert_eq!((&edited["floor"], &edited["created_at"]), (&comment["floor"], &comment["created_at"]));
        assert!(edited["edited_at"].as_u64().unwrap() > last);
        last = edited["edited_at"].as_u64().unwrap();
        assert_eq!(site.seen(&comment, |c| c["content"] == text).await, edited);
    }
    site.pass(12 * 60_000 + 59_000);
    site.edit(&ann(), &comment, "in the last second").await.expect(200);
    site.pass(1_000);
    assert_eq!(site.edit(&ann(), &comment, "too late").await.expect(409)["code"], "edit_window_over");
}

#[tokio::test(flavor = "multi_thread")]
async fn mentions_are_data() {
    let site = Site::start().await;
    site.post(&bob(), "post/1", "so that the name is known").await;
    site.settle().await;
    let body = json!({"content": "@9 @Bob", "mentions": ["8", "12345", "8"]});
    let comment = site.try_post(&ann(), "post/1", &body).await.expect(201);
    assert_eq!(comment["mentions"], json!([{"id": "8", "name": "Bob"}, {"id": "12345", "name": ""}]));
    assert_eq!(site.page(&format!("/v1/comments/{}", id(&comment))).await["mentions"], comment["mentions"]);
    let twenty: Vec<_> = (1..=20).map(|n| n.to_string()).collect();
    let comment = site.try_post(&ann(), "post/1", &json!({"content": "x", "mentions": twenty})).await.expect(201);
    assert_eq!(comment["mentions"].as_array().unwrap().len(), 20);
}

/// Texts that want to be more than text.
const HOSTILE: [&str; 36] = [
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

/// The tags of a piece of HTML as written, `<` to `>`.
fn tags(html: &str) -> Vec<&str> {
    html.split('<').skip(1).map(|rest| rest.split('>').next().unwrap_or(rest)).collect()
}

/// Nothing but the subset: these tags, and links of these kinds.
#[track_caller]
fn check_safe(html: &str, allowed: &[&str]) {
    for tag in tags(html) {
        let name = tag.trim_start_matches('/').split_whitespace().next().unwrap_or_default();
        assert!(allowed.contains(&name), "<{tag}> in {html}");
        let mut rest = tag.trim_start_matches('/').strip_prefix(name).unwrap_or_default();
        while let Some((attribute, after)) = rest.trim_start().split_once("=\"") {
            let (value, after) = after.split_once('"').expect("a quoted value");
            let good = match attribute {
                "href" => {
                    name == "a" && ["https://", "http://", "mailto:"].iter().any(|scheme| value.starts_with(scheme))
                }
                "rel" => value == "nofollow ugc noopener",
                "start" => value.bytes().all(|b| b.is_ascii_digit()),
                // Shown as it is, and nothing in it can end it.
                "title" => true,
                _ => false,
            };
            assert!(good, "<{tag}> in {html}");
            rest = after;
        }
        assert!(matches!(rest.trim(), "" | "/"), "<{tag}> in {html}");
        assert!(!tag.contains("href") || tag.contains("rel=\"nofollow ugc noopener\""), "<{tag}> in {html}");
    }
}

const SUBSET: [&str; 12] = ["p", "br", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li", "a"];

#[tokio::test(flavor = "multi_thread")]
async fn hostile_texts_stay_texts() {
    let site = Site::start().await;
    let evil = who(66, "<script>alert('name')</script>", "member");
    let mut root = Value::Null;
    for text in HOSTILE {
        root = site.post(&evil, "article/hostile", text).await;
        assert_eq!(root["content"], text, "stored as written");
        check_safe(root["html"].as_str().unwrap(), &SUBSET);
        let reply = site.reply(&evil, &root, text).await;
        assert_eq!(reply["html"], root["html"], "{text}");
        let edited = site.edit(&evil, &root, &format!("{text} ")).await.expect(200);
        check_safe(edited["html"].as_str().unwrap(), &SUBSET);
    }
    site.mark(&admin(), "PUT", id(&root), "pin").await.expect(200);
    let hostile_title = json!({"title": "</title><script>alert(1)</script>", "url": "javascript:alert(1)"});
    site.put_subject(&admin(), "article/hostile", &hostile_title).await.expect(200);
    let page = until(|| site.get("/t/article/hostile"), |page| page.text.contains("&lt;/title&gt;")).await;
    // The only script is data, and the data cannot end it.
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
async fn the_first_page_as_html() {
    let site = Site::start().await;
    let root = site.post(&ann(), "article/page", "the **root**").await;
    site.reply(&bob(), &root, "the reply").await;
    let gone = site.post(&bob(), "article/page", "gone text").await;
    site.reply(&ann(), &gone, "stays").await;
    site.delete(&bob(), &gone).await;
    let right = |page: &Answer| page.text.contains("该评论已删除");
    let page = until(|| site.get("/t/article/page"), right).await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    for part in [
        "<!doctype html>",
        "noindex",
        "the <strong>root</strong>",
        "the reply",
        "Ann",
        "stays",
        "application/ld+json",
        "该评论已删除",
    ] {
        assert!(page.text.contains(part), "{part} is not in {}", page.text);
    }
    assert!(!page.text.contains("gone text"));
    let fragment = until(|| site.get("/t/article/page?fragment=1"), right).await;
    assert!(
        fragment.text.contains("the reply") && !fragment.text.contains("<html") && !fragment.text.contains("<!doctype")
    );
    // Registered by an admin it may be found.
    let registered = json!({"title": "A & B", "url": "https://example.org/?a=1&b=2"});
    site.put_subject(&admin(), "article/page", &registered).await.expect(200);
    let page = until(|| site.get("/t/article/page"), |page| !page.text.contains("noindex")).await;
    assert!(!page.text.contains("noindex"), "{}", page.text);
    assert!(
        page.text.contains("<title>A &amp; B</title>")
            && page.text.contains("href=\"https://example.org/?a=1&amp;b=2\"")
    );
    let empty = site.get("/t/article/nobody").await;
    assert_eq!((empty.status, empty.text.contains("noindex")), (200, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_for_caches() {
    let site = Site::start().await;
    let root = site.post(&ann(), "article/cache", "x").await;
    for path in [
        "/v1/subjects/article/cache".to_owned(),
        "/v1/subjects/article/cache/comments".into(),
        "/v1/subjects/article/cache/comments?sort=new&limit=3".into(),
        format!("/v1/comments/{}", id(&root)),
        format!("/v1/comments/{}/replies", id(&root)),
        format!("/v1/comments/{}/tree", id(&root)),
        format!("/v1/comments/{}/ancestors", id(&root)),
        format!("/v1/comments/{}/context", id(&root)),
        "/v1/counts?subject=article/cache".into(),
        "/v1/members/7/comments".into(),
        "/t/article/cache".into(),
    ] {
        let first = site.get(&path).await;
        assert_eq!((first.status, first.header("cache-control")), (200, "public, no-cache"), "{path}");
        let shared = first.header("cdn-cache-control");
        assert!(
            ["public, max-age=", "stale-while-revalidate=", "stale-if-error=86400"]
                .iter()
                .all(|part| shared.contains(part)),
            "{path}: {shared}"
        );
        let etag = first.header("etag").to_owned();
        assert!(etag.starts_with('"') && etag.ends_with('"') && etag.len() > 2, "{path}: {etag}");
        assert_eq!(first.header("access-control-allow-origin"), "*", "{path}");
        assert_eq!(first.header("vary"), "", "{path}: every reader gets the same");
        // The same for everybody: with a token, from another site, with parameters nobody knows.
        let join = if path.contains('?') { '&' } else { '?' };
        for other in [
            site.call(&format!("GET {path}")).by(&ann()),
            site.call(&format!("GET {path}")).header("origin", "https://evil.example"),
            site.call(&format!("GET {path}{join}utm_source=x")),
        ] {
            let answer = other.send().await;
            assert_eq!((&answer.text, answer.header("etag")), (&first.text, etag.as_str()), "{path}");
            assert_eq!(answer.header("access-control-allow-origin"), "*", "{path}");
            assert_eq!(answer.header("access-control-allow-credentials"), "", "{path}");
        }
        for tags in [etag.clone(), format!("W/{etag}"), format!("\"other\", {etag}"), "*".into()] {
            let answer = site.call(&format!("GET {path}")).header("if-none-match", &tags).send().await;
            assert_eq!(
                (answer.status, answer.text.as_str(), answer.header("etag")),
                (304, "", etag.as_str()),
                "{path} {tags}"
            );
            assert_eq!(answer.header("cache-control"), "public, no-cache", "{path}");
        }
        let answer = site.call(&format!("GET {path}")).header("if-none-match", "\"other\"").send().await;
        assert_eq!(answer.status, 200, "{path}");
        let head = site.call(&format!("HEAD {path}")).send().await;
        assert_eq!((head.status, head.text.as_str(), head.header("etag")), (200, "", etag.as_str()), "{path}");
        assert_eq!(head.header("content-type"), first.header("content-type"), "{path}");
    }
    // A change is a new tag.
    let path = format!("/v1/comments/{}", id(&root));
    let before = site.get(&path).await.header("etag").to_owned();
    site.like(&bob(), &root).await;
    let after =
        until(|| site.call(&format!("GET {path}")).header("if-none-match", &before).send(), |a| a.status == 200).await;
    assert_eq!((after.status, &after.json["likes"]), (200, &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn other_sites_may_read_and_only_those_listed_may_write() {
    let site = Site::start().await;
    let root = site.post(&ann(), "article/cors", "x").await;
    let writes = [
        "POST /v1/subjects/article/cors/comments".to_owned(),
        format!("PATCH /v1/comments/{}", id(&root)),
        format!("PUT /v1/comments/{}/like", id(&root)),
        "POST /v1/guests".into(),
        "GET /v1/me/overlay?ids=".into(),
    ];
    for (origin, allowed) in [
        ("http://localhost:8787", true),
        ("http://127.0.0.1:3000", true),
        ("https://evil.example", false),
        ("http://localhost.evil.example", false),
        ("null", false),
    ] {
        let expected = if allowed { origin } else { "" };
        for line in &writes {
            let (method, path) = line.split_once(' ').unwrap();
            let asked = site
                .call(&format!("OPTIONS {path}"))
                .header("origin", origin)
                .header("access-control-request-method", method);
            let preflight = asked
                .header("access-control-request-headers", "authorization,content-type,idempotency-key")
                .send()
                .await;
            assert_eq!(preflight.header("access-control-allow-origin"), expected, "{origin} {line}");
            assert_eq!(preflight.header("access-control-allow-methods").contains(method), allowed, "{origin} {line}");
            let headers = preflight.header("access-control-allow-headers").to_lowercase();
            assert_eq!(
                ["authorization", "content-type", "idempotency-key"].iter().all(|h| headers.contains(h)),
                allowed,
                "{origin} {line}"
            );
            let real = site
                .call(line)
                .by(&ann())
                .header("origin", origin)
                .json(&json!({"content": "x", "name": "x"}))
                .send()
                .await;
            assert_eq!(real.header("access-control-allow-origin"), expected, "{origin} {line}");
            assert_eq!(real.header("access-control-allow-credentials"), "", "{origin} {line}");
            assert!(real.header("vary").to_lowercase().contains("origin"), "{origin} {line}");
        }
        let read = site.call("OPTIONS /v1/subjects/article/cors/comments").header("origin", origin);
        let read = read.header("access-control-request-method", "GET").send().await;
        assert_eq!(read.header("access-control-allow-origin"), "*", "{origin}");
    }
    // Refusals can be read as well.
    let refused = site.call("GET /v1/comments/1").header("origin", "https://example.org").send().await;
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (404, "*"));
    assert!(refused.header("access-control-expose-headers").to_lowercase().contains("x-request-id"));
}

#[tokio::test(flavor = "multi_thread")]
async fn guests_write_under_their_own_ids() {
    let site = Site::start().await;
    let (one, two) = (site.guest("  visitor ").await, site.guest("visitor").await);
    assert_eq!((one.name.as_str(), two.name.as_str()), ("visitor", "visitor"));
    let all: BTreeSet<u64> = [&one, &two].map(|g| g.id.parse().unwrap()).into();
    assert!(all.len() == 2 && all.iter().all(|id| (1 << 62..3 << 61).contains(id)), "{all:?}");
    let comment = site.post(&one, "article/guests", "x").await;
    assert_eq!(comment["author"], json!({"id": one.id, "name": "visitor", "avatar": null, "level": 0}));
    site.like(&two, &comment).await;
    site.edit(&one, &comment, "y").await.expect(200);
    assert_eq!(site.edit(&two, &comment, "z").await.status, 403);
    assert_eq!(site.delete(&two, &comment).await.status, 403);
    assert_eq!(site.delete(&one, &comment).await.status, 204);
}
