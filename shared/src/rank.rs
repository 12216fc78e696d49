//! Ranking: a total order for each of the seven sorts, in integers.
//!
//! A sort key is a fixed-point number made of the counts and the time of creation, never of the time of
//! reading, so the order changes only when counts change. There are no floats, so wasm and native agree to
//! the bit. Larger keys come first; the larger id breaks ties.

#[cfg(feature = "openapi")]
use alloc::string::String;
#[cfg(feature = "openapi")]
use alloc::vec::Vec;
use core::cmp::Ordering;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::id::{CommentId, ID_EPOCH_MS};

/// Fraction bits of the keys of hot, best and controversial.
pub const KEY_FRACTION_BITS: u32 = 32;
/// The number 1 as a key.
const KEY_ONE: u128 = 1 << KEY_FRACTION_BITS;

/// An order of a list.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, EnumString, IntoStaticStr, VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Sort {
    /// By engagement and age.
    #[default]
    Hot,
    /// By floor, newest first.
    New,
    /// By floor, oldest first.
    Old,
    /// By likes.
    Top,
    /// By the lower bound of the share of likes.
    Best,
    /// By visible descendants.
    Replies,
    /// By many likes together with as many dislikes.
    Controversial,
}

impl Sort {
    /// All sorts, in the order of their numbers.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The sort's name in the contract.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The sort with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// Whether a comment's key can change after its publication. Such a list is walked by snapshot and
    /// tail, the others by floor alone.
    #[must_use]
    pub const fn is_ranked(self) -> bool {
        !matches!(self, Self::New | Self::Old)
    }
}

/// The counts that ranking uses. A count above 2^32 − 1 is treated as 2^32 − 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EngagementCounts {
    /// Members who like it.
    pub likes: u64,
    /// Members who dislike it.
    pub dislikes: u64,
    /// Visible descendants.
    pub replies: u64,
}

impl EngagementCounts {
    /// Whether any count is above zero. Comments without engagement are ordered by age in every sort.
    #[must_use]
    pub const fn has_any(self) -> bool {
        self.likes > 0 || self.dislikes > 0 || self.replies > 0
    }
}

/// The weights of the hot sort for a subject type, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HotWeights {
    /// Weight of a like, in thousandths.
    pub like: u32,
    /// Weight of a visible descendant, in thousandths.
    pub reply: u32,
    /// Weight of a dislike, which is subtracted, in thousandths.
    pub dislike: u32,
    /// Milliseconds in which a comment's engagement must double to keep its place: at least
    /// [`HotWeights::MIN_HALF_LIFE_MS`]. `None`: age does not count.
    pub half_life_ms: Option<u64>,
}

impl HotWeights {
    /// One hour. With it every key is below 2^53, so it fits the score of a sorted set exactly.
    pub const MIN_HALF_LIFE_MS: u64 = 3_600_000;
}

impl Default for HotWeights {
    fn default() -> Self {
        Self { like: 700, reply: 300, dislike: 0, half_life_ms: Some(86_400_000) }
    }
}

/// The key of a comment created at `created_ms` (Unix milliseconds) under `sort`; larger keys come first.
/// The key of `new` and `old` is the floor, so this returns 0 for them.
///
/// - hot: `log2(1 + like·likes + reply·replies − dislike·dislikes) + created / half_life`
/// - best: lower bound of Wilson's score interval at z = 1.96 (Wilson 1927), 0 without votes
/// - controversial: `log2` of `(likes + dislikes) ^ (min / max)`, which orders the same
#[must_use]
pub fn sort_key(sort: Sort, counts: EngagementCounts, created_ms: u64, weights: &HotWeights) -> i64 {
    match sort {
        Sort::Hot => hot(counts, created_ms, weights),
        Sort::Best => wilson(counts),
        Sort::Controversial => controversial(counts),
        Sort::Top => clamp(counts.likes),
        Sort::Replies => clamp(counts.replies),
        Sort::New | Sort::Old => 0,
    }
}

/// The order of two comments by key and id: the one that comes first is `Less`.
#[must_use]
pub fn compare_ranked(a: (i64, CommentId), b: (i64, CommentId)) -> Ordering {
    b.cmp(&a)
}

