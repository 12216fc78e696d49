//! Reads the rows that a fold requests, after the slots are locked: one statement a kind, however many
//! tables they are in.

use std::collections::BTreeMap;

use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::rank::EngagementCounts;
use gailou_shared::wire::{CommentState, Reaction, Visibility};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::numbered_tables::slot_of_comment;
use crate::adapters::mysql::row_numbers::{subject_number, subject_slot};
use crate::adapters::mysql::rows::{
    StoredEnum, audit_id, count, count_at, damaged, id_at, json_at, member_id, number_at, optional_number_at, path,
    subject_at,
};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::write::batch_sql::{group_by_table, json_numbers, json_table};
use crate::adapters::mysql::write::dead_reaction_rows;
use crate::domain::audit::CurrentText;
use crate::domain::fold::{FoldedRow, LoadedRows, RowRequest, StoredComment, StoredIdempotencyKey, StoredSubject};
use crate::domain::row::ReactionCounts;
use crate::ports::store::Result;

/// Reads one kind of rows. In `statement`, `{rows}` stands for the table of the requested keys `{n}`
/// for the number of the tables, and `{slot}` for the slot of the requested comment `j.id`.
async fn read(
    db: &MysqlStore,
    session: &mut MysqlSession,
    columns: &[&str],
    keys: impl Iterator<Item = (Slot, String)>,
    statement: &str,
) -> Result<Vec<MySqlRow>> {
    let tables = group_by_table(db, keys);
    let parts: Vec<String> = tables
        .into_iter()
        .map(|(table, rows)| {
            let text = statement.replace("{n}", &table.to_string()).replace("{slot}", &slot_of_comment("j.id"));
            text.replace("{rows}", &json_table(&rows.join(","), columns))
        })
        .collect();
    if parts.is_empty() { Ok(vec![]) } else { session.fetch_text(parts.join(" UNION ALL ")).await }
}

fn ids(ids: &[CommentId]) -> impl Iterator<Item = (Slot, String)> {
    ids.iter().map(|id| (id.slot(), json_numbers(&[Some(id.signed())])))
}

pub(super) async fn load<'b>(
    db: &MysqlStore,
    session: &mut MysqlSession,
    request: &RowRequest<'b>,
    loaded: &mut LoadedRows<'b>,
) -> Result<()> {
    load_subjects(db, session, request, loaded).await?;
    load_comments(db, session, request, loaded).await?;
    load_reactions(db, session, request, loaded).await?;
    dead_reaction_rows::load(db, session, &request.dead_reactions, loaded).await?;
    load_moderation(db, session, request, loaded).await?;
    load_keys(db, session, request, loaded).await
}

/// Items of the review queue, reports, texts, and what undoing needs.
async fn load_moderation(
    db: &MysqlStore,
    session: &mut MysqlSession,
    request: &RowRequest<'_>,
    loaded: &mut LoadedRows<'_>,
) -> Result<()> {
    let statement =
        "SELECT q.comment_id, q.item FROM {rows} STRAIGHT_JOIN review_{n} q ON q.slot = {slot} AND q.comment_id = j.id";
    for r in read(db, session, &["id BIGINT"], ids(&request.reviews), statement).await? {
        loaded.add_review(id_at(&r, 0)?, json_at(&r, 1)?);
    }
    let pairs = request.reports.iter();
    let pairs = pairs.map(|(id, member)| (id.slot(), json_numbers(&[Some(id.signed()), Some(member.signed())])));
    let statement = "SELECT r.comment_id, r.member_id FROM {rows} STRAIGHT_JOIN report_{n} r \
                     ON r.slot = {slot} AND r.comment_id = j.id AND r.member_id = j.member";
    for r in read(db, session, &["id BIGINT", "member BIGINT"], pairs, statement).await? {
        loaded.add_report(id_at(&r, 0)?, member_id(r.try_get(1)?)?);
    }
    let statement = "SELECT t.id, t.content, t.html, t.written FROM {rows} STRAIGHT_JOIN content_{n} t ON t.id = j.id";
    for r in read(db, session, &["id BIGINT"], ids(&request.contents), statement).await? {
        let (content, html, original_text) = (r.try_get(1)?, r.try_get(2)?, r.try_get(3)?);
        loaded.add_content(id_at(&r, 0)?, CurrentText { content, html, original_text });
    }
    let undos = request.undos.iter().map(|audit| (audit.slot(), json_numbers(&[Some(audit.signed())])));
    let statement =
        "SELECT u.audit_id, u.record FROM {rows} STRAIGHT_JOIN undo_{n} u ON u.slot = {slot} AND u.audit_id = j.id";
    for r in read(db, session, &["id BIGINT"], undos, statement).await? {
        loaded.add_undo(audit_id(number_at(&r, 0)?)?, json_at(&r, 1)?);
    }
    Ok(())
}

