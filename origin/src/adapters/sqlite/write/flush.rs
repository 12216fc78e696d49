//! The end of a batch: every row it changed is written once.

use gailou_shared::id::{CommentId, MemberId};
use rusqlite::{Transaction, params};

use crate::adapters::sqlite::rows;
use crate::adapters::sqlite::rows::damaged;
use crate::domain::fold::{Changes, CommentUpdate, Inserted};
use crate::domain::operation::SubjectPatch;
use crate::ports::store::Result;

/// Writes what a fold has changed.
pub(super) fn flush(tx: &Transaction<'_>, changes: &Changes<'_>) -> Result<()> {
    let numbers = subjects(tx, changes)?;
    for (place, change) in &changes.patches {
        patch(tx, numbers[*place], change)?;
    }
    for comment in &changes.inserts {
        insert(tx, numbers[comment.subject], comment)?;
    }
    for comment in &changes.updates {
        update(tx, comment)?;
    }
    for edit in &changes.edits {
        tx.prepare_cached(
            "INSERT OR IGNORE INTO content_history (comment_id, edited_at, content) \
             SELECT id, ?2, content FROM content WHERE id = ?1",
        )?
        .execute(params![edit.id.signed(), edit.at])?;
        tx.prepare_cached("UPDATE content SET content = ?2, html = ?3, written = ?4 WHERE id = ?1")?
            .execute(params![edit.id.signed(), edit.content, edit.html, edit.written])?;
    }
    reactions(tx, changes)?;
    ranks(tx, changes, &numbers)?;
    beside(tx, changes, &numbers)
}

