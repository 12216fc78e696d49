//! The index of a process: what it finds, what survives, what a search costs.

use std::fs;
use std::path::Path;

use gailou_shared::id::SubjectKey;

use super::*;
use crate::domain::search_text::SearchTerms;
use crate::jobs::index_comments::new_index_id;
use crate::testing::contract::search_index::{self as contract, document};

async fn built(folder: &Path, documents: &[SearchDocument]) -> TantivyIndex {
    let index = TantivyIndex::new(folder.to_owned());
    index.begin_build(&new_index_id()).await.unwrap();
    index.put(documents).await.unwrap();
    index.finish_build().await.unwrap();
    index
}

fn containing(query: &str) -> SearchFilter {
    SearchFilter { conditions: SearchTerms::parse(query).unwrap().conditions(), ..SearchFilter::default() }
}

#[tokio::test]
async fn index_keeps_its_promises() {
    let folder = tempfile::tempdir().unwrap();
    contract::check(&TantivyIndex::new(folder.path().join("search"))).await;
}

#[tokio::test]
async fn what_is_committed_is_there_after_a_restart_and_the_rest_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let index = built(folder.path(), &[document(1, 1, "kept")]).await;
    let before = index.status().await.unwrap();
    index.put(&[document(2, 1, "committed")]).await.unwrap();
    index.commit().await.unwrap();
    index.begin_build(&new_index_id()).await.unwrap();
    index.put(&[document(3, 1, "uncommitted")]).await.unwrap();
    drop(index);
    let index = TantivyIndex::new(folder.path().to_owned());
    let after = index.status().await.unwrap();
    assert_eq!(after.answering, before.answering);
    assert!(after.building.is_some(), "the build goes on");
    for (query, expected) in [("kept", 1), ("committed", 1), ("uncommitted", 0)] {
        assert_eq!(index.search(&containing(query), 10).await.unwrap().len(), expected, "{query}");
    }
}

#[test]
fn merges_of_a_closed_index_have_ended() {
    let folder = tempfile::tempdir().unwrap();
    let mut index = OpenIndex::open("closed", folder.path()).unwrap();
    // As many segments as are merged into one.
    for n in 0..8 {
        for document in (n * 1_000..(n + 1) * 1_000).map(|n| document(n, 1, &site_text(n))) {
            index.put(&index.committed(), &document).unwrap();
        }
        index.commit().unwrap();
    }
    index.close();
    let index = OpenIndex::open("closed", folder.path()).unwrap();
    assert_eq!(index.committed().segment_readers().len(), 1);
}

/// The files of the one index in a folder.
fn files_of(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let index = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let files = fs::read_dir(index).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.to_str().unwrap().ends_with(ending)).collect()
}

#[tokio::test]
async fn index_that_cannot_be_read_is_deleted() {
    let breaks: [fn(&Path); 5] = [
        |folder| fs::remove_dir_all(folder).unwrap(),
        |folder| fs::write(&files_of(folder, "meta.json")[0], "{").unwrap(),
        |folder| files_of(folder, ".term").iter().for_each(|file| fs::remove_file(file).unwrap()),
        |folder| files_of(folder, ".term").iter().for_each(|file| fs::write(file, "short").unwrap()),
        // An index of a former format.
        |folder| {
            let index = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
            fs::rename(&index, index.with_file_name("v0-1")).unwrap();
        },
    ];
    for (n, damage) in breaks.into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("search");
        drop(built(&path, &[document(1, 1, "text")]).await);
        damage(&path);
        let index = TantivyIndex::new(path.clone());
        // What is found to be damaged when it is read is found so by the next call.
        if index.status().await.unwrap().answering.is_some() {
            assert!(index.search(&containing("text"), 10).await.is_err(), "damage {n}");
        }
        assert_eq!(index.status().await.unwrap(), IndexStatus::default(), "damage {n}");
        assert!(matches!(index.search(&containing("text"), 10).await, Err(SearchError::NotBuilt)), "damage {n}");
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0, "damage {n}");
    }
}

#[tokio::test]
#[expect(clippy::await_holding_lock, reason = "it is what a writer holds while it writes")]
async fn search_waits_for_no_writer() {
    let folder = tempfile::tempdir().unwrap();
    let index = built(folder.path(), &[document(1, 1, "text")]).await;
    let _writing = index.0.open.lock();
    assert_eq!(index.search(&containing("text"), 10).await.unwrap().len(), 1);
}

fn folder_bytes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| if path.is_dir() { folder_bytes(&path) } else { fs::metadata(path).map_or(0, |m| m.len()) })
        .sum()
}

