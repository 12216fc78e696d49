//! Subject types: how each kind of subject is commented on.
//!
//! Does not know the subjects themselves. Promise: every type has a valid name and stays within
//! the bounds of [`gailou_shared::limits`].

use std::collections::BTreeMap;

use gailou_shared::id::SubjectKey;
use gailou_shared::limits;
use gailou_shared::path::{Mode, Threading};
use gailou_shared::rank::HotWeights;

use crate::config::layers::{HalfLife, Layers};
use crate::config::{AllowedOrigins, ConfigError};

const DEFAULTS: [(&str, Mode); 4] =
    [("article", Mode::Tree), ("video", Mode::TwoLevel), ("post", Mode::Flat), ("topic", Mode::Building)];

/// Largest weight, in thousandths: with it a score of 2^32 likes still fits 64 bits.
const MOST_WEIGHT: u64 = 1_000_000;

/// `types.NAME`: how one kind of subject is commented on.
#[derive(Debug, Clone)]
pub struct SubjectType {
    pub mode: Mode,
    /// Level limit of [`Mode::Tree`], from 1 to [`limits::DEPTH`].
    pub level_limit: u8,
    /// Longest comment in characters, at most [`limits::CONTENT_CHARS`].
    pub max_chars: usize,
    /// Members below this level cannot post.
    pub min_level: u8,
    /// Whether guests may post, where guests are allowed at all.
    pub guests: bool,
    pub cors_origins: Option<AllowedOrigins>,
    /// `weights.{like,reply,hate}` in thousandths and `weights.half_life_hours`.
    pub hot: HotWeights,
}

impl SubjectType {
    fn new(mode: Mode) -> Self {
        Self {
            mode,
            level_limit: 3,
            max_chars: limits::MAX_CONTENT_CHARS,
            min_level: 0,
            guests: true,
            cors_origins: None,
            hot: HotWeights::default(),
        }
    }

    /// How its threads are built and drawn.
    #[must_use]
    pub fn threading(&self) -> Threading {
        Threading { mode: self.mode, level_limit: self.level_limit }
    }

    /// What counts how much in its hot order.
    #[must_use]
    pub fn weights(&self) -> HotWeights {
        self.hot
    }
}

/// The types of an installation that names none.
pub(super) fn defaults() -> BTreeMap<String, SubjectType> {
    DEFAULTS.map(|(name, mode)| (name.to_owned(), SubjectType::new(mode))).into()
}

/// The default types (unless `default_types` is off) with what is said of them, and the others.
pub(super) fn take(layers: &mut Layers) -> Result<BTreeMap<String, SubjectType>, ConfigError> {
    let mut types = if layers.or("default_types", true)? { defaults() } else { BTreeMap::new() };
    for name in layers.names_under("types") {
        let key = format!("types.{name}");
        SubjectKey::new(&name, "1").map_err(|e| ConfigError::new(&key, format!("is no subject type: a name {e}")))?;
        let before = types.remove(&name);
        types.insert(name, subject_type(layers, &key, before)?);
    }
    if types.is_empty() || types.len() > limits::MAX_SUBJECT_TYPES {
        return Err(ConfigError::new("types", format!("must be from 1 to {}", limits::MAX_SUBJECT_TYPES)));
    }
    Ok(types)
}

fn subject_type(layers: &mut Layers, key: &str, before: Option<SubjectType>) -> Result<SubjectType, ConfigError> {
    let at = |field: &str| format!("{key}.{field}");
    let mode: Option<Mode> = layers.take(&at("mode"))?;
    let Some(mode) = mode.or(before.as_ref().map(|kind| kind.mode)) else {
        return Err(ConfigError::new(at("mode"), "is missing: a new subject type needs one"));
    };
    let before = before.unwrap_or_else(|| SubjectType::new(mode));
    let hot = before.hot;
    let half_life = layers.take(&at("weights.half_life_hours"))?;
    Ok(SubjectType {
        mode,
        level_limit: layers.number(&at("level_limit"), before.level_limit, 1..=limits::MAX_DEPTH as u64)?,
        max_chars: layers.number(&at("max_chars"), before.max_chars, 1..=limits::MAX_CONTENT_CHARS as u64)?,
        min_level: layers.number(&at("min_level"), before.min_level, 0..=255)?,
        guests: layers.or(&at("guests"), before.guests)?,
        cors_origins: layers.take(&at("cors_origins"))?.or(before.cors_origins),
        hot: HotWeights {
            like: layers.number(&at("weights.like"), hot.like, 0..=MOST_WEIGHT)?,
            reply: layers.number(&at("weights.reply"), hot.reply, 0..=MOST_WEIGHT)?,
            dislike: layers.number(&at("weights.hate"), hot.dislike, 0..=MOST_WEIGHT)?,
            half_life_ms: half_life.map_or(hot.half_life_ms, |HalfLife(hours)| hours.map(|h| h * 3_600_000)),
        },
    })
}
