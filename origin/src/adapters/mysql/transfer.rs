//! What `export` and `import` read.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, SLOT_COUNT, Slot, SubjectKey};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::routing::IDS_TABLE;
use crate::adapters::mysql::row_numbers::{first_subject, last_subject, subject_number, subject_slot};
use crate::adapters::mysql::rows::{COLUMN_COUNT, COMMENT_COLUMNS, COMMENT_JOINS, comment_row, damaged, id_at};
use crate::adapters::mysql::statement::{SqlValue, sql};
use crate::domain::row::{ExportCursor, ExportedComment};
use crate::ports::store::{CommentReader as _, Result, Transfer};

/// Sources in one statement.
const SOURCES_PER_STATEMENT: usize = 500;

#[async_trait]
impl Transfer for MysqlStore {
    /// Subjects come in the order of their numbers, which is the order of their slots. It does not
    /// depend on which database has them.
    async fn export_comments(
        &self,
        subject: Option<&SubjectKey>,
        after: Option<&ExportCursor>,
        count: usize,
    ) -> Result<Vec<ExportedComment>> {
        let mut after = after.cloned().unwrap_or(ExportCursor { subject: i64::MIN, path: vec![] });
        let slots = match subject {
            Some(key) => key.slot().get()..=key.slot().get(),
            None => subject_slot(after.subject).get()..=SLOT_COUNT - 1,
        };
        if let Some(key) = subject
            && !self.has_subject(key).await?
        {
            return Ok(vec![]);
        }
        let mut all = Vec::new();
        for slot in slots.filter_map(Slot::new) {
            let (first, last) = match subject {
                Some(key) => (subject_number(key), subject_number(key)),
                None => (first_subject(slot), last_subject(slot)),
            };
            // The rest of the subject, then the others: each is one range of the index.
            if after.subject >= first {
                let rest = "c.subject = ? AND c.path > ?";
                let next = ExportCursor { subject: after.subject + 1, path: vec![] };
                let ExportCursor { subject, path } = std::mem::replace(&mut after, next);
                all.extend(self.export_range(slot, rest, [subject.into(), path.into()], count).await?);
            }
            if all.len() < count && after.subject.max(first) <= last {
                let range = [after.subject.max(first).into(), last.into()];
                all.extend(self.export_range(slot, "c.subject BETWEEN ? AND ?", range, count - all.len()).await?);
            }
            if all.len() >= count {
                break;
            }
        }
        Ok(all)
    }

    async fn find_sources(&self, subject: &SubjectKey, ids: &[String]) -> Result<HashMap<String, CommentId>> {
        let (slot, number) = (subject.slot(), subject_number(subject));
        if !self.has_subject(subject).await? {
            return Ok(HashMap::new());
        }
        let mut found = HashMap::new();
        for chunk in ids.chunks(SOURCES_PER_STATEMENT) {
            let text = self.part(slot).text(&format!(
                "SELECT source, comment_id FROM import_source_{{n}} WHERE subject = ? AND source IN ({})",
                vec!["?"; chunk.len()].join(", ")
            ));
            let statement = chunk.iter().fold(sql(text).bind(number), |statement, id| statement.bind(id.as_bytes()));
            for r in self.rows_of("find_sources", slot, statement).await? {
                found.insert(String::from_utf8(r.try_get(0)?).map_err(damaged)?, id_at(&r, 1)?);
            }
        }
        let native = ids.iter().filter(|id| !found.contains_key(*id)).filter_map(|id| id.parse::<CommentId>().ok());
        let native = native.filter(|id| id.slot() == slot).map(|id| (slot, id.signed()));
        let text = format!(
            "SELECT c.id FROM {IDS_TABLE} STRAIGHT_JOIN comment_{{n}} c FORCE INDEX (PRIMARY) ON c.id = j.id \
             WHERE c.subject = ?"
        );
        for r in self.rows_by_id("find_sources", native, &text, |s| s.bind(number)).await? {
            let id = id_at(&r, 0)?;
            found.insert(id.to_string(), id);
        }
        Ok(found)
    }
}

impl MysqlStore {
    async fn has_subject(&self, key: &SubjectKey) -> Result<bool> {
        Ok(self.read_subjects(std::slice::from_ref(key)).await?.iter().any(Option::is_some))
    }

    async fn export_range(
        &self,
        slot: Slot,
        condition: &str,
        range: [SqlValue; 2],
        count: usize,
    ) -> Result<Vec<ExportedComment>> {
        let source =
            |of: &str| format!("(SELECT i.source FROM import_source_{{n}} i WHERE i.comment_id = {of} LIMIT 1)");
        let text = format!(
            "SELECT {COMMENT_COLUMNS}, c.subject, {}, {}, {} FROM comment_{{n}} c FORCE INDEX (comment_path) {COMMENT_JOINS} \
             WHERE {condition} AND c.floor IS NOT NULL ORDER BY c.subject, c.path LIMIT ?",
            source("c.id"),
            source("c.parent_id"),
            source("c.root_id"),
        );
        let [from, to] = range;
        let statement = self.part(slot).sql(&text).bind(from).bind(to).bind(count as i64);
        let source = |r: &MySqlRow, index: usize| -> Result<Option<String>> {
            let bytes: Option<Vec<u8>> = r.try_get(index)?;
            bytes.map(|bytes| String::from_utf8(bytes).map_err(damaged)).transpose()
        };
        let found = self.rows_of("export_comments", slot, statement).await?;
        let exported = found.iter().map(|r| {
            let row = comment_row(r)?;
            Ok(ExportedComment {
                cursor: ExportCursor { subject: r.try_get(COLUMN_COUNT)?, path: row.path.as_bytes().to_vec() },
                source: source(r, COLUMN_COUNT + 1)?,
                parent_source: source(r, COLUMN_COUNT + 2)?,
                root_source: source(r, COLUMN_COUNT + 3)?,
                row,
            })
        });
        exported.collect()
    }
}
