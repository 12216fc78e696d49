//! The settings of pages whose addresses have changed.
//!
//! Promise: every rule is one, so nothing is left out of those that are in force.

use documented::DocumentedFields;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use crate::domain::moved_pages::MovedPages;

/// The most rules: with each request for a subject those that end with `*` are looked through.
const MAX_MOVED_PAGES: usize = 1_000;

/// Between the former name and the new one.
const MOVE_MARK: &str = " => ";

/// `pages`: pages whose addresses have changed.
#[derive(Debug, Clone, Default, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct PageSettings {
    /// Pages that have moved: a list of `article/old => article/new`. Both addresses have the comments that the former one
    /// has. With `*` at the end of both, all that begin so: `article/old.example/* => article/new.example/*`.
    #[serde(deserialize_with = "moved")]
    pub moved: Vec<String>,
}

impl PageSettings {
    /// The rule for a page that has moved.
    #[must_use]
    pub fn rule(from: &str, to: &str) -> String {
        format!("{from}{MOVE_MARK}{to}")
    }

    /// Which subjects a rule names: the former one and the new one.
    #[must_use]
    pub fn names(rule: &str) -> Option<(&str, &str)> {
        rule.split_once(MOVE_MARK).map(|(from, to)| (from.trim(), to.trim()))
    }

    /// The rules, as they are used.
    #[must_use]
    pub fn moved_pages(&self) -> MovedPages {
        let mut moved = MovedPages::default();
        for (from, to) in self.moved.iter().filter_map(|rule| Self::names(rule)) {
            // They were checked when they were read.
            let _ = moved.add(from, to);
        }
        moved
    }
}

fn moved<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let rules = Vec::<String>::deserialize(deserializer)?;
    if rules.len() > MAX_MOVED_PAGES {
        return Err(D::Error::custom(format!("has at most {MAX_MOVED_PAGES} rules")));
    }
    let mut moved = MovedPages::default();
    for rule in &rules {
        let (from, to) = PageSettings::names(rule)
            .ok_or_else(|| D::Error::custom(format!("{rule:?} must be two subjects with {MOVE_MARK:?} between")))?;
        moved.add(from, to).map_err(|reason| D::Error::custom(format!("{rule:?}: the names {reason}")))?;
    }
    Ok(rules)
}
