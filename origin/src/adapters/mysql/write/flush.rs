//! What a fold has changed, written: sorted by primary key, each table in a few statements.

use gailou_shared::id::{CommentId, MemberId, Slot};

use crate::adapters::mysql::dirty_rows::Mark;
use crate::adapters::mysql::pool::Session;
use crate::adapters::mysql::rows::{
    damaged, mode_number, reaction_number, state_number, subject_state_number, visibility_number,
};
use crate::adapters::mysql::write::batch_sql::{Script, Values, by_table, numbers, signed, table_of};
use crate::adapters::mysql::{MysqlStore, subject_slot};
use crate::domain::fold::{Changes, CommentUpdate, Inserted};
use crate::domain::operation::SubjectPatch;
use crate::ports::store::Result;

/// The numbers of the batch's subjects, by their places.
pub(super) fn subject_numbers(changes: &Changes<'_>) -> Vec<i64> {
    changes.subjects.iter().map(|s| s.number.unwrap_or_else(|| MysqlStore::subject_id(&s.key))).collect()
}

/// Writes everything but the positions. Locks are taken in the order subject, comment, reaction.
pub(super) async fn flush(
    db: &MysqlStore,
    session: &mut Session,
    changes: &Changes<'_>,
    subjects: &[i64],
) -> Result<()> {
    let mut script = Script::new(session);
    write_subjects(db, &mut script, changes, subjects).await?;
    insert(db, &mut script, &changes.inserts, subjects).await?;
    update(db, &mut script, &changes.updates).await?;
    edit(db, &mut script, changes).await?;
    react(db, &mut script, changes).await?;
    rank(db, &mut script, changes, subjects).await?;
    remember(db, &mut script, changes, subjects).await?;
    tell(&mut script, changes).await?;
    script.send().await
}

async fn write_subjects(
    db: &MysqlStore,
    script: &mut Script<'_>,
    changes: &Changes<'_>,
    subjects: &[i64],
) -> Result<()> {
    let mut written: Vec<_> = changes.subjects.iter().zip(subjects).filter(|(s, _)| s.write).collect();
    written.sort_unstable_by_key(|(_, number)| **number);
    let rows = written.into_iter().map(|(s, number)| {
        let slot = subject_slot(*number);
        let row = Values::new().number(*number).number(i64::from(slot.get())).text(s.key.kind()).text(s.key.key());
        (slot, row.count(s.version).count(s.floors).count(s.roots).count(s.comments).end())
    });
    let statement = "INSERT INTO subject_{n} (id, slot, type, `key`, version, floors, roots, comments) VALUES {rows} \
                     ON DUPLICATE KEY UPDATE version = VALUES(version), floors = VALUES(floors), roots = VALUES(roots), \
                     comments = VALUES(comments)";
    script.rows(statement, by_table(db, rows)).await?;
    for (place, change) in &changes.patches {
        let number = subjects[*place];
        if let Some(set) = patch(change) {
            let table = db.table(subject_slot(number));
            script.add(&format!("UPDATE subject_{table} SET {set} WHERE id = {number}")).await?;
        }
    }
    Ok(())
}

/// The columns a patch sets.
fn patch(patch: &SubjectPatch) -> Option<String> {
    let value = |values: Values| values.end();
    let columns = [
        ("title", patch.title.as_ref().map(|title| value(Values::new().text(title.as_deref())))),
        ("url", patch.url.as_ref().map(|url| value(Values::new().text(url.as_deref())))),
        ("owner_id", patch.owner_id.map(|owner| value(Values::new().number(owner.map(MemberId::signed))))),
        ("state", patch.state.map(|state| value(Values::new().number(subject_state_number(state))))),
        ("mode", patch.mode.map(|mode| value(Values::new().number(mode_number(mode))))),
    ];
    let set: Vec<String> =
        columns.into_iter().filter_map(|(column, value)| Some(format!("{column} = {}", value?))).collect();
    (!set.is_empty()).then(|| set.join(", "))
}

