//! Writes the rows that a fold has changed, each once.

use gailou_shared::id::{AuditId, CommentId, MemberId};
use gailou_shared::rank::EngagementCounts;
use rusqlite::{Transaction, params};

use crate::adapters::sqlite::activity::write_activity;
use crate::adapters::sqlite::events::write_events;
use crate::adapters::sqlite::index_queues::write_index_queue;
use crate::adapters::sqlite::rank_rows::PUT_ROOT_RANK_SQL;
use crate::adapters::sqlite::rows::{StoredEnum, damaged, role_number};
use crate::adapters::sqlite::write::moderation;
use crate::domain::fold::{CommentInsert, CommentUpdate, ForgottenName, RenamedMember, RowChanges};
use crate::domain::member_standing::name_key;
use crate::domain::operation::SubjectPatch;
use crate::domain::root_keys::RootKeys;
use crate::ports::store::Result;

pub(super) fn flush(tx: &Transaction<'_>, changes: &RowChanges<'_>) -> Result<()> {
    let numbers = write_subjects(tx, changes)?;
    for row in &changes.patches {
        patch_subject(tx, numbers[row.subject], row.patch)?;
    }
    for comment in &changes.inserts {
        insert_comment(tx, numbers[comment.subject], comment)?;
    }
    for comment in &changes.updates {
        update_comment(tx, comment)?;
    }
    for edit in &changes.edits {
        tx.prepare_cached(
            "INSERT INTO content_history (comment_id, edit, edited_at, content, was_shown) \
             SELECT id, (SELECT coalesce(max(edit), 0) + 1 FROM content_history WHERE comment_id = ?1), ?2, content, ?4 \
             FROM content WHERE id = ?1 AND content <> ?3",
        )?
        .execute(params![edit.id.signed(), edit.at, edit.text.content, edit.was_shown])?;
        tx.prepare_cached("UPDATE content SET content = ?2, html = ?3, written = ?4 WHERE id = ?1")?
            .execute(params![edit.id.signed(), edit.text.content, edit.text.html, edit.text.original_text])?;
    }
    rename(tx, changes)?;
    erase(tx, changes)?;
    write_reactions(tx, changes)?;
    write_ranks(tx, changes, &numbers)?;
    write_keys(tx, changes, &numbers)?;
    write_feed(tx, changes, &numbers)?;
    write_index_queue(tx, changes)?;
    write_events(tx, changes)?;
    moderation::write(tx, changes)?;
    write_activity(tx, &changes.activity)
}

/// The number of each subject, after new ones were inserted; 0 for a subject that needs no row.
fn write_subjects(tx: &Transaction<'_>, changes: &RowChanges<'_>) -> Result<Vec<i64>> {
    let mut numbers = Vec::with_capacity(changes.subjects.len());
    for s in &changes.subjects {
        let (version, floors, roots, comments) = (s.version, s.floors, s.roots, s.comments);
        numbers.push(match (s.number, s.write) {
            (Some(number), true) => {
                tx.prepare_cached(
                    "UPDATE subject SET version = ?2, floors = ?3, roots = ?4, comments = ?5 WHERE id = ?1",
                )?
                .execute(params![number, version, floors, roots, comments])?;
                number
            }
            (None, true) => {
                tx.prepare_cached(
                    "INSERT INTO subject (type, obj_id, key, version, floors, roots, comments) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .execute(params![
                    s.key.kind(),
                    s.key.obj_id() as i64,
                    s.key.key(),
                    version,
                    floors,
                    roots,
                    comments
                ])?;
                tx.last_insert_rowid()
            }
            (number, false) => number.unwrap_or(0),
        });
    }
    Ok(numbers)
}

