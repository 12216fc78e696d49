//! The numbered tables, and how the rows of a slot are found in each.

use gailou_shared::id::{CommentId, Slot};

use crate::adapters::mysql::row_numbers::{SUBJECT_SLOT_SHIFT, first_subject, last_subject};

/// A kind of numbered table, and the index along which its rows are read.
#[derive(Debug)]
pub(super) struct NumberedTable {
    pub(super) name: &'static str,
    lookup: SlotLookup,
    pub(super) index: &'static str,
    /// The columns of the index, which are unique together.
    pub(super) order: &'static [&'static str],
}

/// How the rows of a slot are found.
#[derive(Debug, Clone, Copy)]
enum SlotLookup {
    /// The column is the number of a subject: a slot's are one range.
    Subject(&'static str),
    /// The column is the id of a comment, which has the slot in its middle: the whole table is read.
    Comment(&'static str),
    /// The column `slot`, which has an index.
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
pub(super) const NUMBERED_TABLES: [NumberedTable; 14] = [
    table("subject", SlotLookup::Subject("id"), "PRIMARY", &["id"]),
    table("comment", SlotLookup::Subject("subject"), "comment_path", &["subject", "path", "id"]),
    table("alias", SlotLookup::Comment("id"), "PRIMARY", &["id"]),
    table("root_rank", SlotLookup::Subject("subject"), "PRIMARY", &["subject", "id"]),
    table("reply_rank", SlotLookup::Comment("root_id"), "PRIMARY", &["root_id", "hot", "id"]),
    table("snapshot", SlotLookup::Slot, "PRIMARY", &["slot", "id"]),
    table("reaction", SlotLookup::Comment("comment_id"), "PRIMARY", &["comment_id", "member_id"]),
    table("idempotency", SlotLookup::Slot, "idempotency_slot", &["slot", "member_id", "key"]),
    table("import_source", SlotLookup::Subject("subject"), "PRIMARY", &["subject", "source"]),
    table("member_comment", SlotLookup::Slot, "member_comment_slot", &["slot", "member_id", "comment_id"]),
    table("member", SlotLookup::Slot, "member_slot", &["slot", "id"]),
    table("mention", SlotLookup::Comment("comment_id"), "PRIMARY", &["member_id", "comment_id"]),
    table("content", SlotLookup::Comment("id"), "PRIMARY", &["id"]),
    table("content_history", SlotLookup::Comment("comment_id"), "PRIMARY", &["comment_id", "edit", "edited_at"]),
];

/// How many of [`NUMBERED_TABLES`], from the first, are copied on their own.
pub(super) const INDEPENDENT_TABLES: usize = 12;

impl NumberedTable {
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
