//! The queries. Each is one statement; lists of ids go in as one JSON array.

use std::collections::{HashMap, HashSet};

use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::Path;
use gailou_shared::rank::{
    EngagementCounts, Sort, {self},
};
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::Reaction;
use gailou_shared::word_filter::Term;
use rusqlite::{Connection, OptionalExtension, Row as Columns, params};

use crate::adapters::sqlite::rows;
use crate::adapters::sqlite::rows::{COLUMNS, JOINS, comment_id, count, damaged, member_id};
use crate::domain::operation::ChangeRow;
use crate::domain::row::{
    CommentList, CommentRow, ExportCursor, ExportedComment, RememberedRequest, StoredDictionary, SubjectRow,
    WeightsByType,
};
use crate::ports::store::Result;

fn json(numbers: impl Iterator<Item = i64>) -> String {
    let mut text = String::from("[");
    for (i, n) in numbers.enumerate() {
        if i > 0 {
            text.push(',');
        }
        text.push_str(&n.to_string());
    }
    text.push(']');
    text
}

fn ids_json(ids: &[CommentId]) -> String {
    json(ids.iter().map(|id| id.signed()))
}

/// All rows of a statement through `f`.
fn collect<T>(
    c: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
    f: impl Fn(&Columns<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut statement = c.prepare_cached(sql)?;
    let mut found = statement.query(params)?;
    let mut all = Vec::new();
    while let Some(row) = found.next()? {
        all.push(f(row)?);
    }
    Ok(all)
}

fn id_at(index: usize) -> impl Fn(&Columns<'_>) -> Result<CommentId> {
    move |r| Ok(comment_id(r.get(index)?)?)
}

/// The number and key of a subject's row. Another key under the same hash is not this subject.
fn subject_number(c: &Connection, key: &SubjectKey) -> Result<Option<i64>> {
    Ok(c.prepare_cached("SELECT id FROM subject WHERE type = ?1 AND obj_id = ?2 AND key = ?3")?
        .query_row(params![key.kind(), key.obj_id() as i64, key.key()], |r| r.get(0))
        .optional()?)
}

pub(super) fn subject(c: &Connection, key: &SubjectKey) -> Result<Option<SubjectRow>> {
    let mut statement = c.prepare_cached(
        "SELECT id, title, url, owner_id, state, version, roots, comments, mode FROM subject WHERE type = ?1 AND obj_id = ?2 AND key = ?3",
    )?;
    let mut found = statement.query(params![key.kind(), key.obj_id() as i64, key.key()])?;
    let Some(r) = found.next()? else { return Ok(None) };
    let pinned = collect(
        c,
        "SELECT id FROM comment WHERE subject = ?1 AND pinned_at IS NOT NULL AND state = 0 AND visibility = 0 \
         ORDER BY pinned_at DESC, id DESC LIMIT ?2",
        params![r.get::<_, i64>(0)?, limits::MAX_PINS as i64],
        id_at(0),
    )?;
    Ok(Some(SubjectRow {
        key: key.clone(),
        title: r.get(1)?,
        url: r.get(2)?,
        owner_id: r.get::<_, Option<i64>>(3)?.map(member_id).transpose()?,
        state: rows::subject_state(r.get(4)?)?,
        mode: r.get::<_, Option<i64>>(8)?.map(rows::mode).transpose()?,
        version: count(r.get(5)?),
        roots: count(r.get(6)?),
        comments: count(r.get(7)?),
        pinned,
    }))
}

pub(super) fn comments(c: &Connection, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
    let sql = format!("SELECT {COLUMNS} FROM json_each(?1) j JOIN comment c ON c.id = j.value {JOINS}");
    let found = collect(c, &sql, [ids_json(ids)], rows::row)?;
    Ok(found.into_iter().map(|row| (row.id(), row)).collect())
}

pub(super) fn floors(
    c: &Connection,
    list: &CommentList,
    ascending: bool,
    beyond: Option<u64>,
    count: usize,
) -> Result<Vec<(u64, CommentId)>> {
    let (compare, order) = if ascending { (">", "ASC") } else { ("<", "DESC") };
    let start = if ascending { 0 } else { i64::MAX };
    let beyond = beyond.map_or(start, |b| i64::try_from(b).unwrap_or(i64::MAX));
    let read = |r: &Columns<'_>| Ok((rows::count(r.get(0)?), comment_id(r.get(1)?)?));
    match list {
        CommentList::Roots(key) => {
            let Some(subject) = subject_number(c, key)? else { return Ok(vec![]) };
            let sql = format!(
                "SELECT floor, id FROM comment INDEXED BY comment_root_floor \
                 WHERE subject = ?1 AND depth = 1 AND listed = 1 AND floor {compare} ?2 ORDER BY floor {order} LIMIT ?3"
            );
            collect(c, &sql, params![subject, beyond, count as i64], read)
        }
        CommentList::Under(top) => {
            let below = if top.depth() == 1 { "" } else { "AND path > ?4 AND path < ?5" };
            let sql = format!(
                "SELECT floor, id FROM comment INDEXED BY comment_reply_floor \
                 WHERE root_id = ?1 AND depth > 1 AND listed = 1 AND floor {compare} ?2 {below} ORDER BY floor {order} LIMIT ?3"
            );
            let root = top.root_id().signed();
            if top.depth() == 1 {
                collect(c, &sql, params![root, beyond, count as i64], read)
            } else {
                collect(c, &sql, params![root, beyond, count as i64, top.as_bytes(), top.subtree_end()], read)
            }
        }
    }
}

/// Every root with engagement and the newest without: together they hold the best of the list,
/// since what has no engagement is ordered by age.
pub(super) fn ranked(
    c: &Connection,
    list: &CommentList,
    sort: Sort,
    weights: &WeightsByType,
) -> Result<Vec<(i64, CommentId)>> {
    let most = limits::MAX_SNAPSHOT_IDS as i64;
    match list {
        CommentList::Roots(key) => {
            let Some(subject) = subject_number(c, key)? else { return Ok(vec![]) };
            let weights = weights.get(key.kind()).copied().unwrap_or_default();
            let keyed = |r: &Columns<'_>| {
                let counts =
                    EngagementCounts { likes: count(r.get(1)?), dislikes: count(r.get(2)?), replies: count(r.get(3)?) };
                Ok((rank::sort_key(sort, counts, count(r.get(4)?), &weights), comment_id(r.get(0)?)?))
            };
            let mut all = collect(
                c,
                "SELECT id, likes, dislikes, replies, created_at FROM root_rank WHERE subject = ?1",
                [subject],
                keyed,
            )?;
            let engaged: HashSet<CommentId> = all.iter().map(|(_, id)| *id).collect();
            let newest = collect(
                c,
                "SELECT id, 0, 0, 0, created_at FROM comment INDEXED BY comment_root_floor \
                 WHERE subject = ?1 AND depth = 1 AND listed = 1 ORDER BY floor DESC LIMIT ?2",
                params![subject, most],
                keyed,
            )?;
            all.extend(newest.into_iter().filter(|(_, id)| !engaged.contains(id)));
            Ok(all)
        }
        CommentList::Under(top) if top.depth() == 1 => collect(
            c,
            "SELECT hot, id FROM reply_rank WHERE root_id = ?1 ORDER BY hot DESC, id DESC LIMIT ?2",
            [top.id().signed(), most],
            |r| Ok((r.get(0)?, comment_id(r.get(1)?)?)),
        ),
        CommentList::Under(top) => collect(
            c,
            "SELECT r.hot, r.id FROM reply_rank r JOIN comment c ON c.id = r.id \
             WHERE r.root_id = ?1 AND c.path > ?2 AND c.path < ?3 ORDER BY r.hot DESC, r.id DESC LIMIT ?4",
            params![top.root_id().signed(), top.as_bytes(), top.subtree_end(), most],
            |r| Ok((r.get(0)?, comment_id(r.get(1)?)?)),
        ),
    }
}

