//! The end of a batch: every row it touched is written once, with the keys lists are ranked by.

use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::rank::{self, Counts, Sort, Weights};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::{CommentFold, Fold};
use crate::store::Result;
use crate::store::sqlite::WeightsByType;
use crate::store::sqlite::rows::{self, count, damaged};

impl Fold<'_> {
    /// Writes what the batch has changed; the subjects that look different now.
    pub(super) fn flush(self, weights: impl Fn(&str) -> Weights) -> Result<Vec<(SubjectKey, u64)>> {
        for ((id, member), (before, after)) in &self.reactions {
            match after {
                after if after == before => {}
                None => {
                    self.tx
                        .prepare_cached("DELETE FROM reaction WHERE comment_id = ?1 AND member_id = ?2")?
                        .execute([id.signed(), member.signed()])?;
                }
                Some(reaction) => {
                    self.tx
                        .prepare_cached(
                            "INSERT OR REPLACE INTO reaction (comment_id, member_id, reaction) VALUES (?1, ?2, ?3)",
                        )?
                        .execute([id.signed(), member.signed(), rows::reaction_number(*reaction)])?;
                }
            }
        }
        for (id, comment) in &self.comments {
            if comment.changed {
                self.write_comment(*id, comment)?;
                let kind = self.subjects.get(&comment.subject).map_or("", |s| s.key.kind());
                self.write_rank(*id, comment, &weights(kind))?;
            }
        }
        let mut changed = Vec::new();
        for (id, subject) in self.subjects {
            if subject.changed {
                self.tx
                    .prepare_cached(
                        "UPDATE subject SET version = ?2, floors = ?3, roots = ?4, comments = ?5 WHERE id = ?1",
                    )?
                    .execute(params![id, subject.version + 1, subject.floors, subject.roots, subject.comments])?;
                changed.push((subject.key, subject.version + 1));
            }
        }
        Ok(changed)
    }

    fn write_comment(&self, id: CommentId, c: &CommentFold) -> Result<()> {
        // Two statements: what only counts touches no index.
        self.tx
            .prepare_cached("UPDATE comment SET likes = ?2, dislikes = ?3, replies = ?4, floors = ?5 WHERE id = ?1")?
            .execute(params![id.signed(), c.counts.likes, c.counts.dislikes, c.counts.replies, c.floors])?;
        if c.moved {
            self.tx
                .prepare_cached("UPDATE comment SET state = ?2, listed = ?3, floor = ?4, flags = ?5, pinned_at = ?6, edited_at = ?7 WHERE id = ?1")?
                .execute(params![id.signed(), rows::state_number(c.state), c.listed(), c.floor, c.flags, c.pinned_at, c.edited_at])?;
        }
        Ok(())
    }

    fn write_rank(&self, id: CommentId, c: &CommentFold, weights: &Weights) -> Result<()> {
        let (was_listed, old) = c.before;
        let listed = c.listed();
        if c.path.depth() == 1 {
            if listed && c.counts.any() {
                self.tx
                    .prepare_cached("INSERT OR REPLACE INTO root_rank (subject, id, likes, dislikes, replies, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
                    .execute(params![c.subject, id.signed(), c.counts.likes, c.counts.dislikes, c.counts.replies, c.created_at])?;
            } else if was_listed {
                self.tx
                    .prepare_cached("DELETE FROM root_rank WHERE subject = ?1 AND id = ?2")?
                    .execute([c.subject, id.signed()])?;
            }
            return Ok(());
        }
        let hot = |counts| rank::key(Sort::Hot, counts, c.created_at, weights);
        let (before, after) = (was_listed.then(|| hot(old)), listed.then(|| hot(c.counts)));
        if before == after {
            return Ok(());
        }
        let root = c.path.root_id().signed();
        if let Some(hot) = before {
            self.tx.prepare_cached("DELETE FROM reply_rank WHERE root_id = ?1 AND hot = ?2 AND id = ?3")?.execute([
                root,
                hot,
                id.signed(),
            ])?;
        }
        if let Some(hot) = after {
            self.tx
                .prepare_cached("INSERT OR REPLACE INTO reply_rank (root_id, hot, id) VALUES (?1, ?2, ?3)")?
                .execute([root, hot, id.signed()])?;
        }
        Ok(())
    }
}

/// Computes every reply's key again when the weights are not those the keys were made with.
pub(in crate::store::sqlite) fn rekey(writer: &mut Connection, weights: &WeightsByType) -> Result<()> {
    let mut named: Vec<_> = weights.iter().collect();
    named.sort_by_key(|(kind, _)| kind.as_str());
    let wanted = format!("{named:?}");
    let stored: Option<String> =
        writer.query_row("SELECT value FROM setting WHERE name = 'weights'", [], |r| r.get(0)).optional()?;
    if stored.as_deref() == Some(&wanted) {
        return Ok(());
    }
    let tx = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute("DELETE FROM reply_rank", [])?;
    {
        let mut replies = tx.prepare(
            "SELECT c.root_id, c.id, c.likes, c.dislikes, c.replies, c.created_at, s.type \
             FROM comment c JOIN subject s ON s.id = c.subject WHERE c.depth > 1 AND c.listed = 1",
        )?;
        let mut insert = tx.prepare("INSERT INTO reply_rank (root_id, hot, id) VALUES (?1, ?2, ?3)")?;
        let mut found = replies.query([])?;
        while let Some(r) = found.next()? {
            let counts = Counts { likes: count(r.get(2)?), dislikes: count(r.get(3)?), replies: count(r.get(4)?) };
            let weights = weights.get(r.get_ref(6)?.as_str().map_err(damaged)?).copied().unwrap_or_default();
            let hot = rank::key(Sort::Hot, counts, count(r.get(5)?), &weights);
            insert.execute([r.get::<_, i64>(0)?, hot, r.get(1)?])?;
        }
    }
    tx.execute("INSERT OR REPLACE INTO setting (name, value) VALUES ('weights', ?1)", [wanted])?;
    tx.commit()?;
    Ok(())
}
