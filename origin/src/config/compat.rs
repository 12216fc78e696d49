//! The settings of the addresses at which widgets of other comment systems read and write.
//!
//! Connects to nothing.

use documented::DocumentedFields;
use gailou_shared::id::SubjectKey;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::values;
use crate::domain::page_address::Site;

/// `compat`: widgets of other comment systems.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct CompatSettings {
    /// Whether widgets of Waline, Artalk, Isso and Twikoo can read and write here, under `/compat/`.
    #[serde(deserialize_with = "values::switch")]
    pub enabled: bool,
    /// The type of the subjects of their pages.
    #[serde(deserialize_with = "subject_type")]
    pub subject_type: String,
    /// The site of pages that they name by their path alone, such as `blog.example`: the page `/hello` is the subject
    /// `blog.example/hello`, as an import with `--site` has it. Without it, it is `/hello`.
    #[serde(deserialize_with = "site")]
    pub site: Option<String>,
}

impl Default for CompatSettings {
    fn default() -> Self {
        Self { enabled: true, subject_type: "article".into(), site: None }
    }
}

fn subject_type<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    values::parse(deserializer, "the name of a subject type", |name| {
        SubjectKey::new(name, "x").is_ok().then(|| name.to_owned())
    })
}

fn site<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    values::parse_optional(deserializer, "a host, such as blog.example", |site| {
        Site::parse(site).is_some().then(|| site.to_owned())
    })
}