pub(super) fn top_replies(
    c: &Connection,
    roots: &[CommentId],
    each: usize,
) -> Result<HashMap<CommentId, Vec<CommentId>>> {
    // The subquery is correlated, so each root costs one seek of three entries.
    let found = collect(
        c,
        "SELECT j.value, r.id FROM json_each(?1) j JOIN reply_rank r ON r.root_id = j.value \
         AND r.id IN (SELECT t.id FROM reply_rank t WHERE t.root_id = j.value ORDER BY t.hot DESC, t.id DESC LIMIT ?2) \
         AND r.hot >= (SELECT min(hot) FROM (SELECT t.hot FROM reply_rank t WHERE t.root_id = j.value ORDER BY t.hot DESC, t.id DESC LIMIT ?2)) \
         ORDER BY r.hot DESC, r.id DESC",
        params![ids_json(roots), each as i64],
        |r| Ok((comment_id(r.get(0)?)?, comment_id(r.get(1)?)?)),
    )?;
    let mut by_root: HashMap<CommentId, Vec<CommentId>> = HashMap::new();
    for (root, reply) in found {
        by_root.entry(root).or_default().push(reply);
    }
    Ok(by_root)
}

pub(super) fn subtree(
    c: &Connection,
    top: &Path,
    after: Option<&[u8]>,
    max_depth: usize,
    count: usize,
) -> Result<Vec<CommentRow>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM comment c INDEXED BY comment_path {JOINS} \
         WHERE c.subject = (SELECT subject FROM comment WHERE id = ?1) AND c.path > ?2 AND c.path < ?3 AND c.listed = 1 AND c.depth <= ?4 \
         ORDER BY c.path LIMIT ?5"
    );
    let after = after.unwrap_or(top.as_bytes());
    collect(
        c,
        &sql,
        params![top.root_id().signed(), after, top.subtree_end(), max_depth as i64, count as i64],
        rows::row,
    )
}