/// The number of each subject, new ones inserted; 0 for one that needs no row.
fn subjects(tx: &Transaction<'_>, changes: &Changes<'_>) -> Result<Vec<i64>> {
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

fn patch(tx: &Transaction<'_>, number: i64, patch: &SubjectPatch) -> Result<()> {
    if let Some(title) = &patch.title {
        tx.execute("UPDATE subject SET title = ?2 WHERE id = ?1", params![number, title])?;
    }
    if let Some(url) = &patch.url {
        tx.execute("UPDATE subject SET url = ?2 WHERE id = ?1", params![number, url])?;
    }
    if let Some(owner) = patch.owner_id {
        let owner = owner.map(MemberId::signed);
        tx.execute("UPDATE subject SET owner_id = ?2 WHERE id = ?1", params![number, owner])?;
    }
    if let Some(state) = patch.state {
        let state = rows::subject_state_number(state);
        tx.execute("UPDATE subject SET state = ?2 WHERE id = ?1", params![number, state])?;
    }
    if let Some(mode) = patch.mode {
        tx.execute("UPDATE subject SET mode = ?2 WHERE id = ?1", params![number, rows::mode_number(mode)])?;
    }
    Ok(())
}

fn insert(tx: &Transaction<'_>, subject: i64, comment: &Inserted<'_>) -> Result<()> {
    let (new, row) = (comment.new, &comment.row);
    tx.prepare_cached(
        "INSERT INTO comment (id, subject, root_id, parent_id, path, depth, floor, floors, state, visibility, listed, flags, \
         pinned_at, author_id, author_name, author_avatar, author_level, reply_to_id, reply_to_name, likes, dislikes, \
         base_likes, base_dislikes, replies, created_at, edited_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, \
         ?24, ?25, ?26)",
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
        rows::state_number(row.state),
        rows::visibility_number(row.visibility),
        row.listed(),
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
        comment.base.0,
        comment.base.1,
        row.counts.replies,
        row.created_at,
        row.edited_at,
    ])?;
    let mentions =
        if new.mentions.is_empty() { None } else { Some(serde_json::to_string(&new.mentions).map_err(damaged)?) };
    tx.prepare_cached("INSERT INTO content (id, content, html, mentions, written) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![comment.id.signed(), new.content, new.html, mentions, new.written])?;
    Ok(())
}

fn update(tx: &Transaction<'_>, comment: &CommentUpdate) -> Result<()> {
    let (id, row) = (comment.id.signed(), &comment.row);
    // Two statements: what only counts touches no index.
    tx.prepare_cached("UPDATE comment SET likes = ?2, dislikes = ?3, replies = ?4, floors = ?5 WHERE id = ?1")?
        .execute(params![id, row.counts.likes, row.counts.dislikes, row.counts.replies, row.floors])?;
    if comment.moved {
        let state = rows::state_number(row.state);
        tx.prepare_cached(
            "UPDATE comment SET state = ?2, listed = ?3, floor = ?4, flags = ?5, pinned_at = ?6, edited_at = ?7 WHERE id = ?1",
        )?
        .execute(params![id, state, row.listed(), row.floor, row.flags, row.pinned_at, row.edited_at])?;
    }
    Ok(())
}

fn reactions(tx: &Transaction<'_>, changes: &Changes<'_>) -> Result<()> {
    for (id, member, reaction) in &changes.reactions {
        match reaction {
            None => tx
                .prepare_cached("DELETE FROM reaction WHERE comment_id = ?1 AND member_id = ?2")?
                .execute([id.signed(), member.signed()])?,
            Some(reaction) => tx
                .prepare_cached(
                    "INSERT OR REPLACE INTO reaction (comment_id, member_id, reaction) VALUES (?1, ?2, ?3)",
                )?
                .execute([id.signed(), member.signed(), rows::reaction_number(*reaction)])?,
        };
    }
    Ok(())
}

fn ranks(tx: &Transaction<'_>, changes: &Changes<'_>, numbers: &[i64]) -> Result<()> {
    for root in &changes.roots {
        let (subject, id) = (numbers[root.subject], root.id.signed());
        match root.counts {
            Some(counts) => tx
                .prepare_cached(
                    "INSERT OR REPLACE INTO root_rank (subject, id, likes, dislikes, replies, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?
                .execute(params![subject, id, counts.likes, counts.dislikes, counts.replies, root.created_at])?,
            None => tx
                .prepare_cached("DELETE FROM root_rank WHERE subject = ?1 AND id = ?2")?
                .execute([subject, id])?,
        };
    }
    for key in &changes.cooled {
        tx.prepare_cached("DELETE FROM reply_rank WHERE root_id = ?1 AND hot = ?2 AND id = ?3")?.execute([
            key.root.signed(),
            key.hot,
            key.id.signed(),
        ])?;
    }
    for key in &changes.heated {
        tx.prepare_cached("INSERT OR REPLACE INTO reply_rank (root_id, hot, id) VALUES (?1, ?2, ?3)")?.execute([
            key.root.signed(),
            key.hot,
            key.id.signed(),
        ])?;
    }
    Ok(())
}

/// Keys, sources, names, the feed and the audit.
fn beside(tx: &Transaction<'_>, changes: &Changes<'_>, numbers: &[i64]) -> Result<()> {
    for (once, key) in &changes.keys {
        let (member, state) = (once.member.signed(), rows::state_number(key.state));
        tx.prepare_cached(
            "INSERT OR REPLACE INTO idempotency (member_id, key, request, comment_id, state, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![member, once.key, key.request, key.id.signed(), state, key.created_at])?;
    }
    for (place, source, id) in &changes.sources {
        tx.prepare_cached("INSERT INTO import_source (subject, source, comment_id) VALUES (?1, ?2, ?3)")?
            .execute(params![numbers[*place], source, id.signed()])?;
    }
    for author in &changes.authors {
        tx.prepare_cached(
            "INSERT INTO member (id, name, avatar, level) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET name = excluded.name, \
             avatar = excluded.avatar, level = excluded.level \
             WHERE name <> excluded.name OR avatar IS NOT excluded.avatar OR level <> excluded.level",
        )?
        .execute(params![author.id.signed(), author.name, author.avatar, author.level])?;
    }
    for (place, id, at) in &changes.feed {
        tx.prepare_cached("INSERT INTO feed (at, subject, version, comment_id) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![at, numbers[*place], changes.subjects[*place].version, id.signed()])?;
    }
    for line in &changes.audits {
        let (audit, subject) = (line.audit, line.subject.map(|place| numbers[place]));
        tx.prepare_cached(
            "INSERT INTO audit (at, actor_id, action, comment_id, subject, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            line.at,
            audit.actor.signed(),
            audit.action,
            line.comment.map(CommentId::signed),
            subject,
            audit.reason
        ])?;
    }
    Ok(())
}
