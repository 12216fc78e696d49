//! The laws of everything the edge parses, for any bytes: nothing panics, and a parser accepts only what
//! its writer would have written.
//!
//! Each law takes the bytes of one input. A fuzz target (`fuzz_targets`) runs one law on endless inputs;
//! `edge/tests/fuzz.rs` runs all of them on the inputs in `seeds`, on stable, with the other tests. Where a
//! parser is behind a signature, the law signs the input itself; no input would pass otherwise.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use gailou_edge::cached_page::{CachedPage, Freshness, MAX_PAGE_AGE_SECONDS};
use gailou_edge::change_feed::StoredFeedPage;
use gailou_edge::event_stream::replay_buffer::{Replay, ReplayBuffer};
use gailou_edge::page_key::PageKey;
use gailou_edge::{event_stream, push, routes, word_filter};
use gailou_shared::cache_tags::CacheTags;
use gailou_shared::cursor::CursorKey;
use gailou_shared::edge_protocol::{
    BodyHash, SIGNATURE_WINDOW_SECONDS, SignatureDirection, SignedRequest, sign_request, verify_request,
};
use gailou_shared::limits;
use gailou_shared::token::{Role, TokenKey};
use gailou_shared::wire::{ChangeFeedPage, LiveEventPage};
use gailou_shared::word_filter::FilterVerdict;
use hmac::{Hmac, Mac};
use http::{HeaderMap, HeaderName, HeaderValue};
use sha2::{Digest, Sha256};

type Law = fn(&[u8]);

/// The laws, by the names of their targets.
pub(crate) const LAWS: &[(&str, Law)] = &[
    ("cache_tags", cache_tags_law),
    ("cached_page", cached_page_law),
    ("change_feed_page", change_feed_page_law),
    ("cursor", cursor_law),
    ("edge_signature", edge_signature_law),
    ("freshness", freshness_law),
    ("page_key", page_key_law),
    ("push", push_law),
    ("replay_buffer", replay_buffer_law),
    ("stored_feed_page", stored_feed_page_law),
    ("token", token_law),
    ("word_filter", word_filter_law),
];

/// Runs the law of this name on one input.
pub(crate) fn check(name: &str, data: &[u8]) {
    let (_, law) = LAWS.iter().find(|(law, _)| *law == name).expect("a law of this name");
    law(data);
}

const SECRET: &[u8] = b"a secret of thirty-two bytes, or more";
/// Unix seconds.
const NOW: u64 = 1_800_000_000;

/// The text up to the first line break, and what follows it.
fn line(data: &[u8]) -> (&str, &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let rest = data.get(end + 1..).unwrap_or_default();
    (std::str::from_utf8(&data[..end]).unwrap_or_default(), rest)
}

fn hmac(key: &[u8], data: &[u8]) -> [u8; 32] {
    let mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.chain_update(data).finalize().into_bytes().into()
}

/// `path?query`: a key parses to itself, and is a valid request target.
fn page_key_law(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let split = |text: &str| text.split_once('?').map(|(path, query)| (path.to_owned(), query.to_owned()));
    let of = |text: &str| match split(text) {
        Some((path, query)) => PageKey::parse(&path, Some(&query)),
        None => PageKey::parse(text, None),
    };
    let Some(found) = of(text) else { return };
    assert_eq!(of(&found.path_query).as_ref(), Some(&found), "of {text:?}");
    let uri: http::Uri = found.path_query.parse().expect("a request target");
    assert_eq!(uri.path_and_query().map(|pq| pq.as_str()), Some(found.path_query.as_str()));
    // So no key breaks out of the line, the header or the cache name that contains it.
    assert!(found.path_query.bytes().all(|byte| byte.is_ascii_graphic()), "{found:?}");
}

/// A cursor as text, and a signed cursor whose payload is the input.
fn cursor_law(data: &[u8]) {
    let key = CursorKey::new(SECRET);
    if let Ok(text) = std::str::from_utf8(data) {
        assert!(key.decode(text).is_err(), "an unsigned cursor: {text}");
    }
    let mut secret = b"gailou cursor\0".to_vec();
    secret.extend_from_slice(SECRET);
    let mut payload = data.to_vec();
    payload.extend_from_slice(&hmac(&Sha256::digest(secret), data)[..16]);
    let text = URL_SAFE_NO_PAD.encode(payload);
    if let Ok(cursor) = key.decode(&text) {
        assert_eq!(key.encode(&cursor), text, "a position has one text");
    }
}