pub(super) fn siblings(c: &Connection, path: &Path, count: usize) -> Result<Vec<CommentId>> {
    let Some(parent) = path.parent_id() else { return Ok(vec![]) };
    let above = path.truncated(path.depth() - 1);
    collect(
        c,
        "SELECT id FROM comment INDEXED BY comment_path WHERE subject = (SELECT subject FROM comment WHERE id = ?1) \
         AND path > ?2 AND path < ?3 AND parent_id = ?4 AND listed = 1 AND id <> ?5 ORDER BY path DESC LIMIT ?6",
        params![
            path.root_id().signed(),
            above.as_bytes(),
            above.subtree_end(),
            parent.signed(),
            path.id().signed(),
            count as i64
        ],
        id_at(0),
    )
}

pub(super) fn snapshot(c: &Connection, id: SnapshotId) -> Result<Option<Snapshot>> {
    let bytes: Option<Vec<u8>> =
        c.prepare_cached("SELECT ids FROM snapshot WHERE id = ?1")?.query_row([id], |r| r.get(0)).optional()?;
    bytes.map(|b| Snapshot::from_bytes(&b).ok_or_else(|| damaged("snapshot"))).transpose()
}

pub(super) fn history(
    c: &Connection,
    member: MemberId,
    below: Option<CommentId>,
    count: usize,
) -> Result<Vec<CommentId>> {
    collect(
        c,
        "SELECT id FROM comment INDEXED BY comment_author WHERE author_id = ?1 AND id < ?2 AND state = 0 AND visibility = 0 \
         ORDER BY id DESC LIMIT ?3",
        params![member.signed(), below.map_or(i64::MAX, CommentId::signed), count as i64],
        id_at(0),
    )
}

pub(super) fn pending(c: &Connection, member: MemberId, count: usize) -> Result<Vec<CommentId>> {
    collect(
        c,
        "SELECT id FROM comment WHERE author_id = ?1 AND (state = 1 OR (state = 0 AND visibility = 1)) ORDER BY id DESC LIMIT ?2",
        params![member.signed(), count as i64],
        id_at(0),
    )
}

pub(super) fn reactions(c: &Connection, member: MemberId, ids: &[CommentId]) -> Result<HashMap<CommentId, Reaction>> {
    let found = collect(
        c,
        "SELECT r.comment_id, r.reaction FROM json_each(?1) j JOIN reaction r ON r.comment_id = j.value AND r.member_id = ?2",
        params![ids_json(ids), member.signed()],
        |r| Ok((comment_id(r.get(0)?)?, rows::reaction(r.get(1)?)?)),
    )?;
    Ok(found.into_iter().collect())
}

pub(super) fn remembered(c: &Connection, member: MemberId, key: &str, since: u64) -> Result<Option<RememberedRequest>> {
    let mut statement = c.prepare_cached(
        "SELECT request, comment_id, state FROM idempotency WHERE member_id = ?1 AND key = ?2 AND created_at > ?3",
    )?;
    let mut found = statement.query(params![member.signed(), key, since])?;
    let Some(r) = found.next()? else { return Ok(None) };
    Ok(Some(RememberedRequest { request: r.get(0)?, id: comment_id(r.get(1)?)?, state: rows::state(r.get(2)?)? }))
}

