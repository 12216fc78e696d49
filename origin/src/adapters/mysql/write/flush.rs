//! Writes the rows that a fold has changed: sorted by primary key, each table in a few statements.

use std::collections::BTreeMap;

use gailou_shared::id::{AuditId, CommentId, MemberId, Slot};
use gailou_shared::wire::Author;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::dirty_rows::DirtyRow;
use crate::adapters::mysql::numbered_tables::slot_of_comment;
use crate::adapters::mysql::row_numbers::{subject_number, subject_slot};
use crate::adapters::mysql::rows::{StoredEnum, damaged, role_number};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::statement::hex_literal;
use crate::adapters::mysql::write::batch_sql::{
    BatchScript, RowValues, group_by_table, json_numbers, json_table, signed,
};
use crate::adapters::mysql::write::rank_values::{ROOT_RANK_COLUMNS, root_rank_values};
use crate::adapters::mysql::write::{dead_reaction_rows, moderation_rows};
use crate::domain::fold::{CommentInsert, CommentUpdate, ForgottenName, RenamedMember, RowChanges};
use crate::domain::operation::SubjectPatch;
use crate::ports::store::Result;

/// The numbers of the batch's subjects, by their indexes.
pub(super) fn subject_numbers(changes: &RowChanges<'_>) -> Vec<i64> {
    changes.subjects.iter().map(|s| s.number.unwrap_or_else(|| subject_number(&s.key))).collect()
}

/// Writes everything except the positions. Rows are locked in the order subject, comment, reaction.
pub(super) async fn flush(
    db: &MysqlStore,
    session: &mut MysqlSession,
    changes: &RowChanges<'_>,
    subjects: &[i64],
) -> Result<()> {
    let mut script = BatchScript::new(session);
    write_subjects(db, &mut script, changes, subjects).await?;
    insert_comments(db, &mut script, &changes.inserts, subjects).await?;
    update_comments(db, &mut script, &changes.updates).await?;
    write_edits(db, &mut script, changes).await?;
    transfer(db, &mut script, &changes.transferred).await?;
    rename(db, &mut script, &changes.renamed).await?;
    erase(db, &mut script, changes).await?;
    write_reactions(db, &mut script, changes).await?;
    write_ranks(db, &mut script, changes, subjects).await?;
    write_keys(db, &mut script, changes, subjects).await?;
    write_feed(&mut script, changes).await?;
    moderation_rows::write(db, &mut script, changes, subjects).await?;
    script.send().await
}

async fn write_subjects(
    db: &MysqlStore,
    script: &mut BatchScript<'_>,
    changes: &RowChanges<'_>,
    subjects: &[i64],
) -> Result<()> {
    let mut written: Vec<_> = changes.subjects.iter().zip(subjects).filter(|(s, _)| s.write).collect();
    written.sort_unstable_by_key(|(_, number)| **number);
    let rows = written.into_iter().map(|(s, number)| {
        let slot = subject_slot(*number);
        let row = RowValues::new().number(*number).number(i64::from(slot.get())).text(s.key.kind()).text(s.key.key());
        (slot, row.count(s.version).count(s.floors).count(s.roots).count(s.comments).end())
    });
    let statement = "INSERT INTO subject_{n} (id, slot, type, `key`, version, floors, roots, comments) VALUES {rows} \
                     ON DUPLICATE KEY UPDATE version = VALUES(version), floors = VALUES(floors), roots = VALUES(roots), \
                     comments = VALUES(comments)";
    script.add_rows(statement, group_by_table(db, rows)).await?;
    for row in &changes.patches {
        let number = subjects[row.subject];
        if let Some(set) = patched_columns(row.patch) {
            let table = db.table_number(subject_slot(number));
            script.add(&format!("UPDATE subject_{table} SET {set} WHERE id = {number}")).await?;
        }
    }
    Ok(())
}