async fn insert(db: &MysqlStore, script: &mut Script<'_>, inserts: &[Inserted<'_>], subjects: &[i64]) -> Result<()> {
    let statement = "INSERT INTO comment_{n} (id, subject, list, root_id, parent_id, path, depth, floor, listed_floor, floors, \
                     state, visibility, flags, pinned_at, author_id, author_name, author_avatar, author_level, reply_to_id, \
                     reply_to_name, likes, dislikes, base_likes, base_dislikes, reacted, replies, created_at, edited_at) \
                     VALUES {rows}";
    let rows = inserts.iter().map(|comment| (comment.id.slot(), comment_row(comment, subjects[comment.subject])));
    script.rows(statement, by_table(db, rows)).await?;
    let mut rows = Vec::with_capacity(inserts.len());
    for Inserted { id, new, .. } in inserts {
        let mentions =
            if new.mentions.is_empty() { None } else { Some(serde_json::to_string(&new.mentions).map_err(damaged)?) };
        let row = Values::new().number(id.signed()).text(new.content.as_str()).text(new.html.as_str());
        rows.push((id.slot(), row.text(mentions.as_deref()).text(new.written.as_deref()).end()));
    }
    let statement = "INSERT INTO content_{n} (id, content, html, mentions, written) VALUES {rows}";
    script.rows(statement, by_table(db, rows)).await
}

fn comment_row(comment: &Inserted<'_>, subject: i64) -> String {
    let (new, row) = (comment.new, &comment.row);
    let root = row.path.root_id().signed();
    Values::new()
        .number(comment.id.signed())
        .number(subject)
        .number(if row.path.depth() == 1 { subject } else { root })
        .number(root)
        .number(comment.parent.map(CommentId::signed))
        .bytes(row.path.as_bytes())
        .number(row.path.depth() as i64)
        .count(row.floor)
        .count(row.floor.filter(|_| row.listed()))
        .count(row.floors)
        .number(state_number(row.state))
        .number(visibility_number(row.visibility))
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
        .count(comment.base.0)
        .count(comment.base.1)
        .count(row.reacted)
        .count(row.counts.replies)
        .count(row.created_at)
        .count(row.edited_at)
        .end()
}

async fn update(db: &MysqlStore, script: &mut Script<'_>, updates: &[CommentUpdate]) -> Result<()> {
    let count = |count: u64| Some(signed(count));
    // Two statements: what only counts touches no index.
    let rows = updates.iter().map(|CommentUpdate { id, row, .. }| {
        let counts = [row.counts.likes, row.counts.dislikes, row.counts.replies, row.floors, row.reacted].map(count);
        let [likes, dislikes, replies, floors, reacted] = counts;
        (id.slot(), numbers(&[Some(id.signed()), likes, dislikes, replies, floors, reacted]))
    });
    let columns = ["id BIGINT", "likes BIGINT", "dislikes BIGINT", "replies BIGINT", "floors BIGINT", "reacted BIGINT"];
    let statement = format!(
        "UPDATE {} STRAIGHT_JOIN comment_{{n}} c ON c.id = j.id SET c.likes = j.likes, c.dislikes = j.dislikes, \
         c.replies = j.replies, c.floors = j.floors, c.reacted = j.reacted",
        table_of("{rows}", &columns)
    );
    script.rows(&statement, by_table(db, rows)).await?;
    let rows = updates.iter().filter(|comment| comment.moved).map(|CommentUpdate { id, row, .. }| {
        let floor = row.floor.map(signed);
        let listed_floor = floor.filter(|_| row.listed());
        let (pinned_at, edited_at) = (row.pinned_at.map(signed), row.edited_at.map(signed));
        let (state, flags) = (Some(state_number(row.state)), Some(row.flags));
        (id.slot(), numbers(&[Some(id.signed()), state, floor, listed_floor, flags, pinned_at, edited_at]))
    });
    let columns = [
        "id BIGINT",
        "state TINYINT",
        "floor BIGINT",
        "listed_floor BIGINT",
        "flags SMALLINT",
        "pinned_at BIGINT",
        "edited_at BIGINT",
    ];
    let statement = format!(
        "UPDATE {} STRAIGHT_JOIN comment_{{n}} c ON c.id = j.id SET c.state = j.state, c.floor = j.floor, \
         c.listed_floor = j.listed_floor, c.flags = j.flags, c.pinned_at = j.pinned_at, c.edited_at = j.edited_at",
        table_of("{rows}", &columns)
    );
    script.rows(&statement, by_table(db, rows)).await
}

