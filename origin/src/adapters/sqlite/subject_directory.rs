//! All subjects, the newest first.

use async_trait::async_trait;
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::path::Mode;
use gailou_shared::wire::SubjectState;
use rusqlite::{Row, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::{fetch_all, first_id, subject_number};
use crate::adapters::sqlite::rows::{StoredEnum, count, damaged, member_id};
use crate::domain::row::SubjectRow;
use crate::ports::store::{FoundSubjects, ListedSubject, Result, SubjectDirectory};

const SUBJECTS_SQL: &str = "SELECT id, type, key, title, url, owner_id, state, mode, version, roots, comments \
     FROM subject WHERE id < ?1 ORDER BY id DESC LIMIT ?2";

const NEWEST_SQL: &str = "SELECT id FROM comment INDEXED BY comment_of_subject \
     WHERE subject = ?1 AND id > 0 ORDER BY id DESC LIMIT 1";

#[async_trait]
impl SubjectDirectory for SqliteStore {
    async fn list_subjects(&self, below: Option<i64>, limit: usize) -> Result<FoundSubjects> {
        self.read("list_subjects", move |c| {
            let values = params![below.unwrap_or(i64::MAX), limit as i64];
            let subjects = fetch_all(c, SUBJECTS_SQL, values, listed_subject)?;
            let below = subjects.last().filter(|_| subjects.len() == limit).map(|last| last.number);
            Ok(FoundSubjects { subjects, below })
        })
        .await
    }

    async fn list_newest_of(&self, subjects: &[SubjectKey]) -> Result<Vec<Option<CommentId>>> {
        let subjects = subjects.to_vec();
        self.read("list_newest_of", move |c| {
            let newest = |subject| match subject_number(c, subject)? {
                Some(number) => Ok(fetch_all(c, NEWEST_SQL, [number], first_id)?.pop()),
                None => Ok(None),
            };
            subjects.iter().map(newest).collect()
        })
        .await
    }
}

fn listed_subject(r: &Row<'_>) -> Result<ListedSubject> {
    let key = SubjectKey::new(r.get_ref(1)?.as_str().map_err(damaged)?, r.get_ref(2)?.as_str().map_err(damaged)?);
    let row = SubjectRow {
        key: key.map_err(damaged)?,
        title: r.get(3)?,
        url: r.get(4)?,
        owner_id: r.get::<_, Option<i64>>(5)?.map(member_id).transpose()?,
        state: SubjectState::from_number(r.get(6)?)?,
        mode: r.get::<_, Option<i64>>(7)?.map(Mode::from_number).transpose()?,
        version: count(r.get(8)?),
        roots: count(r.get(9)?),
        comments: count(r.get(10)?),
        pinned: vec![],
    };
    Ok(ListedSubject { number: r.get(0)?, row })
}