/// The columns that a patch sets.
fn patched_columns(patch: &SubjectPatch) -> Option<String> {
    let value = |values: RowValues| values.end();
    let text = |column: &str, text: &Option<Option<String>>| {
        let value = value(RowValues::new().text(text.as_ref()?.as_deref()));
        Some(if patch.fills_gaps { format!("COALESCE({column}, {value})") } else { value })
    };
    let columns = [
        ("title", text("title", &patch.title)),
        ("url", text("url", &patch.url)),
        ("owner_id", patch.owner_id.map(|owner| value(RowValues::new().number(owner.map(MemberId::signed))))),
        ("state", patch.state.map(|state| value(RowValues::new().number(state.number())))),
        ("mode", patch.mode.map(|mode| value(RowValues::new().number(mode.number())))),
    ];
    let set: Vec<String> =
        columns.into_iter().filter_map(|(column, value)| Some(format!("{column} = {}", value?))).collect();
    (!set.is_empty()).then(|| set.join(", "))
}

async fn insert_comments(
    db: &MysqlStore,
    script: &mut BatchScript<'_>,
    inserts: &[CommentInsert<'_>],
    subjects: &[i64],
) -> Result<()> {
    let statement = "INSERT INTO comment_{n} (id, subject, list, root_id, parent_id, path, depth, floor, listed_floor, floors, \
                     state, visibility, flags, pinned_at, author_id, author_name, author_avatar, author_level, reply_to_id, \
                     reply_to_name, likes, dislikes, base_likes, base_dislikes, reacted, replies, created_at, edited_at, \
                     author_role) VALUES {rows}";
    let rows = inserts.iter().map(|comment| (comment.id.slot(), comment_row(comment, subjects[comment.subject])));
    script.add_rows(statement, group_by_table(db, rows)).await?;
    let mut rows = Vec::with_capacity(inserts.len());
    for CommentInsert { id, new, .. } in inserts {
        let mentions =
            if new.mentions.is_empty() { None } else { Some(serde_json::to_string(&new.mentions).map_err(damaged)?) };
        let media = if new.media.is_empty() { None } else { Some(serde_json::to_string(&new.media).map_err(damaged)?) };
        let row = RowValues::new().number(id.signed()).text(new.content.as_str()).text(new.html.as_str());
        let row = row.text(mentions.as_deref()).text(new.original_text.as_deref()).text(media.as_deref());
        rows.push((id.slot(), row.end()));
    }
    let statement = "INSERT INTO content_{n} (id, content, html, mentions, written, media) VALUES {rows}";
    script.add_rows(statement, group_by_table(db, rows)).await?;
    let mentioned = inserts.iter().flat_map(|comment| comment.new.mentions.iter().map(|m| (m.id, comment.id)));
    let mut mentioned: Vec<_> = mentioned.collect();
    mentioned.sort_unstable();
    let rows = mentioned
        .into_iter()
        .map(|(member, id)| (id.slot(), RowValues::new().number(member.signed()).number(id.signed()).end()));
    let statement = "INSERT IGNORE INTO mention_{n} (member_id, comment_id) VALUES {rows}";
    script.add_rows(statement, group_by_table(db, rows)).await?;
    let rows = inserts.iter().filter_map(|CommentInsert { id, new, .. }| {
        let digest = new.network.as_ref()?;
        Some((id.slot(), RowValues::new().number(id.signed()).bytes(&digest.as_bytes()[..]).end()))
    });
    let statement = "INSERT INTO author_network_{n} (comment_id, digest) VALUES {rows}";
    script.add_rows(statement, group_by_table(db, rows)).await
}

fn comment_row(comment: &CommentInsert<'_>, subject: i64) -> String {
    let (new, row) = (comment.new, &comment.row);
    let root = row.path.root_id().signed();
    RowValues::new()
        .number(comment.id.signed())
        .number(subject)
        .number(if row.path.depth() == 1 { subject } else { root })
        .number(root)
        .number(comment.parent.map(CommentId::signed))
        .bytes(row.path.as_bytes())
        .number(row.path.depth() as i64)
        .count(row.floor)
        .count(row.floor.filter(|_| row.is_listed()))
        .count(row.floors)
        .number(row.state.number())
        .number(row.visibility.number())
        .number(row.flags)
        .count(row.pinned_at)
        .number(new.author.id.signed())
        .text(new.author.name.as_str())
        .text(new.author.avatar.as_deref())
        .number(i64::from(new.author.level))
        .number(new.reply_to.as_ref().map(|m| m.id.signed()))
        .text(new.reply_to.as_ref().map(|m| m.name.as_str()))
        .count(row.counts.likes)
        .count(row.counts.dislikes)
        .count(comment.base.likes)
        .count(comment.base.dislikes)
        .count(row.reactions_offset)
        .count(row.counts.replies)
        .count(row.created_at)
        .count(row.edited_at)
        .number(role_number(new.author.role))
        .end()
}

async fn update_comments(db: &MysqlStore, script: &mut BatchScript<'_>, updates: &[CommentUpdate]) -> Result<()> {
    let count = |count: u64| Some(signed(count));
    // Two statements, since a change of counts touches no index.
    let rows = updates.iter().map(|CommentUpdate { id, row, .. }| {
        let counts =
            [row.counts.likes, row.counts.dislikes, row.counts.replies, row.floors, row.reactions_offset].map(count);
        let [likes, dislikes, replies, floors, reactions_offset] = counts;
        (id.slot(), json_numbers(&[Some(id.signed()), likes, dislikes, replies, floors, reactions_offset]))
    });
    let columns = ["id BIGINT", "likes BIGINT", "dislikes BIGINT", "replies BIGINT", "floors BIGINT", "reacted BIGINT"];
    let statement = format!(
        "UPDATE {} STRAIGHT_JOIN comment_{{n}} c ON c.id = j.id SET c.likes = j.likes, c.dislikes = j.dislikes, \
         c.replies = j.replies, c.floors = j.floors, c.reacted = j.reacted",
        json_table("{rows}", &columns)
    );
    script.add_rows(&statement, group_by_table(db, rows)).await?;
    let rows = updates.iter().filter(|comment| comment.more_than_counts).map(|CommentUpdate { id, row, .. }| {
        let floor = row.floor.map(signed);
        let listed_floor = floor.filter(|_| row.is_listed());
        let (pinned_at, edited_at) = (row.pinned_at.map(signed), row.edited_at.map(signed));
        let (state, flags, edits) = (Some(row.state.number()), Some(row.flags), Some(signed(row.edits)));
        let audit = Some(row.last_audit.map_or(0, AuditId::signed));
        let values = [Some(id.signed()), state, floor, listed_floor, flags, pinned_at, edited_at, edits, audit];
        (id.slot(), json_numbers(&values))
    });
    let columns = [
        "id BIGINT",
        "state TINYINT",
        "floor BIGINT",
        "listed_floor BIGINT",
        "flags SMALLINT",
        "pinned_at BIGINT",
        "edited_at BIGINT",
        "edits INT",
        "audit_id BIGINT",
    ];
    let statement = format!(
        "UPDATE {} STRAIGHT_JOIN comment_{{n}} c ON c.id = j.id SET c.state = j.state, c.floor = j.floor, \
         c.listed_floor = j.listed_floor, c.flags = j.flags, c.pinned_at = j.pinned_at, \
         c.edited_at = j.edited_at, c.edits = j.edits, c.audit_id = j.audit_id",
        json_table("{rows}", &columns)
    );
    script.add_rows(&statement, group_by_table(db, rows)).await
}

async fn write_edits(db: &MysqlStore, script: &mut BatchScript<'_>, changes: &RowChanges<'_>) -> Result<()> {
    for edit in &changes.edits {
        let (n, id, at) = (db.table_number(edit.id.slot()), edit.id, signed(edit.at));
        let was_shown = u8::from(edit.was_shown);
        let value = |text: Option<&str>| RowValues::new().text(text).end();
        // The bytes are compared: the column's own order takes letters in both cases for the same.
        script
            .add(&format!(
                "INSERT INTO content_history_{n} (comment_id, edit, edited_at, content, was_shown) \
                 SELECT id, (SELECT COALESCE(MAX(h.edit), 0) + 1 FROM content_history_{n} h WHERE h.comment_id = {id}), \
                 {at}, content, {was_shown} FROM content_{n} WHERE id = {id} AND CAST(content AS BINARY) <> {}",
                value(Some(&edit.text.content))
            ))
            .await?;
        script
            .add(&format!(
                "UPDATE content_{n} SET content = {}, html = {}, written = {} WHERE id = {id}",
                value(Some(&edit.text.content)),
                value(Some(&edit.text.html)),
                value(edit.text.original_text.as_deref())
            ))
            .await?;
    }
    Ok(())
}

/// Writes the new authors of comments.
async fn transfer(
    db: &MysqlStore,
    script: &mut BatchScript<'_>,
    transferred: &BTreeMap<CommentId, &Author>,
) -> Result<()> {
    let mut authors: BTreeMap<MemberId, Vec<(CommentId, &Author)>> = BTreeMap::new();
    for (id, author) in transferred {
        authors.entry(author.id).or_default().push((*id, author));
    }
    for comments in authors.values() {
        // All of one member have one name, but for the rare batch with two requests.
        for same in comments.chunk_by(|(_, one), (_, other)| one == other) {
            let [(_, author), ..] = same else { continue };
            let text = |text: Option<&str>| RowValues::new().text(text).end();
            let statement = format!(
                "UPDATE {} STRAIGHT_JOIN comment_{{n}} c ON c.id = j.id SET c.author_id = {}, c.author_name = {}, \
                 c.author_avatar = {}, c.author_level = {}, c.author_role = {}",
                json_table("{rows}", &["id BIGINT"]),
                author.id,
                text(Some(&author.name)),
                text(author.avatar.as_deref()),
                author.level,
                role_number(author.role)
            );
            let rows = same.iter().map(|(id, _)| (id.slot(), json_numbers(&[Some(id.signed())])));
            script.add_rows(&statement, group_by_table(db, rows)).await?;
        }
    }
    Ok(())
}

/// Writes the new names of those whom comments mention or answer.
async fn rename(db: &MysqlStore, script: &mut BatchScript<'_>, renamed: &[RenamedMember<'_>]) -> Result<()> {
    for RenamedMember { id, from, to } in renamed {
        let (n, member) = (db.table_number(id.slot()), to.id);
        // The server takes bytes for no text of a JSON.
        let name = format!("CONVERT({} USING utf8mb4)", hex_literal(to.name.as_bytes()));
        script
            .add(&format!(
                "UPDATE comment_{n} SET reply_to_id = {member}, reply_to_name = {name} \
                 WHERE id = {id} AND reply_to_id = {from}"
            ))
            .await?;
        // The path of the id is the path of the mention and `.id`. No one is mentioned twice.
        let place = |of: MemberId| format!("JSON_SEARCH(mentions, 'one', '{of}', NULL, '$[*].id')");
        let (place, other) = (place(*from), place(member));
        let path = format!("JSON_UNQUOTE({place})");
        script
            .add(&format!(
                "UPDATE content_{n} SET mentions = IF({other} IS NULL, \
                 JSON_REPLACE(mentions, {path}, '{member}', REPLACE({path}, '.id', '.name'), {name}), \
                 JSON_REMOVE(mentions, REPLACE({path}, '.id', ''))) \
                 WHERE id = {id} AND mentions IS NOT NULL AND {place} IS NOT NULL"
            ))
            .await?;
        script
            .add(&format!(
                "INSERT IGNORE INTO mention_{n} (member_id, comment_id) \
                 SELECT {member}, comment_id FROM mention_{n} WHERE member_id = {from} AND comment_id = {id}"
            ))
            .await?;
        script.add(&format!("DELETE FROM mention_{n} WHERE member_id = {from} AND comment_id = {id}")).await?;
    }
    Ok(())
}

