//! What of an embedded installation becomes what in a cluster, and the other way round: where each table and column of
//! either goes, or why it goes nowhere.
//!
//! Not here: reading and writing. Promise: nothing is forgotten. Tests of both adapters compare this with their
//! migrations, so that a new table or column has to be named here.

use std::sync::Arc;

use self::ColumnSource::{Expression, SlotNumber, SubjectNamed, SubjectUnless};
use self::RowPlace::{DatabaseOf, FirstDatabase, TablesOf};
use self::SlotKey::{Digest, Id, Ids, Member, Number, Subject};

/// Rows of one embedded table, and the table of a cluster that they become rows of.
#[derive(Debug)]
pub struct GrownTable {
    /// The table, embedded.
    pub from: &'static str,
    /// The table in a cluster; without its number, where it is a numbered one.
    pub to: &'static str,
    pub place: RowPlace,
    /// Columns that are the same in both, with a space between two.
    same: &'static str,
    /// Further columns in a cluster.
    made: &'static [(&'static str, ColumnSource)],
    /// Which rows; all without it.
    pub only: Option<&'static str>,
    /// Columns of either that are not copied, with the reasons.
    without: &'static [(&'static str, &'static str)],
    way_back: WayBack,
}

/// How the rows of a cluster's table become embedded ones again.
#[derive(Debug, Clone, Copy)]
enum WayBack {
    /// Each embedded column has the value of the column in a cluster that was made of it, and further ones have that of an
    /// expression of SQLite over the columns in a cluster.
    Rows {
        further: &'static [(&'static str, &'static str)],
        /// What becomes of a row that an embedded table has already.
        conflict: &'static str,
    },
    /// The embedded program makes its rows of those of another table.
    Derived,
}

/// Where a row goes.
#[derive(Debug, Clone, Copy)]
pub enum RowPlace {
    /// What is of the installation and of no slot.
    FirstDatabase,
    /// A table without a number, in the database of the slot.
    DatabaseOf(SlotKey),
    /// The tables with the number of the slot.
    TablesOf(SlotKey),
}

