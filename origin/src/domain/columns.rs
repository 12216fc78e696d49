//! How the product's types are stored in columns: the same numbers in every database.
//!
//! Not here: the numbers of a record in the broker, which has a format version of its own
//! ([`super::codec`]).

use gailou_shared::id::{AuditId, CommentId, MemberId};
use gailou_shared::path::{Mode, Path};
use gailou_shared::token::Role;
use gailou_shared::wire::{
    AuditTargetKind, CommentFlag, CommentState, NotifyChoice, Reaction, ReportReason, ReviewKind, ReviewReasonKind,
    StaffRole, SubjectState, Visibility,
};

use crate::domain::damaged_data::{DamagedData, Result};

/// The bits of a comment's flags.
pub(crate) const FLAG_PINNED: i64 = 1;
pub(crate) const FLAG_OWNER_PINNED: i64 = 2;
pub(crate) const FLAG_FEATURED: i64 = 4;
pub(crate) const FLAG_EDITED: i64 = 8;
/// Its author is erased: nothing brings it back. Readers do not see this flag.
pub(crate) const FLAG_ERASED: i64 = 16;
/// It has an item in the review queue. Readers do not see this flag.
pub(crate) const FLAG_QUEUED: i64 = 32;
/// An edit of it waits for a moderator. Readers do not see this flag.
pub(crate) const FLAG_HELD_EDIT: i64 = 64;
/// A moderator has approved it. Readers do not see this flag.
pub(crate) const FLAG_APPROVED: i64 = 128;
/// What a moderator's decision may change and undo.
pub(crate) const DECIDED_FLAGS: i64 =
    FLAG_PINNED | FLAG_OWNER_PINNED | FLAG_FEATURED | FLAG_EDITED | FLAG_HELD_EDIT | FLAG_APPROVED;

const FLAG_BITS: [(i64, CommentFlag); 4] = [
    (FLAG_PINNED, CommentFlag::Pinned),
    (FLAG_OWNER_PINNED, CommentFlag::OwnerPinned),
    (FLAG_FEATURED, CommentFlag::Featured),
    (FLAG_EDITED, CommentFlag::Edited),
];

/// An enum that a column stores as a number.
pub(crate) trait StoredEnum: Sized {
    fn number(self) -> i64;

    /// # Errors
    /// For a number that stands for no variant.
    fn from_number(number: i64) -> Result<Self>;
}

/// The numbers of an enum, once: a variant that is missing here does not compile.
macro_rules! stored_enum {
    ($name:literal, $type:ident { $($variant:ident = $number:literal),+ }) => {
        impl $crate::domain::columns::StoredEnum for $type {
            fn number(self) -> i64 {
                match self { $(Self::$variant => $number),+ }
            }

            fn from_number(number: i64) -> $crate::domain::damaged_data::Result<Self> {
                match number {
                    $($number => Ok(Self::$variant),)+
                    other => Err($crate::domain::columns::damaged(format_args!(concat!($name, " {}"), other))),
                }
            }
        }
    };
}
#[cfg(feature = "cluster")]
pub(crate) use stored_enum;

stored_enum!("state", CommentState { Published = 0, Review = 1, Rejected = 2, Hidden = 3, Deleted = 4 });
stored_enum!("visibility", Visibility { Everyone = 0, Author = 1 });
stored_enum!("subject state", SubjectState { Open = 0, Closed = 1, Hidden = 2 });
stored_enum!("mode", Mode { Flat = 0, TwoLevel = 1, Tree = 2, Building = 3 });
stored_enum!("role", StaffRole { Moderator = 1, Admin = 2 });
stored_enum!("member role", Role { Member = 0, Moderator = 1, Admin = 2 });
stored_enum!("notify", NotifyChoice { Never = 0, Daily = 1, Each = 2 });
stored_enum!("reaction", Reaction { Like = 1, Dislike = 2 });
stored_enum!("report reason", ReportReason { Spam = 0, Abuse = 1, Illegal = 2, Other = 3 });
stored_enum!(
    "audit target",
    AuditTargetKind { Comment = 0, Member = 1, Subject = 2, Words = 3, Settings = 4, Webhook = 5, Import = 6 }
);
stored_enum!("review reason", ReviewReasonKind { Word = 0, Report = 1, Rule = 2, Classifier = 3 });
stored_enum!("review kind", ReviewKind { Held = 0, Reported = 1 });

pub(crate) fn damaged(what: impl std::fmt::Display) -> DamagedData {
    DamagedData::new(what)
}

pub(crate) fn comment_id(number: i64) -> Result<CommentId> {
    CommentId::try_from(number).map_err(damaged)
}

pub(crate) fn member_id(number: i64) -> Result<MemberId> {
    MemberId::try_from(number).map_err(damaged)
}

pub(crate) fn audit_id(number: i64) -> Result<AuditId> {
    AuditId::try_from(number).map_err(damaged)
}

pub(crate) fn path(bytes: &[u8]) -> Result<Path> {
    Path::from_bytes(bytes).map_err(damaged)
}

pub(crate) fn flags(bits: i64) -> Vec<CommentFlag> {
    FLAG_BITS.into_iter().filter_map(|(bit, flag)| (bits & bit != 0).then_some(flag)).collect()
}

/// The role of an author; 0 for none.
pub(crate) fn role(number: i64) -> Result<Option<StaffRole>> {
    if number == 0 { Ok(None) } else { StaffRole::from_number(number).map(Some) }
}

/// The number of an author's role.
pub(crate) fn role_number(role: Option<StaffRole>) -> i64 {
    role.map_or(0, StaffRole::number)
}

/// A count, which no database stores below 0.
pub(crate) fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