/// Overwrites erased comments, the pictures of deleted ones, and the names of erased members in the comments of others.
async fn erase(db: &MysqlStore, script: &mut BatchScript<'_>, changes: &RowChanges<'_>) -> Result<()> {
    let mut erased = changes.erased.clone();
    erased.sort_unstable();
    let (ids, slot) = (json_table("{rows}", &["id BIGINT"]), slot_of_comment("j.id"));
    for statement in [
        format!(
            "UPDATE {ids} STRAIGHT_JOIN comment_{{n}} c ON c.id = j.id SET c.author_name = '', c.author_avatar = NULL, \
             c.author_level = 0, c.author_role = 0"
        ),
        format!(
            "UPDATE {ids} STRAIGHT_JOIN content_{{n}} c ON c.id = j.id SET c.content = '', c.html = '', \
             c.mentions = NULL, c.written = NULL, c.media = NULL"
        ),
        format!("DELETE h FROM {ids} STRAIGHT_JOIN content_history_{{n}} h ON h.comment_id = j.id"),
        format!("DELETE r FROM {ids} STRAIGHT_JOIN report_{{n}} r ON r.slot = {slot} AND r.comment_id = j.id"),
        format!("DELETE u FROM {ids} STRAIGHT_JOIN undo_{{n}} u ON u.comment_id = j.id"),
        format!("DELETE a FROM {ids} STRAIGHT_JOIN author_network_{{n}} a ON a.slot = {slot} AND a.comment_id = j.id"),
    ] {
        let rows = erased.iter().map(|id| (id.slot(), json_numbers(&[Some(id.signed())])));
        script.add_rows(&statement, group_by_table(db, rows)).await?;
    }
    let rows = changes.without_media.iter().map(|id| (id.slot(), json_numbers(&[Some(id.signed())])));
    let statement = format!("UPDATE {ids} STRAIGHT_JOIN content_{{n}} c ON c.id = j.id SET c.media = NULL");
    script.add_rows(&statement, group_by_table(db, rows)).await?;
    for ForgottenName { id, member } in &changes.forgotten {
        let (n, slot) = (db.table_number(id.slot()), id.slot().get());
        script
            .add(&format!("DELETE FROM report_{n} WHERE slot = {slot} AND comment_id = {id} AND member_id = {member}"))
            .await?;
        script
            .add(&format!("UPDATE comment_{n} SET reply_to_name = '' WHERE id = {id} AND reply_to_id = {member}"))
            .await?;
        // The path of the id is the path of the mention and `.id`.
        let place = format!("JSON_SEARCH(mentions, 'one', '{member}', NULL, '$[*].id')");
        script
            .add(&format!(
                "UPDATE content_{n} SET mentions = JSON_REMOVE(mentions, REPLACE(JSON_UNQUOTE({place}), '.id', '')) \
                 WHERE id = {id} AND mentions IS NOT NULL AND {place} IS NOT NULL"
            ))
            .await?;
    }
    Ok(())
}

