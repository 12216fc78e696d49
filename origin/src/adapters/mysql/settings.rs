//! The queries over everything there is, and the single values of the first database.

use std::collections::HashMap;

use futures_util::future::try_join_all;
use gailou_shared::id::{CommentId, SLOT_COUNT, Slot, SubjectKey};
use gailou_shared::word_filter::Term;
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::pool::{Value, sql};
use crate::adapters::mysql::reshard::states;
use crate::adapters::mysql::rows::{COLUMNS, JOINS, WIDTH, comment_id, count_at, damaged, id_at};
use crate::adapters::mysql::{MysqlStore, first_subject, rows, subject_slot};
use crate::domain::operation::ChangeRow;
use crate::domain::row::{ExportCursor, ExportedComment, StoredDictionary};
use crate::ports::store::Result;

/// Values of one statement.
const VALUES: usize = 500;

/// Every kind of numbered table.
pub(super) const TABLES: [&str; 13] = [
    "subject",
    "comment",
    "content",
    "content_history",
    "alias",
    "root_rank",
    "reply_rank",
    "snapshot",
    "reaction",
    "idempotency",
    "import_source",
    "member_comment",
    "member",
];

impl MysqlStore {
    pub(super) async fn read_words(&self) -> Result<StoredDictionary> {
        let version = self.read_words_version().await?;
        let text = "SELECT term, category, action FROM word ORDER BY term";
        let mut terms = Vec::new();
        for r in self.first().session().await?.all(sql(text)).await? {
            let action = serde_json::from_value(serde_json::Value::String(r.try_get(2)?)).map_err(damaged)?;
            let term = String::from_utf8(r.try_get(0)?).map_err(damaged)?;
            terms.push(Term { term, category: r.try_get(1)?, action });
        }
        Ok(StoredDictionary { version, terms })
    }

    pub(super) async fn read_words_version(&self) -> Result<u64> {
        let text = "SELECT CAST(value AS SIGNED) FROM setting WHERE name = 'words_version'";
        let found = self.first().session().await?.first(sql(text)).await?;
        Ok(found.map(|r| count_at(&r, 0)).transpose()?.unwrap_or(0))
    }

    pub(super) async fn read_secret(&self, name: &'static str, fresh: [u8; 32]) -> Result<Vec<u8>> {
        let mut session = self.first().session().await?;
        let put = "INSERT IGNORE INTO setting (name, value) VALUES (?, ?)";
        session.run(sql(put).bind(name).bind(fresh.to_vec())).await?;
        let found = session.first(sql("SELECT value FROM setting WHERE name = ?").bind(name)).await?;
        Ok(found.ok_or_else(|| damaged("a secret that was just stored is gone"))?.try_get(0)?)
    }

    pub(super) async fn read_feed(&self, shard: usize, after: u64, count: usize) -> Result<Vec<ChangeRow>> {
        let Some(pool) = self.pools.get(shard) else { return Ok(vec![]) };
        let text = "SELECT type, `key`, seq, at, version, comment_id FROM feed WHERE seq > ? ORDER BY seq LIMIT ?";
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let found = pool.session().await?.all(sql(text).bind(after).bind(count as i64)).await?;
        found
            .iter()
            .map(|r| {
                Ok(ChangeRow {
                    seq: count_at(r, 2)?,
                    at: count_at(r, 3)?,
                    subject: rows::subject_at(r, 0)?,
                    version: count_at(r, 4)?,
                    id: id_at(r, 5)?,
                })
            })
            .collect()
    }

    pub(super) async fn read_last_id(&self) -> Result<Option<CommentId>> {
        let tables: Vec<String> = (0..self.tables).map(|n| format!("SELECT MAX(id) AS id FROM comment_{n}")).collect();
        let text = format!("SELECT MAX(x.id) FROM ({}) x", tables.join(" UNION ALL "));
        let found = try_join_all(self.pools.iter().map(|pool| {
            let statement = sql(text.clone());
            async move { pool.session().await?.first(statement).await }
        }));
        let mut last = None;
        for r in found.await?.iter().flatten() {
            last = last.max(r.try_get::<Option<i64>, _>(0)?.map(comment_id).transpose()?);
        }
        Ok(last)
    }

    pub(super) async fn read_sources(
        &self,
        subject: &SubjectKey,
        ids: &[String],
    ) -> Result<HashMap<String, CommentId>> {
        let (slot, number) = (subject.slot(), Self::subject_id(subject));
        if self.read_subjects(std::slice::from_ref(subject)).await?.iter().all(Option::is_none) {
            return Ok(HashMap::new());
        }
        let mut found = HashMap::new();
        for chunk in ids.chunks(VALUES) {
            let text = self.part(slot).text(&format!(
                "SELECT source, comment_id FROM import_source_{{n}} WHERE subject = ? AND source IN ({})",
                vec!["?"; chunk.len()].join(", ")
            ));
            let statement =
                chunk.iter().fold(sql(text).bind(number), |statement, id| statement.bind(id.as_bytes().to_vec()));
            for r in self.rows_of(slot, statement).await? {
                found.insert(String::from_utf8(r.try_get(0)?).map_err(damaged)?, id_at(&r, 1)?);
            }
        }
        let rest = ids.iter().filter(|id| !found.contains_key(*id)).filter_map(|id| id.parse::<CommentId>().ok());
        let rest = rest.filter(|id| id.slot() == slot).map(|id| (slot, id.signed()));
        let text = format!(
            "SELECT c.id FROM {} STRAIGHT_JOIN comment_{{n}} c FORCE INDEX (PRIMARY) ON c.id = j.id WHERE c.subject = ?",
            crate::adapters::mysql::read::IDS
        );
        let native = self.rows_by_id(rest, &text, |s| s.bind(number)).await?;
        for r in &native {
            let id = id_at(r, 0)?;
            found.insert(id.to_string(), id);
        }
        Ok(found)
    }

