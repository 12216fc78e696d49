//! Members, as moderators see them.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::id::MemberId;
use crate::token::Role;
use crate::wire::{Comment, ListPageInfo};

/// How often a member is notified by mail of what concerns them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum NotifyChoice {
    /// Not at all.
    Never,
    /// Once a day, of all that happened.
    Daily,
    /// Of each event by itself.
    Each,
}

/// A member, with what moderators say of them; each `null` where nothing is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModeratedMember {
    /// The member.
    pub id: MemberId,
    /// The name that they last wrote under; empty before their first comment.
    pub name: String,
    /// Address of the picture that they last wrote with.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub avatar: Option<String>,
    /// The level that they last wrote with.
    #[cfg_attr(feature = "openapi", schema(maximum = 255))]
    pub token_level: u8,
    /// Whether they have no account.
    pub guest: bool,
    /// The level that counts instead of the token's.
    #[cfg_attr(feature = "openapi", schema(required, maximum = 255))]
    pub level: Option<u8>,
    /// The role that counts instead of the token's.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub role: Option<Role>,
    /// Until when they may not write, in Unix milliseconds.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub muted_until: Option<u64>,
    /// Tokens that were issued before are refused, in Unix milliseconds.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub tokens_not_before: Option<u64>,
    /// What moderators have noted.
    #[cfg_attr(feature = "openapi", schema(required, max_length = 1000))]
    pub note: Option<String>,
    /// What the host's service says of them today; left out in lists, and where the service is not asked, does not know
    /// them or does not answer.
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<MemberAccount>,
    /// The friends that moderators gave them; left out in lists.
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_items = 1000))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub friends: Option<Vec<MemberId>>,
    /// How many comments they have; left out in lists.
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<MemberCounts>,
    /// Other names under which they wrote their newest comments; left out in lists.
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_items = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
    /// Their newest comments, whatever their state; left out in lists.
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_items = 10))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Vec<Comment>>,
}

/// What the host's service says of a member; each `null` where it says nothing that can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemberAccount {
    /// The name that they write under.
    #[cfg_attr(feature = "openapi", schema(required, max_length = 64))]
    pub name: Option<String>,
    /// Address of their picture.
    #[cfg_attr(feature = "openapi", schema(required, max_length = 512))]
    pub avatar: Option<String>,
    /// Their level, unless moderators gave them another one.
    #[cfg_attr(feature = "openapi", schema(required, maximum = 255))]
    pub level: Option<u8>,
}

/// How many comments a member has, among the newest 10,000.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemberCounts {
    /// Published.
    pub published: u64,
    /// Held for a moderator. One that readers see while an edit of it waits is published.
    pub held: u64,
    /// Rejected.
    pub rejected: u64,
    /// Reported by readers, whatever became of them.
    pub reported: u64,
    /// Whether all of their comments were looked at.
    pub complete: bool,
}

/// A page of members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModeratedMemberPage {
    /// The members.
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub data: Vec<ModeratedMember>,
    /// Its place in the list.
    pub page: ListPageInfo,
}
