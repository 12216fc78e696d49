//! What `gailou reconcile` compares, and the differences that it finds.
//!
//! Pure: adapters read rows and repair them.

mod counters;
mod difference;
mod ranks;
mod reviews;
mod scope;

pub use counters::{CountedComment, CountedSubject, CounterChecker, CounterDifference, CounterKind, CounterOwner};
pub use difference::{
    ComparedChunk, Difference, FoundDifference, HistoryFault, OutboxDifference, RankFault, ReviewFault,
};
pub(crate) use ranks::{RankKey, RankRow, RankedChunk, StoredRank, WrongRank};
pub use ranks::{RankStage, RankWalk};
pub(crate) use reviews::{QueuedRow, ReviewedComment};
pub use scope::{ReconcileSample, ReconcileScope};
