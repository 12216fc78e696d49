//! Which subject the comments of a page belong to.
//!
//! A page is its address without what changes nothing about it: the protocol, `www.`, a slash at the end, a fragment, and
//! the parameters of campaigns. Rules of a file come first; a page that none of them names is its own subject.

use anyhow::{Context as _, bail, ensure};
use gailou_shared::id::SubjectKey;
use percent_encoding::percent_decode_str;
use regex::Regex;
use url::Url;

/// Parameters of campaigns, beside those that begin with `utm_`.
const CAMPAIGN_PARAMETERS: [&str; 6] = ["fbclid", "gclid", "msclkid", "mc_cid", "mc_eid", "replytocom"];
/// Before the pattern of a rule.
const PATTERN_MARK: char = '~';
/// A site for addresses that have none while they are taken apart.
const NO_SITE: &str = "http://none.invalid/";

/// From pages to subjects.
#[derive(Debug)]
pub(crate) struct PageMap {
    kind: String,
    site: Option<Url>,
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
        let parse_site = |site: &str| {
            let address = if site.contains("://") { site.to_owned() } else { format!("https://{site}") };
            let url = Url::parse(&address).with_context(|| format!("{site:?} is no address of a site"))?;
            ensure!(url.has_host(), "{site:?} is no address of a site");
            Ok(url)
        };
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
                Rule::Prefix(self.normalize(prefix).context("is no address")? + trailing_slash(prefix))
            }
            (None, None) => Rule::Page(self.normalize(from).context("is no address")?),
        };
        Ok((rule, to.to_owned()))
    }

    /// The subject of a page.
    ///
    /// # Errors
    /// Says what is wrong with its address, or with the subject that a rule gives it.
    pub(super) fn subject(&self, page: &str) -> Result<SubjectKey, String> {
        let address = self.normalize(page).ok_or_else(|| format!("{page:?} is no address of a page"))?;
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

    /// The address of a page, without what changes nothing about it; `None` where it is none.
    fn normalize(&self, page: &str) -> Option<String> {
        let page = page.trim();
        let (url, has_site) = match (Url::parse(page), &self.site) {
            (Ok(url), _) if matches!(url.scheme(), "http" | "https") => (url, true),
            (Ok(_), _) => return None,
            (Err(_), Some(site)) => (site.join(page).ok()?, true),
            (Err(_), None) => (Url::parse(NO_SITE).ok()?.join(page).ok()?, page.starts_with("//")),
        };
        let host = url.host_str()?;
        let host = if has_site { host.strip_prefix("www.").unwrap_or(host) } else { "" };
        let path = percent_decode_str(url.path()).decode_utf8().ok().filter(|path| !path.contains(char::is_control));
        let path = path.as_deref().unwrap_or(url.path()).trim_end_matches('/');
        let query: Vec<&str> = url.query().unwrap_or("").split('&').filter(|part| !is_of_campaign(part)).collect();
        let query = query.join("&");
        let separator = if query.is_empty() { "" } else { "?" };
        let address = format!("{host}{path}{separator}{query}");
        Some(if address.is_empty() { "/".to_owned() } else { address })
    }
}

/// Whether a parameter says only where the reader came from.
fn is_of_campaign(parameter: &str) -> bool {
    let name = parameter.split('=').next().unwrap_or("");
    name.is_empty() || name.starts_with("utm_") || CAMPAIGN_PARAMETERS.contains(&name)
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
        for page in [
            "https://blog.example/2020/hello/",
            "http://www.blog.example/2020/hello",
            "HTTPS://Blog.Example:443/2020/hello?utm_source=x&fbclid=1#comment-7",
            "//blog.example/2020/hello",
        ] {
            assert_eq!(subject(&map, page), "article/blog.example/2020/hello", "{page}");
        }
        for (page, expected) in [
            ("https://blog.example/", "article/blog.example"),
            ("https://blog.example/?p=7&utm_medium=y", "article/blog.example?p=7"),
            ("https://blog.example/%E6%A5%BC", "article/blog.example/楼"),
            ("/2020/hello/", "article//2020/hello"),
            ("/", "article//"),
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