async fn edit(db: &MysqlStore, script: &mut Script<'_>, changes: &Changes<'_>) -> Result<()> {
    for edit in &changes.edits {
        let (n, id, at) = (db.table(edit.id.slot()), edit.id, signed(edit.at));
        let value = |text: Option<&str>| Values::new().text(text).end();
        script
            .add(&format!(
                "INSERT IGNORE INTO content_history_{n} (comment_id, edited_at, content) \
                 SELECT id, {at}, content FROM content_{n} WHERE id = {id}"
            ))
            .await?;
        script
            .add(&format!(
                "UPDATE content_{n} SET content = {}, html = {}, written = {} WHERE id = {id}",
                value(Some(edit.content)),
                value(Some(edit.html)),
                value(edit.written)
            ))
            .await?;
    }
    Ok(())
}

async fn react(db: &MysqlStore, script: &mut Script<'_>, changes: &Changes<'_>) -> Result<()> {
    let put = changes.reactions.iter().filter_map(|(id, member, reaction)| {
        let row = Values::new().number(id.signed()).number(member.signed());
        Some((id.slot(), row.number(reaction_number((*reaction)?)).end()))
    });
    let statement = "INSERT INTO reaction_{n} (comment_id, member_id, reaction) VALUES {rows} \
                     ON DUPLICATE KEY UPDATE reaction = VALUES(reaction)";
    script.rows(statement, by_table(db, put)).await?;
    let gone = changes.reactions.iter().filter(|(.., reaction)| reaction.is_none());
    let gone = gone.map(|(id, member, _)| (id.slot(), numbers(&[Some(id.signed()), Some(member.signed())])));
    let statement = format!(
        "DELETE r FROM {} STRAIGHT_JOIN reaction_{{n}} r ON r.comment_id = j.id AND r.member_id = j.member",
        table_of("{rows}", &["id BIGINT", "member BIGINT"])
    );
    script.rows(&statement, by_table(db, gone)).await
}

async fn rank(db: &MysqlStore, script: &mut Script<'_>, changes: &Changes<'_>, subjects: &[i64]) -> Result<()> {
    let mut roots: Vec<_> = changes.roots.iter().map(|root| (subjects[root.subject], root)).collect();
    roots.sort_unstable_by_key(|(subject, root)| (*subject, root.id));
    let put = roots.iter().filter_map(|(subject, root)| {
        let counts = root.counts?;
        let row = Values::new().number(*subject).number(root.id.signed());
        let row = row.count(counts.likes).count(counts.dislikes).count(counts.replies).count(root.created_at);
        Some((root.id.slot(), row.end()))
    });
    let statement = "INSERT INTO root_rank_{n} (subject, id, likes, dislikes, replies, created_at) VALUES {rows} \
                     ON DUPLICATE KEY UPDATE likes = VALUES(likes), dislikes = VALUES(dislikes), replies = VALUES(replies)";
    script.rows(statement, by_table(db, put)).await?;
    let gone = roots.iter().filter(|(_, root)| root.counts.is_none());
    let gone = gone.map(|(subject, root)| (root.id.slot(), numbers(&[Some(*subject), Some(root.id.signed())])));
    let statement = format!(
        "DELETE r FROM {} STRAIGHT_JOIN root_rank_{{n}} r ON r.subject = j.subject AND r.id = j.id",
        table_of("{rows}", &["subject BIGINT", "id BIGINT"])
    );
    script.rows(&statement, by_table(db, gone)).await?;
    let cooled = changes.cooled.iter();
    let cooled =
        cooled.map(|key| (key.id.slot(), numbers(&[Some(key.root.signed()), Some(key.hot), Some(key.id.signed())])));
    let statement = format!(
        "DELETE r FROM {} STRAIGHT_JOIN reply_rank_{{n}} r ON r.root_id = j.root AND r.hot = j.hot AND r.id = j.id",
        table_of("{rows}", &["root BIGINT", "hot BIGINT", "id BIGINT"])
    );
    script.rows(&statement, by_table(db, cooled)).await?;
    let heated = changes.heated.iter().map(|key| {
        (key.id.slot(), Values::new().number(key.root.signed()).number(key.hot).number(key.id.signed()).end())
    });
    let statement = "INSERT INTO reply_rank_{n} (root_id, hot, id) VALUES {rows}";
    script.rows(statement, by_table(db, heated)).await
}

