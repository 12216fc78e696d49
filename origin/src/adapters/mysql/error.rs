//! Errors of the driver and of the server as [`StoreError`]s.

use sqlx::Error;
use sqlx::mysql::MySqlDatabaseError;

use crate::ports::failure::Failure;
use crate::ports::store::StoreError;

/// `ER_BAD_DB_ERROR`: the database does not exist.
pub(super) const UNKNOWN_DATABASE: u16 = 1049;
/// `ER_NO_SUCH_TABLE`.
pub(super) const NO_SUCH_TABLE: u16 = 1146;

/// Classes of SQLSTATE that say so: connection, authorization, transaction rollback.
const TEMPORARY_CLASSES: [&str; 3] = ["08", "28", "40"];

/// Errors that come from the state of the server, not from the statement, by number and name.
const TEMPORARY_ERRORS: [(u16, &str); 55] = [
    // No memory, disk, threads or connections; a table or database that does not exist yet.
    (1005, "ER_CANT_CREATE_TABLE"),
    (1015, "ER_CANT_LOCK"),
    (1021, "ER_DISK_FULL"),
    (1026, "ER_ERROR_ON_WRITE"),
    (1030, "ER_GET_ERRNO"),
    (1034, "ER_NOT_KEYFILE"),
    (1037, "ER_OUTOFMEMORY"),
    (1038, "ER_OUT_OF_SORTMEMORY"),
    (1039, "ER_UNEXPECTED_EOF"),
    (1040, "ER_CON_COUNT_ERROR"),
    (1041, "ER_OUT_OF_RESOURCES"),
    (1044, "ER_DBACCESS_DENIED_ERROR"),
    (UNKNOWN_DATABASE, "ER_BAD_DB_ERROR"),
    (1053, "ER_SERVER_SHUTDOWN"),
    (1114, "ER_RECORD_FILE_FULL"),
    (1129, "ER_HOST_IS_BLOCKED"),
    (1135, "ER_CANT_CREATE_THREAD"),
    (1142, "ER_TABLEACCESS_DENIED_ERROR"),
    (1143, "ER_COLUMNACCESS_DENIED_ERROR"),
    (NO_SUCH_TABLE, "ER_NO_SUCH_TABLE"),
    // Packets, lock waits, deadlocks; limits of the account, of statements and of time.
    (1158, "ER_NET_READ_ERROR"),
    (1159, "ER_NET_READ_INTERRUPTED"),
    (1160, "ER_NET_ERROR_ON_WRITE"),
    (1161, "ER_NET_WRITE_INTERRUPTED"),
    (1180, "ER_ERROR_DURING_COMMIT"),
    (1192, "ER_LOCK_OR_ACTIVE_TRANSACTION"),
    (1203, "ER_TOO_MANY_USER_CONNECTIONS"),
    (1205, "ER_LOCK_WAIT_TIMEOUT"),
    (1206, "ER_LOCK_TABLE_FULL"),
    (1213, "ER_LOCK_DEADLOCK"),
    (1226, "ER_USER_LIMIT_REACHED"),
    (1461, "ER_MAX_PREPARED_STMT_COUNT_REACHED"),
    (1614, "ER_XA_RBDEADLOCK"),
    // A table or schema that is not as it should be: a damaged index, a column that a migration has renamed or added.
    // No record is the cause, and each would be a dead letter.
    (1054, "ER_BAD_FIELD_ERROR"),
    (1105, "ER_UNKNOWN_ERROR"),
    (1136, "ER_WRONG_VALUE_COUNT_ON_ROW"),
    (1194, "ER_CRASHED_ON_USAGE"),
    (1364, "ER_NO_DEFAULT_FOR_FIELD"),
    (1712, "ER_INDEX_CORRUPT"),
    // Read-only, shut down, killed, too slow, idle for too long.
    (1290, "ER_OPTION_PREVENTS_STATEMENT"),
    (1317, "ER_QUERY_INTERRUPTED"),
    (1637, "ER_TOO_MANY_CONCURRENT_TRXS"),
    (1792, "ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION"),
    (1836, "ER_READ_ONLY_MODE"),
    (1927, "ER_CONNECTION_KILLED"),
    (1969, "ER_STATEMENT_TIMEOUT"),
    (2006, "CR_SERVER_GONE_ERROR"),
    (2013, "CR_SERVER_LOST"),
    (3024, "ER_QUERY_TIMEOUT"),
    (3058, "ER_USER_LOCK_DEADLOCK"),
    (3100, "ER_RUN_HOOK_ERROR"),
    (3101, "ER_TRANSACTION_ROLLBACK_DURING_COMMIT"),
    (3168, "ER_SERVER_ISNT_AVAILABLE"),
    (3572, "ER_LOCK_NOWAIT"),
    (4031, "ER_CLIENT_INTERACTION_TIMEOUT"),
];

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        match &error {
            Error::Database(database) => {
                let number = database.try_downcast_ref::<MySqlDatabaseError>().map_or(0, MySqlDatabaseError::number);
                let temporary = is_temporary(number, database.code().as_deref().unwrap_or_default());
                let failure = Failure::of_server(error, number);
                if temporary { Self::Unavailable(failure) } else { Self::Database(failure) }
            }
            Error::ColumnNotFound(_) | Error::ColumnIndexOutOfBounds { .. } => Self::damaged(error),
            Error::RowNotFound | Error::ColumnDecode { .. } | Error::Decode(_) => Self::damaged(error),
            Error::Encode(_) | Error::InvalidArgument(_) | Error::Configuration(_) => {
                Self::Database(Failure::of_driver(error))
            }
            _ => Self::Unavailable(Failure::of_driver(error)),
        }
    }
}

/// Whether a retry of the same statement may succeed.
fn is_temporary(number: u16, sql_state: &str) -> bool {
    TEMPORARY_CLASSES.iter().any(|class| sql_state.starts_with(class))
        || TEMPORARY_ERRORS.iter().any(|(temporary, _)| *temporary == number)
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
            (1054, "42S22", true),
            (1364, "HY000", true),
            (1062, "23000", false),
            (1406, "22001", false),
        ] {
            assert_eq!(is_temporary(number, sql_state), expected, "{number}");
        }
    }
}
