//! The port to what members are to be mailed: a part of the rows of what they are notified.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::MemberId;

use crate::domain::notification::StoredNotification;
use crate::ports::store::Result;

/// What is one mail to a member: all that they are to be mailed at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueMail {
    pub member: MemberId,
    /// Until when the rows are claimed, in Unix milliseconds; it names the claim.
    pub claimed_until: u64,
    /// How often it was claimed, this time included.
    pub tries: u32,
    /// Mails that the member was sent in this hour of the clock.
    pub mailed_lately: usize,
    /// Newest first.
    pub rows: Vec<StoredNotification>,
}

/// What became of a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailOutcome {
    /// It was sent at this moment.
    Sent(u64),
    /// It is to be sent at this moment, after so many tries.
    Later(u64, u32),
    /// It will not be sent.
    Dropped,
}

/// Claims mails that are due, and records what became of them. Promise: what is claimed is claimed by one process, until
/// its time is over; then another one claims the same rows, which are the same mail.
#[async_trait]
pub trait MailQueue: Send + Sync + Debug {
    /// Claims mails of one database that are due at `now` until a later moment, the longest due first.
    async fn claim_mails(&self, database: usize, now: u64, until: u64, count: usize) -> Result<Vec<DueMail>>;
    /// Records what became of a mail, unless its claim is over and another process has it.
    async fn finish_mail(&self, mail: &DueMail, outcome: MailOutcome) -> Result<()>;
    /// Makes mails due that an earlier process has claimed or failed to send, where one process alone has the tables.
    async fn release_mails(&self, now: u64) -> Result<()>;
}
