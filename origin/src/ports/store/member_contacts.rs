//! The port to how members are reached.

use std::collections::HashMap;
use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::MemberId;

use crate::domain::member_contact::{ContactPatch, MemberContact};
use crate::ports::store::Result;

/// Reads and changes contacts. Erasing a member deletes theirs.
#[async_trait]
pub trait MemberContacts: Send + Sync + Debug {
    /// The contacts of these members; a member without one is left out.
    async fn read_contacts(&self, members: &[MemberId]) -> Result<HashMap<MemberId, MemberContact>>;
    /// Changes the contact of a member; what it is now.
    async fn change_contact(&self, member: MemberId, patch: &ContactPatch) -> Result<MemberContact>;
}
