//! Reads the rows that a fold requests, inside its transaction: one prepared statement a kind.

use gailou_shared::id::SubjectKey;
use gailou_shared::rank::EngagementCounts;
use gailou_shared::wire::{CommentState, Reaction, Visibility};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::adapters::sqlite::rows::{StoredEnum, audit_id, comment_id, count, damaged, member_id, parse_json, path};
use crate::domain::audit::CurrentText;
use crate::domain::fold::{FoldedRow, LoadedRows, RowRequest, StoredComment, StoredIdempotencyKey, StoredSubject};
use crate::ports::store::Result;

pub(super) fn load<'b>(tx: &Transaction<'_>, request: &RowRequest<'b>, loaded: &mut LoadedRows<'b>) -> Result<()> {
    for key in &request.subjects {
        let mut statement = tx.prepare_cached(
            "SELECT id, type, key, version, floors, roots, comments FROM subject WHERE type = ?1 AND obj_id = ?2",
        )?;
        let mut found = statement.query(params![key.kind(), key.obj_id() as i64])?;
        if let Some(r) = found.next()? {
            loaded.add_subject(key, stored_subject(r)?)?;
        }
    }
    for number in &request.numbers {
        let mut statement =
            tx.prepare_cached("SELECT id, type, key, version, floors, roots, comments FROM subject WHERE id = ?1")?;
        let mut found = statement.query([number])?;
        if let Some(r) = found.next()? {
            loaded.add_subject_by_number(stored_subject(r)?);
        }
    }
    for id in &request.comments {
        let mut statement = tx.prepare_cached(
            "SELECT subject, author_id, path, created_at, floor, floors, state, visibility, flags, pinned_at, edited_at, \
             likes, dislikes, replies, edits, author_level, audit_id FROM comment WHERE id = ?1",
        )?;
        let mut found = statement.query([id.signed()])?;
        if let Some(r) = found.next()? {
            loaded.add_comment(*id, stored_comment(r)?);
        }
    }
    for id in &request.texts {
        let text = tx
            .prepare_cached(
                "SELECT coalesce((SELECT h.content FROM content_history h WHERE h.comment_id = c.id \
                 ORDER BY h.edit, h.edited_at LIMIT 1), c.content) FROM content c WHERE c.id = ?1",
            )?
            .query_row([id.signed()], |r| r.get(0))?;
        loaded.add_text(*id, text);
    }
    for (id, member) in &request.pairs {
        let stored: Option<i64> = tx
            .prepare_cached("SELECT reaction FROM reaction WHERE comment_id = ?1 AND member_id = ?2")?
            .query_row([id.signed(), member.signed()], |r| r.get(0))
            .optional()?;
        if let Some(stored) = stored {
            loaded.add_reaction(*id, *member, Reaction::from_number(stored)?);
        }
    }
    for key in &request.idempotency_keys {
        let mut statement = tx.prepare_cached(
            "SELECT request, comment_id, state, created_at FROM idempotency WHERE member_id = ?1 AND key = ?2",
        )?;
        let mut found = statement.query(params![key.member.signed(), key.key])?;
        if let Some(r) = found.next()? {
            let (id, state) = (comment_id(r.get(1)?)?, CommentState::from_number(r.get(2)?)?);
            loaded.add_idempotency_key(
                *key,
                StoredIdempotencyKey { request: r.get(0)?, id, state, created_at: count(r.get(3)?) },
            );
        }
    }
    for source in &request.sources {
        let id: Option<i64> = tx
            .prepare_cached("SELECT comment_id FROM import_source WHERE subject = ?1 AND source = ?2")?
            .query_row(params![source.0, source.1], |r| r.get(0))
            .optional()?;
        if let Some(id) = id {
            loaded.add_source(*source, comment_id(id)?);
        }
    }
    load_moderation(tx, request, loaded)
}

/// Items of the review queue, reports, texts, and what undoing needs.
fn load_moderation(tx: &Transaction<'_>, request: &RowRequest<'_>, loaded: &mut LoadedRows<'_>) -> Result<()> {
    for id in &request.reviews {
        let mut statement = tx.prepare_cached("SELECT item FROM review WHERE comment_id = ?1")?;
        let mut found = statement.query([id.signed()])?;
        if let Some(r) = found.next()? {
            loaded.add_review(*id, parse_json(r, 0)?);
        }
    }
    for (id, member) in &request.reports {
        let mut statement = tx.prepare_cached("SELECT 1 FROM report WHERE comment_id = ?1 AND member_id = ?2")?;
        if statement.exists([id.signed(), member.signed()])? {
            loaded.add_report(*id, *member);
        }
    }
    for id in &request.contents {
        let mut statement = tx.prepare_cached("SELECT content, html, written FROM content WHERE id = ?1")?;
        let mut found = statement.query([id.signed()])?;
        if let Some(r) = found.next()? {
            let (content, html, original_text) = (r.get(0)?, r.get(1)?, r.get(2)?);
            loaded.add_content(*id, CurrentText { content, html, original_text });
        }
    }
    for audit in &request.undos {
        let mut statement = tx.prepare_cached("SELECT record FROM undo WHERE audit_id = ?1")?;
        let mut found = statement.query([audit.signed()])?;
        if let Some(r) = found.next()? {
            loaded.add_undo(*audit, parse_json(r, 0)?);
        }
    }
    Ok(())
}

fn stored_subject(r: &Row<'_>) -> Result<StoredSubject> {
    let (kind, key) = (r.get_ref(1)?.as_str().map_err(damaged)?, r.get_ref(2)?.as_str().map_err(damaged)?);
    Ok(StoredSubject {
        number: r.get(0)?,
        key: SubjectKey::new(kind, key).map_err(damaged)?,
        version: count(r.get(3)?),
        floors: count(r.get(4)?),
        roots: count(r.get(5)?),
        comments: count(r.get(6)?),
    })
}

fn stored_comment(r: &Row<'_>) -> Result<StoredComment> {
    let row = FoldedRow {
        path: path(r.get_ref(2)?.as_blob().map_err(damaged)?)?,
        created_at: count(r.get(3)?),
        floor: r.get::<_, Option<i64>>(4)?.map(count),
        floors: count(r.get(5)?),
        state: CommentState::from_number(r.get(6)?)?,
        visibility: Visibility::from_number(r.get(7)?)?,
        flags: r.get(8)?,
        pinned_at: r.get::<_, Option<i64>>(9)?.map(count),
        edited_at: r.get::<_, Option<i64>>(10)?.map(count),
        edits: count(r.get(14)?),
        counts: EngagementCounts { likes: count(r.get(11)?), dislikes: count(r.get(12)?), replies: count(r.get(13)?) },
        reactions_offset: 0,
        author_level: r.get(15)?,
        last_audit: audit_id(r.get(16)?).ok(),
    };
    Ok(StoredComment { subject: r.get(0)?, author: member_id(r.get(1)?)?, row })
}
