//! What must hold of everything the edge parses, whatever bytes it is given: that nothing panics,
//! and that what is accepted is what its writer would have written.
//!
//! Each law takes the bytes of one input. The fuzzer's programs (`fuzz_targets`) call one of them
//! without end; `edge/tests/fuzz.rs` calls them all with what is in `seeds`, on stable, in every
//! run of the tests. Where a signature stands before the parser, the law signs the input itself,
//! or no input would ever get through.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use gailou_edge::live::ring::{News, Ring};
use gailou_edge::page::{DAY_SECONDS, Freshness, Page};
use gailou_edge::{feed, key, live, push, routes, words};
use gailou_shared::cursor::CursorKey;
use gailou_shared::edge::{Signed, WINDOW_SECONDS, sign, verify};
use gailou_shared::limits;
use gailou_shared::shows::Shows;
use gailou_shared::token::{Role, TokenKey};
use gailou_shared::wire::{ChangesDoc, EventsDoc};
use gailou_shared::words::Verdict;
use hmac::{Hmac, Mac};
use http::{HeaderMap, HeaderName, HeaderValue};
use sha2::{Digest, Sha256};

type Law = fn(&[u8]);

/// The laws, by the names of their targets.
pub(crate) const LAWS: &[(&str, Law)] = &[
    ("changes", changes),
    ("cursor", cursor),
    ("feed", feed),
    ("freshness", freshness),
    ("key", key),
    ("live", live),
    ("page", page),
    ("push", push),
    ("shows", shows),
    ("signature", signature),
    ("token", token),
    ("words", words),
];

/// Tries the law of this name on one input.
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

/// `path?query`: a key is the key of itself, and an address that can be asked for.
fn key(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let split = |text: &str| text.split_once('?').map(|(path, query)| (path.to_owned(), query.to_owned()));
    let of = |text: &str| match split(text) {
        Some((path, query)) => key::page(&path, Some(&query)),
        None => key::page(text, None),
    };
    let Some(found) = of(text) else { return };
    assert_eq!(of(&found.path_query).as_ref(), Some(&found), "of {text:?}");
    let uri: http::Uri = found.path_query.parse().expect("an address");
    assert_eq!(uri.path_and_query().map(|pq| pq.as_str()), Some(found.path_query.as_str()));
    // So that no key breaks out of the line, the header or the name of a cache it is put into.
    assert!(found.path_query.bytes().all(|byte| byte.is_ascii_graphic()), "{found:?}");
}

/// A cursor as text, and one whose inside is the input.
fn cursor(data: &[u8]) {
    let key = CursorKey::new(SECRET);
    if let Ok(text) = std::str::from_utf8(data) {
        assert!(key.parse(text).is_err(), "a cursor nobody signed: {text}");
    }
    let mut secret = b"gailou cursor\0".to_vec();
    secret.extend_from_slice(SECRET);
    let mut inside = data.to_vec();
    inside.extend_from_slice(&hmac(&Sha256::digest(secret), data)[..16]);
    let text = URL_SAFE_NO_PAD.encode(inside);
    if let Ok(cursor) = key.parse(&text) {
        assert_eq!(key.print(&cursor), text, "a place has one name");
    }
}

/// What a page shows, as text, and as the bytes inside it: a set has one text, sorted.
fn shows(data: &[u8]) {
    let texts = [std::str::from_utf8(data).unwrap_or_default().to_owned(), URL_SAFE_NO_PAD.encode(data)];
    for text in texts {
        let Some(shows) = Shows::decode(&text) else { continue };
        assert_eq!(shows.encode(), text);
        assert!(shows.entries().len() <= Shows::MOST);
        assert!(shows.entries().is_sorted_by(|a, b| a.0 < b.0));
        assert!(shows.entries().iter().all(|(id, version)| shows.version_of(*id) == Some(*version)));
    }
}

/// The origin's document of changes.
fn changes(data: &[u8]) {
    let Some(document) = ChangesDoc::parse(data) else { return };
    assert!(document.rows.len() <= ChangesDoc::MOST_ROWS);
    assert_eq!(ChangesDoc::parse(document.to_json().as_bytes()), Some(document));
}

/// The colo's copy of such a document.
fn feed(data: &[u8]) {
    let now_ms = NOW * 1_000;
    let Some(copy) = feed::Copy::decode(data, now_ms) else { return };
    assert!(copy.asked_ms <= now_ms);
    assert_eq!(feed::Copy::decode(&copy.encode(), now_ms), Some(copy));
}

/// What the origin's job pushes: what is taken can be stored and found again under its key.
fn push(data: &[u8]) {
    let now_ms = NOW * 1_000;
    let Ok(push) = push::parse(data, now_ms) else { return };
    assert!(push.pages.len() <= push::MOST_PAGES);
    for (key, page) in &push.pages {
        assert!(key.shared, "{key:?}");
        let stored = page.encode().expect("a page can be written");
        assert_eq!(Page::decode(&stored, now_ms).as_ref(), Some(&**page));
    }
}

