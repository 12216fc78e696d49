//! The word filter at the edge: the dictionary is read from the global store, kept in memory, and read
//! again once a minute. The edge refuses texts with blocked words; masking and review are the origin's
//! work, and so is everything while no dictionary is loaded.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use gailou_shared::edge_protocol::PushedDictionary;
use gailou_shared::word_filter::{Dictionary, TermAction, parse_tsv};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::ports::Ports;
use crate::{Isolate, lock};

/// The key of the dictionary in the global store: `{"version":N,"terms":[…]}`, or the text form that
/// `gailou words load` reads.
pub const DICTIONARY_KEY: &str = "words";
/// How often the dictionary is read again, in milliseconds.
const RELOAD_INTERVAL_MS: u64 = 60_000;

/// The dictionary of one isolate.
#[derive(Debug, Default)]
pub struct WordFilterCache(Mutex<DictionaryState>);

#[derive(Debug, Default)]
struct DictionaryState {
    dictionary: Option<Arc<Dictionary>>,
    /// SHA-256 of the bytes it was built from, so that unchanged bytes are not built again.
    digest: [u8; 32],
    read_ms: Option<u64>,
}

/// The version of the dictionary stored as `bytes`; 0 for the text form, and for anything else.
#[must_use]
pub fn stored_version(bytes: &[u8]) -> u64 {
    #[derive(Deserialize)]
    struct VersionOnly {
        version: u64,
    }
    serde_json::from_slice(bytes).map_or(0, |VersionOnly { version }| version)
}

/// The field of a comment's body that the filter checks.
#[derive(Deserialize)]
struct CommentBody {
    content: String,
}

/// The categories for which the text in `body` must be refused; `None` when it may pass. A body without
/// a readable text passes: the origin names the mistake.
pub async fn blocked_categories(isolate: &Arc<Isolate>, ports: &Ports, body: &[u8]) -> Option<Vec<String>> {
    let CommentBody { content } = serde_json::from_slice(body).ok()?;
    current_dictionary(isolate, ports).await?.find_blocked(&content)
}

/// The dictionary in memory. The first request of an isolate reads it and waits; requests that arrive
/// during that read go without. Later requests use what is there and reload it after their answer.
async fn current_dictionary(isolate: &Arc<Isolate>, ports: &Ports) -> Option<Arc<Dictionary>> {
    let now = ports.clock.now_ms();
    let is_first = {
        let mut state = lock(&isolate.word_filter.0);
        let is_first = state.read_ms.is_none();
        if state.read_ms.is_some_and(|read| now.saturating_sub(read) < RELOAD_INTERVAL_MS) {
            return state.dictionary.clone();
        }
        state.read_ms = Some(now);
        is_first
    };
    if is_first {
        reload_dictionary(isolate, ports).await;
    } else {
        let (isolate, task_ports) = (Arc::clone(isolate), ports.clone());
        ports.wait_until.spawn(Box::pin(async move { reload_dictionary(&isolate, &task_ports).await }));
    }
    lock(&isolate.word_filter.0).dictionary.clone()
}

/// Reads the dictionary. When it cannot be read or built, the old one stays in force.
async fn reload_dictionary(isolate: &Isolate, ports: &Ports) {
    let Ok(bytes) = ports.global_store.get(DICTIONARY_KEY).await else { return };
    let bytes = bytes.unwrap_or_else(|| Bytes::from_static(b"{\"version\":0,\"terms\":[]}"));
    let digest: [u8; 32] = Sha256::digest(&bytes).into();
    if lock(&isolate.word_filter.0).digest == digest {
        return;
    }
    if let Some(dictionary) = parse_dictionary(&bytes) {
        let mut state = lock(&isolate.word_filter.0);
        state.dictionary = Some(Arc::new(dictionary));
        state.digest = digest;
    }
}

/// The dictionary stored as `bytes`, in either form; `None` for anything else.
#[must_use]
pub fn parse_dictionary(bytes: &[u8]) -> Option<Dictionary> {
    let text = std::str::from_utf8(bytes).ok()?;
    let PushedDictionary { version, terms } = match serde_json::from_str(text) {
        Ok(stored) => stored,
        // The edge never refuses a text for a term without an action.
        Err(_) => PushedDictionary { version: 0, terms: parse_tsv(text, TermAction::Review).ok()? },
    };
    Dictionary::build(version, &terms).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_text_forms_are_parsed() {
        let check = |bytes: &[u8], expected: Option<(u64, usize)>| {
            let built = parse_dictionary(bytes).map(|d| (d.version(), d.len()));
            assert_eq!(built, expected, "{}", String::from_utf8_lossy(bytes));
        };
        check(br#"{"version":3,"terms":[{"term":"casino","category":"ad","action":"block"}]}"#, Some((3, 1)));
        check("# words\n赌博\tad\tblock\nfoo\tad\n".as_bytes(), Some((0, 2)));
        check(b"", Some((0, 0)));
        check(br#"{"version":3}"#, None);
        check(b"\xff", None);
    }
}
