//! What `export` and `import` read.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, SubjectKey};
use rusqlite::{Connection, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::{fetch_all, first_id, json_ids, subject_number};
use crate::adapters::sqlite::rows::{COLUMN_COUNT, COMMENT_COLUMNS, COMMENT_JOINS, comment_id, comment_row, damaged};
use crate::domain::row::{ExportCursor, ExportedComment};
use crate::ports::store::{Result, Transfer};

#[async_trait]
impl Transfer for SqliteStore {
    async fn export_comments(
        &self,
        subject: Option<&SubjectKey>,
        after: Option<&ExportCursor>,
        count: usize,
    ) -> Result<Vec<ExportedComment>> {
        let (subject, after) = (subject.cloned(), after.cloned());
        self.read("export_comments", move |c| export_comments(c, subject.as_ref(), after.as_ref(), count)).await
    }

    async fn find_sources(&self, subject: &SubjectKey, ids: &[String]) -> Result<HashMap<String, CommentId>> {
        let (subject, ids) = (subject.clone(), ids.to_vec());
        self.read("find_sources", move |c| find_sources(c, &subject, &ids)).await
    }
}

fn export_comments(
    c: &Connection,
    key: Option<&SubjectKey>,
    after: Option<&ExportCursor>,
    count: usize,
) -> Result<Vec<ExportedComment>> {
    let only = match key.map(|key| subject_number(c, key)).transpose()? {
        Some(None) => return Ok(vec![]),
        Some(found) => found,
        None => None,
    };
    let (subject, path) = after.map_or((0, &[][..]), |cursor| (cursor.subject, cursor.path.as_slice()));
    let source = |of: &str| format!("(SELECT i.source FROM import_source i WHERE i.comment_id = {of} LIMIT 1)");
    let sql = format!(
        "SELECT {COMMENT_COLUMNS}, c.subject, {}, {}, {} FROM comment c {COMMENT_JOINS} \
         WHERE (?1 IS NULL OR c.subject = ?1) AND c.floor IS NOT NULL AND (c.subject, c.path) > (?2, ?3) \
         ORDER BY c.subject, c.path LIMIT ?4",
        source("c.id"),
        source("c.parent_id"),
        source("c.root_id"),
    );
    fetch_all(c, &sql, params![only, subject, path, count as i64], |r| {
        let row = comment_row(r)?;
        Ok(ExportedComment {
            cursor: ExportCursor { subject: r.get(COLUMN_COUNT)?, path: row.path.as_bytes().to_vec() },
            source: r.get(COLUMN_COUNT + 1)?,
            parent_source: r.get(COLUMN_COUNT + 2)?,
            root_source: r.get(COLUMN_COUNT + 3)?,
            row,
        })
    })
}

fn find_sources(c: &Connection, key: &SubjectKey, ids: &[String]) -> Result<HashMap<String, CommentId>> {
    let Some(subject) = subject_number(c, key)? else { return Ok(HashMap::new()) };
    let sources = serde_json::to_string(ids).map_err(damaged)?;
    // CROSS JOIN keeps the order: by the names to the rows, and not through all rows of the subject.
    let imported = "SELECT i.source, i.comment_id FROM json_each(?1) j \
                    CROSS JOIN import_source i ON i.subject = ?2 AND i.source = j.value";
    let imported =
        fetch_all(c, imported, params![sources, subject], |r| Ok((r.get::<_, String>(0)?, comment_id(r.get(1)?)?)))?;
    let mut found: HashMap<String, CommentId> = imported.into_iter().collect();
    let numbers: Vec<CommentId> =
        ids.iter().filter(|id| !found.contains_key(*id)).filter_map(|id| id.parse().ok()).collect();
    let native = "SELECT c.id FROM json_each(?1) j CROSS JOIN comment c ON c.id = j.value AND c.subject = ?2";
    let native = fetch_all(c, native, params![json_ids(&numbers), subject], first_id)?;
    found.extend(native.into_iter().map(|id| (id.to_string(), id)));
    Ok(found)
}
