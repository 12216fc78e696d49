//! The word filter decides by what readers see, however it was written.

use gailou_shared::word_filter::TermAction;
use gailou_tests::{TestMember, TestOrigin, ann, bob, id};
use serde_json::json;

/// Texts that readers see as a text with `casino`, or that lead them there.
const SPELLINGS: [(&str, &str); 26] = [
    ("as it is", "casino"),
    ("an entity", "c&#97;sino"),
    ("entities in decimals", "&#99;&#97;&#115;&#105;&#110;&#111;"),
    ("entities in hexadecimals", "&#x63;&#x61;sino"),
    ("an image without a text", "cas![](x)ino"),
    ("the text of an image", "![casino](x)"),
    ("a link without a text", "cas[](x)ino"),
    ("code", "cas`ino`"),
    ("a link in a word", "[cas](https://example.org)ino"),
    ("a link by reference", "cas[ino][a]\n\n[a]: https://example.org"),
    ("emphasis", "**cas***ino*"),
    ("deletion", "~~cas~~ino"),
    ("a soft hyphen", "cas&shy;ino"),
    ("a zero-width space", "cas&#8203;ino"),
    ("mathematical letters", "𝐜𝐚𝐬𝐢𝐧𝐨"),
    ("script letters", "𝓬𝓪𝓼𝓲𝓷𝓸"),
    ("letters in circles", "ⓒⓐⓢⓘⓝⓞ"),
    ("letters cut out of squares", "🅲🅰🆂🅸🅽🅾"),
    ("letters in parentheses", "⒞⒜⒮⒤⒩⒪"),
    ("full width", "ｃａｓｉｎｏ"),
    ("a Cyrillic letter", "cаsino"),
    ("a Cyrillic letter as an entity", "c&#1072;sino"),
    ("small capitals", "ᴄᴀꜱɪɴᴏ"),
    ("a percent-encoded address", "[here](https://example.org/%63%61%73ino)"),
    ("a percent-encoded address in brackets", "<https://c%61sino.example>"),
    ("a percent-encoded address in the text", "https://example.org/c%61sino"),
];

#[tokio::test(flavor = "multi_thread")]
async fn blocked_word_is_refused_in_every_spelling() {
    let origin = TestOrigin::start().await;
    origin.load_terms(&[("casino", TermAction::Block)]).await;
    let comment = origin.post(&ann(), "post/words", "hello").await;
    for (name, text) in SPELLINGS {
        for text in [text.to_owned(), format!("Visit the {text}"), format!("> 你好{text}")] {
            let answer = origin.try_post(&ann(), "post/words", &json!({"content": text})).await;
            assert_eq!(
                (answer.status, answer.json["code"].as_str()),
                (422, Some("content_rejected")),
                "{name}: {text}"
            );
            assert!(!answer.text.contains("casino"), "{name}: {}", answer.text);
            assert_eq!(origin.edit(&ann(), &comment, &text).await.status, 422, "{name}: {text}");
        }
    }
    for text in ["ca sino", "cas\nino", "cas & ino", "осени кaкой", "![cas](ino)", "[a](https://cas.example/ino)"]
    {
        origin.post(&ann(), "post/words", text).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stricter_verdict_of_source_and_result_counts() {
    let origin = TestOrigin::start().await;
    origin
        .load_terms(&[("casino", TermAction::Block), ("lottery", TermAction::Review), ("darn", TermAction::Mask)])
        .await;
    for (text, status, state, content) in [
        ("oh darn", 201, "published", "oh ****"),
        ("oh 𝐝𝐚rn, [it](https://example.org)", 201, "published", "oh ****, [it](https://example.org)"),
        // Nothing of the source can be masked: a moderator decides.
        ("oh d&#97;rn", 202, "review", "oh d&#97;rn"),
        ("oh da`rn`", 202, "review", "oh da`rn`"),
        ("darn da`rn`", 202, "review", "**** da`rn`"),
        ("lot`tery`", 202, "review", "lot`tery`"),
        ("darn lot`tery`", 202, "review", "**** lot`tery`"),
    ] {
        let answer = origin.try_post(&bob(), "post/words", &json!({"content": text})).await;
        let comment = answer.expect(status);
        assert_eq!((comment["state"].as_str(), comment["content"].as_str()), (Some(state), Some(content)), "{text}");
    }
    assert_eq!(origin.try_post(&bob(), "post/words", &json!({"content": "lottery cas`ino`"})).await.status, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_deceives_is_refused_and_every_language_is_not() {
    let origin = TestOrigin::start().await;
    let comment = origin.post(&ann(), "post/words", "hello").await;
    for text in ["a\u{202e}b", "\u{2066}a\u{2069}", &format!("a{}", "\u{301}".repeat(40))] {
        let answer = origin.try_post(&ann(), "post/words", &json!({"content": text})).await;
        assert_eq!(answer.status, 400, "{text:?}");
        assert_eq!(answer.json["errors"][0]["field"], "content", "{text:?}");
        assert_eq!(origin.edit(&ann(), &comment, text).await.status, 400, "{text:?}");
    }
    for text in ["می\u{200c}خواهم", "क्\u{200d}ष", "👨\u{200d}👩\u{200d}👧", "Tiê\u{301}ng Vi\u{1ec7}t", "\u{200f}שָׁלוֹם"]
    {
        assert_eq!(origin.post(&ann(), "post/words", text).await["content"], *text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn author_alone_reads_how_many_passages_are_masked() {
    let origin = TestOrigin::start().await;
    origin.load_terms(&[("darn", TermAction::Mask), ("damn", TermAction::Mask)]).await;
    let masked = origin.post(&bob(), "post/words", "darn, that * was a damn day").await;
    let plain = origin.post(&bob(), "post/words", "a * day").await;
    origin.wait_until_persisted().await;
    let overlay = async |by: TestMember| {
        let path = format!("GET /v1/me/overlay?ids={},{}", id(&masked), id(&plain));
        origin.request(&path).by(&by).send().await.expect(200)["data"].clone()
    };
    let own = overlay(bob()).await;
    assert_eq!((&own[id(&masked)]["masked"], &own[id(&plain)]["masked"]), (&json!(2), &json!(null)));
    assert_eq!(overlay(ann()).await[id(&masked)]["masked"], json!(null));
    // Nothing of the new text is masked.
    origin.edit(&bob(), &masked, "a fine day").await.expect(200);
    origin.wait_until_persisted().await;
    assert_eq!(overlay(bob()).await[id(&masked)]["masked"], json!(null));
}