/// The column by which a row has its slot.
#[derive(Debug, Clone, Copy)]
pub enum SlotKey {
    /// The embedded number of a subject.
    Subject(&'static str),
    /// An id that contains the slot.
    Id(&'static str),
    /// Ids of comments, eight bytes each.
    Ids(&'static str),
    Member(&'static str),
    Digest(&'static str),
    /// The slot itself.
    Number(&'static str),
}

/// What a column in a cluster is filled with.
#[derive(Debug, Clone, Copy)]
pub enum ColumnSource {
    /// An expression over the embedded columns.
    Expression(&'static str),
    /// The same, or the number of the row's subject where it is null.
    SubjectUnless(&'static str),
    /// The number of the subject that the expression names as `type/key`.
    SubjectNamed(&'static str),
    SlotNumber,
}

/// A value of a row. A text is its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellValue {
    Null,
    Number(i64),
    Bytes(Vec<u8>),
}

/// Some rows of a table. The first cell of each is what its slot is found by, the others are those of
/// [`GrownTable::expressions`].
#[derive(Debug)]
pub struct GrownRows {
    pub table: &'static GrownTable,
    pub rows: Vec<Vec<CellValue>>,
}

/// Rows of one table of a cluster, on their way into the embedded table that they have grown from.
#[derive(Debug)]
pub struct ReturnedRows {
    pub table: &'static GrownTable,
    /// The columns of the cells.
    pub columns: Arc<[String]>,
    pub rows: Vec<Vec<CellValue>>,
}

/// An embedded column whose value is the embedded number of the subject that a cluster has under `number`, which is the
/// column `subject` there.
pub const RETURNED_SUBJECT: &str = "(SELECT id FROM temp.returned_subject WHERE number = subject)";

const SLOT_COLUMN: (&str, ColumnSource) = ("slot", SlotNumber);
const SUBJECT_COLUMN: (&str, ColumnSource) = ("subject", SubjectUnless("NULL"));
const OWN_NUMBERS: (&str, &str) = ("seq", "each database counts its own");

/// Every table that grows.
pub static GROWN_TABLES: [GrownTable; 39] = [
    // Subjects and comments.
    table("subject", "subject", TablesOf(Subject("id")))
        .same("type key title url owner_id state mode version floors roots comments")
        .made(&[("id", SubjectUnless("NULL")), SLOT_COLUMN])
        .without(&[("obj_id", "it is made of the key")])
        .back(&[("obj_id", "obj_id")]),
    table("comment", "comment", TablesOf(Subject("subject")))
        .same(
            "id root_id parent_id path depth floor floors state visibility flags pinned_at author_id author_name \
             author_avatar author_level author_role reply_to_id reply_to_name likes dislikes base_likes base_dislikes \
             replies created_at edited_at edits audit_id",
        )
        .made(&[
            SUBJECT_COLUMN,
            ("list", SubjectUnless("CASE WHEN depth > 1 THEN root_id END")),
            ("listed_floor", Expression("CASE WHEN listed = 1 THEN floor END")),
        ])
        .without(&[("reacted", "no reaction has come by the log")])
        .back(&[("subject", RETURNED_SUBJECT), ("listed", "listed_floor IS NOT NULL")]),
    table("comment", "member_comment", TablesOf(Member("author_id"))).derived().made(&[
        ("member_id", Expression("author_id")),
        ("comment_id", Expression("id")),
        // State 0 is published, visibility 0 is everyone; of the flags, 64 is an edit that waits.
        ("held", Expression("state <> 0 OR visibility <> 0 OR (flags & 64) <> 0")),
        SLOT_COLUMN,
    ]),
    table("content", "content", TablesOf(Id("id"))).same("id content html mentions written media"),
    table("content_history", "content_history", TablesOf(Id("comment_id")))
        .same("comment_id edit edited_at content was_shown"),
    table("mention", "mention", TablesOf(Id("comment_id"))).same("member_id comment_id").made(&[SLOT_COLUMN]),
    table("reaction", "reaction", TablesOf(Id("comment_id")))
        .same("comment_id member_id reaction")
        .made(&[SLOT_COLUMN]),
    table("author_network", "author_network", TablesOf(Id("comment_id")))
        .same("comment_id digest")
        .made(&[SLOT_COLUMN]),
    table("import_source", "import_source", TablesOf(Subject("subject")))
        .same("source comment_id")
        .made(&[SUBJECT_COLUMN])
        .back(&[("subject", RETURNED_SUBJECT)]),
    table("idempotency", "idempotency", TablesOf(Id("comment_id")))
        .same("member_id key request comment_id state created_at")
        .made(&[SLOT_COLUMN])
        // In a cluster a member may have used a key once for each slot.
        .conflict("DO NOTHING"),
    // Ranks and the walks through them.
    table("root_rank", "root_rank", TablesOf(Subject("subject")))
        .same("id likes dislikes replies created_at hot best controversial")
        .made(&[SUBJECT_COLUMN])
        .back(&[("subject", RETURNED_SUBJECT)]),
    table("reply_rank", "reply_rank", TablesOf(Id("root_id"))).same("root_id hot id").made(&[SLOT_COLUMN]),
    // No cursor leads to an empty one.
    table("snapshot", "snapshot", TablesOf(Ids("ids"))).same("id ids used_at").made(&[SLOT_COLUMN]).only("ids <> x''"),
    // Moderation.
    table("review", "review", TablesOf(Id("comment_id")))
        .same("comment_id kind since item leased_by leased_name leased_until")
        .made(&[("rank_key", Expression("rank")), SLOT_COLUMN]),
    table("review_count", "review_count", TablesOf(Number("slot")))
        .same("held reported")
        .made(&[SLOT_COLUMN])
        .back(&[("slot", "slot")]),
    table("report", "report", TablesOf(Id("comment_id")))
        .same("comment_id member_id member_name reason note at")
        .made(&[SLOT_COLUMN]),
    table("undo", "undo", TablesOf(Id("audit_id"))).same("audit_id comment_id record").made(&[SLOT_COLUMN]),
    // Entries about comments, members and subjects are in their slots, the others are of the installation.
    table("audit", "audit", TablesOf(Id("id")))
        .same("id at actor_id actor_name action kind comment_id target reason")
        .made(&[("before_json", Expression("before")), ("after_json", Expression("after")), SLOT_COLUMN])
        .only("kind < 3"),
    table("audit", "installation_audit", FirstDatabase)
        .same("id at actor_id actor_name action kind target reason")
        .made(&[("before_json", Expression("before")), ("after_json", Expression("after"))])
        .only("kind >= 3"),
    table("refused_text", "refused_text", DatabaseOf(Id("id"))).same("id at author_id record"),
    table("activity", "activity", FirstDatabase)
        .same("step at posts held rejected reports reactions")
        .made(&[("part", Expression("0"))])
        .conflict(
            "(step, at) DO UPDATE SET posts = posts + excluded.posts, held = held + excluded.held, \
             rejected = rejected + excluded.rejected, reports = reports + excluded.reports, \
             reactions = reactions + excluded.reactions",
        ),
    // Members.
    table("member", "member", TablesOf(Member("id")))
        .same("id name avatar level name_key")
        .made(&[SLOT_COLUMN])
        .without(&[("named_by", "no older comment is delivered later")]),
    table("member_standing", "member_standing", TablesOf(Member("id")))
        .same("id changed_at level role muted_until tokens_not_before note friends")
        .made(&[SLOT_COLUMN]),
    table("member_contact", "member_contact", TablesOf(Member("id")))
        .same("id email notify language")
        .made(&[SLOT_COLUMN]),
    table("notification", "notification", TablesOf(Member("member_id")))
        .same("member_id id kind comment_id at is_read mail_at mail_tries mailed_at")
        .made(&[SLOT_COLUMN]),
    table("watch", "watch", TablesOf(Member("member_id")))
        .same("member_id type key id created_at since is_waiting notified_id")
        .made(&[("subject", SubjectNamed("type || '/' || key")), SLOT_COLUMN]),
    table("account", "account", TablesOf(Member("id"))).same("id name avatar role created_at").made(&[SLOT_COLUMN]),
    table("identity", "identity", TablesOf(Digest("digest"))).same("digest account_id created_at").made(&[SLOT_COLUMN]),
    table("passkey", "passkey", TablesOf(Member("account_id")))
        .same("account_id id credential name record created_at used_at")
        .made(&[SLOT_COLUMN]),
    table("member_name", "member_name", FirstDatabase).same("digest member_id seen_at"),
    table("erased_member", "erased_member", FirstDatabase).same("member_id at done"),
    table("merged_guest", "merged_guest", FirstDatabase).same("guest_id member_id name avatar level role at done"),
    // The installation.
    table("media", "media", FirstDatabase)
        .same("id owner_id name width height alt uses unused_since check_at is_deleted"),
    table("event", "event", DatabaseOf(Id("comment_id")))
        .same("id at comment_id kind actor_id queued_at")
        .without(&[OWN_NUMBERS]),
    table("webhook", "webhook", FirstDatabase).same("id url events template secret created_at failing_since dropped"),
    table("webhook_delivery", "webhook_delivery", FirstDatabase).same(
        "number id webhook_id comment_id event event_at status attempts last_status next_at expires_at created_at",
    ),
    table("word", "word", FirstDatabase).same("term category action"),
    // Secrets, and the weights that ranks were made by; where they were being made again, a cluster begins anew. What is
    // known of the search index is of another engine, and what a cluster notes of its broker and of itself is of no other.
    table("setting", "setting", FirstDatabase)
        .same("name value")
        .only("name NOT IN ('search_index', 'broker_state', 'installation', 'kafka_partitions', 'rate_limit_secret')")
        .back(&[(
            "value",
            "CASE CAST(name AS TEXT) WHEN 'words_version' THEN CAST(CAST(value AS TEXT) AS INTEGER) \
             WHEN 'weights' THEN CAST(value AS TEXT) ELSE value END",
        )]),
    table("setting_changes", "setting_changes", FirstDatabase)
        .same("id version")
        .made(&[("changes_json", Expression("changes"))]),
];

/// The embedded tables that do not grow.
pub const LEFT_TABLES: [(&str, &str); 4] = [
    ("feed", "a restore voids everything that was made before it"),
    ("index_queue", "the index of a cluster is built of all comments"),
    ("refresh_family", "after a restore everybody signs in again"),
    ("sign_in_link", "after a restore everybody signs in again"),
];

/// The tables of a cluster that begin as those of an empty one.
pub const NEW_TABLES: [(&str, &str); 15] = [
    ("alias", "embedded, a repeated request finds its comment"),
    ("checkpoint", "nothing of the log is applied"),
    ("dead_reaction", "there are no dead letters"),
    ("feed", "a restore voids everything that was made before it"),
    ("index_queue", "the index of a cluster is built of all comments"),
    ("job_lease", "no job runs"),
    ("mark", "no slot moves"),
    ("move_number", "no slot has moved"),
    ("node", "no process has a number"),
    ("node_server", "the first process writes it"),
    ("outbox", "all histories are there"),
    ("refresh_family", "after a restore everybody signs in again"),
    ("sign_in_link", "after a restore everybody signs in again"),
    ("slot", "the restore makes it, with the positions of an empty log"),
    ("slot_map", "the restore makes it"),
];

const fn table(from: &'static str, to: &'static str, place: RowPlace) -> GrownTable {
    let way_back = WayBack::Rows { further: &[], conflict: "" };
    GrownTable { from, to, place, same: "", made: &[], only: None, without: &[], way_back }
}

impl GrownTable {
    const fn same(mut self, columns: &'static str) -> Self {
        self.same = columns;
        self
    }

    const fn made(mut self, columns: &'static [(&'static str, ColumnSource)]) -> Self {
        self.made = columns;
        self
    }

    const fn only(mut self, condition: &'static str) -> Self {
        self.only = Some(condition);
        self
    }

    const fn without(mut self, columns: &'static [(&'static str, &'static str)]) -> Self {
        self.without = columns;
        self
    }

    const fn back(mut self, further: &'static [(&'static str, &'static str)]) -> Self {
        self.way_back = WayBack::Rows { further, conflict: "" };
        self
    }

    const fn conflict(mut self, conflict: &'static str) -> Self {
        self.way_back = WayBack::Rows { further: &[], conflict };
        self
    }

    const fn derived(mut self) -> Self {
        self.way_back = WayBack::Derived;
        self
    }

    /// The embedded columns that rows of a cluster fill, each with an expression over the columns there; none where the
    /// embedded program derives the rows.
    pub fn returned_columns(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let (taken, further) = match self.way_back {
            WayBack::Rows { further, .. } => (usize::MAX, further),
            WayBack::Derived => (0, &[][..]),
        };
        let is_column = |text: &str| text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        let same = self.columns().take(taken).filter_map(move |(column, source)| match source {
            Expression(embedded) if is_column(embedded) => Some((embedded, column)),
            _ => None,
        });
        let is_same = |(column, _): &(&str, &str)| further.iter().all(|(other, _)| other != column);
        same.filter(is_same).chain(further.iter().copied())
    }

    /// Whether the embedded program makes its rows of those of another table.
    pub fn is_derived(&self) -> bool {
        matches!(self.way_back, WayBack::Derived)
    }

    /// What becomes of a returned row that is there already, as SQLite has it after `ON CONFLICT`; it is an error where
    /// this is empty.
    pub fn returned_conflict(&self) -> &'static str {
        match self.way_back {
            WayBack::Rows { conflict, .. } => conflict,
            WayBack::Derived => "",
        }
    }

    /// Its columns in a cluster, each with what it is filled with.
    pub fn columns(&self) -> impl Iterator<Item = (&'static str, ColumnSource)> {
        let same = self.same.split_ascii_whitespace().map(|column| (column, Expression(column)));
        same.chain(self.made.iter().copied())
    }

    /// What is read of an embedded row.
    pub fn expressions(&self) -> impl Iterator<Item = &'static str> {
        self.columns().filter_map(|(_, source)| match source {
            Expression(expression) | SubjectUnless(expression) | SubjectNamed(expression) => Some(expression),
            SlotNumber => None,
        })
    }

    /// The columns of either that are not copied.
    pub fn left_columns(&self) -> impl Iterator<Item = &'static str> {
        self.without.iter().map(|(column, _)| *column)
    }
}

impl RowPlace {
    /// What the slot of a row is found by.
    pub fn key(self) -> Option<SlotKey> {
        match self {
            FirstDatabase => None,
            DatabaseOf(key) | TablesOf(key) => Some(key),
        }
    }
}

impl SlotKey {
    pub fn column(self) -> &'static str {
        match self {
            Subject(column) | Id(column) | Ids(column) | Member(column) | Digest(column) | Number(column) => column,
        }
    }
}