    /// Subjects in the order of their numbers, which is the order of their slots: it does not depend
    /// on which database holds them.
    pub(super) async fn read_export(
        &self,
        subject: Option<&SubjectKey>,
        after: Option<&ExportCursor>,
        count: usize,
    ) -> Result<Vec<ExportedComment>> {
        let mut after = after.map_or((i64::MIN, vec![]), |cursor| (cursor.subject, cursor.path.clone()));
        let slots = match subject {
            Some(key) => key.slot().get()..=key.slot().get(),
            None => subject_slot(after.0).get()..=SLOT_COUNT - 1,
        };
        let known = match subject {
            Some(key) => self.read_subjects(std::slice::from_ref(key)).await?.iter().any(Option::is_some),
            None => true,
        };
        let mut all = Vec::new();
        for slot in slots.filter_map(Slot::new).filter(|_| known) {
            let (first, last) = match subject {
                Some(key) => (Self::subject_id(key), Self::subject_id(key)),
                None => (first_subject(slot), last_subject(slot)),
            };
            // The rest of the subject, then the others: each is one range of the index.
            if after.0 >= first {
                let rest = "c.subject = ? AND c.path > ?";
                all.extend(self.exported(slot, rest, [after.0.into(), after.1.clone().into()], count).await?);
                after = (after.0 + 1, vec![]);
            }
            if all.len() < count && after.0.max(first) <= last {
                let range = [after.0.max(first).into(), last.into()];
                all.extend(self.exported(slot, "c.subject BETWEEN ? AND ?", range, count - all.len()).await?);
            }
            if all.len() >= count {
                break;
            }
        }
        Ok(all)
    }

    async fn exported(&self, slot: Slot, which: &str, range: [Value; 2], count: usize) -> Result<Vec<ExportedComment>> {
        let source =
            |of: &str| format!("(SELECT i.source FROM import_source_{{n}} i WHERE i.comment_id = {of} LIMIT 1)");
        let text = format!(
            "SELECT {COLUMNS}, c.subject, {}, {}, {} FROM comment_{{n}} c FORCE INDEX (comment_path) {JOINS} \
             WHERE {which} AND c.floor IS NOT NULL ORDER BY c.subject, c.path LIMIT ?",
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
        let found = self.rows_of(slot, statement).await?;
        let exported = found.iter().map(|r| {
            let row = rows::row(r)?;
            Ok(ExportedComment {
                cursor: ExportCursor { subject: r.try_get(WIDTH)?, path: row.path.as_bytes().to_vec() },
                source: source(r, WIDTH + 1)?,
                parent_source: source(r, WIDTH + 2)?,
                root_source: source(r, WIDTH + 3)?,
                row,
            })
        });
        exported.collect()
    }

    pub(super) async fn read_check(&self) -> Result<Vec<String>> {
        let map = self.map.get();
        let mut wrong = Vec::new();
        for (shard, pool) in self.pools.iter().enumerate() {
            let mut session = pool.session().await?;
            for (slot, state) in states(&mut session).await? {
                let mapped = u16::try_from(slot).ok().and_then(Slot::new).map(|slot| map.shard(slot) == shard);
                match (mapped, state) {
                    (Some(true), 1 | 4) | (Some(false), 0 | 3) => {}
                    (mapped, state) => wrong.push(format!(
                        "{}: slot {slot} is in state {state}, the map says that it is {} (`gailou shard move` repairs it)",
                        pool.place(),
                        if mapped == Some(true) { "here" } else { "elsewhere" },
                    )),
                }
            }
            session.patient().await?;
            for n in 0..self.tables {
                let tables: Vec<String> = TABLES.iter().map(|table| format!("{table}_{n}")).collect();
                for r in session.raw_all(&format!("CHECK TABLE {}", tables.join(", "))).await? {
                    let (table, kind, text): (String, String, String) = (r.try_get(0)?, r.try_get(2)?, r.try_get(3)?);
                    if !(kind == "note" || kind == "status" && text == "OK") {
                        wrong.push(format!("{}: {table}: {text}", pool.place()));
                    }
                }
            }
        }
        Ok(wrong)
    }
}

/// The largest number a subject of this slot can have.
pub(super) fn last_subject(slot: Slot) -> i64 {
    match slot.get().checked_add(1).and_then(Slot::new) {
        Some(next) => first_subject(next) - 1,
        None => -1,
    }
}
