//! The contract of a search index.

use std::time::Duration;

use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::wire::CommentState;

use crate::domain::search_index::{SearchDocument, SearchFilter};
use crate::domain::search_text::{IndexedText, SearchTerms};
use crate::jobs::index_comments::new_index_id;
use crate::ports::search_index::{SearchError, SearchIndex};

const NOW: u64 = 1_800_000_000_000;
/// How long what is committed may need until it is found.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(10);

fn id(n: u64) -> CommentId {
    CommentId::from_parts(NOW + n, Slot::FIRST, 0, 0)
}

fn subject(key: &str) -> SubjectKey {
    SubjectKey::new("article", key).unwrap()
}

/// A visible comment with this text.
pub(crate) fn document(n: u64, version: u64, text: &str) -> SearchDocument {
    SearchDocument {
        id: id(n),
        version,
        subject: subject("a"),
        author: MemberId::new(7).unwrap(),
        state: CommentState::Published,
        is_visible: true,
        created_at: NOW + n,
        text: IndexedText::of(text),
    }
}

fn containing(query: &str) -> SearchFilter {
    SearchFilter { conditions: SearchTerms::parse(query).unwrap().conditions(), ..SearchFilter::default() }
}

/// Waits until a filter finds these comments.
async fn expect(index: &dyn SearchIndex, filter: &SearchFilter, expected: &[u64]) {
    let expected: Vec<CommentId> = expected.iter().map(|n| id(*n)).collect();
    let since = tokio::time::Instant::now();
    loop {
        let found = index.search(filter, 10).await.unwrap();
        if found == expected {
            return;
        }
        assert!(since.elapsed() < REFRESH_TIMEOUT, "{filter:?}: {found:?} instead of {expected:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn build(index: &dyn SearchIndex, documents: &[SearchDocument]) -> String {
    let name = new_index_id();
    index.begin_build(&name).await.unwrap();
    index.put(documents).await.unwrap();
    index.finish_build().await.unwrap();
    assert_eq!(index.status().await.unwrap().answering.as_ref(), Some(&name));
    name
}

/// Runs everything that an index promises.
pub(crate) async fn check(index: &dyn SearchIndex) {
    nothing_answers_before_an_index_is_built(index).await;
    comments_are_found_by_what_they_contain(index).await;
    older_version_replaces_nothing(index).await;
    built_index_replaces_the_one_that_answers(index).await;
}

async fn nothing_answers_before_an_index_is_built(index: &dyn SearchIndex) {
    assert_eq!(index.status().await.unwrap(), Default::default());
    assert!(matches!(index.search(&containing("x"), 10).await, Err(SearchError::NotBuilt)));
    index.put(&[document(1, 1, "lost")]).await.unwrap();
    index.begin_build(&new_index_id()).await.unwrap();
    index.put(&[document(1, 1, "dropped")]).await.unwrap();
    assert!(matches!(index.search(&containing("dropped"), 10).await, Err(SearchError::NotBuilt)));
    build(index, &[]).await;
    expect(index, &containing("lost"), &[]).await;
    expect(index, &containing("dropped"), &[]).await;
}

async fn comments_are_found_by_what_they_contain(index: &dyn SearchIndex) {
    let other = SearchDocument { subject: subject("b"), author: MemberId::new(8).unwrap(), ..document(4, 1, "盖楼") };
    let held = SearchDocument { state: CommentState::Review, is_visible: false, ..document(5, 1, "Rust 人工智能") };
    let documents = [
        document(1, 1, "我们用Rust盖楼, très bien"),
        document(2, 1, "人工智能 and rust"),
        document(3, 1, "see http://example.com/rust"),
        other,
        held,
    ];
    index.put(&documents).await.unwrap();
    index.commit().await.unwrap();
    for (query, expected) in [
        ("rust", vec![5, 3, 2, 1]),
        ("RUST 盖楼", vec![1]),
        ("盖楼", vec![4, 1]),
        ("人工智能", vec![5, 2]),
        ("工智", vec![5, 2]),
        ("智能工", vec![]),
        ("楼", vec![4, 1]),
        ("TRES", vec![1]),
        ("example.com", vec![3]),
        ("com.example", vec![]),
        ("rus", vec![]),
    ] {
        expect(index, &containing(query), &expected).await;
    }
    let rust = || containing("rust");
    expect(index, &SearchFilter::default(), &[5, 4, 3, 2, 1]).await;
    expect(index, &SearchFilter { visible_only: true, ..rust() }, &[3, 2, 1]).await;
    expect(index, &SearchFilter { state: Some(CommentState::Review), ..SearchFilter::default() }, &[5]).await;
    expect(index, &SearchFilter { subject: Some(subject("b")), ..SearchFilter::default() }, &[4]).await;
    expect(index, &SearchFilter { author: MemberId::new(8).ok(), ..SearchFilter::default() }, &[4]).await;
    expect(index, &SearchFilter { from: Some(NOW + 2), to: Some(NOW + 4), ..SearchFilter::default() }, &[3, 2]).await;
    expect(index, &SearchFilter { from: Some(NOW + 4), ..SearchFilter::default() }, &[5, 4]).await;
    expect(index, &SearchFilter { from: Some(u64::MAX), ..SearchFilter::default() }, &[]).await;
    expect(index, &SearchFilter { below: Some(id(3)), ..rust() }, &[2, 1]).await;
    assert_eq!(index.search(&rust(), 2).await.unwrap(), [id(5), id(3)]);
}

async fn older_version_replaces_nothing(index: &dyn SearchIndex) {
    index.put(&[document(10, 5, "second")]).await.unwrap();
    index.put(&[document(10, 4, "first")]).await.unwrap();
    index.commit().await.unwrap();
    index.put(&[document(10, 4, "first")]).await.unwrap();
    index.commit().await.unwrap();
    expect(index, &containing("second"), &[10]).await;
    expect(index, &containing("first"), &[]).await;
    let deleted = SearchDocument { state: CommentState::Deleted, is_visible: false, ..document(10, 6, "second") };
    index.put(&[deleted]).await.unwrap();
    index.commit().await.unwrap();
    expect(index, &SearchFilter { visible_only: true, ..containing("second") }, &[]).await;
    // What is erased has no text, and the same version may be put again.
    index.put(&[document(10, 6, "")]).await.unwrap();
    index.commit().await.unwrap();
    expect(index, &containing("second"), &[]).await;
    index.compact().await.unwrap();
    expect(index, &containing("人工智能"), &[5, 2]).await;
}

async fn built_index_replaces_the_one_that_answers(index: &dyn SearchIndex) {
    let name = new_index_id();
    index.begin_build(&name).await.unwrap();
    let status = index.status().await.unwrap();
    assert_eq!(status.building.as_ref(), Some(&name));
    assert_ne!(status.answering, status.building);
    index.put(&[document(20, 1, "meanwhile")]).await.unwrap();
    index.commit().await.unwrap();
    expect(index, &containing("meanwhile"), &[20]).await;
    expect(index, &containing("人工智能"), &[5, 2]).await;
    index.finish_build().await.unwrap();
    assert_eq!(index.status().await.unwrap().answering, Some(name));
    assert_eq!(index.status().await.unwrap().building, None);
    expect(index, &SearchFilter::default(), &[20]).await;
    // Doing it twice changes nothing.
    index.finish_build().await.unwrap();
    expect(index, &SearchFilter::default(), &[20]).await;
}
