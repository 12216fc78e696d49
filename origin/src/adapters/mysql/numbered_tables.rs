//! The numbered tables, and how the rows of a slot are found in each.

use gailou_shared::id::{CommentId, Slot};

use crate::adapters::mysql::row_numbers::{SUBJECT_SLOT_SHIFT, first_subject, last_subject};

/// A kind of numbered table, and the index along which its rows are read.
#[derive(Debug)]
pub(super) struct NumberedTable {
    pub(super) name: &'static str,
    lookup: SlotLookup,
    pub(super) index: &'static str,
    /// The columns of the index, which are unique together; without `slot`, where it comes first.
    pub(super) order: &'static [&'static str],
}

/// How the rows of a slot are found.
#[derive(Debug, Clone, Copy)]
enum SlotLookup {
    /// The column is the number of a subject: a slot's are one range.
    Subject(&'static str),
    /// The column is the id of a comment, which has the slot in its middle: rows are found by the ids of comments
    /// alone.
    Comment(&'static str),
    /// The column `slot`, which is the first of the index.
    Slot,
}

const fn table(
    name: &'static str,
    lookup: SlotLookup,
    index: &'static str,
    order: &'static [&'static str],
) -> NumberedTable {
    NumberedTable { name, lookup, index, order }
}

/// Every kind of numbered table. The last two are copied and deleted with the comments they belong to.
pub(super) const NUMBERED_TABLES: [NumberedTable; 30] = [
    table("subject", SlotLookup::Subject("id"), "PRIMARY", &["id"]),
    table("comment", SlotLookup::Subject("subject"), "comment_path", &["subject", "path", "id"]),
    table("alias", SlotLookup::Slot, "PRIMARY", &["id"]),
    table("root_rank", SlotLookup::Subject("subject"), "PRIMARY", &["subject", "id"]),
    table("reply_rank", SlotLookup::Slot, "PRIMARY", &["root_id", "hot", "id"]),
    table("snapshot", SlotLookup::Slot, "PRIMARY", &["id"]),
    table("reaction", SlotLookup::Slot, "PRIMARY", &["comment_id", "member_id"]),
    table("dead_reaction", SlotLookup::Slot, "PRIMARY", &["member_id", "comment_id", "position"]),
    table("idempotency", SlotLookup::Slot, "idempotency_slot", &["member_id", "key"]),
    table("import_source", SlotLookup::Subject("subject"), "PRIMARY", &["subject", "source"]),
    table("member_comment", SlotLookup::Slot, "member_comment_slot", &["member_id", "comment_id"]),
    table("member", SlotLookup::Slot, "member_slot", &["id"]),
    table("member_standing", SlotLookup::Slot, "member_standing_slot", &["id"]),
    table("member_contact", SlotLookup::Slot, "member_contact_slot", &["id"]),
    table("account", SlotLookup::Slot, "account_slot", &["id"]),
    table("identity", SlotLookup::Slot, "identity_slot", &["digest"]),
    table("refresh_family", SlotLookup::Slot, "refresh_family_slot", &["account_id", "id"]),
    table("passkey", SlotLookup::Slot, "passkey_slot", &["account_id", "id"]),
    table("sign_in_link", SlotLookup::Slot, "sign_in_link_slot", &["digest"]),
    table("notification", SlotLookup::Slot, "notification_slot", &["member_id", "id"]),
    table("watch", SlotLookup::Slot, "watch_slot", &["member_id", "type", "key"]),
    table("mention", SlotLookup::Slot, "mention_slot", &["comment_id", "member_id"]),
    table("review", SlotLookup::Slot, "PRIMARY", &["comment_id"]),
    table("review_count", SlotLookup::Slot, "PRIMARY", &["slot"]),
    table("report", SlotLookup::Slot, "PRIMARY", &["comment_id", "member_id"]),
    table("author_network", SlotLookup::Slot, "PRIMARY", &["comment_id"]),
    table("audit", SlotLookup::Slot, "PRIMARY", &["id"]),
    table("undo", SlotLookup::Slot, "PRIMARY", &["audit_id"]),
    table("content", SlotLookup::Comment("id"), "PRIMARY", &["id"]),
    table("content_history", SlotLookup::Comment("comment_id"), "PRIMARY", &["comment_id", "edit", "edited_at"]),
];

/// How many of [`NUMBERED_TABLES`], from the first, are copied on their own.
pub(super) const INDEPENDENT_TABLES: usize = 28;

impl NumberedTable {
    /// The columns that its rows are sorted by, along the index.
    pub(super) fn sorted_by(&self) -> String {
        let first = matches!(self.lookup, SlotLookup::Slot).then_some("slot");
        let columns: Vec<String> = first.iter().chain(self.order).map(|column| format!("`{column}`")).collect();
        columns.join(", ")
    }

    /// The condition for the rows of a slot.
    pub(super) fn condition(&self, slot: Slot) -> String {
        match self.lookup {
            SlotLookup::Subject(column) => {
                format!("{column} BETWEEN {} AND {}", first_subject(slot), last_subject(slot))
            }
            SlotLookup::Comment(column) => format!("{} = {}", slot_of_comment(column), slot.get()),
            SlotLookup::Slot => format!("slot = {}", slot.get()),
        }
    }

    /// The rows of a slot, for a `FROM`: texts are found by the comments of the slot, as no index of theirs has it.
    pub(super) fn rows_of(&self, table: &str, number: u16, slot: Slot) -> String {
        let SlotLookup::Comment(column) = self.lookup else { return format!("{table} WHERE {}", self.condition(slot)) };
        let (first, last) = (first_subject(slot), last_subject(slot));
        format!(
            "(SELECT id AS of_comment FROM comment_{number} FORCE INDEX (comment_path) \
             WHERE subject BETWEEN {first} AND {last}) c STRAIGHT_JOIN {table} ON {column} = of_comment"
        )
    }

    /// Whether a slot is a range of the index.
    pub(super) fn has_slot_key(&self) -> bool {
        !matches!(self.lookup, SlotLookup::Comment(_))
    }

    /// The statement that reads, as `s`, the first slot of a range that has rows: one step in the index. Not for
    /// tables without [`NumberedTable::has_slot_key`].
    pub(super) fn first_slot_sql(&self, number: u16, first: i64, last: i64) -> String {
        let Self { name, index, .. } = self;
        let (column, first, last) = match self.lookup {
            SlotLookup::Subject(column) => {
                let base = |slot: i64| i64::MIN | (slot << SUBJECT_SLOT_SHIFT);
                (column, base(first), base(last) | ((1 << SUBJECT_SLOT_SHIFT) - 1))
            }
            SlotLookup::Comment(column) => (column, first, last),
            SlotLookup::Slot => ("slot", first, last),
        };
        format!(
            "SELECT CAST({} AS SIGNED) AS s FROM {name}_{number} FORCE INDEX ({index}) \
             WHERE {column} BETWEEN {first} AND {last} ORDER BY {column} LIMIT 1",
            self.slot()
        )
    }

    /// The expression for the slot of a row.
    pub(super) fn slot(&self) -> String {
        match self.lookup {
            SlotLookup::Subject(column) => format!("({column} >> {SUBJECT_SLOT_SHIFT}) & {}", CommentId::SLOT_MASK),
            SlotLookup::Comment(column) => slot_of_comment(column),
            SlotLookup::Slot => "slot".into(),
        }
    }
}

/// The expression for the slot in a comment's id.
pub(super) fn slot_of_comment(column: &str) -> String {
    format!("({column} >> {}) & {}", CommentId::SLOT_SHIFT, CommentId::SLOT_MASK)
}
