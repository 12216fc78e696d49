//! Headers of public reads: caching, conditional requests, CORS.

use std::collections::BTreeSet;

use gailou::config::AllowedOrigins;
use gailou_tests::{TestOrigin, ann, bob, id, poll_until};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn public_reads_are_cacheable_and_the_same_for_every_reader() {
    let origin = TestOrigin::start().await;
    let root = origin.post(&ann(), "article/cache", "x").await;
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
        "/t/article/cache?lang=en".into(),
    ] {
        let first = origin.get(&path).await;
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
        let varies = if first.text.len() < 1_000 { "" } else { "accept-encoding" };
        assert_eq!(first.header("vary"), varies, "{path}: the response depends on no other header");
        // A token, another website and unknown parameters change nothing.
        let join = if path.contains('?') { '&' } else { '?' };
        for other in [
            origin.request(&format!("GET {path}")).by(&ann()),
            origin.request(&format!("GET {path}")).header("origin", "https://evil.example"),
            origin.request(&format!("GET {path}{join}utm_source=x")),
        ] {
            let answer = other.send().await;
            assert_eq!((&answer.text, answer.header("etag")), (&first.text, etag.as_str()), "{path}");
            assert_eq!(answer.header("access-control-allow-origin"), "*", "{path}");
            assert_eq!(answer.header("access-control-allow-credentials"), "", "{path}");
        }
        for tags in [etag.clone(), format!("W/{etag}"), format!("\"other\", {etag}"), "*".into()] {
            let answer = origin.request(&format!("GET {path}")).header("if-none-match", &tags).send().await;
            assert_eq!(
                (answer.status, answer.text.as_str(), answer.header("etag")),
                (304, "", etag.as_str()),
                "{path} {tags}"
            );
            assert_eq!(answer.header("cache-control"), "public, no-cache", "{path}");
        }
        let answer = origin.request(&format!("GET {path}")).header("if-none-match", "\"other\"").send().await;
        assert_eq!(answer.status, 200, "{path}");
        let head = origin.request(&format!("HEAD {path}")).send().await;
        assert_eq!((head.status, head.text.as_str(), head.header("etag")), (200, "", etag.as_str()), "{path}");
        assert_eq!(head.header("content-type"), first.header("content-type"), "{path}");
    }
    // A change of the comment changes the tag.
    let path = format!("/v1/comments/{}", id(&root));
    let before = origin.get(&path).await.header("etag").to_owned();
    origin.like(&bob(), &root).await;
    let conditional_get = || origin.request(&format!("GET {path}")).header("if-none-match", &before).send();
    let after = poll_until(conditional_get, |answer| answer.status == 200).await;
    assert_eq!((after.status, &after.json["likes"]), (200, &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn long_page_is_compressed_for_whom_takes_it_and_is_the_same_page() {
    let origin = TestOrigin::start().await;
    let root = origin.post(&ann(), "article/coded", "A text that is said again and again. ".repeat(100).trim()).await;
    let path = format!("/v1/comments/{}", id(&root));
    let plain = origin.get(&path).await;
    let strong = plain.header("etag").to_owned();
    for (accepted, coding) in [("gzip, deflate, br, zstd", "br"), ("gzip", "gzip"), ("br;q=0", ""), ("identity", "")] {
        let asked = || origin.request(&format!("GET {path}")).header("accept-encoding", accepted);
        let answer = asked().send().await;
        assert_eq!((answer.status, answer.header("content-encoding")), (200, coding), "{accepted}");
        assert_eq!(answer.header("vary"), "accept-encoding", "{accepted}");
        assert_eq!(answer.header("content-type"), "application/json", "{accepted}");
        let (bytes, etag) = (answer.header("content-length").parse::<usize>().unwrap(), answer.header("etag"));
        if coding.is_empty() {
            assert_eq!((bytes, etag), (plain.text.len(), strong.as_str()), "{accepted}");
        } else {
            assert!(bytes < plain.text.len() / 10, "{accepted}: {bytes} of {}", plain.text.len());
            assert_eq!(etag, format!("W/{strong}"), "{accepted}: another coding is no equal of it byte by byte");
        }
        let again = asked().header("if-none-match", etag).send().await;
        assert_eq!((again.status, again.header("content-encoding")), (304, ""), "{accepted}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn any_website_may_read_and_only_listed_ones_may_write() {
    let origin = TestOrigin::start().await;
    let root = origin.post(&ann(), "article/cors", "x").await;
    let writes = [
        "POST /v1/subjects/article/cors/comments".to_owned(),
        format!("PATCH /v1/comments/{}", id(&root)),
        format!("PUT /v1/comments/{}/like", id(&root)),
        "POST /v1/guests".into(),
        "GET /v1/me/overlay?ids=".into(),
    ];
    for (website, is_listed) in [
        ("http://localhost:8787", true),
        ("http://127.0.0.1:3000", true),
        ("https://evil.example", false),
        ("http://localhost.evil.example", false),
        ("null", false),
    ] {
        let expected = if is_listed { website } else { "" };
        for line in &writes {
            let (method, path) = line.split_once(' ').unwrap();
            let asked = origin
                .request(&format!("OPTIONS {path}"))
                .header("origin", website)
                .header("access-control-request-method", method);
            let preflight = asked
                .header(
                    "access-control-request-headers",
                    "authorization,content-type,idempotency-key,x-gailou-challenge",
                )
                .send()
                .await;
            assert_eq!(preflight.header("access-control-allow-origin"), expected, "{website} {line}");
            assert_eq!(
                preflight.header("access-control-allow-methods").contains(method),
                is_listed,
                "{website} {line}"
            );
            let headers = preflight.header("access-control-allow-headers").to_lowercase();
            assert_eq!(
                ["authorization", "content-type", "idempotency-key", "x-gailou-challenge"]
                    .iter()
                    .all(|h| headers.contains(h)),
                is_listed,
                "{website} {line}"
            );
            let real = origin
                .request(line)
                .by(&ann())
                .header("origin", website)
                .json(&json!({"content": "x", "name": "x"}))
                .send()
                .await;
            assert_eq!(real.header("access-control-allow-origin"), expected, "{website} {line}");
            assert_eq!(real.header("access-control-allow-credentials"), "", "{website} {line}");
            assert!(real.header("vary").to_lowercase().contains("origin"), "{website} {line}");
        }
        let read = origin.request("OPTIONS /v1/subjects/article/cors/comments").header("origin", website);
        let read = read.header("access-control-request-method", "GET").send().await;
        assert_eq!(read.header("access-control-allow-origin"), "*", "{website}");
    }
    // What a page of another site sends all the same is refused, and nothing of it is done.
    for line in &writes[..4] {
        let sent = origin.request(line).by(&ann()).header("origin", "https://evil.example");
        let refused = sent.json(&json!({"content": "y", "name": "y"})).send().await.expect(403);
        assert_eq!(refused["code"], "site_not_allowed", "{line}");
        assert!(refused["detail"].as_str().unwrap().contains("https://evil.example"), "{refused}");
    }
    assert_eq!(origin.get(&format!("/v1/comments/{}", id(&root))).await.json["content"], "x");
    let refused = origin.app.refused_sites.list();
    let sites: Vec<_> = refused.iter().map(|refused| refused.site.as_str()).collect();
    assert_eq!(sites, ["https://evil.example", "http://localhost.evil.example", "null"]);
    // The origin's own pages need no place in the list.
    let own = origin.request("POST /v1/guests").header("origin", "https://comments.example");
    let own = own.header("sec-fetch-site", "same-origin").json(&json!({"name": "own"})).send().await;
    assert_eq!(own.status, 201, "{}", own.text);
    // Scripts of other websites can read a refusal, too.
    let refused = origin.request("GET /v1/comments/1").header("origin", "https://example.org").send().await;
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (404, "*"));
    assert!(refused.header("access-control-expose-headers").to_lowercase().contains("x-request-id"));
}

#[tokio::test(flavor = "multi_thread")]
async fn sites_of_a_type_hold_for_every_call_about_its_comments() {
    let (own, narrow) = ("http://localhost:8787", "https://video.example");
    let origin = TestOrigin::start_with(|config| {
        let video = config.types.get_mut("video").unwrap();
        video.cors_origins = Some(AllowedOrigins::parse([narrow]).unwrap());
    })
    .await;
    let (video, article) = (origin.post(&ann(), "video/c", "x").await, origin.post(&ann(), "article/c", "x").await);
    let calls = |kind: &str, id: &str| {
        [
            format!("POST /v1/subjects/{kind}/c/comments"),
            format!("PATCH /v1/comments/{id}"),
            format!("PUT /v1/comments/{id}/like"),
            format!("DELETE /v1/comments/{id}/dislike"),
            format!("PUT /v1/comments/{id}/pin"),
            format!("POST /v1/admin/comments/{id}/decision"),
            format!("PUT /v1/admin/subjects/{kind}/c"),
        ]
    };
    let of_video = calls("video", id(&video)).into_iter().chain(["POST /v1/subjects/vide%6F/c/comments".into()]);
    let of_article = calls("article", id(&article)).into_iter();
    for (line, site) in of_video.map(|line| (line, narrow)).chain(of_article.map(|line| (line, own))) {
        for asking in [own, narrow] {
            let (method, path) = line.split_once(' ').unwrap();
            let expected = if asking == site { asking } else { "" };
            let preflight = origin.request(&format!("OPTIONS {path}")).header("origin", asking);
            let preflight = preflight.header("access-control-request-method", method).send().await;
            assert_eq!(preflight.header("access-control-allow-origin"), expected, "{asking} {line}");
            let real = origin.request(&line).header("origin", asking).json(&json!({})).send().await;
            assert_eq!(real.header("access-control-allow-origin"), expected, "{asking} {line}");
        }
    }
    // A site sees its own types alone in a reader's overlay.
    let path = format!("GET /v1/me/overlay?ids={},{}", id(&video), id(&article));
    for (site, shown) in [(Some(own), vec![&article]), (None, vec![&video, &article])] {
        let request = origin.request(&path).by(&bob());
        let request = if let Some(site) = site { request.header("origin", site) } else { request };
        let overlay = request.send().await.expect(200);
        let ids: BTreeSet<_> = overlay["data"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(ids, shown.into_iter().map(|comment| id(comment).to_owned()).collect(), "{site:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_is_sniffed_and_no_page_reads_an_operators_tools() {
    let origin = TestOrigin::start().await;
    origin.post(&ann(), "article/sniff", "x").await;
    // The second answer comes from memory.
    for path in ["/v1/subjects/article/sniff/comments", "/v1/subjects/article/sniff/comments", "/v1/comments/1", "/x"] {
        assert_eq!(origin.get(path).await.header("x-content-type-options"), "nosniff", "{path}");
    }
    for _ in 0..2 {
        assert_eq!(origin.get("/t/article/sniff?fragment=1").await.header("x-robots-tag"), "noindex");
    }
    for path in ["/metrics", "/healthz", "/readyz"] {
        for site in [None, Some("https://evil.example")] {
            let request = origin.request(&format!("GET {path}"));
            let request = if let Some(site) = site { request.header("origin", site) } else { request };
            assert_eq!(request.send().await.header("access-control-allow-origin"), "", "{path} {site:?}");
        }
    }
}