/// Keys, second ids and sources.
async fn remember(db: &MysqlStore, script: &mut Script<'_>, changes: &Changes<'_>, subjects: &[i64]) -> Result<()> {
    let keys = changes.keys.iter().map(|(once, key)| {
        let row = Values::new().number(once.member.signed()).text(once.key).number(i64::from(once.slot.get()));
        let row = row.bytes(&key.request[..]).number(key.id.signed()).number(state_number(key.state));
        (once.slot, row.count(key.created_at).end())
    });
    let statement = "INSERT INTO idempotency_{n} (member_id, `key`, slot, request, comment_id, state, created_at) \
                     VALUES {rows} ON DUPLICATE KEY UPDATE request = VALUES(request), comment_id = VALUES(comment_id), \
                     state = VALUES(state), created_at = VALUES(created_at)";
    script.rows(statement, by_table(db, keys)).await?;
    let aliases = changes.aliases.iter();
    let aliases =
        aliases.map(|(id, first)| (id.slot(), Values::new().number(id.signed()).number(first.signed()).end()));
    script.rows("INSERT INTO alias_{n} (id, comment_id) VALUES {rows}", by_table(db, aliases)).await?;
    let sources = changes.sources.iter().map(|(place, source, id)| {
        (id.slot(), Values::new().number(subjects[*place]).text(*source).number(id.signed()).end())
    });
    let statement = "INSERT INTO import_source_{n} (subject, source, comment_id) VALUES {rows}";
    script.rows(statement, by_table(db, sources)).await
}

/// The feed and the audit.
async fn tell(script: &mut Script<'_>, changes: &Changes<'_>) -> Result<()> {
    let feed: Vec<String> = changes
        .feed
        .iter()
        .map(|(place, id, at)| {
            let subject = &changes.subjects[*place];
            let row = Values::new().count(*at).text(subject.key.kind()).text(subject.key.key());
            row.count(subject.version).number(id.signed()).end()
        })
        .collect();
    if !feed.is_empty() {
        let statement = "INSERT INTO feed (at, type, `key`, version, comment_id) VALUES {rows}";
        script.rows(statement, [(0, feed)].into()).await?;
    }
    let audits: Vec<String> = changes
        .audits
        .iter()
        .map(|line| {
            let subject = line.subject.map(|place| &changes.subjects[place].key);
            let row = Values::new().count(line.at).number(line.audit.actor.signed()).text(line.audit.action);
            let row = row.number(line.comment.map(CommentId::signed));
            let row = row.text(subject.map(|key| key.kind())).text(subject.map(|key| key.key()));
            row.text(line.audit.reason.as_deref()).end()
        })
        .collect();
    if !audits.is_empty() {
        let statement = "INSERT INTO audit (at, actor_id, action, comment_id, type, `key`, reason) VALUES {rows}";
        script.rows(statement, [(0, audits)].into()).await?;
    }
    Ok(())
}

/// What [`flush`] wrote to each slot, for a copy of it that is being made.
pub(super) fn marks(changes: &Changes<'_>, subjects: &[i64]) -> Vec<(Slot, Mark)> {
    let mut marks = Vec::new();
    let patched = changes.patches.iter().map(|(place, _)| *place);
    let written = changes.subjects.iter().enumerate().filter(|(_, s)| s.write).map(|(place, _)| place);
    marks.extend(written.chain(patched).map(|p| (subject_slot(subjects[p]), Mark::Subject(subjects[p]))));
    let inserted = changes.inserts.iter().map(|c| c.id);
    let comments = inserted.chain(changes.updates.iter().map(|c| c.id)).chain(changes.edits.iter().map(|e| e.id));
    marks.extend(comments.map(|id| (id.slot(), Mark::Comment(id))));
    let texts = changes.inserts.iter().map(|c| c.id).chain(changes.edits.iter().map(|e| e.id));
    marks.extend(texts.map(|id| (id.slot(), Mark::Content(id))));
    marks.extend(changes.reactions.iter().map(|(id, member, _)| (id.slot(), Mark::Reaction(*id, *member))));
    let keys = changes.keys.iter();
    marks.extend(keys.map(|(once, _)| (once.slot, Mark::Idempotency(once.member, once.key.to_owned()))));
    marks.extend(changes.aliases.iter().map(|(id, _)| (id.slot(), Mark::Alias(*id))));
    marks
}
