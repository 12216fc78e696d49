//! Rows as text: the server describes the columns of its tables, and writes a row as an `INSERT` takes it. So a
//! migration that adds a column changes nothing here.

use std::collections::BTreeMap;

use sqlx::Row as _;

use crate::adapters::mysql::session::MysqlSession;
use crate::ports::store::Result;

/// Bytes that one statement writes, far below the smallest `max_allowed_packet`.
const MAX_STATEMENT_BYTES: usize = 1 << 20;

/// A table as the server describes it.
#[derive(Debug)]
pub(super) struct TableDescription {
    /// `comment_3`.
    pub(super) table: String,
    /// `id, subject, …`
    pub(super) columns: String,
    /// The expression for a row as text that an `INSERT` takes.
    pub(super) row: String,
    /// The expressions for its columns.
    literals: BTreeMap<String, String>,
}

impl TableDescription {
    /// Describes the tables of a database that fulfil a condition.
    pub(super) async fn read(session: &mut MysqlSession, condition: &str) -> Result<BTreeMap<String, Self>> {
        let text = format!(
            "SELECT CAST(table_name AS CHAR), CAST(column_name AS CHAR), CAST(data_type AS CHAR) \
             FROM information_schema.columns WHERE table_schema = DATABASE() AND {condition} \
             ORDER BY table_name, ordinal_position"
        );
        let mut all: BTreeMap<String, Vec<(String, bool)>> = BTreeMap::new();
        for r in session.fetch_text(text).await? {
            let (table, column, kind): (String, String, String) = (r.try_get(0)?, r.try_get(1)?, r.try_get(2)?);
            all.entry(table).or_default().push((column, kind.ends_with("int")));
        }
        let tables = all.into_iter().map(|(table, columns)| {
            let row: Vec<String> = columns.iter().map(|(column, numeric)| literal(column, *numeric)).collect();
            let names: Vec<String> = columns.iter().map(|(column, _)| format!("`{column}`")).collect();
            let description = Self {
                table: table.clone(),
                columns: names.join(", "),
                row: format!("CONCAT('(', CONCAT_WS(',', {}), ')')", row.join(", ")),
                literals: columns.into_iter().map(|(column, _)| column).zip(row).collect(),
            };
            (table, description)
        });
        Ok(tables.collect())
    }

    pub(super) fn literal(&self, column: &str) -> Option<&str> {
        self.literals.get(column).map(String::as_str)
    }
}

/// The expression for a value as a literal: numbers as they are, everything else by its bytes.
fn literal(column: &str, numeric: bool) -> String {
    if numeric {
        format!("IFNULL(CAST(`{column}` AS CHAR), 'NULL')")
    } else {
        format!("IFNULL(CONCAT('X''', HEX(`{column}`), ''''), 'NULL')")
    }
}

/// The condition for the rows after this key in the order of these columns.
pub(super) fn is_after<S: AsRef<str>>(order: &[S], key: &[String]) -> String {
    let columns = || order.iter().map(AsRef::as_ref);
    let steps = columns().enumerate().map(|(n, column)| {
        let equal = columns().zip(key).take(n).map(|(column, value)| format!("`{column}` = {value} AND "));
        format!("{}`{column}` > {}", equal.collect::<String>(), key[n])
    });
    // An index can begin at the first comparison alone.
    format!("`{}` >= {} AND ({})", order[0].as_ref(), key[0], steps.collect::<Vec<_>>().join(" OR "))
}

/// Writes rows over those with the same keys.
pub(super) async fn replace_rows(
    to: &mut MysqlSession,
    table: &str,
    columns: &str,
    rows: impl Iterator<Item = String>,
) -> Result<()> {
    let begin = format!("REPLACE INTO {table} ({columns}) VALUES ");
    let mut text = String::new();
    for row in rows {
        if text.len() + row.len() > MAX_STATEMENT_BYTES && !text.is_empty() {
            to.execute_text(format!("{begin}{text}")).await?;
            text.clear();
        }
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&row);
    }
    if text.is_empty() { Ok(()) } else { to.execute_text(format!("{begin}{text}")).await }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walk_continues_after_the_last_key() {
        let key = ["1".to_owned(), "X'02'".to_owned()];
        assert_eq!(is_after(&["a", "b"], &key), "`a` >= 1 AND (`a` > 1 OR `a` = 1 AND `b` > X'02')");
        assert_eq!(is_after(&["a"], &key[..1]), "`a` >= 1 AND (`a` > 1)");
    }
}