async fn write_reactions(db: &MysqlStore, script: &mut BatchScript<'_>, changes: &RowChanges<'_>) -> Result<()> {
    let put = changes.reactions.iter().filter_map(|row| {
        let values = RowValues::new().number(row.id.signed()).number(row.member.signed());
        Some((row.id.slot(), values.number(row.reaction?.number()).end()))
    });
    let statement = "INSERT INTO reaction_{n} (comment_id, member_id, reaction) VALUES {rows} \
                     ON DUPLICATE KEY UPDATE reaction = VALUES(reaction)";
    script.add_rows(statement, group_by_table(db, put)).await?;
    let deleted = changes.reactions.iter().filter(|row| row.reaction.is_none());
    let deleted = deleted.map(|row| (row.id.slot(), json_numbers(&[Some(row.id.signed()), Some(row.member.signed())])));
    let statement = format!(
        "DELETE r FROM {} STRAIGHT_JOIN reaction_{{n}} r \
         ON r.slot = {} AND r.comment_id = j.id AND r.member_id = j.member",
        json_table("{rows}", &["id BIGINT", "member BIGINT"]),
        slot_of_comment("j.id")
    );
    script.add_rows(&statement, group_by_table(db, deleted)).await?;
    dead_reaction_rows::delete(db, script, &changes.ended_dead_reactions).await
}

