//! The port to the audit log.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{AuditId, MemberId};
use gailou_shared::wire::AuditRecord;

use crate::ports::store::Result;

/// Which entries of the audit log are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Of this moderator.
    pub actor: Option<MemberId>,
    /// With this verb.
    pub action: Option<String>,
}

/// Reads the audit log.
#[async_trait]
pub trait AuditReader: Send + Sync + Debug {
    /// The entries below an id, newest first.
    async fn list_audit(&self, filter: &AuditFilter, below: Option<AuditId>, count: usize) -> Result<Vec<AuditRecord>>;
    /// One entry.
    async fn read_audit(&self, id: AuditId) -> Result<Option<AuditRecord>>;
}