pub(super) fn first_text(c: &Connection, id: CommentId) -> Result<Option<String>> {
    let sql = "SELECT content FROM content_history WHERE comment_id = ?1 ORDER BY edited_at LIMIT 1";
    Ok(c.prepare_cached(sql)?.query_row([id.signed()], |r| r.get(0)).optional()?)
}

pub(super) fn names(c: &Connection, members: &[MemberId]) -> Result<HashMap<MemberId, String>> {
    let found = collect(
        c,
        "SELECT m.id, m.name FROM json_each(?1) j JOIN member m ON m.id = j.value",
        [json(members.iter().map(|m| m.signed()))],
        |r| Ok((member_id(r.get(0)?)?, r.get(1)?)),
    )?;
    Ok(found.into_iter().collect())
}

pub(super) fn feed(c: &Connection, after: u64, most: usize) -> Result<Vec<ChangeRow>> {
    collect(
        c,
        "SELECT f.seq, f.at, s.type, s.key, f.version, f.comment_id FROM feed f JOIN subject s ON s.id = f.subject \
         WHERE f.seq > ?1 ORDER BY f.seq LIMIT ?2",
        params![after, most as i64],
        |r| {
            let (kind, key): (String, String) = (r.get(2)?, r.get(3)?);
            Ok(ChangeRow {
                seq: count(r.get(0)?),
                at: count(r.get(1)?),
                subject: SubjectKey::new(&kind, &key).map_err(damaged)?,
                version: count(r.get(4)?),
                id: comment_id(r.get(5)?)?,
            })
        },
    )
}

pub(super) fn words_version(c: &Connection) -> Result<u64> {
    let version: Option<i64> =
        c.query_row("SELECT value FROM setting WHERE name = 'words_version'", [], |r| r.get(0)).optional()?;
    Ok(version.map_or(0, count))
}

pub(super) fn words(c: &Connection) -> Result<StoredDictionary> {
    let version = words_version(c)?;
    let terms = collect(c, "SELECT term, category, action FROM word ORDER BY term", [], |r| {
        let action = serde_json::from_value(serde_json::Value::String(r.get(2)?)).map_err(damaged)?;
        Ok(Term { term: r.get(0)?, category: r.get(1)?, action })
    })?;
    Ok(StoredDictionary { version, terms })
}

pub(super) fn sources(c: &Connection, key: &SubjectKey, ids: &[String]) -> Result<HashMap<String, CommentId>> {
    let Some(subject) = subject_number(c, key)? else { return Ok(HashMap::new()) };
    let list = serde_json::to_string(ids).map_err(damaged)?;
    let imported = collect(
        c,
        "SELECT i.source, i.comment_id FROM json_each(?1) j JOIN import_source i ON i.subject = ?2 AND i.source = j.value",
        params![list, subject],
        |r| Ok((r.get::<_, String>(0)?, comment_id(r.get(1)?)?)),
    )?;
    let mut found: HashMap<String, CommentId> = imported.into_iter().collect();
    let numbers: Vec<CommentId> =
        ids.iter().filter(|id| !found.contains_key(*id)).filter_map(|id| id.parse().ok()).collect();
    let native = collect(
        c,
        "SELECT c.id FROM json_each(?1) j JOIN comment c ON c.id = j.value AND c.subject = ?2",
        params![ids_json(&numbers), subject],
        id_at(0),
    )?;
    found.extend(native.into_iter().map(|id| (id.to_string(), id)));
    Ok(found)
}

pub(super) fn export(
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
        "SELECT {COLUMNS}, c.subject, {}, {}, {} FROM comment c {JOINS} \
         WHERE (?1 IS NULL OR c.subject = ?1) AND c.floor IS NOT NULL AND (c.subject, c.path) > (?2, ?3) ORDER BY c.subject, c.path LIMIT ?4",
        source("c.id"),
        source("c.parent_id"),
        source("c.root_id"),
    );
    collect(c, &sql, params![only, subject, path, count as i64], |r| {
        let row = rows::row(r)?;
        Ok(ExportedComment {
            cursor: ExportCursor { subject: r.get(25)?, path: row.path.as_bytes().to_vec() },
            source: r.get(26)?,
            parent_source: r.get(27)?,
            root_source: r.get(28)?,
            row,
        })
    })
}
