//! The cost of the word filter for each byte, with many terms against few: `cargo bench --bench
//! word_filter`.
//!
//! The terms are those of `words.tsv` and the text is that of `real-threads.jsonl`, in the directory
//! that `GAILOU_TEST_DATA` names or in `shared/data` beside the repository. Without these files the
//! terms are generated, and the text is that of `tests/data/threads.jsonl`. Both dictionaries check the
//! same comments in turns; the best of many rounds counts, because other programs use the machine. The
//! ratio is the figure.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gailou_shared::word_filter::{Dictionary, FilterVerdict, Term, TermAction, parse_tsv};

/// How often the text is checked with each dictionary.
const ROUND_COUNT: usize = 60;
/// The terms of the small dictionary.
const SMALL_DICTIONARY_TERMS: usize = 100;
/// A smaller sample is repeated until it has so many comments.
const MIN_COMMENTS: usize = 250;

fn main() {
    let terms = load_terms();
    let comments = load_comments();
    let bytes: usize = comments.iter().map(String::len).sum();
    println!("{} terms, {} comments, {bytes} bytes", terms.len(), comments.len());
    for action in [TermAction::Review, TermAction::Mask] {
        let with_action: Vec<Term> = terms.iter().map(|t| Term { action, ..t.clone() }).collect();
        for (name, few) in [("first", first_terms(&with_action)), ("spread", spread_terms(&with_action))] {
            compare(&format!("{action:?}, against the {name}"), &few, &with_action, &comments, bytes);
        }
    }
}

fn first_terms(terms: &[Term]) -> Vec<Term> {
    terms.iter().take(SMALL_DICTIONARY_TERMS).cloned().collect()
}

fn spread_terms(terms: &[Term]) -> Vec<Term> {
    terms.iter().step_by((terms.len() / SMALL_DICTIONARY_TERMS).max(1)).take(SMALL_DICTIONARY_TERMS).cloned().collect()
}

fn compare(name: &str, few: &[Term], all: &[Term], comments: &[String], bytes: usize) {
    let few = Dictionary::build(1, few).expect("few terms");
    let start = Instant::now();
    let all = Dictionary::build(1, all).expect("all terms");
    let built = start.elapsed();
    let (mut best_few, mut best_all) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUND_COUNT {
        best_few = best_few.min(check_all(&few, comments));
        best_all = best_all.min(check_all(&all, comments));
    }
    let hits = |words: &Dictionary| comments.iter().filter(|c| words.check(c) != FilterVerdict::Pass).count();
    let rate = |took: Duration| bytes as f64 / took.as_secs_f64() / 1e6;
    println!("{name}:");
    println!("  {:>6} terms  {:7.1} MB/s  {} texts hit", few.len(), rate(best_few), hits(&few));
    println!(
        "  {:>6} terms  {:7.1} MB/s  {} texts hit, {:.1} MB, built in {} ms",
        all.len(),
        rate(best_all),
        hits(&all),
        all.heap_bytes() as f64 / 1e6,
        built.as_millis()
    );
    let figure = serde_json::json!({
        "what": format!("word filter, {} terms ({name})", all.len()), "value": rate(best_all), "unit": " MB/s",
        "peer": format!("{} terms", few.len()), "peer_value": rate(best_few),
    });
    println!("{figure}");
}

fn check_all(words: &Dictionary, comments: &[String]) -> Duration {
    let start = Instant::now();
    for comment in comments {
        std::hint::black_box(words.check(std::hint::black_box(comment)));
    }
    start.elapsed()
}

/// The file of this name in the directory that `GAILOU_TEST_DATA` names, or in `shared/data` beside the
/// repository.
fn large_sample(name: &str) -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    std::env::var_os("GAILOU_TEST_DATA").map_or_else(beside, PathBuf::from).join(name)
}

fn load_terms() -> Vec<Term> {
    if let Ok(text) = std::fs::read_to_string(large_sample("words.tsv")) {
        return parse_tsv(&text, TermAction::Review).expect("valid terms");
    }
    println!("no large list of terms found: the terms are generated, match less text, and lower the ratio");
    let mut random = Random(1);
    (0..16_000)
        .map(|i| {
            let term = if i % 12 == 0 {
                random.han(2 + i % 4)
            } else {
                format!("www.{}.{}", random.letters(4 + i % 9), ["com", "cn", "net"][i % 3])
            };
            Term { term, category: "generated".into(), action: TermAction::Review }
        })
        .collect()
}

fn load_comments() -> Vec<String> {
    let small = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/threads.jsonl");
    let text = std::fs::read_to_string(large_sample("real-threads.jsonl")).or_else(|_| {
        println!("no large sample of comments found: the text is {}", small.display());
        std::fs::read_to_string(&small)
    });
    let comments: Vec<String> = text
        .expect("the small sample is readable")
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|comment| comment.get("content")?.as_str().map(String::from))
        .collect();
    let count = MIN_COMMENTS.next_multiple_of(comments.len());
    comments.iter().cycle().take(count).cloned().collect()
}

/// A linear congruential generator (Knuth's MMIX constants): the same text on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 % n
    }

    fn letters(&mut self, n: usize) -> String {
        (0..n).map(|_| char::from(b'a' + self.below(26) as u8)).collect()
    }

    fn han(&mut self, n: usize) -> String {
        (0..n).filter_map(|_| char::from_u32(0x4E00 + self.below(2500))).collect()
    }
}
