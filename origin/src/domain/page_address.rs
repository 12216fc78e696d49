//! The address of a page, as the key of its subject: without what changes nothing about which page it is.
//!
//! Pure. What stays is the host without `www.`, the path without a slash at its end, and the parameters that are not those
//! of campaigns. `edge/web/src/model/page-address.ts` has the same rule, and `tests/data/page-addresses.tsv` has examples
//! that both are tested with.

use percent_encoding::percent_decode_str;
use url::Url;

/// Parameters of campaigns, beside those that begin with `utm_`.
const CAMPAIGN_PARAMETERS: [&str; 6] = ["fbclid", "gclid", "msclkid", "mc_cid", "mc_eid", "replytocom"];
/// A site for addresses that have none while they are taken apart.
const NO_SITE: &str = "http://none.invalid/";

/// The site of pages whose addresses are paths alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site(Url);

impl Site {
    /// The site with this address or host; `None` where it is neither.
    #[must_use]
    pub fn parse(site: &str) -> Option<Self> {
        let address = if site.contains("://") { site.to_owned() } else { format!("https://{site}") };
        Url::parse(&address).ok().filter(Url::has_host).map(Self)
    }
}

/// The key of the page with this address, which may be a path; then it is one of `site`. `None` where it is no address of
/// a page.
#[must_use]
pub fn page_key(address: &str, site: Option<&Site>) -> Option<String> {
    let page = address.trim();
    let (url, has_site) = match (Url::parse(page), site) {
        (Ok(url), _) if matches!(url.scheme(), "http" | "https") => (url, true),
        (Ok(_), _) => return None,
        (Err(_), Some(Site(site))) => (site.join(page).ok()?, true),
        (Err(_), None) => (Url::parse(NO_SITE).ok()?.join(page).ok()?, page.starts_with("//")),
    };
    let host = url.host_str()?;
    let host = if has_site { host.strip_prefix("www.").unwrap_or(host) } else { "" };
    let path = percent_decode_str(url.path()).decode_utf8().ok().filter(|path| !path.contains(char::is_control));
    let path = path.as_deref().unwrap_or(url.path()).trim_end_matches('/');
    let query: Vec<&str> = url.query().unwrap_or("").split('&').filter(|part| !is_of_campaign(part)).collect();
    let query = query.join("&");
    let separator = if query.is_empty() { "" } else { "?" };
    let key = format!("{host}{path}{separator}{query}");
    Some(if key.is_empty() { "/".to_owned() } else { key })
}

/// Whether a parameter says only where the reader came from.
fn is_of_campaign(parameter: &str) -> bool {
    let name = parameter.split('=').next().unwrap_or("");
    name.is_empty() || name.starts_with("utm_") || CAMPAIGN_PARAMETERS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses of whole pages, a tab, and their keys.
    const EXAMPLES: &str = include_str!("../../../tests/data/page-addresses.tsv");

    #[test]
    fn addresses_of_one_page_have_one_key() {
        let examples = EXAMPLES.lines().filter_map(|line| line.split_once('\t'));
        let mut count = 0;
        for (address, key) in examples {
            assert_eq!(page_key(address, None).as_deref(), Some(key), "{address}");
            count += 1;
        }
        assert!(count > 10);
    }

    #[test]
    fn path_is_of_the_site_that_is_named() {
        let site = Site::parse("www.blog.example").unwrap();
        for (address, alone, of_the_site) in [
            ("/2020/hello/", "/2020/hello", "blog.example/2020/hello"),
            ("/", "/", "blog.example"),
            ("/?p=7&utm_medium=y", "?p=7", "blog.example?p=7"),
            ("//other.example/a", "other.example/a", "other.example/a"),
        ] {
            assert_eq!(page_key(address, None).as_deref(), Some(alone), "{address}");
            assert_eq!(page_key(address, Some(&site)).as_deref(), Some(of_the_site), "{address}");
        }
        assert_eq!(Site::parse("https://www.blog.example/"), Some(site));
        assert_eq!(Site::parse("not a site"), None);
    }

    #[test]
    fn address_of_no_page_has_no_key() {
        for address in ["mailto:a@b.example", "javascript:alert(1)", "data:text/html,x"] {
            assert_eq!(page_key(address, None), None, "{address}");
        }
    }
}
