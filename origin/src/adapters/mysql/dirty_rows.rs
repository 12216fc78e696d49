//! What a transaction wrote to a slot that is being copied to another database: the copy takes these
//! rows again before the slot moves.

use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, Slot};
use sqlx::Row;

use crate::adapters::mysql::pool::{Session, sql};
use crate::domain::columns;
use crate::domain::damaged_data;
use crate::ports::store::Result;

/// A row that was written or deleted, by its primary key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mark {
    Subject(i64),
    /// The comment and its places in the ranks.
    Comment(CommentId),
    /// Its text, the texts before that, and where it was imported from.
    Content(CommentId),
    Reaction(CommentId, MemberId),
    Idempotency(MemberId, String),
    Alias(CommentId),
    Snapshot(SnapshotId),
    Member(MemberId),
    History(MemberId, CommentId),
}

impl Mark {
    /// As it lies in columns: kind, two numbers, bytes.
    fn columns(&self) -> (i64, i64, i64, &[u8]) {
        match self {
            Self::Subject(id) => (0, *id, 0, &[]),
            Self::Comment(id) => (1, id.signed(), 0, &[]),
            Self::Reaction(id, member) => (2, id.signed(), member.signed(), &[]),
            Self::Idempotency(member, key) => (3, member.signed(), 0, key.as_bytes()),
            Self::Alias(id) => (4, id.signed(), 0, &[]),
            Self::Snapshot(id) => (5, 0, 0, id),
            Self::Member(id) => (6, id.signed(), 0, &[]),
            Self::History(member, id) => (7, member.signed(), id.signed(), &[]),
            Self::Content(id) => (8, id.signed(), 0, &[]),
        }
    }

    fn read(kind: i8, a: i64, b: i64, k: Vec<u8>) -> damaged_data::Result<Self> {
        use columns::{comment_id, damaged, member_id};
        Ok(match kind {
            0 => Self::Subject(a),
            1 => Self::Comment(comment_id(a)?),
            2 => Self::Reaction(comment_id(a)?, member_id(b)?),
            3 => Self::Idempotency(member_id(a)?, String::from_utf8(k).map_err(damaged)?),
            4 => Self::Alias(comment_id(a)?),
            5 => Self::Snapshot(k.try_into().map_err(|_| damaged("a snapshot's mark"))?),
            6 => Self::Member(member_id(a)?),
            7 => Self::History(member_id(a)?, comment_id(b)?),
            8 => Self::Content(comment_id(a)?),
            other => return Err(damaged(format_args!("mark {other}"))),
        })
    }
}

/// Rows of one statement.
const ROWS: usize = 500;

/// Notes what the open transaction wrote to a slot in the state `4`.
pub(super) async fn mark(session: &mut Session, slot: Slot, marks: impl IntoIterator<Item = Mark>) -> Result<()> {
    let marks: Vec<Mark> = marks.into_iter().collect();
    for chunk in marks.chunks(ROWS) {
        let rows = vec!["(?, ?, ?, ?, ?)"; chunk.len()].join(", ");
        let text = format!("INSERT IGNORE INTO mark (slot, kind, a, b, k) VALUES {rows}");
        let statement = chunk.iter().fold(sql(text), |statement, mark| {
            let (kind, a, b, k) = mark.columns();
            statement.bind(slot.get()).bind(kind).bind(a).bind(b).bind(k.to_vec())
        });
        session.run(statement).await?;
    }
    Ok(())
}

/// Takes up to `most` marks of a slot away, in a transaction that has locked the slot's row. What they
/// name must be copied after it is committed.
pub(super) async fn take(session: &mut Session, slot: Slot, most: usize) -> Result<Vec<Mark>> {
    let find = "SELECT kind, a, b, k FROM mark WHERE slot = ? ORDER BY kind, a, b, k LIMIT ?";
    let rows = session.all(sql(find).bind(slot.get()).bind(most as i64)).await?;
    let mut marks = Vec::with_capacity(rows.len());
    for row in rows {
        marks.push(Mark::read(row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?)?);
    }
    // Under the lock nobody can have put another before them.
    let delete = "DELETE FROM mark WHERE slot = ? ORDER BY kind, a, b, k LIMIT ?";
    session.run(sql(delete).bind(slot.get()).bind(marks.len() as i64)).await?;
    Ok(marks)
}
