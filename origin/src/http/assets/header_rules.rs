//! The rules of a `_headers` file: which headers a path gets.
//!
//! Of the format that static hosts share, only what the page uses: paths, paths that end in `*`, and
//! headers indented below them. Promise: a line that is neither is ignored, never half applied.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// Headers by path, in the order of the file.
#[derive(Debug, Default)]
pub(super) struct HeaderRules(Vec<HeaderRule>);

#[derive(Debug)]
struct HeaderRule {
    /// A path, or the part of it before the `*`.
    path: String,
    is_prefix: bool,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl HeaderRule {
    fn matches(&self, path: &str) -> bool {
        if self.is_prefix { path.starts_with(&self.path) } else { path == self.path }
    }
}

impl HeaderRules {
    pub(super) fn parse(text: &str) -> Self {
        let mut rules: Vec<HeaderRule> = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
            if let Some(header) = line.strip_prefix([' ', '\t']) {
                if let (Some(rule), Some(header)) = (rules.last_mut(), parse_header(header)) {
                    rule.headers.push(header);
                }
            } else {
                let path = line.trim();
                let prefix = path.strip_suffix('*');
                let rule = HeaderRule {
                    path: prefix.unwrap_or(path).to_owned(),
                    is_prefix: prefix.is_some(),
                    headers: vec![],
                };
                rules.push(rule);
            }
        }
        Self(rules)
    }

    /// Sets the headers of every rule that matches, in the order of the file.
    pub(super) fn apply(&self, path: &str, headers: &mut HeaderMap) {
        for (name, value) in self.0.iter().filter(|rule| rule.matches(path)).flat_map(|rule| &rule.headers) {
            headers.insert(name, value.clone());
        }
    }
}

fn parse_header(line: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = line.split_once(':')?;
    Some((name.trim().parse().ok()?, value.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_apply_to_their_paths_alone() {
        let rules =
            HeaderRules::parse("/*\n  A: 1\n\n# B: 0\n/parts/*\n  B: 2\n\tC: x: y\n/\n  A: 3\nnonsense\n  bad\n");
        let check = |path: &str, expected: &[(&str, &str)]| {
            let mut headers = HeaderMap::new();
            rules.apply(path, &mut headers);
            let got: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
            assert_eq!(got, expected, "{path}");
        };
        check("/", &[("a", "3")]);
        check("/x", &[("a", "1")]);
        check("/parts/x.js", &[("a", "1"), ("b", "2"), ("c", "x: y")]);
        check("/parts", &[("a", "1")]);
        check("nonsense", &[]);
    }
}
