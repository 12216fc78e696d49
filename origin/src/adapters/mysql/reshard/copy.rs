//! A slot's rows from one database into another, as text: what every table has is asked of the
//! server, so that a migration that adds a column changes nothing here.

use std::collections::BTreeMap;

use gailou_shared::id::Slot;
use sqlx::Row as _;

use crate::adapters::mysql::dirty_rows::Mark;
use crate::adapters::mysql::first_subject;
use crate::adapters::mysql::pool::Session;
use crate::adapters::mysql::rows::damaged;
use crate::adapters::mysql::settings::last_subject;
use crate::ports::store::Result;

/// Rows read by one statement.
const ROWS: usize = 1_000;
/// Bytes written by one statement, far below the smallest `max_allowed_packet`.
const BYTES: usize = 1 << 20;

/// How a slot's rows are found in a numbered table.
#[derive(Debug, Clone, Copy)]
enum Find {
    /// The column is a subject's number: a slot's are one range.
    Subject(&'static str),
    /// The column is a comment's id, which has the slot in its middle: the table is read through.
    Comment(&'static str),
    /// There is a column for it, with an index.
    Slot,
}

/// A numbered table: its name, how a slot's rows are found, and the index and its columns along
/// which they are read.
struct Kept {
    name: &'static str,
    find: Find,
    index: &'static str,
    order: &'static [&'static str],
}

const fn kept(name: &'static str, find: Find, index: &'static str, order: &'static [&'static str]) -> Kept {
    Kept { name, find, index, order }
}

/// Every numbered table. The last two belong to the comments and are copied and deleted with them.
const KEPT: [Kept; 13] = [
    kept("subject", Find::Subject("id"), "PRIMARY", &["id"]),
    kept("comment", Find::Subject("subject"), "comment_path", &["subject", "path", "id"]),
    kept("alias", Find::Comment("id"), "PRIMARY", &["id"]),
    kept("root_rank", Find::Subject("subject"), "PRIMARY", &["subject", "id"]),
    kept("reply_rank", Find::Comment("root_id"), "PRIMARY", &["root_id", "hot", "id"]),
    kept("snapshot", Find::Slot, "PRIMARY", &["slot", "id"]),
    kept("reaction", Find::Comment("comment_id"), "PRIMARY", &["comment_id", "member_id"]),
    kept("idempotency", Find::Slot, "idempotency_slot", &["slot", "member_id", "key"]),
    kept("import_source", Find::Subject("subject"), "PRIMARY", &["subject", "source"]),
    kept("member_comment", Find::Slot, "member_comment_slot", &["slot", "member_id", "comment_id"]),
    kept("member", Find::Slot, "member_slot", &["slot", "id"]),
    kept("content", Find::Comment("id"), "PRIMARY", &["id"]),
    kept("content_history", Find::Comment("comment_id"), "PRIMARY", &["comment_id", "edited_at"]),
];

/// How many tables stand on their own.
const ALONE: usize = 11;

impl Kept {
    /// The condition that leaves a slot's rows.
    fn of(&self, slot: Slot) -> String {
        match self.find {
            Find::Subject(column) => format!("{column} BETWEEN {} AND {}", first_subject(slot), last_subject(slot)),
            Find::Comment(column) => format!("({column} >> 12) & 1023 = {}", slot.get()),
            Find::Slot => format!("slot = {}", slot.get()),
        }
    }

    /// The slot of a row.
    fn slot(&self) -> String {
        match self.find {
            Find::Subject(column) => format!("({column} >> 53) & 1023"),
            Find::Comment(column) => format!("({column} >> 12) & 1023"),
            Find::Slot => "slot".into(),
        }
    }
}

/// A table as the server describes it.
#[derive(Debug)]
struct Described {
    /// `comment_3`.
    table: String,
    /// `id, subject, …`
    columns: String,
    /// A row as text that an `INSERT` takes.
    row: String,
    /// The same of each column.
    literals: BTreeMap<String, String>,
}

impl Described {
    fn literal(&self, column: &str) -> Option<&str> {
        self.literals.get(column).map(String::as_str)
    }
}

/// A value as text that a statement takes: numbers as they are, everything else by its bytes.
fn literal(column: &str, numeric: bool) -> String {
    if numeric {
        format!("IFNULL(CAST(`{column}` AS CHAR), 'NULL')")
    } else {
        format!("IFNULL(CONCAT('X''', HEX(`{column}`), ''''), 'NULL')")
    }
}