fn patch_subject(tx: &Transaction<'_>, number: i64, patch: &SubjectPatch) -> Result<()> {
    for (column, text) in [("title", &patch.title), ("url", &patch.url)] {
        let Some(text) = text else { continue };
        let value = if patch.fills_gaps { format!("COALESCE({column}, ?2)") } else { "?2".to_owned() };
        tx.execute(&format!("UPDATE subject SET {column} = {value} WHERE id = ?1"), params![number, text])?;
    }
    if let Some(owner) = patch.owner_id {
        let owner = owner.map(MemberId::signed);
        tx.execute("UPDATE subject SET owner_id = ?2 WHERE id = ?1", params![number, owner])?;
    }
    if let Some(state) = patch.state {
        tx.execute("UPDATE subject SET state = ?2 WHERE id = ?1", params![number, state.number()])?;
    }
    if let Some(mode) = patch.mode {
        tx.execute("UPDATE subject SET mode = ?2 WHERE id = ?1", params![number, mode.number()])?;
    }
    Ok(())
}

fn insert_comment(tx: &Transaction<'_>, subject: i64, comment: &CommentInsert<'_>) -> Result<()> {
    let (new, row) = (comment.new, &comment.row);
    tx.prepare_cached(
        "INSERT INTO comment (id, subject, root_id, parent_id, path, depth, floor, floors, state, visibility, listed, flags, \
         pinned_at, author_id, author_name, author_avatar, author_level, reply_to_id, reply_to_name, likes, dislikes, \
         base_likes, base_dislikes, replies, created_at, edited_at, author_role) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, \
         ?24, ?25, ?26, ?27)",
    )?
    .execute(params![
        comment.id.signed(),
        subject,
        row.path.root_id().signed(),
        comment.parent.map(CommentId::signed),
        row.path.as_bytes(),
        row.path.depth() as i64,
        row.floor,
        row.floors,
        row.state.number(),
        row.visibility.number(),
        row.is_listed(),
        row.flags,
        row.pinned_at,
        new.author.id.signed(),
        new.author.name,
        new.author.avatar,
        new.author.level,
        new.reply_to.as_ref().map(|m| m.id.signed()),
        new.reply_to.as_ref().map(|m| m.name.as_str()),
        row.counts.likes,
        row.counts.dislikes,
        comment.base.likes,
        comment.base.dislikes,
        row.counts.replies,
        row.created_at,
        row.edited_at,
        role_number(new.author.role),
    ])?;
    let mentions =
        if new.mentions.is_empty() { None } else { Some(serde_json::to_string(&new.mentions).map_err(damaged)?) };
    let media = if new.media.is_empty() { None } else { Some(serde_json::to_string(&new.media).map_err(damaged)?) };
    tx.prepare_cached(
        "INSERT INTO content (id, content, html, mentions, written, media) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![comment.id.signed(), new.content, new.html, mentions, new.original_text, media])?;
    for mention in &new.mentions {
        tx.prepare_cached("INSERT OR IGNORE INTO mention (member_id, comment_id) VALUES (?1, ?2)")?
            .execute([mention.id.signed(), comment.id.signed()])?;
    }
    if let Some(network) = &new.network {
        tx.prepare_cached("INSERT INTO author_network (comment_id, digest) VALUES (?1, ?2)")?
            .execute(params![comment.id.signed(), network.as_bytes()])?;
    }
    Ok(())
}

fn update_comment(tx: &Transaction<'_>, comment: &CommentUpdate) -> Result<()> {
    let (id, row) = (comment.id.signed(), &comment.row);
    // Two statements, since a change of counts touches no index.
    tx.prepare_cached("UPDATE comment SET likes = ?2, dislikes = ?3, replies = ?4, floors = ?5 WHERE id = ?1")?
        .execute(params![id, row.counts.likes, row.counts.dislikes, row.counts.replies, row.floors])?;
    if comment.more_than_counts {
        let state = row.state.number();
        tx.prepare_cached(
            "UPDATE comment SET state = ?2, listed = ?3, floor = ?4, flags = ?5, pinned_at = ?6, edited_at = ?7, \
             edits = ?8, audit_id = ?9 WHERE id = ?1",
        )?
        .execute(params![
            id,
            state,
            row.is_listed(),
            row.floor,
            row.flags,
            row.pinned_at,
            row.edited_at,
            row.edits,
            row.last_audit.map_or(0, AuditId::signed)
        ])?;
    }
    Ok(())
}

/// Writes the new authors of comments, and the new names of those whom comments mention or answer.
fn rename(tx: &Transaction<'_>, changes: &RowChanges<'_>) -> Result<()> {
    for (id, author) in &changes.transferred {
        let (member, role) = (author.id.signed(), role_number(author.role));
        tx.prepare_cached(
            "UPDATE comment SET author_id = ?2, author_name = ?3, author_avatar = ?4, author_level = ?5, \
             author_role = ?6 WHERE id = ?1",
        )?
        .execute(params![id.signed(), member, author.name, author.avatar, author.level, role])?;
    }
    for RenamedMember { id, from, to } in &changes.renamed {
        let (id, member) = (id.signed(), to.id.signed());
        tx.prepare_cached(
            "UPDATE comment SET reply_to_id = ?3, reply_to_name = ?4 WHERE id = ?1 AND reply_to_id = ?2",
        )?
        .execute(params![id, from.signed(), member, to.name])?;
        // No one is mentioned twice.
        tx.prepare_cached(
            "UPDATE content SET mentions = (SELECT json_group_array(json(CASE json_extract(m.value, '$.id') \
             WHEN ?2 THEN ?4 ELSE m.value END)) FROM json_each(content.mentions) m \
             WHERE json_extract(m.value, '$.id') <> ?2 OR NOT EXISTS (SELECT 1 FROM json_each(content.mentions) o \
             WHERE json_extract(o.value, '$.id') = ?3)) WHERE id = ?1 AND mentions IS NOT NULL",
        )?
        .execute(params![
            id,
            from.to_string(),
            to.id.to_string(),
            serde_json::to_string(to).map_err(damaged)?
        ])?;
        for sql in [
            "INSERT OR IGNORE INTO mention (member_id, comment_id) \
             SELECT ?3, comment_id FROM mention WHERE member_id = ?2 AND comment_id = ?1",
            "DELETE FROM mention WHERE member_id = ?2 AND comment_id = ?1 AND ?2 <> ?3",
        ] {
            tx.prepare_cached(sql)?.execute([id, from.signed(), member])?;
        }
    }
    Ok(())
}

/// Overwrites erased comments, the pictures of deleted ones, and the names of erased members in the comments of others.
fn erase(tx: &Transaction<'_>, changes: &RowChanges<'_>) -> Result<()> {
    for id in &changes.erased {
        for sql in [
            "UPDATE comment SET author_name = '', author_avatar = NULL, author_level = 0, author_role = 0 \
             WHERE id = ?1",
            "UPDATE content SET content = '', html = '', mentions = NULL, written = NULL, media = NULL \
             WHERE id = ?1",
            "DELETE FROM content_history WHERE comment_id = ?1",
            "DELETE FROM report WHERE comment_id = ?1",
            "DELETE FROM undo WHERE comment_id = ?1",
            "DELETE FROM author_network WHERE comment_id = ?1",
        ] {
            tx.prepare_cached(sql)?.execute([id.signed()])?;
        }
    }
    for id in &changes.without_media {
        tx.prepare_cached("UPDATE content SET media = NULL WHERE id = ?1")?.execute([id.signed()])?;
    }
    for ForgottenName { id, member } in &changes.forgotten {
        tx.prepare_cached("DELETE FROM report WHERE comment_id = ?1 AND member_id = ?2")?
            .execute([id.signed(), member.signed()])?;
        tx.prepare_cached("UPDATE comment SET reply_to_name = '' WHERE id = ?1 AND reply_to_id = ?2")?
            .execute([id.signed(), member.signed()])?;
        tx.prepare_cached(
            "UPDATE content SET mentions = (SELECT json_group_array(json(m.value)) FROM json_each(content.mentions) m \
             WHERE json_extract(m.value, '$.id') <> ?2) WHERE id = ?1 AND mentions IS NOT NULL",
        )?
        .execute(params![id.signed(), member.to_string()])?;
    }
    Ok(())
}

fn write_reactions(tx: &Transaction<'_>, changes: &RowChanges<'_>) -> Result<()> {
    for row in &changes.reactions {
        let (id, member) = (row.id.signed(), row.member.signed());
        match row.reaction {
            None => tx
                .prepare_cached("DELETE FROM reaction WHERE comment_id = ?1 AND member_id = ?2")?
                .execute([id, member])?,
            Some(reaction) => tx
                .prepare_cached(
                    "INSERT OR REPLACE INTO reaction (comment_id, member_id, reaction) VALUES (?1, ?2, ?3)",
                )?
                .execute([id, member, reaction.number()])?,
        };
    }
    Ok(())
}

fn write_ranks(tx: &Transaction<'_>, changes: &RowChanges<'_>, numbers: &[i64]) -> Result<()> {
    for root in &changes.root_ranks {
        let (subject, id) = (numbers[root.subject], root.id.signed());
        match root.ranked {
            Some((counts, RootKeys { hot, best, controversial })) => {
                let EngagementCounts { likes, dislikes, replies } = counts;
                let values = params![subject, id, likes, dislikes, replies, root.created_at, hot, best, controversial];
                tx.prepare_cached(PUT_ROOT_RANK_SQL)?.execute(values)?
            }
            None => {
                tx.prepare_cached("DELETE FROM root_rank WHERE subject = ?1 AND id = ?2")?.execute([subject, id])?
            }
        };
    }
    for key in &changes.removed_reply_ranks {
        tx.prepare_cached("DELETE FROM reply_rank WHERE root_id = ?1 AND hot = ?2 AND id = ?3")?.execute([
            key.root.signed(),
            key.hot,
            key.id.signed(),
        ])?;
    }
    for key in &changes.added_reply_ranks {
        tx.prepare_cached("INSERT OR REPLACE INTO reply_rank (root_id, hot, id) VALUES (?1, ?2, ?3)")?.execute([
            key.root.signed(),
            key.hot,
            key.id.signed(),
        ])?;
    }
    Ok(())
}

/// Idempotency keys, import sources and names.
fn write_keys(tx: &Transaction<'_>, changes: &RowChanges<'_>, numbers: &[i64]) -> Result<()> {
    for (key, stored) in &changes.idempotency_keys {
        let (member, state) = (key.member.signed(), stored.state.number());
        tx.prepare_cached(
            "INSERT OR REPLACE INTO idempotency (member_id, key, request, comment_id, state, created_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![member, key.key, stored.request, stored.id.signed(), state, stored.created_at])?;
    }
    for row in &changes.sources {
        tx.prepare_cached("INSERT INTO import_source (subject, source, comment_id) VALUES (?1, ?2, ?3)")?
            .execute(params![numbers[row.subject], row.source, row.id.signed()])?;
    }
    for (_, author) in &changes.authors {
        tx.prepare_cached(
            "INSERT INTO member (id, name, avatar, level, name_key) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET \
             name = excluded.name, avatar = excluded.avatar, level = excluded.level, name_key = excluded.name_key \
             WHERE name <> excluded.name OR avatar IS NOT excluded.avatar OR level <> excluded.level",
        )?
        .execute(params![author.id.signed(), author.name, author.avatar, author.level, name_key(&author.name)])?;
    }
    Ok(())
}

fn write_feed(tx: &Transaction<'_>, changes: &RowChanges<'_>, numbers: &[i64]) -> Result<()> {
    for takedown in &changes.takedowns {
        let (subject, version) = (numbers[takedown.subject], changes.subjects[takedown.subject].version);
        tx.prepare_cached("INSERT INTO feed (at, subject, version, comment_id) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![takedown.at, subject, version, takedown.stored_id()])?;
    }
    Ok(())
}
