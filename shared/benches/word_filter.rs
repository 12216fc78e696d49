//! Cost per byte of the word filter with many terms against few: `cargo bench --bench words`.
//!
//! Terms are read from `GAILOU_WORDS_TSV`, else from `../shared/data/words.tsv` beside the
//! repository, else made up in like lengths; comments from `real-threads.jsonl` beside that file,
//! else put together from a few sentences. Both dictionaries see the same text, one comment at a time, alternately; the
//! best of many rounds counts, because the machine is shared. What the law is about is the ratio.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use gailou_shared::word_filter::{Dictionary, FilterVerdict, Term, TermAction, parse_tsv};

const ROUNDS: usize = 60;
const FEW: usize = 100;

fn main() {
    let terms = terms();
    let comments = comments();
    let bytes: usize = comments.iter().map(String::len).sum();
    println!("{} terms, {} comments, {bytes} bytes", terms.len(), comments.len());
    for action in [TermAction::Review, TermAction::Mask] {
        let with: Vec<Term> = terms.iter().map(|t| Term { action, ..t.clone() }).collect();
        for (name, few) in [("first", first(&with)), ("spread", spread(&with))] {
            compare(&format!("{action:?}, {name} {FEW}"), &few, &with, &comments, bytes);
        }
    }
}

fn first(terms: &[Term]) -> Vec<Term> {
    terms.iter().take(FEW).cloned().collect()
}

fn spread(terms: &[Term]) -> Vec<Term> {
    terms.iter().step_by((terms.len() / FEW).max(1)).take(FEW).cloned().collect()
}

fn compare(name: &str, few: &[Term], all: &[Term], comments: &[String], bytes: usize) {
    let few = Dictionary::build(1, few).expect("few terms");
    let start = Instant::now();
    let all = Dictionary::build(1, all).expect("all terms");
    let built = start.elapsed();
    let (mut best_few, mut best_all) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        best_few = best_few.min(round(&few, comments));
        best_all = best_all.min(round(&all, comments));
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
    println!("  ratio {:.2}", best_all.as_secs_f64() / best_few.as_secs_f64());
}

fn round(words: &Dictionary, comments: &[String]) -> Duration {
    let start = Instant::now();
    for comment in comments {
        std::hint::black_box(words.check(std::hint::black_box(comment)));
    }
    start.elapsed()
}

fn tsv() -> PathBuf {
    std::env::var_os("GAILOU_WORDS_TSV").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/words.tsv")),
        PathBuf::from,
    )
}

fn terms() -> Vec<Term> {
    if let Ok(text) = std::fs::read_to_string(tsv()) {
        return parse_tsv(&text, TermAction::Review).expect("a dictionary");
    }
    println!("no word list found: terms are made up, hit less of the text, and flatter the ratio");
    let mut random = Random(1);
    (0..16_000)
        .map(|i| {
            let term = if i % 12 == 0 {
                random.han(2 + i % 4)
            } else {
                format!("www.{}.{}", random.letters(4 + i % 9), ["com", "cn", "net"][i % 3])
            };
            Term { term, category: "made-up".into(), action: TermAction::Review }
        })
        .collect()
}

fn comments() -> Vec<String> {
    let text = std::fs::read_to_string(tsv().with_file_name("real-threads.jsonl"));
    let real: Vec<String> = text
        .iter()
        .flat_map(|t| t.lines())
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|row| row.get("content")?.as_str().map(String::from))
        .collect();
    if !real.is_empty() {
        return real;
    }
    println!("no comments found: they are put together from a few sentences");
    let mut random = Random(2);
    let mut pick = move || SENTENCES.get(random.below(SENTENCES.len() as u32) as usize);
    (0..400).map(|_| [pick(), pick()].into_iter().flatten().copied().collect()).collect()
}

/// As people write under videos and goods; made-up characters would be rarer or commoner in terms
/// than real ones are.
const SENTENCES: [&str; 20] = [
    "这个价格还能再降吗？感觉双十一会更便宜。",
    "散热怎么样，玩游戏的时候风扇声音大不大",
    "up主讲得很清楚，已经三连了！",
    "i7 和 i9 差多少，日常办公加一点剪辑够用吗？",
    "Just got mine yesterday, the screen is amazing.",
    "前排围观，等一个后续哈哈哈哈",
    "我用了半年，电池还剩 92%，没什么问题。",
    "Does it support dual monitors over USB-C?",
    "楼上说得对，售后确实要看当地的服务点",
    "内存 4800 的有点拉胯，能换 5600 的吗",
    "第 3 分 20 秒那个画面太好看了，求壁纸",
    "谢谢分享，学到了很多东西",
    "I think the older model is still better value for money.",
    "客服说下周发货，先蹲一个反馈。",
    "这期节目的背景音乐是什么？有人知道吗",
    "B 站限时优惠，VIP 打五折 ❤",
    "同款，买了就降价，心态崩了😭",
    "Linux 下驱动正常，Windows 11 偶尔蓝屏",
    "从第一集追到现在，终于等到结局了",
    "not sure why everyone is complaining about the keyboard, 手感挺好的",
];

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
