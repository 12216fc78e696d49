//! Names that are not for guests.

use documented::DocumentedFields;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::values::parse;

/// `names`: names that are not for guests.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct NameSettings {
    /// Names that no guest may take, nor one that looks like them; a list in the file, separated by commas in
    /// the variable. The names of members who were seen in the last 30 days are taken as well.
    #[serde(deserialize_with = "reserved")]
    pub reserved: Vec<String>,
}

impl Default for NameSettings {
    fn default() -> Self {
        let reserved = [
            "admin",
            "administrator",
            "moderator",
            "mod",
            "staff",
            "official",
            "support",
            "system",
            "管理员",
            "版主",
            "官方",
            "客服",
            "系统",
        ];
        Self { reserved: reserved.map(Into::into).into() }
    }
}

fn reserved<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    parse(deserializer, "names, a list in a file, separated by commas in a variable", |text| {
        Some(text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(Into::into).collect())
    })
}
