//! Subjects, as moderators list them.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::id::MemberId;
use crate::path::Mode;
use crate::wire::{ListPageInfo, SubjectState};

/// A subject in the moderators' list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModeratedSubject {
    /// The configured type.
    #[cfg_attr(feature = "openapi", schema(value_type = super::openapi::SubjectTypeName))]
    pub r#type: String,
    /// The host's key.
    #[cfg_attr(feature = "openapi", schema(value_type = super::openapi::SubjectKeyText))]
    pub key: String,
    /// Its title, as it was registered.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub title: Option<String>,
    /// Its address, as it was registered.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub url: Option<String>,
    /// The member it belongs to.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub owner_id: Option<MemberId>,
    /// How its threads are built.
    pub mode: Mode,
    /// Whether it takes comments.
    pub state: SubjectState,
    /// Visible roots; of a hidden subject too.
    pub roots: u64,
    /// Visible comments; of a hidden subject too.
    pub comments: u64,
    /// When its newest comment was written, whatever its state, in Unix milliseconds; `null` where there is none.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub last_activity: Option<u64>,
}

/// A page of subjects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModeratedSubjectPage {
    /// The subjects.
    #[cfg_attr(feature = "openapi", schema(max_items = 100))]
    pub data: Vec<ModeratedSubject>,
    /// The place of the page in the list.
    pub page: ListPageInfo,
}
