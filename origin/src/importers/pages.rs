//! Which subject the comments of a page belong to.
//!
//! Rules of a file come first; a page that none of them names is its own subject, by the key of its address.

use anyhow::{Context as _, bail, ensure};
use gailou_shared::id::SubjectKey;
use regex::Regex;

use crate::domain::page_address::{Site, page_key};

/// Before the pattern of a rule.
const PATTERN_MARK: char = '~';

/// From pages to subjects.
#[derive(Debug)]
pub(crate) struct PageMap {
    kind: String,
    site: Option<Site>,
    rules: Vec<(Rule, String)>,
}

#[derive(Debug)]
enum Rule {
    /// The page with this address.
    Page(String),
    /// All pages whose addresses begin so.
    Prefix(String),
    Pattern(Regex),
}

impl PageMap {
    /// Pages as subjects of this type. `site` is that of addresses that have none; `rules` has a rule a line, an address, a
    /// tab and a subject.
    ///
    /// # Errors
    /// Names the line of a rule that cannot be read, and a site that is no address.
    pub(crate) fn new(kind: &str, site: Option<&str>, rules: &str) -> anyhow::Result<Self> {
        SubjectKey::new(kind, "x").map_err(|error| anyhow::anyhow!("the type {kind:?} {error}"))?;
        let parse_site = |site: &str| Site::parse(site).with_context(|| format!("{site:?} is no address of a site"));
        let mut map = Self { kind: kind.to_owned(), site: site.map(parse_site).transpose()?, rules: vec![] };
        for (number, line) in rules.lines().enumerate().map(|(n, line)| (n + 1, line.trim())) {
            if !line.is_empty() && !line.starts_with('#') {
                let rule = map.parse_rule(line).with_context(|| format!("line {number} of the map"))?;
                map.rules.push(rule);
            }
        }
        Ok(map)
    }

    fn parse_rule(&self, line: &str) -> anyhow::Result<(Rule, String)> {
        let Some((from, to)) = line.split_once('\t').map(|(from, to)| (from.trim(), to.trim())) else {
            bail!("needs an address, a tab and a subject");
        };
        ensure!(to.contains('/'), "{to:?} is no subject: it must be TYPE/KEY");
        let rule = match (from.strip_prefix(PATTERN_MARK), from.strip_suffix('*')) {
            (Some(pattern), _) => Rule::Pattern(Regex::new(pattern)?),
            (None, Some(prefix)) => {
                ensure!(to.ends_with('*'), "{from:?} ends with `*`, so the subject must, too");
                Rule::Prefix(self.key(prefix).context("is no address")? + trailing_slash(prefix))
            }
            (None, None) => Rule::Page(self.key(from).context("is no address")?),
        };
        Ok((rule, to.to_owned()))
    }

    /// The subject of a page.
    ///
    /// # Errors
    /// Says what is wrong with its address, or with the subject that a rule gives it.
    pub(super) fn subject(&self, page: &str) -> Result<SubjectKey, String> {
        let address = self.key(page).ok_or_else(|| format!("{page:?} is no address of a page"))?;
        let mapped = self.rules.iter().find_map(|(rule, to)| match rule {
            Rule::Page(from) => (*from == address).then(|| to.clone()),
            Rule::Prefix(from) => {
                let rest = address.strip_prefix(from.as_str())?;
                Some(format!("{}{rest}", to.strip_suffix('*').unwrap_or(to)))
            }
            Rule::Pattern(pattern) => {
                let captures = pattern.captures(page)?;
                let mut subject = String::new();
                captures.expand(to, &mut subject);
                Some(subject)
            }
        });
        let subject = match &mapped {
            Some(mapped) => mapped.split_once('/').unwrap_or((mapped, "")),
            None => (self.kind.as_str(), address.as_str()),
        };
        SubjectKey::new(subject.0, subject.1)
            .map_err(|error| format!("the subject of {page:?}: the {} {error}", error.field()))
    }

    fn key(&self, page: &str) -> Option<String> {
        page_key(page, self.site.as_ref())
    }
}

fn trailing_slash(prefix: &str) -> &'static str {
    if prefix.ends_with('/') { "/" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(map: &PageMap, page: &str) -> String {
        map.subject(page).map_or_else(|error| error, |subject| format!("{}/{}", subject.kind(), subject.key()))
    }

    #[test]
    fn same_page_is_one_subject() {
        let map = PageMap::new("article", None, "").unwrap();
        for (page, expected) in [
            ("https://www.blog.example/2020/hello/?utm_source=x", "article/blog.example/2020/hello"),
            ("//blog.example/2020/hello", "article/blog.example/2020/hello"),
            ("/2020/hello/", "article//2020/hello"),
        ] {
            assert_eq!(subject(&map, page), expected, "{page}");
        }
        for page in ["mailto:a@b.example", "javascript:alert(1)"] {
            assert!(subject(&map, page).ends_with("is no address of a page"), "{page}");
        }
        let with_site = PageMap::new("article", Some("www.blog.example"), "").unwrap();
        assert_eq!(subject(&with_site, "/2020/hello/"), "article/blog.example/2020/hello");
    }

    #[test]
    fn rules_come_first_in_their_order() {
        let rules = "# old addresses\n\
                     https://blog.example/about\tpost/about\n\
                     http://www.blog.example/posts/*\tarticle/*\n\
                     ~^https?://blog\\.example/\\d+/([^/?]+)\ttopic/$1\n";
        let map = PageMap::new("video", None, rules).unwrap();
        for (page, expected) in [
            ("https://www.blog.example/about/?utm_source=x", "post/about"),
            ("https://blog.example/posts/2020/hello/", "article/2020/hello"),
            ("https://blog.example/2020/hello?x=1", "topic/hello"),
            ("https://blog.example/else", "video/blog.example/else"),
            ("https://blog.example/posts", "video/blog.example/posts"),
        ] {
            assert_eq!(subject(&map, page), expected, "{page}");
        }
    }

    #[test]
    fn wrong_rule_is_named_by_its_line() {
        let error = |rules: &str| format!("{:#}", PageMap::new("article", None, rules).unwrap_err());
        for (rules, expected) in [
            ("https://a.example/ article/a", "line 1 of the map: needs an address, a tab and a subject"),
            ("\n/a\tarticle", "line 2 of the map: \"article\" is no subject: it must be TYPE/KEY"),
            ("/a/*\tarticle/x", "ends with `*`, so the subject must, too"),
            ("~(\tarticle/x", "line 1 of the map: regex parse error"),
        ] {
            assert!(error(rules).contains(expected), "{rules}: {}", error(rules));
        }
        assert!(PageMap::new("Article", None, "").is_err());
        assert!(PageMap::new("article", Some("not a site"), "").is_err());
    }
}
