//! What is left out to spare the databases: by hand, and by measure while reads are refused.
//!
//! Not here: when reads are refused ([`crate::state::admission`], which also logs when that begins and
//! ends). Promise: nothing is answered wrong; a list in another order says so, and what is not known is
//! refused.

use std::sync::Arc;

use metrics::{describe_gauge, gauge};
use parking_lot::RwLock;

use crate::config::DegradeSettings;
use crate::state::admission::Admission;
use crate::telemetry::Collector;

/// Why something is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DegradeCause {
    /// The settings say so.
    ByHand,
    /// Reads are refused, or were a moment ago.
    ByMeasure,
}

/// The switches of one process.
#[derive(Debug)]
pub struct DegradeSwitches {
    by_hand: RwLock<DegradeSettings>,
    reads: Arc<Admission>,
}

impl DegradeSwitches {
    pub fn new(by_hand: DegradeSettings, reads: Arc<Admission>) -> Self {
        Self { by_hand: RwLock::new(by_hand), reads }
    }

    /// Puts other settings in force.
    pub fn change(&self, by_hand: DegradeSettings) {
        *self.by_hand.write() = by_hand;
    }

    /// Whether `hot` lists are answered newest first.
    pub fn hot_as_new(&self) -> Option<DegradeCause> {
        self.cause(|by_hand| by_hand.hot_as_new)
    }

    /// Whether readers get no layer of their own.
    pub fn no_overlay(&self) -> Option<DegradeCause> {
        self.cause(|by_hand| by_hand.no_overlay)
    }

    /// Whether no text is previewed.
    pub fn no_preview(&self) -> Option<DegradeCause> {
        self.cause(|by_hand| by_hand.no_preview)
    }

    fn cause(&self, is_on: impl Fn(&DegradeSettings) -> bool) -> Option<DegradeCause> {
        if is_on(&self.by_hand.read()) {
            Some(DegradeCause::ByHand)
        } else {
            self.reads.is_overloaded().then_some(DegradeCause::ByMeasure)
        }
    }
}

impl Collector for DegradeSwitches {
    fn collect(&self) {
        describe_gauge!("gailou_degraded", "Whether something is left out to spare the databases.");
        let switches =
            [("hot_as_new", self.hot_as_new()), ("no_overlay", self.no_overlay()), ("no_preview", self.no_preview())];
        for (switch, cause) in switches {
            gauge!("gailou_degraded", "switch" => switch).set(f64::from(u8::from(cause.is_some())));
        }
    }
}
