//! What a fold wants, read after the slots were locked: one statement a kind, whatever the tables.

use std::collections::BTreeMap;

use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::rank::EngagementCounts;
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::pool::{Session, hex};
use crate::adapters::mysql::rows::{count_at, damaged, id_at, member_id, subject_at};
use crate::adapters::mysql::write::batch_sql::{by_table, numbers, table_of};
use crate::adapters::mysql::{MysqlStore, rows, subject_slot};
use crate::domain::fold::{FoldedRow, Loaded, StoredComment, StoredKey, StoredSubject, Wanted};
use crate::ports::store::Result;

/// Reads one kind: `statement` has `{rows}` for the table of what is asked for and `{n}` for the
/// tables' number.
async fn read(
    db: &MysqlStore,
    session: &mut Session,
    columns: &[&str],
    asked: impl Iterator<Item = (Slot, String)>,
    statement: &str,
) -> Result<Vec<MySqlRow>> {
    let tables = by_table(db, asked);
    let parts: Vec<String> = tables
        .into_iter()
        .map(|(table, rows)| {
            let text = statement.replace("{n}", &table.to_string());
            text.replace("{rows}", &table_of(&rows.join(","), columns))
        })
        .collect();
    if parts.is_empty() { Ok(vec![]) } else { session.raw_all(&parts.join(" UNION ALL ")).await }
}

fn ids(ids: &[CommentId]) -> impl Iterator<Item = (Slot, String)> {
    ids.iter().map(|id| (id.slot(), numbers(&[Some(id.signed())])))
}

pub(super) async fn load<'b>(
    db: &MysqlStore,
    session: &mut Session,
    wanted: &Wanted<'b>,
    loaded: &mut Loaded<'b>,
) -> Result<()> {
    subjects(db, session, wanted, loaded).await?;
    comments(db, session, wanted, loaded).await?;
    reactions(db, session, wanted, loaded).await?;
    keys(db, session, wanted, loaded).await
}

async fn subjects(db: &MysqlStore, session: &mut Session, wanted: &Wanted<'_>, loaded: &mut Loaded<'_>) -> Result<()> {
    let mut by_number = BTreeMap::new();
    for key in &wanted.subjects {
        if let Some(other) = by_number.insert(MysqlStore::subject_id(key), *key) {
            return Err(damaged(format_args!("the subjects {key} and {other} have one hash")));
        }
    }
    let asked = by_number.keys().chain(&wanted.numbers);
    let asked = asked.map(|number| (subject_slot(*number), numbers(&[Some(*number)])));
    let statement = "SELECT s.id, s.type, s.`key`, s.version, s.floors, s.roots, s.comments \
                     FROM {rows} STRAIGHT_JOIN subject_{n} s ON s.id = j.id";
    for r in read(db, session, &["id BIGINT"], asked, statement).await? {
        let found = StoredSubject {
            number: r.try_get(0)?,
            key: subject_at(&r, 1)?,
            version: count_at(&r, 3)?,
            floors: count_at(&r, 4)?,
            roots: count_at(&r, 5)?,
            comments: count_at(&r, 6)?,
        };
        match by_number.get(&found.number) {
            Some(key) => loaded.found_subject(key, found)?,
            None => loaded.found_number(found),
        }
    }
    Ok(())
}

async fn comments(db: &MysqlStore, session: &mut Session, wanted: &Wanted<'_>, loaded: &mut Loaded<'_>) -> Result<()> {
    let statement = "SELECT c.id, c.subject, c.author_id, c.path, c.created_at, c.floor, c.floors, c.state, c.visibility, \
                     c.flags, c.pinned_at, c.edited_at, c.likes, c.dislikes, c.replies, c.reacted \
                     FROM {rows} STRAIGHT_JOIN comment_{n} c ON c.id = j.id";
    for r in read(db, session, &["id BIGINT"], ids(&wanted.comments), statement).await? {
        loaded.found_comment(id_at(&r, 0)?, comment(&r)?);
    }
    let statement = "SELECT c.id, COALESCE((SELECT h.content FROM content_history_{n} h WHERE h.comment_id = c.id \
                     ORDER BY h.edited_at LIMIT 1), c.content) FROM {rows} STRAIGHT_JOIN content_{n} c ON c.id = j.id";
    for r in read(db, session, &["id BIGINT"], ids(&wanted.texts), statement).await? {
        loaded.found_text(id_at(&r, 0)?, r.try_get(1)?);
    }
    let statement = "SELECT a.id, a.comment_id FROM {rows} STRAIGHT_JOIN alias_{n} a ON a.id = j.id";
    for r in read(db, session, &["id BIGINT"], ids(&wanted.aliases), statement).await? {
        loaded.found_alias(id_at(&r, 0)?, id_at(&r, 1)?);
    }
    Ok(())
}

