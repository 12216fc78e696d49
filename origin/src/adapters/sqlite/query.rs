//! What the queries have in common. Lists of ids are bound as one JSON array.

use gailou_shared::id::{CommentId, SubjectKey};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use crate::adapters::sqlite::rows::comment_id;
use crate::ports::store::Result;

/// The clock of the database, in Unix milliseconds.
pub(super) const SQLITE_NOW: &str = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

/// Numbers as `json_each` reads them.
pub(super) fn json_array(numbers: impl IntoIterator<Item = i64>) -> String {
    let numbers: Vec<String> = numbers.into_iter().map(|number| number.to_string()).collect();
    format!("[{}]", numbers.join(","))
}

pub(super) fn json_ids(ids: &[CommentId]) -> String {
    json_array(ids.iter().map(|id| id.signed()))
}

/// All rows of a statement, each through `read`.
pub(super) fn fetch_all<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl Fn(&Row<'_>) -> Result<T>,
) -> Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query(params)?;
    let mut all = Vec::new();
    while let Some(row) = found.next()? {
        all.push(read(row)?);
    }
    #[cfg(test)]
    {
        drop(found);
        tests::count_steps(&statement);
    }
    Ok(all)
}

/// The id in the first column.
pub(super) fn first_id(row: &Row<'_>) -> Result<CommentId> {
    Ok(comment_id(row.get(0)?)?)
}

/// The number of a subject's row. A row with another key and the same hash is another subject.
pub(super) fn subject_number(connection: &Connection, key: &SubjectKey) -> Result<Option<i64>> {
    Ok(connection
        .prepare_cached("SELECT id FROM subject WHERE type = ?1 AND obj_id = ?2 AND key = ?3")?
        .query_row(params![key.kind(), key.obj_id() as i64, key.key()], |row| row.get(0))
        .optional()?)
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;

    use rusqlite::{Statement, StatementStatus};

    thread_local! {
        static STEPS: Cell<i64> = const { Cell::new(0) };
    }

    /// Adds the steps of a finished statement.
    pub(super) fn count_steps(statement: &Statement<'_>) {
        let steps = i64::from(statement.reset_status(StatementStatus::VmStep));
        STEPS.set(STEPS.get() + steps);
    }

    /// The steps of the virtual machine that the statements of this thread took in `work`.
    pub(in crate::adapters::sqlite) fn steps_of<T>(work: impl FnOnce() -> T) -> (T, i64) {
        STEPS.set(0);
        let done = work();
        (done, STEPS.get())
    }
}