async fn load_subjects(
    db: &MysqlStore,
    session: &mut MysqlSession,
    request: &RowRequest<'_>,
    loaded: &mut LoadedRows<'_>,
) -> Result<()> {
    let mut by_number = BTreeMap::new();
    for key in &request.subjects {
        if let Some(other) = by_number.insert(subject_number(key), *key) {
            return Err(damaged(format_args!("the subjects {key} and {other} have the same hash")));
        }
    }
    let keys = by_number.keys().chain(&request.numbers);
    let keys = keys.map(|number| (subject_slot(*number), json_numbers(&[Some(*number)])));
    let statement = "SELECT s.id, s.type, s.`key`, s.version, s.floors, s.roots, s.comments \
                     FROM {rows} STRAIGHT_JOIN subject_{n} s ON s.id = j.id";
    for r in read(db, session, &["id BIGINT"], keys, statement).await? {
        let found = StoredSubject {
            number: r.try_get(0)?,
            key: subject_at(&r, 1)?,
            version: count_at(&r, 3)?,
            floors: count_at(&r, 4)?,
            roots: count_at(&r, 5)?,
            comments: count_at(&r, 6)?,
        };
        match by_number.get(&found.number) {
            Some(key) => loaded.add_subject(key, found)?,
            None => loaded.add_subject_by_number(found),
        }
    }
    Ok(())
}

async fn load_comments(
    db: &MysqlStore,
    session: &mut MysqlSession,
    request: &RowRequest<'_>,
    loaded: &mut LoadedRows<'_>,
) -> Result<()> {
    let statement = "SELECT c.id, c.subject, c.author_id, c.path, c.created_at, c.floor, c.floors, c.state, c.visibility, \
                     c.flags, c.pinned_at, c.edited_at, c.likes, c.dislikes, c.replies, c.reacted, c.edits, c.author_level, \
                     c.audit_id \
                     FROM {rows} STRAIGHT_JOIN comment_{n} c ON c.id = j.id";
    for r in read(db, session, &["id BIGINT"], ids(&request.comments), statement).await? {
        loaded.add_comment(id_at(&r, 0)?, stored_comment(&r)?);
    }
    let statement = "SELECT c.id, COALESCE((SELECT h.content FROM content_history_{n} h WHERE h.comment_id = c.id \
                     ORDER BY h.edit, h.edited_at LIMIT 1), c.content) FROM {rows} STRAIGHT_JOIN content_{n} c ON c.id = j.id";
    for r in read(db, session, &["id BIGINT"], ids(&request.texts), statement).await? {
        loaded.add_text(id_at(&r, 0)?, r.try_get(1)?);
    }
    let statement =
        "SELECT a.id, a.comment_id FROM {rows} STRAIGHT_JOIN alias_{n} a ON a.slot = {slot} AND a.id = j.id";
    for r in read(db, session, &["id BIGINT"], ids(&request.aliases), statement).await? {
        loaded.add_alias(id_at(&r, 0)?, id_at(&r, 1)?);
    }
    Ok(())
}

fn stored_comment(r: &MySqlRow) -> Result<StoredComment> {
    let optional_count = |index: usize| -> Result<Option<u64>> { Ok(optional_number_at(r, index)?.map(count)) };
    let row = FoldedRow {
        path: path(r.try_get(3)?)?,
        created_at: count_at(r, 4)?,
        floor: optional_count(5)?,
        floors: count_at(r, 6)?,
        state: CommentState::from_number(r.try_get(7)?)?,
        visibility: Visibility::from_number(r.try_get(8)?)?,
        flags: number_at(r, 9)?,
        pinned_at: optional_count(10)?,
        edited_at: optional_count(11)?,
        edits: count_at(r, 16)?,
        counts: EngagementCounts { likes: count_at(r, 12)?, dislikes: count_at(r, 13)?, replies: count_at(r, 14)? },
        reactions_offset: count_at(r, 15)?,
        author_level: u8::try_from(number_at(r, 17)?).map_err(damaged)?,
        last_audit: audit_id(number_at(r, 18)?).ok(),
    };
    Ok(StoredComment { subject: r.try_get(1)?, author: member_id(r.try_get(2)?)?, row })
}

