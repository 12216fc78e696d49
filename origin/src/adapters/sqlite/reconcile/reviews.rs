//! Compares the review queue with the comments of a subject, and repairs it.
//!
//! A chunk is read in one statement, and repaired by what the rows say then.

use std::collections::BTreeSet;

use gailou_shared::id::{CommentId, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::rank::EngagementCounts;
use gailou_shared::wire::{CommentState, ReviewKind};
use rusqlite::{Connection, Row, Transaction, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::{fetch_all, json_ids, subject_number};
use crate::adapters::sqlite::rows::{StoredEnum, comment_id, count, damaged, parse_json, path};
use crate::adapters::sqlite::write::moderation::write_queue;
use crate::domain::fold::RowChanges;
use crate::domain::reconcile::{ComparedChunk, QueuedRow, ReviewedComment};
use crate::ports::store::Result;

/// Comments that are compared at once.
const COMMENTS_PER_CHUNK: usize = 1_000;
/// The columns that [`reviewed_comment`] reads, of a comment `c` and its row `q` of the queue.
const REVIEWED_COLUMNS: &str = "c.id, c.state, c.flags, c.likes, c.dislikes, c.replies, c.author_level, c.created_at, \
                                q.kind, q.rank, q.since, q.item";

impl SqliteStore {
    pub(super) async fn compare_reviews(
        &self,
        subject: &SubjectKey,
        after: Option<&Path>,
        repair: bool,
    ) -> Result<ComparedChunk<Path>> {
        let (subject, after) = (subject.clone(), after.map_or(vec![], |path| path.as_bytes().to_vec()));
        let compare = move |c: &Connection| {
            let Some(number) = subject_number(c, &subject)? else { return Ok(vec![]) };
            let sql = format!(
                "SELECT {REVIEWED_COLUMNS}, c.path FROM comment c INDEXED BY comment_path \
                 LEFT JOIN review q ON q.comment_id = c.id WHERE c.subject = ?1 AND c.path > ?2 \
                 ORDER BY c.path LIMIT {COMMENTS_PER_CHUNK}"
            );
            fetch_all(c, &sql, params![number, after], |r| Ok((reviewed_comment(r)?, r.get::<_, Vec<u8>>(12)?)))
        };
        let compared = self.read("reconcile", compare).await?;
        let last = compared.last().filter(|_| compared.len() == COMMENTS_PER_CHUNK);
        let next = last.map(|(_, bytes)| path(bytes)).transpose()?;
        let mut wrong: Vec<ReviewedComment> = compared.into_iter().map(|(comment, _)| comment).collect();
        wrong.retain(|comment| comment.fault().is_some());
        if repair && !wrong.is_empty() {
            let ids: Vec<CommentId> = wrong.iter().map(|comment| comment.id).collect();
            self.repair(|tx| repair_reviews(tx, &ids))?;
        }
        Ok(ComparedChunk { found: wrong.iter().filter_map(|comment| comment.found(repair)).collect(), next })
    }
}

/// Makes the rows of the queue and the flags of these comments again, and counts the queue of their slots.
fn repair_reviews(tx: &Transaction<'_>, ids: &[CommentId]) -> Result<()> {
    let sql = format!(
        "SELECT {REVIEWED_COLUMNS} FROM json_each(?1) j JOIN comment c ON c.id = j.value \
         LEFT JOIN review q ON q.comment_id = c.id"
    );
    let comments = fetch_all(tx, &sql, [json_ids(ids)], reviewed_comment)?;
    for comment in &comments {
        tx.prepare_cached("UPDATE comment SET flags = ?2 WHERE id = ?1")?
            .execute(params![comment.id.signed(), comment.expected_flags()])?;
    }
    let reviews = comments.iter().map(ReviewedComment::expected_row).collect();
    write_queue(tx, &RowChanges { reviews, ..RowChanges::default() })?;
    for slot in ids.iter().map(|id| id.slot()).collect::<BTreeSet<Slot>>() {
        let sql = "INSERT INTO review_count (slot, held, reported) \
                   SELECT ?1, count(*) FILTER (WHERE kind = ?2), count(*) FILTER (WHERE kind = ?3) FROM review \
                   WHERE (comment_id >> 12) & 1023 = ?1 \
                   ON CONFLICT DO UPDATE SET held = excluded.held, reported = excluded.reported";
        let (held, reported) = (ReviewKind::Held.number(), ReviewKind::Reported.number());
        tx.prepare_cached(sql)?.execute(params![slot.get(), held, reported])?;
    }
    Ok(())
}

fn reviewed_comment(r: &Row<'_>) -> Result<ReviewedComment> {
    let queued = match r.get::<_, Option<i64>>(8)? {
        None => None,
        Some(kind) => Some(QueuedRow { kind, rank: r.get(9)?, since: count(r.get(10)?), item: parse_json(r, 11)? }),
    };
    Ok(ReviewedComment {
        id: comment_id(r.get(0)?)?,
        state: CommentState::from_number(r.get(1)?)?,
        flags: r.get(2)?,
        counts: EngagementCounts { likes: count(r.get(3)?), dislikes: count(r.get(4)?), replies: count(r.get(5)?) },
        author_level: u8::try_from(r.get::<_, i64>(6)?).map_err(damaged)?,
        created_at: count(r.get(7)?),
        queued,
    })
}
