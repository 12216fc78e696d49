//! All subjects, looked up in every table of every database. Their order is that of their slots and of a hash.

use std::collections::HashMap;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::path::Mode;
use gailou_shared::wire::SubjectState;
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::routing::IDS_TABLE;
use crate::adapters::mysql::row_numbers::{subject_number, subject_slot};
use crate::adapters::mysql::rows::{
    StoredEnum, comment_id, count_at, member_id, number_at, optional_number_at, subject_at,
};
use crate::adapters::mysql::statement::sql;
use crate::domain::row::SubjectRow;
use crate::ports::store::{FoundSubjects, ListedSubject, Result, Sharding as _, StoreError, SubjectDirectory};

/// The newest comment of each subject: of those that are not pinned, and of those that are.
const NEWEST_SQL: &str = "(SELECT c.id FROM comment_{n} c FORCE INDEX (comment_pinned) \
     WHERE c.subject = j.id AND c.pinned_at IS NULL \
     ORDER BY c.subject DESC, c.pinned_at DESC, c.id DESC LIMIT 1), \
     (SELECT MAX(p.id) FROM comment_{n} p FORCE INDEX (comment_pinned) \
     WHERE p.subject = j.id AND p.pinned_at > 0)";

#[async_trait]
impl SubjectDirectory for MysqlStore {
    /// Of each table the first `count` rows are read. What is below the highest end of a table that has more is read
    /// again by the next call.
    async fn list_subjects(&self, below: Option<i64>, count: usize) -> Result<FoundSubjects> {
        let below = below.unwrap_or(0);
        let databases = (0..self.count_databases()).map(|database| async move {
            let part = |n: u16| {
                format!(
                    "(SELECT id, type, `key`, title, url, owner_id, state, mode, version, roots, comments, {n} \
                     FROM subject_{n} FORCE INDEX (PRIMARY) WHERE id < {below} ORDER BY id DESC LIMIT {count})"
                )
            };
            let text = (0..self.tables).map(part).collect::<Vec<_>>().join(" UNION ALL ");
            let found = self.session("list_subjects", database).await?.fetch_all(sql(text)).await?;
            Ok::<_, StoreError>((database, found))
        });
        let mut subjects = Vec::new();
        let mut ends: HashMap<(usize, i64), (usize, i64)> = HashMap::new();
        for (database, rows) in try_join_all(databases).await? {
            for r in &rows {
                let number = number_at(r, 0)?;
                let (read, end) = ends.entry((database, number_at(r, 11)?)).or_insert((0, number));
                (*read, *end) = (*read + 1, number.min(*end));
                // The former copy of a slot that has moved is left out.
                if self.database_of(subject_slot(number)) == database {
                    subjects.push(listed_subject(number, r)?);
                }
            }
        }
        let below = ends.values().filter(|(read, _)| *read == count).map(|(_, end)| *end).max();
        subjects.retain(|subject| below.is_none_or(|below| subject.number >= below));
        subjects.sort_unstable_by_key(|subject| std::cmp::Reverse(subject.number));
        Ok(FoundSubjects { subjects, below })
    }

    async fn list_newest_of(&self, subjects: &[SubjectKey]) -> Result<Vec<Option<CommentId>>> {
        let text = format!("SELECT j.id, {NEWEST_SQL} FROM {IDS_TABLE}");
        let numbers = subjects.iter().map(|key| (key.slot(), subject_number(key)));
        let mut newest = HashMap::new();
        for r in self.rows_by_id("list_newest_of", numbers, &text, |s| s).await? {
            let id = optional_number_at(&r, 1)?.max(optional_number_at(&r, 2)?);
            newest.insert(number_at(&r, 0)?, id.map(comment_id).transpose()?);
        }
        Ok(subjects.iter().map(|key| newest.get(&subject_number(key)).copied().flatten()).collect())
    }
}

fn listed_subject(number: i64, r: &MySqlRow) -> Result<ListedSubject> {
    let row = SubjectRow {
        key: subject_at(r, 1)?,
        title: r.try_get(3)?,
        url: r.try_get(4)?,
        owner_id: optional_number_at(r, 5)?.map(member_id).transpose()?,
        state: SubjectState::from_number(number_at(r, 6)?)?,
        mode: optional_number_at(r, 7)?.map(Mode::from_number).transpose()?,
        version: count_at(r, 8)?,
        roots: count_at(r, 9)?,
        comments: count_at(r, 10)?,
        pinned: vec![],
    };
    Ok(ListedSubject { number, row })
}
