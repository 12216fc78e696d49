//! A slot's rows from one database into another, as text: what every table has is asked of the
//! server, so that a migration that adds a column changes nothing here.

use std::collections::BTreeMap;

use gailou_shared::id::Slot;
use sqlx::Row as _;

use crate::store::Result;
use crate::store::mysql::marks::Mark;
use crate::store::mysql::session::{Session, sql};
use crate::store::mysql::whole::last_subject;
use crate::store::mysql::{first_subject, rows::damaged};

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
}

/// A value as text that a statement takes: numbers as they are, everything else by its bytes.
fn literal(column: &str, numeric: bool) -> String {
    if numeric {
        format!("IFNULL(CAST(`{column}` AS CHAR), 'NULL')")
    } else {
        format!("IFNULL(CONCAT('X''', HEX(`{column}`), ''''), 'NULL')")
    }
}

/// What the server says of this table.
async fn describe(session: &mut Session, name: &str, number: u16) -> Result<Described> {
    let table = format!("{name}_{number}");
    let text = "SELECT CAST(column_name AS CHAR), CAST(data_type AS CHAR) FROM information_schema.columns \
         WHERE table_schema = DATABASE() AND table_name = ? ORDER BY ordinal_position";
    let (mut columns, mut row) = (Vec::new(), Vec::new());
    for r in session.all(sql(text).bind(table.clone())).await? {
        let (column, kind): (String, String) = (r.try_get(0)?, r.try_get(1)?);
        row.push(literal(&column, kind.ends_with("int")));
        columns.push(format!("`{column}`"));
    }
    Ok(Described {
        table,
        columns: columns.join(", "),
        row: format!("CONCAT('(', CONCAT_WS(',', {}), ')')", row.join(", ")),
    })
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
    described: Described,
    condition: String,
    after: Option<Vec<String>>,
}

/// A chunk of rows as text, and their places in the order.
type Chunk = Vec<(String, Vec<String>)>;

impl<'a> Walk<'a> {
    async fn new(session: &mut Session, kept: &'a Kept, number: u16, slot: Slot) -> Result<Self> {
        let described = describe(session, kept.name, number).await?;
        Ok(Self { kept, described, condition: kept.of(slot), after: None })
    }

    /// The next rows; empty at the end.
    async fn next(&mut self, session: &mut Session) -> Result<Chunk> {
        let Kept { index, order, .. } = self.kept;
        let numeric = |column: &str| {
            !matches!(column, "path" | "key" | "source") && !(self.kept.name == "snapshot" && column == "id")
        };
        let places: Vec<String> = order.iter().map(|column| literal(column, numeric(column))).collect();
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

/// The slot's rows of every table, over what is there.
pub(super) async fn all(from: &mut Session, to: &mut Session, number: u16, slot: Slot) -> Result<()> {
    for kept in &KEPT[..ALONE] {
        let mut walk = Walk::new(from, kept, number, slot).await?;
        loop {
            let chunk = walk.next(from).await?;
            let ids = ids(kept, &chunk);
            put(to, &walk.described, chunk.into_iter().map(|(row, _)| row)).await?;
            if let Some(ids) = ids {
                again(from, to, number, "content", &format!("id IN ({ids})"), false).await?;
                again(from, to, number, "content_history", &format!("comment_id IN ({ids})"), false).await?;
            }
            if walk.after.is_none() {
                break;
            }
        }
    }
    Ok(())
}

/// The ids of a chunk of comments.
fn ids(kept: &Kept, chunk: &Chunk) -> Option<String> {
    let ids: Vec<&str> = chunk.iter().filter_map(|(_, place)| place.last().map(String::as_str)).collect();
    (kept.name == "comment" && !ids.is_empty()).then(|| ids.join(","))
}

/// The rows under a condition, over what is there; what is not there any more is deleted too if
/// `exact`.
async fn again(
    from: &mut Session,
    to: &mut Session,
    number: u16,
    name: &str,
    condition: &str,
    exact: bool,
) -> Result<()> {
    let described = describe(from, name, number).await?;
    let found = from.raw_all(&format!("SELECT {} FROM {} WHERE {condition}", described.row, described.table)).await?;
    let rows = found.iter().map(|r| Ok(r.try_get(0)?)).collect::<Result<Vec<String>>>()?;
    if exact {
        to.raw(&format!("DELETE FROM {} WHERE {condition}", described.table)).await?;
    }
    put(to, &described, rows.into_iter()).await
}

/// What these marks name, as it is now.
pub(super) async fn marked(
    from: &mut Session,
    to: &mut Session,
    number: u16,
    slot: Slot,
    marks: &[Mark],
) -> Result<()> {
    for (name, condition) in conditions(from, number, slot, marks).await? {
        again(from, to, number, name, &condition, true).await?;
    }
    Ok(())
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
    let (mut subjects, mut comments, mut aliases) = (Vec::new(), Vec::new(), Vec::new());
    let (mut snapshots, mut keys, mut members) = (Vec::new(), Vec::new(), Vec::new());
    let (mut reactions, mut histories) = (Halves::new(), Halves::new());
    for mark in marks {
        match mark {
            Mark::Subject(id) => subjects.push(id.to_string()),
            Mark::Comment(id) => comments.push(id.to_string()),
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
        ("content", within("id", &comments)),
        ("content_history", within("comment_id", &comments)),
        ("import_source", within("comment_id", &comments)),
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

/// Deletes the slot's rows, a chunk at a time.
pub(super) async fn delete(session: &mut Session, number: u16, slot: Slot) -> Result<()> {
    for kept in &KEPT {
        let mut walk = Walk::new(session, kept, number, slot).await?;
        loop {
            let chunk = walk.next(session).await?;
            if let Some(ids) = ids(kept, &chunk) {
                session.raw(&format!("DELETE FROM content_{number} WHERE id IN ({ids})")).await?;
                session.raw(&format!("DELETE FROM content_history_{number} WHERE comment_id IN ({ids})")).await?;
            }
            let columns: Vec<String> = kept.order.iter().map(|column| format!("`{column}`")).collect();
            for chunk in chunk.chunks(ROWS / 5) {
                let rows: Vec<String> = chunk
                    .iter()
                    .map(|(_, place)| {
                        let equal = columns.iter().zip(place).map(|(column, value)| format!("{column} = {value}"));
                        format!("({})", equal.collect::<Vec<_>>().join(" AND "))
                    })
                    .collect();
                session.raw(&format!("DELETE FROM {} WHERE {}", walk.described.table, rows.join(" OR "))).await?;
            }
            if walk.after.is_none() {
                break;
            }
        }
    }
    Ok(())
}

/// How many rows of a slot each table has, and a checksum over them.
pub(in crate::store::mysql) async fn sums(
    session: &mut Session,
    number: u16,
    slot: Slot,
) -> Result<Vec<(&'static str, i64, String)>> {
    let mut all = Vec::with_capacity(KEPT.len());
    for kept in &KEPT {
        let described = describe(session, kept.name, number).await?;
        let text = format!(
            "SELECT COUNT(*), CAST(BIT_XOR(CRC32({})) AS CHAR) FROM {} WHERE {}",
            described.row,
            described.table,
            kept.of(slot)
        );
        let found = session.raw_all(&text).await?;
        let r = found.first().ok_or_else(|| damaged("no sum"))?;
        all.push((kept.name, r.try_get(0)?, r.try_get(1)?));
    }
    Ok(all)
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
