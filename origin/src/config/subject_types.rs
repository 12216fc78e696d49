//! Subject types: how each kind of subject is commented on.
//!
//! Does not know the subjects themselves. Promise: every type has a valid name and stays within
//! the bounds of [`gailou_shared::limits`].

use std::collections::BTreeMap;

use documented::DocumentedFields;
use gailou_shared::id::SubjectKey;
use gailou_shared::limits;
use gailou_shared::path::{Mode, Threading};
use gailou_shared::rank::HotWeights;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::config::sources::Sources;
use crate::config::values::{switch, within};
use crate::config::{AllowedOrigins, ConfigError, Settings};

/// The types that exist unless `default_types` is off.
const DEFAULT_TYPES: [(&str, Mode); 4] =
    [("article", Mode::Tree), ("video", Mode::TwoLevel), ("post", Mode::Flat), ("topic", Mode::Building)];

/// Largest weight, in thousandths: with it a score of 2^32 likes still fits 64 bits.
const MAX_WEIGHT: u64 = 1_000_000;

/// Longest half-life, in hours: ten years.
const MAX_HALF_LIFE_HOURS: u64 = 87_600;

const HOUR_MS: u64 = 3_600_000;

/// `types.NAME`: how one kind of subject is commented on.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct SubjectType {
    /// How a thread is shown: `flat`, `two_level`, `tree` or `building`. A new type needs it.
    #[serde(skip_serializing)]
    pub mode: Mode,
    /// Deepest level that mode `tree` shows, from 1 to 128.
    #[serde(deserialize_with = "within::<1, { limits::MAX_DEPTH as u64 }, _, _>")]
    pub level_limit: u8,
    /// Longest comment, in characters, from 1 to 5000.
    #[serde(deserialize_with = "within::<1, { limits::MAX_CONTENT_CHARS as u64 }, _, _>")]
    pub max_chars: usize,
    /// Members below this level, from 0 to 255, cannot post.
    #[serde(deserialize_with = "within::<0, 255, _, _>")]
    pub min_level: u8,
    /// Whether guests may post, if `rules.guests` allows guests at all.
    #[serde(deserialize_with = "switch")]
    pub guests: bool,
    /// Sites that may write on this type; without it, those of `cors.origins`.
    pub cors_origins: Option<AllowedOrigins>,
    /// `weights`: the hot score.
    pub weights: HotWeightSettings,
}

/// `types.NAME.weights`: how much each kind of engagement counts in the hot score.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct HotWeightSettings {
    /// Weight of a like in the hot score, in thousandths, from 0 to 1000000.
    #[serde(deserialize_with = "within::<0, MAX_WEIGHT, _, _>")]
    pub like: u32,
    /// Weight of a visible reply, in thousandths, from 0 to 1000000.
    #[serde(deserialize_with = "within::<0, MAX_WEIGHT, _, _>")]
    pub reply: u32,
    /// Weight of a dislike, subtracted, in thousandths, from 0 to 1000000.
    #[serde(deserialize_with = "within::<0, MAX_WEIGHT, _, _>")]
    pub hate: u32,
    /// After how many hours, at most 87600, engagement must have doubled to keep its place; `none` if
    /// age does not count.
    #[serde(deserialize_with = "half_life", serialize_with = "serialize_half_life")]
    pub half_life_hours: Option<u64>,
}

impl Default for SubjectType {
    fn default() -> Self {
        Self {
            mode: Mode::Tree,
            level_limit: 3,
            max_chars: limits::MAX_CONTENT_CHARS,
            min_level: 0,
            guests: true,
            cors_origins: None,
            weights: HotWeightSettings::default(),
        }
    }
}

impl Default for HotWeightSettings {
    fn default() -> Self {
        let HotWeights { like, reply, dislike, half_life_ms } = HotWeights::default();
        Self { like, reply, hate: dislike, half_life_hours: half_life_ms.map(|ms| ms / HOUR_MS) }
    }
}

fn half_life<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum HalfLifeSetting {
        Hours(u64),
        Text(String),
    }
    let expected = "hours from 1 to 87600, or none (0) if age does not count";
    let wrong = || serde::de::Error::invalid_value(serde::de::Unexpected::Other("another value"), &expected);
    let hours = match HalfLifeSetting::deserialize(deserializer) {
        Ok(HalfLifeSetting::Hours(hours)) => hours,
        Ok(HalfLifeSetting::Text(text)) if text == "none" => 0,
        Ok(HalfLifeSetting::Text(text)) => text.parse().map_err(|_| wrong())?,
        Err(_) => return Err(wrong()),
    };
    if hours > MAX_HALF_LIFE_HOURS {
        return Err(wrong());
    }
    Ok(Some(hours).filter(|hours| *hours > 0))
}

fn serialize_half_life<S: Serializer>(hours: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    match hours {
        Some(hours) => serializer.serialize_u64(*hours),
        None => serializer.serialize_str("none"),
    }
}

impl SubjectType {
    /// How its threads are built and drawn.
    #[must_use]
    pub fn threading(&self) -> Threading {
        Threading { mode: self.mode, level_limit: self.level_limit }
    }

    /// What counts how much in its hot order.
    #[must_use]
    pub fn weights(&self) -> HotWeights {
        let HotWeightSettings { like, reply, hate, half_life_hours } = self.weights;
        HotWeights { like, reply, dislike: hate, half_life_ms: half_life_hours.map(|hours| hours * HOUR_MS) }
    }
}

/// The types of an installation that configures none.
pub(super) fn default_types() -> BTreeMap<String, SubjectType> {
    DEFAULT_TYPES.map(|(name, mode)| (name.to_owned(), SubjectType { mode, ..SubjectType::default() })).into()
}

/// The configured types and, unless `default_types` is off, the default ones.
pub(super) fn from_settings(
    settings: &Settings,
    sources: &Sources,
) -> Result<BTreeMap<String, SubjectType>, ConfigError> {
    let mut types = if settings.default_types { default_types() } else { BTreeMap::new() };
    for (name, configured) in &settings.types {
        let key = format!("types.{name}");
        SubjectKey::new(name, "1").map_err(|e| ConfigError::new(&key, format!("is not a subject type: a name {e}")))?;
        let is_mode_given = sources.contains(&["types", name, "mode"]);
        let mode = match types.get(name) {
            Some(default) if !is_mode_given => default.mode,
            None if !is_mode_given => {
                return Err(ConfigError::new(key + ".mode", "is missing: a new subject type needs one"));
            }
            _ => configured.mode,
        };
        types.insert(name.clone(), SubjectType { mode, ..configured.clone() });
    }
    if types.is_empty() || types.len() > limits::MAX_SUBJECT_TYPES {
        return Err(ConfigError::new("types", format!("must be from 1 to {}", limits::MAX_SUBJECT_TYPES)));
    }
    Ok(types)
}
