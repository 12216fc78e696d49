//! What is left out to spare the databases: by hand, and by measure while reads are refused.
//!
//! Not here: when reads are refused ([`crate::state::admission`], which also logs when that begins and
//! ends). Promise: nothing is answered wrong; a list in another order says so, and what is not known is
//! refused.

use std::sync::Arc;

use metrics::{describe_gauge, gauge};

use crate::config::DegradeSettings;
use crate::state::admission::Admission;
use crate::telemetry::Collector;

/// Why something is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DegradeCause {
    /// The configuration says so.
    ByHand,
    /// Reads are refused, or were a moment ago.
    ByMeasure,
}

/// The switches of one process.
#[derive(Debug)]
pub struct DegradeSwitches {
    by_hand: DegradeSettings,
    reads: Arc<Admission>,
}

impl DegradeSwitches {
    pub fn new(by_hand: DegradeSettings, reads: Arc<Admission>) -> Self {
        Self { by_hand, reads }
    }

    /// Whether `hot` lists are answered newest first.
    pub fn hot_as_new(&self) -> Option<DegradeCause> {
        self.cause(self.by_hand.hot_as_new)
    }

    /// Whether readers get no layer of their own.
    pub fn no_overlay(&self) -> Option<DegradeCause> {
        self.cause(self.by_hand.no_overlay)
    }

    /// Whether no text is previewed.
    pub fn no_previews(&self) -> Option<DegradeCause> {
        self.cause(self.by_hand.no_previews)
    }

    fn cause(&self, by_hand: bool) -> Option<DegradeCause> {
        if by_hand { Some(DegradeCause::ByHand) } else { self.reads.is_overloaded().then_some(DegradeCause::ByMeasure) }
    }
}

impl Collector for DegradeSwitches {
    fn collect(&self) {
        describe_gauge!("gailou_degraded", "Whether something is left out to spare the databases.");
        let switches =
            [("hot_as_new", self.hot_as_new()), ("no_overlay", self.no_overlay()), ("no_previews", self.no_previews())];
        for (switch, cause) in switches {
            gauge!("gailou_degraded", "switch" => switch).set(f64::from(u8::from(cause.is_some())));
        }
    }
}
