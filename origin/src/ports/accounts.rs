//! The port to the host's service that knows its members: their names, pictures, levels and friends.
//!
//! Promise: what is answered is what the service says, about these members alone, within the time limit of the adapter,
//! and can be shown: a field that it does not say, or says wrongly, is `None`. A member that it does not know is left
//! out. Whatever else happens is a [`Failure`], and says nothing about a member.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::id::MemberId;

use crate::ports::failure::Failure;

/// Most members of a call.
pub const MAX_ACCOUNTS_PER_CALL: usize = 50;

/// What the service says of a member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Account {
    /// As [`gailou_shared::token::shown_name`] allows it.
    pub name: Option<String>,
    /// A picture that [`gailou_shared::token::is_avatar`] allows; `Some(None)` for a member without one.
    pub avatar: Option<Option<String>>,
    pub level: Option<u8>,
    /// At most [`gailou_shared::limits::MAX_FRIENDS`], each once, by id.
    pub friends: Option<Vec<MemberId>>,
}

/// The service.
#[async_trait]
pub trait Accounts: Send + Sync + std::fmt::Debug {
    /// What is known of these members, at most [`MAX_ACCOUNTS_PER_CALL`].
    async fn look_up(&self, members: &[MemberId]) -> Result<HashMap<MemberId, Account>, Failure>;
}
