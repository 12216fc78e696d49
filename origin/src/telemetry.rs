//! What an operator watches, in Prometheus' text format (version 0.0.4).
//!
//! Does not keep anything: numbers are read where they are counted.

use std::fmt::{Display, Write as _};

/// Metrics, one after the other.
#[derive(Debug, Default)]
pub struct Exposition(String);

impl Exposition {
    /// A number that only grows, with a value for each set of labels (`topic="comments"`).
    pub fn counter<V: Display>(&mut self, name: &str, help: &str, values: impl IntoIterator<Item = (String, V)>) {
        self.family(name, "counter", help, values);
    }

    /// A number that goes up and down.
    pub fn gauge<V: Display>(&mut self, name: &str, help: &str, values: impl IntoIterator<Item = (String, V)>) {
        self.family(name, "gauge", help, values);
    }

    fn family<V: Display>(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        values: impl IntoIterator<Item = (String, V)>,
    ) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in values {
            let _ = if labels.is_empty() {
                writeln!(self.0, "{name} {value}")
            } else {
                writeln!(self.0, "{name}{{{labels}}} {value}")
            };
        }
    }

    /// The text as it is served.
    pub fn into_text(self) -> String {
        self.0
    }
}

/// A part of the program that has metrics of its own.
pub trait Collector: Send + Sync + std::fmt::Debug {
    /// Adds its metrics.
    fn collect(&self, text: &mut Exposition);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_written_as_prometheus_reads_them() {
        let mut text = Exposition::default();
        text.counter("a_total", "What a is.", [("x=\"1\"".to_owned(), 3), (String::new(), 4)]);
        assert_eq!(
            text.into_text(),
            "# HELP a_total What a is.\n# TYPE a_total counter\na_total{x=\"1\"} 3\na_total 4\n"
        );
    }
}