/// Cache tags as text, and as the bytes inside it: a set has one text, sorted.
fn cache_tags_law(data: &[u8]) {
    let texts = [std::str::from_utf8(data).unwrap_or_default().to_owned(), URL_SAFE_NO_PAD.encode(data)];
    for text in texts {
        let Some(shows) = CacheTags::decode(&text) else { continue };
        assert_eq!(shows.encode(), text);
        assert!(shows.entries().len() <= CacheTags::MAX_ENTRIES);
        assert!(shows.subjects().len() <= CacheTags::MAX_SUBJECTS);
        assert!(shows.entries().is_sorted_by(|a, b| a.0 < b.0) && shows.subjects().is_sorted_by(|a, b| a.0 < b.0));
        assert!(shows.entries().iter().all(|(id, version)| shows.version_of(*id) == Some(*version)));
    }
}

/// A page of the origin's change feed.
fn change_feed_page_law(data: &[u8]) {
    let Some(document) = ChangeFeedPage::parse(data) else { return };
    assert!(document.rows.len() + document.subjects.len() <= ChangeFeedPage::MAX_ROWS);
    assert_eq!(ChangeFeedPage::parse(document.to_json().as_bytes()), Some(document));
}

/// The stored form of such a page.
fn stored_feed_page_law(data: &[u8]) {
    let now_ms = NOW * 1_000;
    let Some(copy) = StoredFeedPage::decode(data, now_ms) else { return };
    assert!(copy.asked_ms <= now_ms);
    assert_eq!(StoredFeedPage::decode(&copy.encode(), now_ms), Some(copy));
}

/// A push of the origin: an accepted page can be stored and decoded again.
fn push_law(data: &[u8]) {
    let now_ms = NOW * 1_000;
    let Ok(push) = push::parse_push(data, now_ms) else { return };
    assert!(push.pages.len() <= push::MAX_PUSH_PAGES);
    for (key, page) in &push.pages {
        assert!(key.shared, "{key:?}");
        let stored = page.encode().expect("an accepted page can be encoded");
        assert_eq!(CachedPage::decode(&stored, now_ms).as_ref(), Some(&**page));
    }
}

/// A reader's `Last-Event-ID`, then lines that are answers of the origin or positions of readers: a reader
/// receives only what follows its position, in lines that are events and nothing else.
fn replay_buffer_law(data: &[u8]) {
    let (last, rest) = line(data);
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_str(last) {
        headers.insert("last-event-id", value);
    }
    let mut buffer = ReplayBuffer::default();
    let mut position = event_stream::resume_position(&headers, Some(last)).unwrap_or(0);
    for (at, text) in String::from_utf8_lossy(rest).lines().enumerate() {
        let now_ms = at as u64 * 10_000;
        if let Ok(answer) = serde_json::from_str::<LiveEventPage>(text) {
            let after = buffer.claim_poll(Some(position), now_ms).unwrap_or(Some(position));
            buffer.apply(after, &answer);
        } else {
            position = text.parse().unwrap_or(position);
        }
        if let Replay::Events(text, to) = buffer.replay_after(position, 0, now_ms) {
            assert!(to > position);
            let is_event = |line: &str| {
                ["", "id: ", "event: ", "data: "].iter().any(|name| match *name {
                    "" => line.is_empty(),
                    name => line.starts_with(name),
                })
            };
            assert!(text.lines().all(is_event) && !text.contains('\r'), "{text:?}");
        }
    }
}