async fn load_reactions(
    db: &MysqlStore,
    session: &mut MysqlSession,
    request: &RowRequest<'_>,
    loaded: &mut LoadedRows<'_>,
) -> Result<()> {
    let pair =
        |(id, member): &(CommentId, MemberId)| (id.slot(), json_numbers(&[Some(id.signed()), Some(member.signed())]));
    let statement = "SELECT r.comment_id, r.member_id, r.reaction \
                     FROM {rows} STRAIGHT_JOIN reaction_{n} r ON r.slot = {slot} AND r.comment_id = j.id AND r.member_id = j.member";
    let columns = ["id BIGINT", "member BIGINT"];
    let mut found = read(db, session, &columns, request.pairs.iter().map(pair), statement).await?;
    let statement = "SELECT r.comment_id, r.member_id, r.reaction \
                     FROM {rows} STRAIGHT_JOIN reaction_{n} r ON r.slot = {slot} AND r.comment_id = j.id";
    found.extend(read(db, session, &["id BIGINT"], ids(&request.early_reactions), statement).await?);
    for r in found {
        loaded.add_reaction(id_at(&r, 0)?, member_id(r.try_get(1)?)?, Reaction::from_number(r.try_get(2)?)?);
    }
    let statement = "SELECT r.comment_id, CAST(SUM(r.reaction = 1) AS SIGNED), CAST(SUM(r.reaction = 2) AS SIGNED) \
                     FROM {rows} STRAIGHT_JOIN reaction_{n} r ON r.slot = {slot} AND r.comment_id = j.id GROUP BY r.comment_id";
    for r in read(db, session, &["id BIGINT"], ids(&request.early_counts), statement).await? {
        let counts = ReactionCounts { likes: count_at(&r, 1)?, dislikes: count_at(&r, 2)? };
        loaded.add_early_counts(id_at(&r, 0)?, counts);
    }
    Ok(())
}

/// Keys and sources are texts: the request contains them as hexadecimal digits, and every row of the
/// answer names the index of its request.
async fn load_keys<'b>(
    db: &MysqlStore,
    session: &mut MysqlSession,
    request: &RowRequest<'b>,
    loaded: &mut LoadedRows<'b>,
) -> Result<()> {
    let keys = request.idempotency_keys.iter().enumerate().map(|(n, key)| {
        (key.slot, format!("[{n},{},{},\"{}\"]", key.member, key.slot.get(), hex::encode_upper(key.key)))
    });
    let statement = "SELECT j.n, i.request, i.comment_id, i.state, i.created_at FROM {rows} STRAIGHT_JOIN idempotency_{n} i \
                     ON i.member_id = j.member AND i.`key` = UNHEX(j.k) AND i.slot = j.slot";
    let columns = ["n BIGINT", "member BIGINT", "slot SMALLINT", "k VARCHAR(256)"];
    for r in read(db, session, &columns, keys, statement).await? {
        let hash: &[u8] = r.try_get(1)?;
        let hash = hash.try_into().map_err(|_| damaged("the hash of a request"))?;
        let (id, state) = (id_at(&r, 2)?, CommentState::from_number(r.try_get(3)?)?);
        loaded.add_idempotency_key(
            *requested(&request.idempotency_keys, &r)?,
            StoredIdempotencyKey { request: hash, id, state, created_at: count_at(&r, 4)? },
        );
    }
    let keys = request.sources.iter().enumerate().map(|(n, (subject, source))| {
        (subject_slot(*subject), format!("[{n},{subject},\"{}\"]", hex::encode_upper(source)))
    });
    let statement = "SELECT j.n, i.comment_id FROM {rows} STRAIGHT_JOIN import_source_{n} i \
                     ON i.subject = j.subject AND i.source = UNHEX(j.k)";
    let columns = ["n BIGINT", "subject BIGINT", "k VARCHAR(1024)"];
    for r in read(db, session, &columns, keys, statement).await? {
        loaded.add_source(*requested(&request.sources, &r)?, id_at(&r, 1)?);
    }
    Ok(())
}

/// The request that the first column of an answer names.
fn requested<'a, T>(requests: &'a [T], r: &MySqlRow) -> Result<&'a T> {
    let request = usize::try_from(r.try_get::<i64, _>(0)?).ok().and_then(|n| requests.get(n));
    request.ok_or_else(|| damaged("an answer without a request"))
}