fn clamp(count: u64) -> i64 {
    i64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

fn hot(counts: EngagementCounts, created_ms: u64, weights: &HotWeights) -> i64 {
    let part = |weight: u32, count: u64| i128::from(weight) * i128::from(clamp(count));
    let sum = 1_000 + part(weights.like, counts.likes) + part(weights.reply, counts.replies)
        - part(weights.dislike, counts.dislikes);
    let engagement = log2(sum.max(1_000) as u64) - log2(1_000);
    let age = weights.half_life_ms.map_or(0, |half_life| {
        let since = u128::from(created_ms.saturating_sub(ID_EPOCH_MS)).min(1 << 41);
        (since * KEY_ONE / u128::from(half_life.max(HotWeights::MIN_HALF_LIFE_MS))) as i64
    });
    engagement + age
}

fn controversial(counts: EngagementCounts) -> i64 {
    let (likes, dislikes) = (clamp(counts.likes), clamp(counts.dislikes));
    let (min, max) = (likes.min(dislikes), likes.max(dislikes));
    if min == 0 {
        return 0;
    }
    (i128::from(log2((likes + dislikes) as u64)) * i128::from(min) / i128::from(max)) as i64
}

/// Wilson's lower bound, multiplied out so that it needs one division and one root:
/// `(2u + z² − z·sqrt(z² + 4·u·d/n)) / (2·(n + z²))`, u likes, d dislikes, n both.
fn wilson(counts: EngagementCounts) -> i64 {
    let (u, d) = (clamp(counts.likes) as u128, clamp(counts.dislikes) as u128);
    let n = u + d;
    if n == 0 {
        return 0;
    }
    // 60 fraction bits under the root leave 30 of its value; u·d < 2^64, so nothing overflows.
    let z2_q60 = (38_416u128 << 60) / 10_000;
    let z2_q30 = z2_q60 >> 30;
    let root = (z2_q60 + ((4 * u * d) << 58) / n * 4).isqrt();
    let upper = ((2 * u) << 30) + z2_q30;
    let lower = upper.saturating_sub(root * 49 / 25);
    ((lower << KEY_FRACTION_BITS) / (2 * ((n << 30) + z2_q30))) as i64
}

/// `log2(x)` for x ≥ 1 with 32 fraction bits, rounded down; never decreasing in x.
///
/// One binary digit a squaring (Knuth, TAOCP 1.2.2, exercise 25). Truncating a square keeps the
/// order of two arguments, so the result does too.
fn log2(x: u64) -> i64 {
    let x = x.max(1);
    let whole = x.ilog2();
    // The mantissa in [1, 2) with 63 fraction bits.
    let mut mantissa = u128::from(x) << (63 - whole);
    let mut fraction = 0i64;
    for _ in 0..KEY_FRACTION_BITS {
        mantissa = (mantissa * mantissa) >> 63;
        let digit = mantissa >> 64;
        mantissa >>= digit;
        fraction = fraction << 1 | digit as i64;
    }
    i64::from(whole) << KEY_FRACTION_BITS | fraction
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const T: u64 = 1_700_000_000_000;

    fn counts(likes: u64, dislikes: u64, replies: u64) -> EngagementCounts {
        EngagementCounts { likes, dislikes, replies }
    }

    fn float(key: i64) -> f64 {
        key as f64 / KEY_ONE as f64
    }

    fn any_counts() -> impl Strategy<Value = EngagementCounts> {
        counts_below(5_000_000_000)
    }

    fn counts_below(most: u64) -> impl Strategy<Value = EngagementCounts> {
        let count = prop_oneof![0u64..20, 0..most];
        (count.clone(), count.clone(), count).prop_map(|(likes, dislikes, replies)| EngagementCounts {
            likes,
            dislikes,
            replies,
        })
    }

    #[test]
    fn log2_is_exact_to_nine_digits() {
        for x in [1u64, 2, 3, 7, 1_000, 1_001, 123_456_789, u64::MAX] {
            assert!((float(log2(x)) - (x as f64).log2()).abs() < 1e-8, "{x}");
        }
    }

    #[test]
    fn best_is_wilsons_lower_bound() {
        let check = |likes: u64, dislikes: u64| {
            let (n, z) = ((likes + dislikes) as f64, 1.96f64);
            let p = likes as f64 / n;
            let expected =
                (p + z * z / (2.0 * n) - z * ((p * (1.0 - p) + z * z / (4.0 * n)) / n).sqrt()) / (1.0 + z * z / n);
            let got = float(sort_key(Sort::Best, counts(likes, dislikes, 0), T, &HotWeights::default()));
            assert!((got - expected).abs() < 1e-7, "{likes} {dislikes}: {got} {expected}");
        };
        for (likes, dislikes) in
            [(1, 0), (0, 1), (10, 0), (600, 400), (5, 5), (1_000_000, 1), (4_000_000_000, 4_000_000_000)]
        {
            check(likes, dislikes);
        }
    }

    #[test]
    fn twice_the_engagement_is_worth_one_half_life() {
        let weights = HotWeights { like: 1_000, ..HotWeights::default() };
        let old = sort_key(Sort::Hot, counts(7, 0, 0), T, &weights);
        let young = sort_key(Sort::Hot, counts(3, 0, 0), T + 86_400_000, &weights);
        assert!((old - young).abs() <= 1, "{old} {young}");
    }

    #[test]
    fn controversial_needs_both_sides() {
        let k = |l, d| sort_key(Sort::Controversial, counts(l, d, 0), T, &HotWeights::default());
        assert!(k(50, 50) > k(99, 1) && k(99, 1) > k(1_000, 0) && k(100, 100) > k(50, 50));
    }

    proptest! {
        #[test]
        fn log2_never_decreases(a: u64, b: u64) {
            let (a, b) = (a.min(b), a.max(b));
            prop_assert!(log2(a) <= log2(b));
        }

        #[test]
        fn order_is_total_and_ids_break_ties(a in any_counts(), b in any_counts(), x in 1u64..1 << 60, y in 1u64..1 << 60) {
            let w = HotWeights::default();
            let (x, y) = (CommentId::new(x).unwrap(), CommentId::new(y).unwrap());
            for &sort in Sort::ALL {
                let (p, q) = ((sort_key(sort, a, T, &w), x), (sort_key(sort, b, T, &w), y));
                prop_assert_eq!(compare_ranked(p, q), compare_ranked(q, p).reverse());
                prop_assert_eq!(compare_ranked(p, q).is_eq(), p == q);
            }
        }

        #[test]
        // Neighbouring sums stay apart up to two thousand million.
        fn two_one_without_age_is_likes_twice_and_replies(a in counts_below(600_000_000), b in counts_below(600_000_000)) {
            let w = HotWeights { like: 2_000, reply: 1_000, dislike: 0, half_life_ms: None };
            let sum = |c: EngagementCounts| 2 * clamp(c.likes) + clamp(c.replies);
            let k = |c| sort_key(Sort::Hot, c, T, &w);
            prop_assert_eq!(k(a).cmp(&k(b)), sum(a).cmp(&sum(b)));
        }

        #[test]
        fn order_does_not_change_as_time_passes(a in any_counts(), b in any_counts(), age in 0u64..1 << 39, shift in 0u64..1 << 39) {
            // Both made `shift` later: the difference of the keys moves by rounding alone.
            let w = HotWeights::default();
            let k = |c, t| sort_key(Sort::Hot, c, ID_EPOCH_MS + t, &w);
            let before = k(a, age) - k(b, 0);
            let after = k(a, age + shift) - k(b, shift);
            prop_assert!((before - after).abs() <= 1);
        }

        #[test]
        fn keys_fit_a_double(a in any_counts(), t: u64, half_life: u64) {
            let w = HotWeights { half_life_ms: Some(half_life), ..HotWeights::default() };
            for &sort in Sort::ALL {
                let k = sort_key(sort, a, t, &w);
                prop_assert!((0..1 << 53).contains(&k), "{:?} {}", sort, k);
            }
        }
    }
}