#[tokio::test]
async fn documents_that_are_replaced_take_no_space_for_long() {
    let folder = tempfile::tempdir().unwrap();
    let text = |n: u64| format!("comment {n} 的 {}", "盖楼评论系统".repeat(20));
    let documents = |version: u64| (0..2_000).map(|n| document(n, version, &text(n + version))).collect::<Vec<_>>();
    let index = built(folder.path(), &documents(1)).await;
    let once = folder_bytes(folder.path());
    for version in 2..12 {
        index.put(&documents(version)).await.unwrap();
        index.commit().await.unwrap();
    }
    index.compact().await.unwrap();
    let often = folder_bytes(folder.path());
    assert!(often < 2 * once, "{often} bytes after ten replacements, {once} before");
    assert_eq!(index.search(&containing("盖楼"), 3_000).await.unwrap().len(), 2_000);
}

/// A text of about 60 characters of a million-comment site, by its number.
fn site_text(n: u64) -> String {
    let mut rng = fastrand::Rng::with_seed(n);
    let common =
        ["的", "是", "我们", "一个", "评论", "盖楼", "视频", "好看", "不错", "the", "and", "rust", "great", "video"];
    let mut text = String::new();
    for _ in 0..14 {
        text.push_str(common[(rng.f64() * rng.f64() * common.len() as f64) as usize]);
        text.push(' ');
        // A rarer word or pair of characters.
        let rare = rng.u32(0..20_000);
        text.extend(char::from_u32(0x4e00 + rare));
        text.extend(char::from_u32(0x4e00 + rng.u32(0..3_000)));
    }
    text
}

/// Fills an index with comments of many subjects.
async fn filled(folder: &Path, comments: u64) -> TantivyIndex {
    let index = TantivyIndex::new(folder.to_owned());
    index.begin_build(&new_index_id()).await.unwrap();
    for first in (0..comments).step_by(5_000) {
        let of_site = |n: u64| SearchDocument {
            subject: SubjectKey::new("article", &(n % 1_000).to_string()).unwrap(),
            ..document(n, 1, &site_text(n))
        };
        index.put(&(first..comments.min(first + 5_000)).map(of_site).collect::<Vec<_>>()).await.unwrap();
    }
    index.finish_build().await.unwrap();
    index
}

/// What readers and moderators search for, from rare to in almost every comment.
fn site_filters() -> Vec<SearchFilter> {
    let mut filters: Vec<SearchFilter> =
        ["的", "我们", "rust", "the video", "盖楼 视频", "评论 好看 不错", "great", "龙", "龘"].map(containing).into();
    filters.push(SearchFilter { subject: SubjectKey::new("article", "7").ok(), ..containing("评论") });
    filters.push(containing(&site_text(77).chars().skip(3).take(4).collect::<String>()));
    filters.push(SearchFilter::default());
    filters
}

/// Milliseconds of each search, sorted.
async fn times(index: &TantivyIndex, rounds: usize) -> Vec<f64> {
    let mut times = Vec::new();
    for _ in 0..rounds {
        for filter in site_filters() {
            let begun = std::time::Instant::now();
            index.search(&filter, 21).await.unwrap();
            times.push(begun.elapsed().as_secs_f64() * 1_000.0);
        }
    }
    times.sort_by(f64::total_cmp);
    times
}

/// Milliseconds of the fastest of some searches.
async fn fastest(index: &TantivyIndex, filter: &SearchFilter) -> f64 {
    let mut fastest = f64::INFINITY;
    for _ in 0..15 {
        let begun = std::time::Instant::now();
        index.search(filter, 21).await.unwrap();
        fastest = fastest.min(begun.elapsed().as_secs_f64() * 1_000.0);
    }
    fastest
}

/// That a million take at most 50 ms is what `make bench` measures.
#[tokio::test]
async fn ten_times_the_comments_take_at_most_twenty_times_as_long() {
    let folder = tempfile::tempdir().unwrap();
    let small = filled(&folder.path().join("small"), 3_000).await;
    let large = filled(&folder.path().join("large"), 30_000).await;
    for filter in site_filters() {
        let (small, large) = (fastest(&small, &filter).await, fastest(&large, &filter).await);
        assert!(large < 20.0 * small.max(0.1), "{filter:?}: {large} ms of 30,000 comments, {small} ms of 3,000");
    }
}

#[tokio::test]
#[ignore = "a million comments take minutes: make bench"]
async fn search_of_a_million_comments_takes_at_most_50_ms() {
    let folder = tempfile::tempdir().unwrap();
    let begun = std::time::Instant::now();
    let index = filled(folder.path(), 1_000_000).await;
    eprintln!("built in {} s, {} MB", begun.elapsed().as_secs(), folder_bytes(folder.path()) >> 20);
    let times = times(&index, 100).await;
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    for (name, share) in [("median", 0.5), ("p99", 0.99)] {
        let what = format!("search over a million comments, {name}");
        eprintln!("{}", serde_json::json!({ "what": what, "value": at(share), "unit": " ms", "at_most": 50 }));
    }
    assert!(at(0.99) <= 50.0);
}