/// The numbered tables of a slot.
#[derive(Debug)]
pub(crate) struct SlotRows {
    number: u16,
    slot: Slot,
    described: BTreeMap<String, Described>,
}

impl SlotRows {
    /// What the server says of them.
    pub(crate) async fn new(session: &mut Session, number: u16, slot: Slot) -> Result<Self> {
        let text = "SELECT CAST(table_name AS CHAR), CAST(column_name AS CHAR), CAST(data_type AS CHAR) \
             FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name IN ({names}) \
             ORDER BY table_name, ordinal_position";
        let names: Vec<String> = KEPT.iter().map(|kept| format!("'{}_{number}'", kept.name)).collect();
        let mut all: BTreeMap<String, Vec<(String, bool)>> = BTreeMap::new();
        for r in session.raw_all(&text.replace("{names}", &names.join(", "))).await? {
            let (table, column, kind): (String, String, String) = (r.try_get(0)?, r.try_get(1)?, r.try_get(2)?);
            all.entry(table).or_default().push((column, kind.ends_with("int")));
        }
        let described = all.into_iter().map(|(table, columns)| {
            let row: Vec<String> = columns.iter().map(|(column, numeric)| literal(column, *numeric)).collect();
            let names: Vec<String> = columns.iter().map(|(column, _)| format!("`{column}`")).collect();
            let described = Described {
                table: table.clone(),
                columns: names.join(", "),
                row: format!("CONCAT('(', CONCAT_WS(',', {}), ')')", row.join(", ")),
                literals: columns.into_iter().map(|(column, _)| column).zip(row).collect(),
            };
            (table, described)
        });
        Ok(Self { number, slot, described: described.collect() })
    }

    fn get(&self, name: &str) -> Result<&Described> {
        let table = format!("{name}_{}", self.number);
        self.described.get(&table).ok_or_else(|| damaged(format_args!("there is no table {table}")))
    }

    fn walk<'a>(&'a self, kept: &'a Kept) -> Result<Walk<'a>> {
        Ok(Walk { kept, described: self.get(kept.name)?, condition: kept.of(self.slot), after: None })
    }