/// A reader's `Last-Event-ID`, then lines that are the origin's answers or places of readers: every
/// reader is told what comes after their place, in lines that are events and nothing else.
fn live(data: &[u8]) {
    let (last, rest) = line(data);
    let mut headers = HeaderMap::new();
    if let Ok(value) = HeaderValue::from_str(last) {
        headers.insert("last-event-id", value);
    }
    let mut ring = Ring::default();
    let mut place = live::position(&headers, Some(last)).unwrap_or(0);
    for (at, text) in String::from_utf8_lossy(rest).lines().enumerate() {
        let now_ms = at as u64 * 10_000;
        if let Ok(doc) = serde_json::from_str::<EventsDoc>(text) {
            let after = ring.claim(Some(place), now_ms).unwrap_or(Some(place));
            ring.take(after, &doc);
        } else {
            place = text.parse().unwrap_or(place);
        }
        if let News::Events(text, to) = ring.after(place, 0, now_ms) {
            assert!(to > place);
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
fn token(data: &[u8]) {
    let key = TokenKey::secret(SECRET).expect("long enough");
    if let Ok(text) = std::str::from_utf8(data) {
        assert!(key.verify(text, "gailou", NOW).is_err(), "a token nobody signed: {text}");
    }
    let (header, claims) = line(data);
    let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(hmac(SECRET, signed.as_bytes())));
    let Ok(member) = key.verify(&token, "gailou", NOW) else { return };
    assert!(token.len() <= limits::TOKEN_BYTES);
    assert!((1..=limits::NAME_CHARS).contains(&member.name.chars().count()), "{member:?}");
    assert!(member.id.kind() == gailou_shared::id::MemberKind::Host || member.role == Role::Member, "{member:?}");
    let again = key.sign(&member, "gailou", NOW + 60).expect("a secret signs");
    assert_eq!(key.verify(&again, "gailou", NOW), Ok(member));
}

/// A signature header, then the body it is said to be for.
fn signature(data: &[u8]) {
    let (header, body) = line(data);
    let request = Signed { method: "POST", path_query: "/edge/push", client: "", body };
    assert!(verify(SECRET, NOW, &request, header).is_err(), "nobody signed {header}");
    let time = header.strip_prefix("t=").and_then(|rest| rest.split_once(',')).and_then(|(time, _)| time.parse().ok());
    let time: u64 = time.unwrap_or(NOW);
    let right = sign(SECRET, time, &request);
    let in_time = NOW.abs_diff(time) <= WINDOW_SECONDS;
    assert_eq!(verify(SECRET, NOW, &request, &right).is_ok(), in_time, "{right}");
    let other = Signed { path_query: "/edge/push?", ..request };
    assert!(verify(SECRET, NOW, &other, &right).is_err());
}

/// Lines of `name: value` with what the origin allows, then one with the tags a reader sent.
fn freshness(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut headers = HeaderMap::new();
    for (name, value) in text.lines().filter_map(|line| line.split_once(": ")) {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
            headers.append(name, value);
        }
    }
    if let Some(Freshness { fresh, revalidate, on_error, hot }) = Freshness::of(&headers) {
        assert!([fresh, revalidate, on_error].iter().all(|seconds| *seconds <= DAY_SECONDS));
        assert!(hot == 0 || (5..=60).contains(&hot));
    }
    let last = text.lines().last().unwrap_or_default();
    let _ = routes::asks_no_cache(last);
    let stored = concat!(
        r#"{"v":2,"fetched_ms":1,"made_ms":1,"version":1,"etag":"\"a\"","shows":"AQ","headers":[],"#,
        r#""freshness":{"fresh":1,"revalidate":1,"on_error":1,"hot":0}}"#,
        "\nbody"
    );
    let page = Page::decode(&Bytes::from_static(stored.as_bytes()), NOW * 1_000).expect("a page as it is stored");
    assert!(!page.matches(last) || last.contains("\"a\"") || last.trim() == "*", "{last}");
}

/// A page as the stores keep it.
fn page(data: &[u8]) {
    let now_ms = NOW * 1_000;
    let Some(page) = Page::decode(&Bytes::copy_from_slice(data), now_ms) else { return };
    assert!(!page.body.is_empty());
    let _ = (page.age(now_ms), page.age_seconds(now_ms), page.weight("/"));
    let again = page.encode().expect("what was read can be written");
    assert_eq!(Page::decode(&again, now_ms).as_ref(), Some(&page));
}

/// A line of text to be judged, then a dictionary in either of its forms.
fn words(data: &[u8]) {
    let (text, stored) = line(data);
    let Some(dictionary) = words::build(stored) else { return };
    if let Verdict::Mask { text: masked, .. } = dictionary.check(text) {
        assert_eq!(masked.chars().count(), text.chars().count(), "{text:?} {masked:?}");
        assert_eq!(dictionary.check(&masked), Verdict::Pass, "{text:?} {masked:?}");
    }
}