/// A line of JSON with the token's header, then its claims.
fn token_law(data: &[u8]) {
    let key = TokenKey::secret(SECRET).expect("long enough");
    if let Ok(text) = std::str::from_utf8(data) {
        assert!(key.verify(text, "gailou", NOW).is_err(), "an unsigned token: {text}");
    }
    let (header, claims) = line(data);
    let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(hmac(SECRET, signed.as_bytes())));
    let Ok(member) = key.verify(&token, "gailou", NOW) else { return };
    assert!(token.len() <= limits::MAX_TOKEN_BYTES);
    assert!((1..=limits::MAX_NAME_CHARS).contains(&member.name.chars().count()), "{member:?}");
    assert!(member.id.kind() == gailou_shared::id::MemberKind::Host || member.role == Role::Member, "{member:?}");
    let again = key.sign(&member, "gailou", NOW..NOW + 60).expect("a secret signs");
    assert_eq!(key.verify(&again, "gailou", NOW), Ok(member));
}

/// A signature header, then the body it claims to sign.
fn edge_signature_law(data: &[u8]) {
    let (header, body) = line(data);
    let direction = SignatureDirection::OriginToEdge;
    let request = SignedRequest::anonymous(direction, "POST", "/edge/push", "", BodyHash::of(body));
    assert!(verify_request(SECRET, NOW, &request, header).is_err(), "an unsigned request: {header}");
    let time = header.strip_prefix("t=").and_then(|rest| rest.split_once(',')).and_then(|(time, _)| time.parse().ok());
    let time: u64 = time.unwrap_or(NOW);
    let right = sign_request(SECRET, time, &request);
    let in_time = NOW.abs_diff(time) <= SIGNATURE_WINDOW_SECONDS;
    assert_eq!(verify_request(SECRET, NOW, &request, &right).is_ok(), in_time, "{right}");
    let other = SignedRequest { path_query: "/edge/push?", ..request };
    assert!(verify_request(SECRET, NOW, &other, &right).is_err());
    let back = SignedRequest { direction: SignatureDirection::EdgeToOrigin, ..request };
    assert!(verify_request(SECRET, NOW, &back, &right).is_err());
}

/// Header lines of the origin, then a line with the entity tags that a reader sent.
fn freshness_law(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut headers = HeaderMap::new();
    for (name, value) in text.lines().filter_map(|line| line.split_once(": ")) {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            headers.append(name, value);
        }
    }
    if let Some(freshness) = Freshness::from_headers(&headers) {
        let Freshness { fresh_seconds, revalidate_seconds, on_error_seconds, popular_seconds } = freshness;
        let all = [fresh_seconds, revalidate_seconds, on_error_seconds];
        assert!(all.iter().all(|seconds| *seconds <= MAX_PAGE_AGE_SECONDS));
        assert!(popular_seconds == 0 || (5..=60).contains(&popular_seconds));
    }
    let last = text.lines().last().unwrap_or_default();
    let _ = routes::has_no_cache(last);
    let stored = concat!(
        r#"{"v":2,"fetched_ms":1,"made_ms":1,"version":1,"etag":"\"a\"","shows":"AgA","headers":[],"#,
        r#""freshness":{"fresh":1,"revalidate":1,"on_error":1,"hot":0}}"#,
        "\nbody"
    );
    let page = CachedPage::decode(&Bytes::from_static(stored.as_bytes()), NOW * 1_000).expect("a stored page");
    assert!(!page.matches_etag(last) || last.contains("\"a\"") || last.trim() == "*", "{last}");
}

/// The stored form of a page.
fn cached_page_law(data: &[u8]) {
    let now_ms = NOW * 1_000;
    let Some(page) = CachedPage::decode(&Bytes::copy_from_slice(data), now_ms) else { return };
    assert!(!page.body.is_empty());
    let _ = (page.state(now_ms), page.age_seconds(now_ms), page.weight("/"));
    let again = page.encode().expect("a decoded page can be encoded");
    assert_eq!(CachedPage::decode(&again, now_ms).as_ref(), Some(&page));
}

/// A line of text to filter, then a dictionary in either of its forms.
fn word_filter_law(data: &[u8]) {
    let (text, stored) = line(data);
    let Some(dictionary) = word_filter::parse_dictionary(stored) else { return };
    if let FilterVerdict::Mask { text: masked, .. } = dictionary.check(text) {
        assert_eq!(masked.chars().count(), text.chars().count(), "{text:?} {masked:?}");
        assert_eq!(dictionary.check(&masked), FilterVerdict::Pass, "{text:?} {masked:?}");
    }
}