async fn write_ranks(
    db: &MysqlStore,
    script: &mut BatchScript<'_>,
    changes: &RowChanges<'_>,
    subjects: &[i64],
) -> Result<()> {
    let mut roots: Vec<_> = changes.root_ranks.iter().map(|root| (subjects[root.subject], root)).collect();
    roots.sort_unstable_by_key(|(subject, root)| (*subject, root.id));
    let put = roots.iter().filter_map(|(subject, root)| {
        let (counts, keys) = root.ranked?;
        Some((root.id.slot(), root_rank_values(*subject, root.id, counts, root.created_at, keys)))
    });
    let statement = format!(
        "INSERT INTO root_rank_{{n}} {ROOT_RANK_COLUMNS} VALUES {{rows}} \
         ON DUPLICATE KEY UPDATE likes = VALUES(likes), dislikes = VALUES(dislikes), replies = VALUES(replies), \
         hot = VALUES(hot), best = VALUES(best), controversial = VALUES(controversial)"
    );
    script.add_rows(&statement, group_by_table(db, put)).await?;
    let deleted = roots.iter().filter(|(_, root)| root.ranked.is_none());
    let deleted =
        deleted.map(|(subject, root)| (root.id.slot(), json_numbers(&[Some(*subject), Some(root.id.signed())])));
    let statement = format!(
        "DELETE r FROM {} STRAIGHT_JOIN root_rank_{{n}} r ON r.subject = j.subject AND r.id = j.id",
        json_table("{rows}", &["subject BIGINT", "id BIGINT"])
    );
    script.add_rows(&statement, group_by_table(db, deleted)).await?;
    let removed = changes.removed_reply_ranks.iter();
    let removed = removed
        .map(|key| (key.id.slot(), json_numbers(&[Some(key.root.signed()), Some(key.hot), Some(key.id.signed())])));
    let statement = format!(
        "DELETE r FROM {} STRAIGHT_JOIN reply_rank_{{n}} r \
         ON r.slot = {} AND r.root_id = j.root AND r.hot = j.hot AND r.id = j.id",
        json_table("{rows}", &["root BIGINT", "hot BIGINT", "id BIGINT"]),
        slot_of_comment("j.root")
    );
    script.add_rows(&statement, group_by_table(db, removed)).await?;
    let added = changes.added_reply_ranks.iter().map(|key| {
        (key.id.slot(), RowValues::new().number(key.root.signed()).number(key.hot).number(key.id.signed()).end())
    });
    // A superfluous row must not refuse the batch.
    let statement =
        "INSERT INTO reply_rank_{n} (root_id, hot, id) VALUES {rows} ON DUPLICATE KEY UPDATE hot = VALUES(hot)";
    script.add_rows(statement, group_by_table(db, added)).await
}

