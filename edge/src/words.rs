//! The dictionary at the edge: read from the shared store, kept in memory, re-read once a minute.
//! The edge refuses what is to be blocked; masking and review are the origin's, and so is
//! everything while no dictionary is at hand.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use gailou_shared::words::{Action, Dictionary, Term, Verdict, parse_tsv};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::ports::World;
use crate::{Edge, lock};

/// Where the dictionary is in the shared store: `{"version":N,"terms":[…]}`, or the text form
/// that `gailou words load` takes.
pub const KEY: &str = "words";
/// How often it is re-read, in milliseconds.
const READ_MS: u64 = 60_000;

/// The dictionary of one isolate.
#[derive(Debug, Default)]
pub struct Words(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    dictionary: Option<Arc<Dictionary>>,
    /// Of the bytes it was built from, so that unchanged ones are not built again.
    digest: [u8; 32],
    read_ms: Option<u64>,
}

/// The version of the dictionary stored as `bytes`; 0 for one in the text form, and for what is none.
#[must_use]
pub fn version(bytes: &[u8]) -> u64 {
    #[derive(Deserialize)]
    struct Head {
        version: u64,
    }
    serde_json::from_slice(bytes).map_or(0, |Head { version }| version)
}

#[derive(Deserialize)]
struct Stored {
    version: u64,
    terms: Vec<Term>,
}

/// What a body to be filtered looks like, as far as the filter is concerned.
#[derive(Deserialize)]
struct Draft {
    content: String,
}

/// The categories for which the text in `body` is to be refused, `None` when it may go on. A body
/// without a readable text goes on: the origin says what is wrong with it.
pub async fn refused(edge: &Arc<Edge>, world: &World, body: &[u8]) -> Option<Vec<String>> {
    let Draft { content } = serde_json::from_slice(body).ok()?;
    match dictionary(edge, world).await?.check(&content) {
        Verdict::Block { categories } => Some(categories),
        Verdict::Pass | Verdict::Mask { .. } | Verdict::Review { .. } => None,
    }
}

/// The first request of an isolate reads the dictionary; later ones use what is there and have it
/// re-read after their answer. Those that come during the first read go without.
async fn dictionary(edge: &Arc<Edge>, world: &World) -> Option<Arc<Dictionary>> {
    let now = world.clock.now_ms();
    let first = {
        let mut state = lock(&edge.words.0);
        let due = state.read_ms.is_none_or(|read| now.saturating_sub(read) >= READ_MS);
        let first = state.read_ms.is_none();
        if due {
            state.read_ms = Some(now);
        }
        match (due, first) {
            (false, _) => return state.dictionary.clone(),
            (true, first) => first,
        }
    };
    if first {
        reload(edge, world).await;
    } else {
        let (edge, world_) = (Arc::clone(edge), world.clone());
        world.later.run(Box::pin(async move { reload(&edge, &world_).await }));
    }
    lock(&edge.words.0).dictionary.clone()
}

/// What cannot be read or built changes nothing.
async fn reload(edge: &Edge, world: &World) {
    let Ok(bytes) = world.global.get(KEY).await else { return };
    let bytes = bytes.unwrap_or_else(|| Bytes::from_static(b"{\"version\":0,\"terms\":[]}"));
    let digest: [u8; 32] = Sha256::digest(&bytes).into();
    if lock(&edge.words.0).digest == digest {
        return;
    }
    if let Some(dictionary) = build(&bytes) {
        let mut state = lock(&edge.words.0);
        state.dictionary = Some(Arc::new(dictionary));
        state.digest = digest;
    }
}

/// The dictionary stored as `bytes`, `None` for what is none.
#[must_use]
pub fn build(bytes: &[u8]) -> Option<Dictionary> {
    let text = std::str::from_utf8(bytes).ok()?;
    let Stored { version, terms } = match serde_json::from_str(text) {
        Ok(stored) => stored,
        // A term without an action is never the edge's to refuse.
        Err(_) => Stored { version: 0, terms: parse_tsv(text, Action::Review).ok()? },
    };
    Dictionary::build(version, &terms).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let check = |bytes: &[u8], expected: Option<(u64, usize)>| {
            let built = build(bytes).map(|d| (d.version(), d.len()));
            assert_eq!(built, expected, "{}", String::from_utf8_lossy(bytes));
        };
        check(br#"{"version":3,"terms":[{"term":"casino","category":"ad","action":"block"}]}"#, Some((3, 1)));
        check("# words\n赌博\tad\tblock\nfoo\tad\n".as_bytes(), Some((0, 2)));
        check(b"", Some((0, 0)));
        check(br#"{"version":3}"#, None);
        check(b"\xff", None);
    }
}
