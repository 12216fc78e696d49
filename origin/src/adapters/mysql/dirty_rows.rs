//! Dirty rows: what transactions wrote to a slot while it is copied to another database. The copy reads
//! these rows again before the slot moves. They are in the table `mark`, its name from the first
//! migration.

use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{AuditId, CommentId, MemberId, Slot};
use sqlx::Row as _;

use crate::adapters::mysql::rows::{audit_id, comment_id, damaged, member_id};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::statement::sql;
use crate::ports::store::Result;

/// A row that was written or deleted, by its primary key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirtyRow {
    Subject(i64),
    /// The comment, its ranks, its item of the review queue, and its reports.
    Comment(CommentId),
    /// Its text, its former texts, whom it mentions, and its import source.
    Content(CommentId),
    /// The reaction of a pair, and those of it that are among the dead letters.
    Reaction(CommentId, MemberId),
    Idempotency(MemberId, String),
    Alias(CommentId),
    Snapshot(SnapshotId),
    /// The member's name, and what is said of them; their contact, their account, its passkeys, and where
    /// it is signed in.
    Member(MemberId),
    History(MemberId, CommentId),
    /// What has this digest: an identity, or an address that signs in once.
    Digest([u8; 32]),
    /// The entry of the audit log, and what undoing it needs.
    Audit(AuditId),
    /// Everything that the member is notified of, and what they watch.
    Notifications(MemberId),
}

/// The columns of a dirty row: its kind, up to two ids, and a key of bytes.
struct DirtyColumns<'a> {
    kind: i64,
    a: i64,
    b: i64,
    k: &'a [u8],
}

impl DirtyRow {
    /// [`DirtyRow::from_columns`] has the same kinds.
    fn columns(&self) -> DirtyColumns<'_> {
        let (kind, a, b, k): (_, _, _, &[u8]) = match self {
            Self::Subject(id) => (0, *id, 0, &[]),
            Self::Comment(id) => (1, id.signed(), 0, &[]),
            Self::Reaction(id, member) => (2, id.signed(), member.signed(), &[]),
            Self::Idempotency(member, key) => (3, member.signed(), 0, key.as_bytes()),
            Self::Alias(id) => (4, id.signed(), 0, &[]),
            Self::Snapshot(id) => (5, 0, 0, id),
            Self::Member(id) => (6, id.signed(), 0, &[]),
            Self::History(member, id) => (7, member.signed(), id.signed(), &[]),
            Self::Content(id) => (8, id.signed(), 0, &[]),
            Self::Digest(digest) => (10, 0, 0, digest),
            Self::Audit(id) => (9, id.signed(), 0, &[]),
            Self::Notifications(member) => (11, member.signed(), 0, &[]),
        };
        DirtyColumns { kind, a, b, k }
    }

    fn from_columns(kind: i64, a: i64, b: i64, k: Vec<u8>) -> Result<Self> {
        Ok(match kind {
            0 => Self::Subject(a),
            1 => Self::Comment(comment_id(a)?),
            2 => Self::Reaction(comment_id(a)?, member_id(b)?),
            3 => Self::Idempotency(member_id(a)?, String::from_utf8(k).map_err(damaged)?),
            4 => Self::Alias(comment_id(a)?),
            5 => Self::Snapshot(k.try_into().map_err(|_| damaged("a dirty row of a snapshot"))?),
            6 => Self::Member(member_id(a)?),
            7 => Self::History(member_id(a)?, comment_id(b)?),
            8 => Self::Content(comment_id(a)?),
            9 => Self::Audit(audit_id(a)?),
            10 => Self::Digest(k.try_into().map_err(|_| damaged("a dirty row of a digest"))?),
            11 => Self::Notifications(member_id(a)?),
            other => return Err(damaged(format_args!("a dirty row of the kind {other}"))),
        })
    }
}

/// Dirty rows that one statement inserts.
const DIRTY_ROWS_PER_STATEMENT: usize = 500;

/// Records what the open transaction wrote to a slot in the state [`SlotState::Copying`].
///
/// [`SlotState::Copying`]: super::slot_state::SlotState::Copying
pub(super) async fn record_dirty_rows(
    session: &mut MysqlSession,
    slot: Slot,
    dirty: impl IntoIterator<Item = DirtyRow>,
) -> Result<()> {
    let dirty: Vec<DirtyRow> = dirty.into_iter().collect();
    for chunk in dirty.chunks(DIRTY_ROWS_PER_STATEMENT) {
        let rows = vec!["(?, ?, ?, ?, ?)"; chunk.len()].join(", ");
        let text = format!("INSERT IGNORE INTO mark (slot, kind, a, b, k) VALUES {rows}");
        let statement = chunk.iter().fold(sql(text), |statement, row| {
            let DirtyColumns { kind, a, b, k } = row.columns();
            statement.bind(slot.get()).bind(kind).bind(a).bind(b).bind(k)
        });
        session.execute(statement).await?;
    }
    Ok(())
}

/// Deletes and returns up to `limit` dirty rows of a slot, in a transaction that has locked the slot's
/// row. The rows must be copied after it commits.
pub(super) async fn take_dirty_rows(session: &mut MysqlSession, slot: Slot, limit: usize) -> Result<Vec<DirtyRow>> {
    let find = "SELECT kind, a, b, k FROM mark WHERE slot = ? ORDER BY kind, a, b, k LIMIT ?";
    let rows = session.fetch_all(sql(find).bind(slot.get()).bind(limit as i64)).await?;
    let mut dirty = Vec::with_capacity(rows.len());
    for row in rows {
        dirty.push(DirtyRow::from_columns(row.try_get(0)?, row.try_get(1)?, row.try_get(2)?, row.try_get(3)?)?);
    }
    // The lock is held, so no writer has inserted another before them.
    let delete = "DELETE FROM mark WHERE slot = ? ORDER BY kind, a, b, k LIMIT ?";
    session.execute(sql(delete).bind(slot.get()).bind(dirty.len() as i64)).await?;
    Ok(dirty)
}
