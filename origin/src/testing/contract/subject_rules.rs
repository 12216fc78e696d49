//! The contract of what writes ask of their subjects, on every adapter.

use std::collections::HashMap;

use gailou_shared::id::SubjectKey;
use gailou_shared::path::Mode;
use gailou_shared::wire::SubjectState;

use crate::adapters::sqlite::SqliteStore;
use crate::domain::operation::{LoggedOperation, Operation, SubjectPatch};
use crate::domain::row::SubjectRules;
use crate::ports::store::{BatchWriter, CommentReader};
use crate::testing::fixtures::{TEST_START_MS, comment, publish, subject_in};

trait RulesTables: CommentReader + BatchWriter {}
impl<T: CommentReader + BatchWriter> RulesTables for T {}

fn close(key: &SubjectKey) -> LoggedOperation {
    let patch =
        SubjectPatch { state: Some(SubjectState::Closed), mode: Some(Mode::Building), ..SubjectPatch::default() };
    LoggedOperation::new(TEST_START_MS, Operation::Subject { key: key.clone(), patch, audit: None })
}

/// Slots of both databases and of both parts of their tables, where there are that many.
async fn check_rules(tables: &dyn RulesTables) {
    let subjects: Vec<SubjectKey> = [0, 1, 2, 512, 1_023].map(subject_in).into();
    let ids: Vec<_> = (0..).zip(&subjects).map(|(n, key)| comment(key.slot().get(), n)).collect();
    let rules = async |keys: &[SubjectKey]| tables.read_subject_rules(keys).await.unwrap();
    assert_eq!(rules(&subjects).await, vec![SubjectRules::default(); subjects.len()], "without a row");
    assert!(tables.read_subjects_of(&ids).await.unwrap().is_empty());

    let published: Vec<_> = subjects.iter().zip(&ids).map(|(key, id)| publish(key, *id)).collect();
    tables.persist(&published).await.unwrap();
    tables.persist(&[close(&subjects[1]), close(&subjects[4])]).await.unwrap();
    let closed = SubjectRules { state: SubjectState::Closed, mode: Some(Mode::Building) };
    let open = SubjectRules::default();
    let expected = [open, closed, open, open, closed];
    assert_eq!(rules(&subjects).await, expected, "in the order of the keys");
    let unseen = subject_in(7);
    assert_eq!(rules(&[subjects[4].clone(), unseen, subjects[0].clone()]).await, [closed, open, open]);
    assert_eq!(rules(&[]).await, []);

    // An id that no comment has is left out.
    let asked: Vec<_> = ids.iter().copied().chain([comment(7, 1), comment(1, 99)]).collect();
    let expected: HashMap<_, _> = ids.into_iter().zip(subjects.into_iter().zip(expected)).collect();
    assert_eq!(tables.read_subjects_of(&asked).await.unwrap(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_holds_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    check_rules(&SqliteStore::open(&folder.path().join("gailou.db"), HashMap::new()).unwrap()).await;
}

#[cfg(feature = "cluster")]
#[tokio::test(flavor = "multi_thread")]
async fn contract_holds_in_mysql() {
    let Some(databases) = crate::adapters::mysql::tests::TestDatabases::new(2) else { return };
    check_rules(&databases.open().await).await;
    databases.drop_all().await;
}
