//! Why the tables could not answer.

use std::fmt;

use crate::domain::damaged_data::DamagedData;
use crate::ports::failure::Failure;

pub type Result<T> = std::result::Result<T, StoreError>;

/// Why a store could not answer. The reader is never at fault.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The database refused: what it was given is wrong for it, and a retry would not help.
    #[error("the database failed: {0}")]
    Database(Failure),
    /// A row that breaks the rules of the tables.
    #[error("a row is damaged: {0}")]
    Damaged(#[from] DamagedData),
    /// The database could not be reached, did not answer in time, or gave up on a lock. A retry may
    /// succeed. Whether a write was committed is unknown.
    #[error("the database cannot be reached: {0}")]
    Unavailable(Failure),
    /// No connection was free in time. Nothing was sent to the database.
    #[error("the database is busy: {0}")]
    Busy(Failure),
    /// The slot is in another database now, or on its way there: refresh the map and retry.
    #[error("the slot is moving")]
    Moved,
    /// What was asked for has no row. It may get one: the tables do not hold everything yet that was accepted.
    #[error("the tables have not caught up with the broker")]
    NotCaughtUp,
    /// A checkpoint is not what is known of it: the database has gone back, or a slot came to it.
    #[error("a checkpoint has changed")]
    CheckpointChanged,
}

impl StoreError {
    /// Damaged rows, in words.
    pub fn damaged(what: impl fmt::Display) -> Self {
        Self::Damaged(DamagedData::new(what))
    }

    /// Whether the database does not answer, or has no connection free: it may answer later.
    pub fn is_away(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Busy(_))
    }

    /// The error number of the database's server, where it answered with one.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Database(failure) | Self::Unavailable(failure) | Self::Busy(failure) => failure.code(),
            Self::Damaged(_) | Self::Moved | Self::NotCaughtUp | Self::CheckpointChanged => None,
        }
    }
}
