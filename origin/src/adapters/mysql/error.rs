//! Errors of the driver and of the server as [`StoreError`]s.

use sqlx::Error;
use sqlx::mysql::MySqlDatabaseError;

use crate::ports::store::{StoreError, StoreFailure};

/// `ER_BAD_DB_ERROR`: the database does not exist.
pub(super) const UNKNOWN_DATABASE: u16 = 1049;
/// `ER_NO_SUCH_TABLE`.
pub(super) const NO_SUCH_TABLE: u16 = 1146;

/// Classes of SQLSTATE that say so: connection, authorization, transaction rollback.
const TEMPORARY_CLASSES: [&str; 3] = ["08", "28", "40"];

/// Numbers of errors that come from the state of the server, not from the statement.
const TEMPORARY_NUMBERS: [u16; 49] = [
    // No memory, disk, threads or connections; a table or database that does not exist yet.
    1005,
    1015,
    1021,
    1026,
    1030,
    1034,
    1037,
    1038,
    1039,
    1040,
    1041,
    1044,
    UNKNOWN_DATABASE,
    1053,
    1114,
    1129,
    1135,
    1142,
    1143,
    NO_SUCH_TABLE,
    // Packets, lock waits, deadlocks; limits of the account, of statements and of time.
    1158,
    1159,
    1160,
    1161,
    1180,
    1192,
    1203,
    1205,
    1206,
    1213,
    1226,
    1461,
    1614,
    // Read-only, shut down, killed, too slow, idle for too long.
    1290,
    1317,
    1637,
    1792,
    1836,
    1927,
    1969,
    2006,
    2013,
    3024,
    3058,
    3100,
    3101,
    3168,
    3572,
    4031,
];

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        match &error {
            Error::Database(database) => {
                let number = database.try_downcast_ref::<MySqlDatabaseError>().map_or(0, MySqlDatabaseError::number);
                let temporary = is_temporary(number, database.code().as_deref().unwrap_or_default());
                let failure = StoreFailure::of_driver(error, Some(number));
                if temporary { Self::Unavailable(failure) } else { Self::Database(failure) }
            }
            Error::ColumnNotFound(_) | Error::ColumnIndexOutOfBounds { .. } => Self::damaged(error),
            Error::RowNotFound | Error::ColumnDecode { .. } | Error::Decode(_) => Self::damaged(error),
            Error::Encode(_) | Error::InvalidArgument(_) | Error::Configuration(_) => {
                Self::Database(StoreFailure::of_driver(error, None))
            }
            _ => Self::Unavailable(StoreFailure::of_driver(error, None)),
        }
    }
}

/// Whether a retry of the same statement may succeed.
fn is_temporary(number: u16, sql_state: &str) -> bool {
    TEMPORARY_CLASSES.iter().any(|class| sql_state.starts_with(class)) || TEMPORARY_NUMBERS.contains(&number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_server_state_are_temporary() {
        for (number, sql_state, expected) in [
            (1205, "HY000", true),
            (1213, "40001", true),
            (1146, "42S02", true),
            (1062, "23000", false),
            (1406, "22001", false),
        ] {
            assert_eq!(is_temporary(number, sql_state), expected, "{number}");
        }
    }
}