fn comment(r: &MySqlRow) -> Result<StoredComment> {
    let maybe = |index: usize| -> Result<Option<u64>> { Ok(r.try_get::<Option<i64>, _>(index)?.map(rows::count)) };
    let row = FoldedRow {
        path: rows::path(r.try_get(3)?)?,
        created_at: count_at(r, 4)?,
        floor: maybe(5)?,
        floors: count_at(r, 6)?,
        state: rows::state(r.try_get(7)?)?,
        visibility: rows::visibility(r.try_get(8)?),
        flags: r.try_get(9)?,
        pinned_at: maybe(10)?,
        edited_at: maybe(11)?,
        counts: EngagementCounts { likes: count_at(r, 12)?, dislikes: count_at(r, 13)?, replies: count_at(r, 14)? },
        reacted: count_at(r, 15)?,
    };
    Ok(StoredComment { subject: r.try_get(1)?, author: member_id(r.try_get(2)?)?, row })
}

async fn reactions(db: &MysqlStore, session: &mut Session, wanted: &Wanted<'_>, loaded: &mut Loaded<'_>) -> Result<()> {
    let pair = |(id, member): &(CommentId, MemberId)| (id.slot(), numbers(&[Some(id.signed()), Some(member.signed())]));
    let statement = "SELECT r.comment_id, r.member_id, r.reaction \
                     FROM {rows} STRAIGHT_JOIN reaction_{n} r ON r.comment_id = j.id AND r.member_id = j.member";
    let columns = ["id BIGINT", "member BIGINT"];
    let mut found = read(db, session, &columns, wanted.pairs.iter().map(pair), statement).await?;
    let statement = "SELECT r.comment_id, r.member_id, r.reaction \
                     FROM {rows} STRAIGHT_JOIN reaction_{n} r ON r.comment_id = j.id";
    found.extend(read(db, session, &["id BIGINT"], ids(&wanted.reactions), statement).await?);
    for r in found {
        loaded.found_pair(id_at(&r, 0)?, member_id(r.try_get(1)?)?, rows::reaction(r.try_get(2)?)?);
    }
    let statement = "SELECT r.comment_id, CAST(SUM(r.reaction = 1) AS SIGNED), CAST(SUM(r.reaction = 2) AS SIGNED) \
                     FROM {rows} STRAIGHT_JOIN reaction_{n} r ON r.comment_id = j.id GROUP BY r.comment_id";
    for r in read(db, session, &["id BIGINT"], ids(&wanted.strays), statement).await? {
        loaded.found_strays(id_at(&r, 0)?, count_at(&r, 1)?, count_at(&r, 2)?);
    }
    Ok(())
}

/// Texts that are asked for go in as hexadecimal digits, and every answer names the place of its
/// question.
async fn keys<'b>(db: &MysqlStore, session: &mut Session, wanted: &Wanted<'b>, loaded: &mut Loaded<'b>) -> Result<()> {
    let asked = wanted.keys.iter().enumerate().map(|(n, once)| {
        let mut row = format!("[{n},{},{},\"", once.member, once.slot.get());
        hex(&mut row, once.key.as_bytes());
        row.push_str("\"]");
        (once.slot, row)
    });
    let statement = "SELECT j.n, i.request, i.comment_id, i.state, i.created_at FROM {rows} STRAIGHT_JOIN idempotency_{n} i \
                     ON i.member_id = j.member AND i.`key` = UNHEX(j.k) AND i.slot = j.slot";
    let columns = ["n BIGINT", "member BIGINT", "slot SMALLINT", "k VARCHAR(256)"];
    for r in read(db, session, &columns, asked, statement).await? {
        let request: &[u8] = r.try_get(1)?;
        let request = request.try_into().map_err(|_| damaged("the hash of a request"))?;
        let (id, state) = (id_at(&r, 2)?, rows::state(r.try_get(3)?)?);
        loaded.found_key(*place(&wanted.keys, &r)?, StoredKey { request, id, state, created_at: count_at(&r, 4)? });
    }
    let asked = wanted.sources.iter().enumerate().map(|(n, (subject, source))| {
        let mut row = format!("[{n},{subject},\"");
        hex(&mut row, source.as_bytes());
        row.push_str("\"]");
        (subject_slot(*subject), row)
    });
    let statement = "SELECT j.n, i.comment_id FROM {rows} STRAIGHT_JOIN import_source_{n} i \
                     ON i.subject = j.subject AND i.source = UNHEX(j.k)";
    let columns = ["n BIGINT", "subject BIGINT", "k VARCHAR(1024)"];
    for r in read(db, session, &columns, asked, statement).await? {
        loaded.found_source(*place(&wanted.sources, &r)?, id_at(&r, 1)?);
    }
    Ok(())
}

/// What the first column of an answer names.
fn place<'a, T>(asked: &'a [T], r: &MySqlRow) -> Result<&'a T> {
    let place = usize::try_from(r.try_get::<i64, _>(0)?).ok().and_then(|n| asked.get(n));
    place.ok_or_else(|| damaged("an answer to nothing"))
}