/// Idempotency keys, second ids and import sources.
async fn write_keys(
    db: &MysqlStore,
    script: &mut BatchScript<'_>,
    changes: &RowChanges<'_>,
    subjects: &[i64],
) -> Result<()> {
    let keys = changes.idempotency_keys.iter().map(|(key, stored)| {
        let row = RowValues::new().number(key.member.signed()).text(key.key).number(i64::from(key.slot.get()));
        let row = row.bytes(&stored.request[..]).number(stored.id.signed()).number(stored.state.number());
        (key.slot, row.count(stored.created_at).end())
    });
    let statement = "INSERT INTO idempotency_{n} (member_id, `key`, slot, request, comment_id, state, created_at) \
                     VALUES {rows} ON DUPLICATE KEY UPDATE request = VALUES(request), comment_id = VALUES(comment_id), \
                     state = VALUES(state), created_at = VALUES(created_at)";
    script.add_rows(statement, group_by_table(db, keys)).await?;
    let aliases = changes
        .aliases
        .iter()
        .map(|row| (row.id.slot(), RowValues::new().number(row.id.signed()).number(row.original.signed()).end()));
    script.add_rows("INSERT INTO alias_{n} (id, comment_id) VALUES {rows}", group_by_table(db, aliases)).await?;
    let sources = changes.sources.iter().map(|row| {
        let values = RowValues::new().number(subjects[row.subject]).text(row.source);
        (row.id.slot(), values.number(row.id.signed()).end())
    });
    let statement = "INSERT INTO import_source_{n} (subject, source, comment_id) VALUES {rows}";
    script.add_rows(statement, group_by_table(db, sources)).await
}

