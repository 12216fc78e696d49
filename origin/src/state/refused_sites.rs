//! The sites whose pages asked to write and may not, for the log and for `gailou doctor`.
//!
//! In memory alone, of this process. Promise: what strangers write into `Origin` fills neither: few sites are kept, and
//! each is logged once, as long as there are few.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Sites that are kept: 32 of at most 256 bytes are 8 KB. The one that was refused first leaves for another.
const MAX_REFUSED_SITES: usize = 32;
/// Lines that a process logs of refused sites.
const MAX_LOGGED_SITES: usize = 100;
/// How much of the name of a site is kept: a host has at most 253 bytes.
const MAX_SITE_CHARS: usize = 256;

/// A site, and how often it was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedSite {
    pub site: String,
    pub count: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub struct RefusedSites {
    seen: Mutex<SeenSites>,
}

#[derive(Debug, Default)]
struct SeenSites {
    kept: VecDeque<RefusedSite>,
    logged: usize,
}

impl RefusedSites {
    /// Counts a refusal; `log` writes a line for a site that is new here.
    pub fn record(&self, site: &str, log: impl FnOnce(&str)) {
        let site: String = site.chars().take(MAX_SITE_CHARS).collect();
        let mut seen = self.seen.lock();
        if let Some(known) = seen.kept.iter_mut().find(|known| known.site == site) {
            known.count += 1;
            return;
        }
        if seen.kept.len() == MAX_REFUSED_SITES {
            seen.kept.pop_front();
        }
        seen.kept.push_back(RefusedSite { site: site.clone(), count: 1 });
        let is_logged = seen.logged < MAX_LOGGED_SITES;
        seen.logged += usize::from(is_logged);
        drop(seen);
        if is_logged {
            log(&site);
        }
    }

    /// The sites that are kept, the newest last.
    pub fn list(&self) -> Vec<RefusedSite> {
        self.seen.lock().kept.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn site_is_logged_once_and_counted() {
        let (sites, lines) = (RefusedSites::default(), RefCell::new(Vec::new()));
        for site in ["https://a.example", "https://b.example", "https://a.example"] {
            sites.record(site, |site| lines.borrow_mut().push(site.to_owned()));
        }
        assert_eq!(*lines.borrow(), ["https://a.example", "https://b.example"]);
        let counts: Vec<_> = sites.list().into_iter().map(|site| site.count).collect();
        assert_eq!(counts, [2, 1]);
    }

    #[test]
    fn forged_sites_fill_neither_the_memory_nor_the_log() {
        let (sites, lines) = (RefusedSites::default(), RefCell::new(0));
        for number in 0..1_000 {
            sites.record(&format!("https://{number}.example/{}", "x".repeat(1_000)), |_| *lines.borrow_mut() += 1);
        }
        let kept = sites.list();
        assert_eq!((kept.len(), *lines.borrow()), (MAX_REFUSED_SITES, MAX_LOGGED_SITES));
        assert!(kept.iter().all(|kept| kept.site.len() == MAX_SITE_CHARS) && kept[31].site.starts_with("https://999."));
    }
}
