//! The rules of moderation.

use documented::DocumentedFields;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::values::{optional_within, parse, switch, within};
use crate::config::{HashedNetworks, Networks};

const MAX_REPORT_THRESHOLD: u64 = 1_000_000;
const MAX_LINKS: u64 = 1_000;
const MAX_CLOSE_DAYS: u64 = 36_500;
/// Most names that are blocked, and most networks.
const MAX_BLOCKED: usize = 1_000;

/// What guests may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GuestRule {
    /// To write like members.
    Allowed,
    /// To write what waits for a moderator.
    Held,
    /// Nothing: there are no guests.
    Off,
}

/// About whose texts the classifier is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassifiedAuthors {
    /// About none.
    None,
    Guests,
    /// All but moderators.
    Everyone,
}

/// What becomes of a text that the classifier does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum UnclassifiedRule {
    /// It goes on as if it was not asked.
    Allow,
    /// It waits for a moderator.
    Review,
}

/// `rules`: when a moderator decides before readers see a comment, or see it again. They are for readers, not for
/// moderators.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct RuleSettings {
    /// What guests may do: `allowed` to write under a name of their choice, `held`: what they write waits for a moderator,
    /// `off`: there are none.
    pub guests: GuestRule,
    /// Whether the comments of a guest wait for a moderator until one of them was approved, or was seen by readers for a
    /// day.
    #[serde(deserialize_with = "switch")]
    pub hold_first_guest_comment: bool,
    /// Members below this level, from 0 to 255, post nothing, and guests have level 0; a subject type may ask for more.
    #[serde(deserialize_with = "within::<0, 255, _, _>")]
    pub min_level: u8,
    /// A text with more links than this, from 0 to 1000, waits for a moderator; none: links do not matter.
    #[serde(deserialize_with = "optional_within::<0, MAX_LINKS, _, _>")]
    pub max_links: Option<u32>,
    /// A subject takes no comments so many days, from 1 to 36500, after its first comment; none: it takes them for ever.
    #[serde(deserialize_with = "optional_within::<1, MAX_CLOSE_DAYS, _, _>")]
    pub close_after_days: Option<u32>,
    /// How many reports by readers, from 0 to 1000000, take a comment out of the lists until a moderator decides; 0
    /// for none. A comment is in the review queue from the first one on.
    #[serde(deserialize_with = "within::<0, MAX_REPORT_THRESHOLD, _, _>")]
    pub report_threshold: u32,
    /// Whether readers may see the earlier texts of an edited comment, as far as every reader saw them.
    #[serde(deserialize_with = "switch")]
    pub show_earlier_texts: bool,
    /// About whose texts the external classifier is asked: `none`, `guests` or `everyone`, which needs `classifier.kind`. What
    /// it calls spam waits for a moderator.
    pub classified: ClassifiedAuthors,
    /// What becomes of a text that the classifier does not answer in time: `allow` to publish it, `review` to let it wait for
    /// a moderator.
    pub unclassified: UnclassifiedRule,
    /// `rules.blocked`
    pub blocked: BlockedSettings,
}

impl Default for RuleSettings {
    fn default() -> Self {
        Self {
            guests: GuestRule::Allowed,
            hold_first_guest_comment: false,
            min_level: 0,
            max_links: None,
            close_after_days: None,
            report_threshold: 3,
            show_earlier_texts: false,
            classified: ClassifiedAuthors::None,
            unclassified: UnclassifiedRule::Review,
            blocked: BlockedSettings::default(),
        }
    }
}

/// `rules.blocked`: who posts nothing.
#[derive(Debug, Clone, Default, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct BlockedSettings {
    /// Names whose members and guests post nothing, nor those that look like them; at most 1,000. A list in the file,
    /// separated by commas in the variable.
    #[serde(deserialize_with = "names")]
    pub names: Vec<String>,
    /// Addresses and networks, such as `192.0.2.7` or `198.51.100.0/24`, from which nothing is posted and no guest is
    /// made; at most 1,000. An IPv6 network is a /64 or wider. A list in the file, separated by commas in the variable.
    #[serde(deserialize_with = "networks")]
    pub networks: Networks,
    /// The same without addresses: what a moderator blocks by a comment, each with the last day of it, such as
    /// `9f86d081884c7d659a2feaa0c55ad015 2026-12-27`; at most 1,000. A list in the file, separated by commas in the
    /// variable.
    pub hashed_networks: HashedNetworks,
}

fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    parse(deserializer, "at most 1,000 names, a list in a file, separated by commas in a variable", |text| {
        let names: Vec<String> =
            text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(Into::into).collect();
        (names.len() <= MAX_BLOCKED).then_some(names)
    })
}

fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Networks, D::Error> {
    let expected = "at most 1,000 addresses or networks such as 192.0.2.7 or 198.51.100.0/24, a list in a file, \
                    separated by commas in a variable";
    parse(deserializer, expected, |text| {
        Networks::parse(text).filter(|networks| networks.len() <= MAX_BLOCKED).map(Networks::of_clients)
    })
}
