//! What a metrics endpoint says at one moment, and what happened between two of them.

use std::collections::BTreeMap;
use std::time::Duration;

/// One value with its name and labels.
#[derive(Debug, Clone, PartialEq)]
struct Series {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

/// The values of all processes at one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Scrape(Vec<Series>);

/// Which series are meant: those that have each of these labels with one of these values.
pub(super) type Selector<'a> = &'a [(&'a str, &'a [&'a str])];

impl Scrape {
    /// Adds the text of an endpoint (Prometheus' format 0.0.4). Lines that are none are left out.
    pub(super) fn add(&mut self, text: &str) {
        self.0.extend(text.lines().filter_map(parse));
    }

    fn select(&self, name: &str, selector: Selector<'_>) -> impl Iterator<Item = &Series> {
        self.0.iter().filter(move |series| {
            let has =
                |(label, values): &(&str, &[&str])| series.label(label).is_some_and(|value| values.contains(&value));
            series.name == name && selector.iter().all(has)
        })
    }

    /// The sum of the values.
    pub(super) fn sum(&self, name: &str, selector: Selector<'_>) -> f64 {
        self.select(name, selector).map(|series| series.value).sum()
    }

    /// The largest of the values; `None` where there is none.
    pub(super) fn max(&self, name: &str) -> Option<f64> {
        self.select(name, &[]).map(|series| series.value).reduce(f64::max)
    }

    /// How many there are.
    pub(super) fn count(&self, name: &str) -> usize {
        self.select(name, &[]).count()
    }

    /// The sums of the values, by the values of these labels.
    pub(super) fn by<'a>(&'a self, name: &str, labels: &[&str], selector: Selector<'_>) -> BTreeMap<Vec<&'a str>, f64> {
        let mut sums = BTreeMap::new();
        for series in self.select(name, selector) {
            let key = labels.iter().map(|label| series.label(label).unwrap_or_default()).collect();
            *sums.entry(key).or_default() += series.value;
        }
        sums
    }
}

impl Series {
    fn label(&self, name: &str) -> Option<&str> {
        self.labels.iter().find_map(|(label, value)| (label == name).then_some(value.as_str()))
    }
}

/// `name{label="value",…} number`.
fn parse(line: &str) -> Option<Series> {
    let (series, value) = line.rsplit_once(' ')?;
    let (name, labels) = match series.split_once('{') {
        Some((name, labels)) => (name, parse_labels(labels.strip_suffix('}')?)?),
        None => (series, Vec::new()),
    };
    (!name.starts_with('#')).then_some(())?;
    Some(Series { name: name.to_owned(), labels, value: value.parse().ok()? })
}

fn parse_labels(mut text: &str) -> Option<Vec<(String, String)>> {
    let mut labels = Vec::new();
    while !text.is_empty() {
        let (name, rest) = text.split_once("=\"")?;
        let (mut value, mut characters) = (String::new(), rest.char_indices());
        let end = loop {
            match characters.next()? {
                (end, '"') => break end,
                (_, '\\') => value.push(characters.next()?.1),
                (_, other) => value.push(other),
            }
        };
        labels.push((name.to_owned(), value));
        text = rest[end + 1..].trim_start_matches(',');
    }
    Some(labels)
}

/// What happened between two moments.
#[derive(Debug)]
pub(super) struct Interval<'a> {
    pub(super) before: &'a Scrape,
    pub(super) after: &'a Scrape,
    pub(super) duration: Duration,
}

impl Interval<'_> {
    /// How much a counter grew in a second. A process that was started anew counts from 0.
    pub(super) fn rate(&self, name: &str, selector: Selector<'_>) -> f64 {
        let grown = self.after.sum(name, selector) - self.before.sum(name, selector);
        grown.max(0.0) / self.duration.as_secs_f64()
    }

    /// The same by the values of these labels, without those that did not grow.
    pub(super) fn rates(&self, name: &str, labels: &[&str], selector: Selector<'_>) -> Vec<(Vec<&str>, f64)> {
        let before = self.before.by(name, labels, selector);
        let grown = self.after.by(name, labels, selector).into_iter().map(|(key, value)| {
            let grown = value - before.get(&key).copied().unwrap_or_default();
            (key, grown / self.duration.as_secs_f64())
        });
        grown.filter(|(_, rate)| *rate > 0.0).collect()
    }

    /// The bound in seconds below which this part of a histogram's values is; `None` where there was none.
    pub(super) fn quantile(&self, histogram: &str, selector: Selector<'_>, part: f64) -> Option<f64> {
        let name = format!("{histogram}_bucket");
        let mut buckets: Vec<(f64, f64)> = self
            .rates(&name, &["le"], selector)
            .into_iter()
            .filter_map(|(bound, rate)| Some((bound.first()?.parse().ok()?, rate)))
            .collect();
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all = buckets.last()?.1;
        let found = buckets.iter().find(|(_, rate)| *rate >= all * part)?;
        Some(found.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrape(text: &str) -> Scrape {
        let mut scrape = Scrape::default();
        scrape.add(text);
        scrape
    }

    #[test]
    fn text_of_prometheus_is_read() {
        let text = "# HELP a What.\n# TYPE a counter\na 1\nb{x=\"1\",y=\"q\\\"u,o\"} 2.5\nb{x=\"2\",y=\"\"} 4\n\nbroken\nc{x=\"1} 3";
        let found = scrape(text);
        assert_eq!((found.0.len(), found.sum("a", &[]), found.sum("b", &[])), (3, 1.0, 6.5));
        assert_eq!(found.sum("b", &[("y", &["q\"u,o"])]), 2.5);
        assert_eq!(found.sum("b", &[("x", &["2", "3"])]), 4.0);
        assert_eq!((found.max("b"), found.max("c"), found.count("b")), (Some(4.0), None, 2));
    }

    #[test]
    fn rates_and_quantiles_are_of_the_time_between() {
        let text = |counts: [u32; 3]| {
            let [fast, slow, all] = counts;
            format!(
                "h_bucket{{le=\"0.1\"}} {fast}\nh_bucket{{le=\"1\"}} {slow}\nh_bucket{{le=\"+Inf\"}} {all}\nn {all}"
            )
        };
        let (before, after) = (scrape(&text([100, 100, 100])), scrape(&text([108, 109, 110])));
        let interval = Interval { before: &before, after: &after, duration: Duration::from_secs(2) };
        assert_eq!(interval.rate("n", &[]), 5.0);
        let quantile = |part| interval.quantile("h", &[], part);
        assert_eq!((quantile(0.5), quantile(0.9), quantile(0.99)), (Some(0.1), Some(1.0), Some(f64::INFINITY)));
        let restarted = Interval { before: &after, after: &before, duration: Duration::from_secs(2) };
        assert_eq!((restarted.rate("n", &[]), restarted.quantile("h", &[], 0.5)), (0.0, None));
    }
}