/// The change feed, which is not a numbered table.
async fn write_feed(script: &mut BatchScript<'_>, changes: &RowChanges<'_>) -> Result<()> {
    let feed: Vec<String> = changes
        .takedowns
        .iter()
        .map(|takedown| {
            let subject = &changes.subjects[takedown.subject];
            let row = RowValues::new().count(takedown.at).text(subject.key.kind()).text(subject.key.key());
            row.count(subject.version).number(takedown.stored_id()).end()
        })
        .collect();
    if !feed.is_empty() {
        let statement = "INSERT INTO feed (at, type, `key`, version, comment_id) VALUES {rows}";
        script.add_rows(statement, [(0, feed)].into()).await?;
    }
    Ok(())
}

/// The rows that [`flush`] wrote to each slot, for the copy of a slot that is moving.
pub(super) fn dirty_rows(changes: &RowChanges<'_>, subjects: &[i64]) -> Vec<(Slot, DirtyRow)> {
    let mut dirty = Vec::new();
    let patched = changes.patches.iter().map(|row| row.subject);
    let written = changes.subjects.iter().enumerate().filter(|(_, s)| s.write).map(|(index, _)| index);
    dirty.extend(
        written.chain(patched).map(|index| (subject_slot(subjects[index]), DirtyRow::Subject(subjects[index]))),
    );
    let inserted = changes.inserts.iter().map(|c| c.id);
    let comments = inserted.chain(changes.updates.iter().map(|c| c.id)).chain(changes.edits.iter().map(|e| e.id));
    dirty.extend(comments.map(|id| (id.slot(), DirtyRow::Comment(id))));
    let forgotten = changes.forgotten.iter().map(|row| row.id);
    let forgotten = || forgotten.clone().chain(changes.renamed.iter().map(|row| row.id));
    dirty.extend(forgotten().map(|id| (id.slot(), DirtyRow::Comment(id))));
    let texts = changes.inserts.iter().map(|c| c.id).chain(changes.edits.iter().map(|e| e.id));
    let texts = texts.chain(changes.erased.iter().chain(&changes.without_media).copied()).chain(forgotten());
    dirty.extend(texts.map(|id| (id.slot(), DirtyRow::Content(id))));
    dirty.extend(changes.reactions.iter().map(|row| (row.id.slot(), DirtyRow::Reaction(row.id, row.member))));
    let ended = changes.ended_dead_reactions.iter();
    dirty.extend(ended.map(|dead| (dead.id.slot(), DirtyRow::Reaction(dead.id, dead.member))));
    let keys = changes.idempotency_keys.iter();
    dirty.extend(keys.map(|(key, _)| (key.slot, DirtyRow::Idempotency(key.member, key.key.to_owned()))));
    dirty.extend(changes.audits.iter().map(|row| (row.audit.id.slot(), DirtyRow::Audit(row.audit.id))));
    dirty.extend(changes.aliases.iter().map(|row| (row.id.slot(), DirtyRow::Alias(row.id))));
    dirty
}