    /// The slot's rows of every table, over what is there.
    pub(super) async fn all(&self, from: &mut Session, to: &mut Session) -> Result<()> {
        for kept in &KEPT[..ALONE] {
            let mut walk = self.walk(kept)?;
            loop {
                let chunk = walk.next(from).await?;
                let ids = ids(kept, &chunk);
                put(to, walk.described, chunk.into_iter().map(|(row, _)| row)).await?;
                if let Some(ids) = ids {
                    self.again(from, to, "content", &format!("id IN ({ids})")).await?;
                    self.again(from, to, "content_history", &format!("comment_id IN ({ids})")).await?;
                }
                if walk.after.is_none() {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The rows under a condition, over what is there.
    async fn again(&self, from: &mut Session, to: &mut Session, name: &str, condition: &str) -> Result<()> {
        let described = self.get(name)?;
        let text = format!("SELECT {} FROM {} WHERE {condition}", described.row, described.table);
        let found = from.raw_all(&text).await?;
        let rows = found.iter().map(|r| Ok(r.try_get(0)?)).collect::<Result<Vec<String>>>()?;
        put(to, described, rows.into_iter()).await
    }

    /// What these marks name, as it is now.
    pub(super) async fn marked(&self, from: &mut Session, to: &mut Session, marks: &[Mark]) -> Result<()> {
        for (name, condition) in conditions(from, self.number, self.slot, marks).await? {
            // Of the others no row is ever deleted, but for those whose time is over.
            if matches!(name, "reaction" | "root_rank" | "reply_rank") {
                to.raw(&format!("DELETE FROM {name}_{} WHERE {condition}", self.number)).await?;
            }
            self.again(from, to, name, &condition).await?;
        }
        Ok(())
    }

    /// Deletes the slot's rows, a chunk at a time. Nobody may write to it.
    pub(super) async fn delete(&self, session: &mut Session) -> Result<()> {
        let number = self.number;
        for kept in &KEPT {
            let mut walk = self.walk(kept)?;
            loop {
                let before = walk.after.clone();
                let chunk = walk.next(session).await?;
                if let Some(ids) = ids(kept, &chunk) {
                    session.raw(&format!("DELETE FROM content_{number} WHERE id IN ({ids})")).await?;
                    session.raw(&format!("DELETE FROM content_history_{number} WHERE comment_id IN ({ids})")).await?;
                }
                let Some(last) = &walk.after else { break };
                let from = before.map_or(String::new(), |values| format!("{} AND ", beyond(kept.order, &values)));
                let up_to = format!("`{}` <= {} AND NOT ({})", kept.order[0], last[0], beyond(kept.order, last));
                let table = &walk.described.table;
                session.raw(&format!("DELETE FROM {table} WHERE {} AND {from}{up_to}", walk.condition)).await?;
            }
        }
        Ok(())
    }

    /// How many rows each table has, and a checksum over them.
    pub(crate) async fn sums(&self, session: &mut Session) -> Result<Vec<(&'static str, i64, String)>> {
        let mut all = Vec::with_capacity(KEPT.len());
        for kept in &KEPT {
            let Described { table, row, .. } = self.get(kept.name)?;
            let of = kept.of(self.slot);
            let text = format!("SELECT COUNT(*), CAST(BIT_XOR(CRC32({row})) AS CHAR) FROM {table} WHERE {of}");
            let found = session.raw_all(&text).await?;
            let r = found.first().ok_or_else(|| damaged("no sum"))?;
            all.push((kept.name, r.try_get(0)?, r.try_get(1)?));
        }
        Ok(all)
    }
}

/// What comes after these values in the order of these columns.
fn beyond(order: &[&str], values: &[String]) -> String {
    let steps = order.iter().enumerate().map(|(n, column)| {
        let equal = order.iter().zip(values).take(n).map(|(column, value)| format!("`{column}` = {value} AND "));
        format!("{}`{column}` > {}", equal.collect::<String>(), values[n])
    });
    // The first comparison alone is what an index can begin at.
    format!("`{}` >= {} AND ({})", order[0], values[0], steps.collect::<Vec<_>>().join(" OR "))
}

/// Rows of a table in the order of an index, a chunk at a time.
struct Walk<'a> {
    kept: &'a Kept,
    described: &'a Described,
    condition: String,
    after: Option<Vec<String>>,
}

/// A chunk of rows as text, and their places in the order.
type Chunk = Vec<(String, Vec<String>)>;

impl Walk<'_> {
    /// The next rows; empty at the end.
    async fn next(&mut self, session: &mut Session) -> Result<Chunk> {
        let Kept { index, order, .. } = self.kept;
        let places: Vec<&str> = order.iter().filter_map(|column| self.described.literal(column)).collect();
        let after = self.after.as_ref().map_or(String::new(), |values| format!(" AND {}", beyond(order, values)));
        let sorted: Vec<String> = order.iter().map(|column| format!("`{column}`")).collect();
        let text = format!(
            "SELECT {}, {} FROM {} FORCE INDEX ({index}) WHERE {}{after} ORDER BY {} LIMIT {ROWS}",
            self.described.row,
            places.join(", "),
            self.described.table,
            self.condition,
            sorted.join(", "),
        );
        let mut chunk = Vec::new();
        for r in session.raw_all(&text).await? {
            let place = (1..=order.len()).map(|n| Ok(r.try_get(n)?)).collect::<Result<Vec<String>>>()?;
            chunk.push((r.try_get(0)?, place));
        }
        self.after = chunk.last().map(|(_, place)| place.clone());
        Ok(chunk)
    }
}

/// Writes rows over those that have their keys.
async fn put(to: &mut Session, described: &Described, rows: impl Iterator<Item = String>) -> Result<()> {
    let begin = format!("REPLACE INTO {} ({}) VALUES ", described.table, described.columns);
    let mut text = String::new();
    for row in rows {
        if text.len() + row.len() > BYTES && !text.is_empty() {
            to.raw(&format!("{begin}{text}")).await?;
            text.clear();
        }
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&row);
    }
    if text.is_empty() { Ok(()) } else { to.raw(&format!("{begin}{text}")).await }
}

/// The ids of a chunk of comments.
fn ids(kept: &Kept, chunk: &Chunk) -> Option<String> {
    let ids: Vec<&str> = chunk.iter().filter_map(|(_, place)| place.last().map(String::as_str)).collect();
    (kept.name == "comment" && !ids.is_empty()).then(|| ids.join(","))
}

/// Where the rows that marks name are to be found.
async fn conditions(
    from: &mut Session,
    number: u16,
    slot: Slot,
    marks: &[Mark],
) -> Result<Vec<(&'static str, String)>> {
    /// Ids that have a first half of their key in common.
    type Halves = BTreeMap<i64, Vec<String>>;
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02X}")).collect::<String>();
    let (mut subjects, mut comments, mut contents, mut aliases) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut snapshots, mut keys, mut members) = (Vec::new(), Vec::new(), Vec::new());
    let (mut reactions, mut histories) = (Halves::new(), Halves::new());
    for mark in marks {
        match mark {
            Mark::Subject(id) => subjects.push(id.to_string()),
            Mark::Comment(id) => comments.push(id.to_string()),
            Mark::Content(id) => contents.push(id.to_string()),
            Mark::Reaction(id, member) => reactions.entry(id.signed()).or_default().push(member.to_string()),
            Mark::Idempotency(member, key) => {
                keys.push(format!("(member_id = {member} AND `key` = X'{}')", hex(key.as_bytes())));
            }
            Mark::Alias(id) => aliases.push(id.to_string()),
            Mark::Snapshot(id) => snapshots.push(format!("X'{}'", hex(id))),
            Mark::Member(id) => members.push(id.to_string()),
            Mark::History(member, id) => histories.entry(member.signed()).or_default().push(id.to_string()),
        }
    }
    let within =
        |column: &str, values: &[String]| (!values.is_empty()).then(|| format!("{column} IN ({})", values.join(",")));
    let halves = |first: &str, second: &str, halves: &Halves| {
        let each: Vec<String> = halves
            .iter()
            .map(|(half, rest)| format!("({first} = {half} AND {second} IN ({}))", rest.join(",")))
            .collect();
        (!each.is_empty()).then(|| each.join(" OR "))
    };
    let (mut ranked_roots, mut ranked_replies) = (Halves::new(), Halves::new());
    if !comments.is_empty() {
        let text = format!("SELECT id, subject, root_id FROM comment_{number} WHERE id IN ({})", comments.join(","));
        for r in from.raw_all(&text).await? {
            let (id, subject, root): (i64, i64, i64) = (r.try_get(0)?, r.try_get(1)?, r.try_get(2)?);
            if id == root {
                ranked_roots.entry(subject).or_default().push(id.to_string());
            } else {
                ranked_replies.entry(root).or_default().push(id.to_string());
            }
        }
    }
    let keys = (!keys.is_empty()).then(|| format!("slot = {} AND ({})", slot.get(), keys.join(" OR ")));
    let snapshots = within("id", &snapshots).map(|within| format!("slot = {} AND {within}", slot.get()));
    let all = [
        ("subject", within("id", &subjects)),
        ("comment", within("id", &comments)),
        ("content", within("id", &contents)),
        ("content_history", within("comment_id", &contents)),
        ("import_source", within("comment_id", &contents)),
        ("root_rank", halves("subject", "id", &ranked_roots)),
        ("reply_rank", halves("root_id", "id", &ranked_replies)),
        ("reaction", halves("comment_id", "member_id", &reactions)),
        ("idempotency", keys),
        ("alias", within("id", &aliases)),
        ("snapshot", snapshots),
        ("member", within("id", &members)),
        ("member_comment", halves("member_id", "comment_id", &histories)),
    ];
    Ok(all.into_iter().filter_map(|(name, condition)| Some((name, condition?))).collect())
}

/// How many rows of which slots the tables of one number have: table, slot, rows.
pub(super) async fn counts(session: &mut Session, number: u16) -> Result<Vec<(&'static str, i64, i64)>> {
    let mut all = Vec::new();
    for kept in &KEPT {
        let slot = kept.slot();
        let text =
            format!("SELECT CAST({slot} AS SIGNED) AS s, COUNT(*) FROM {}_{number} GROUP BY s ORDER BY s", kept.name);
        for r in session.raw_all(&text).await? {
            all.push((kept.name, r.try_get(0)?, r.try_get(1)?));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_goes_on_after_the_last_row() {
        let values = ["1".to_owned(), "X'02'".to_owned()];
        assert_eq!(beyond(&["a", "b"], &values), "`a` >= 1 AND (`a` > 1 OR `a` = 1 AND `b` > X'02')");
        assert_eq!(beyond(&["a"], &values[..1]), "`a` >= 1 AND (`a` > 1)");
    }
}
