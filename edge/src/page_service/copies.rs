//! The copies of a page in the isolate's memory, the colo's cache and the global store.
//!
//! **Promise.** None of them takes an older page for a newer one; the colo's cache and the global store
//! as far as they show what they hold, and but for [`keep_in_colo`].

use std::sync::Arc;

use bytes::Bytes;

use super::cooldowns::CooldownAction;
use crate::cached_page::{CachedPage, MAX_MEMORY_PAGE_BYTES};
use crate::page_key::PageKey;
use crate::ports::{PageStore, Ports};
use crate::{Isolate, lock};

/// How often a page is written to the global store, in milliseconds. The store takes one write a second
/// for each key and shows the old value for a minute, so writing more often has no effect.
const GLOBAL_WRITE_INTERVAL_MS: u64 = 60_000;

/// The page in memory under `key`; it may be void.
pub(crate) fn get_from_memory(isolate: &Isolate, key: &str) -> Option<Arc<CachedPage>> {
    lock(&isolate.pages).get(key)
}

/// Puts `page` into memory unless a newer copy is there, and returns the newer of the two; `None` when
/// the change feed holds that void. A page that has become void stays in memory, so that no older copy
/// takes its place.
pub(crate) fn admit(isolate: &Isolate, key: &str, page: &Arc<CachedPage>) -> Option<Arc<CachedPage>> {
    if !isolate.change_feed.allows(page) {
        return None;
    }
    let mut pages = lock(&isolate.pages);
    if let Some(known) = pages.get(key).filter(|known| !page.replaces(known)) {
        return isolate.change_feed.allows(&known).then_some(known);
    }
    if page.body.len() > MAX_MEMORY_PAGE_BYTES {
        pages.remove(key);
    } else {
        pages.put(key.into(), Arc::clone(page), page.weight(key));
    }
    Some(Arc::clone(page))
}

/// The page that `store` has under `key`. A store that fails counts as a store without the page.
pub(crate) async fn load_page(store: &dyn PageStore, key: &str, now_ms: u64) -> Option<Arc<CachedPage>> {
    let bytes = store.get(key).await.ok()??;
    CachedPage::decode(&bytes, now_ms).map(Arc::new)
}

/// Writes a page to the colo's cache after the answer and, if `share` is set, to the global store when
/// that is due.
pub(crate) fn store_copies(isolate: &Arc<Isolate>, ports: &Ports, key: &PageKey, page: &Arc<CachedPage>, share: bool) {
    // The addresses under which nothing was ever written are endless, so their pages are not shared.
    let shows_something = page.version > 0 || !page.cache_tags.entries().is_empty();
    let is_claimed = || {
        let (name, now) = (&key.path_query, page.fetched_ms);
        isolate.cooldowns.claim(name, CooldownAction::WriteGlobal, now, GLOBAL_WRITE_INTERVAL_MS)
    };
    let share = share && key.shared && shows_something && is_claimed();
    let (isolate, colo_cache, global_store) =
        (Arc::clone(isolate), Arc::clone(&ports.colo_cache), Arc::clone(&ports.global_store));
    let (key, page, now) = (key.path_query.clone(), Arc::clone(page), ports.clock.now_ms());
    ports.wait_until.spawn(Box::pin(async move {
        let Some(bytes) = page.encode() else { return };
        // A store that fails keeps an older copy, whose age shows.
        if load_page(&*colo_cache, &key, now).await.is_none_or(|old| page.replaces(&old)) {
            let _ = colo_cache.put(&key, bytes.clone()).await;
        }
        if !share {
            return;
        }
        // Other isolates write this page too, and the origin pushes it: one write is enough for all.
        let is_due = |old: Arc<CachedPage>| {
            let is_old = old.fetched_ms + GLOBAL_WRITE_INTERVAL_MS <= page.fetched_ms;
            (is_old || !isolate.change_feed.allows(&old)) && page.replaces(&old)
        };
        if load_page(&*global_store, &key, now).await.is_none_or(is_due) {
            let _ = global_store.put(&key, bytes).await;
        }
    }));
}

/// Puts what the global store has of a page into the colo's cache, after the answer. The caller has read the colo's copy a
/// moment ago. A newer one that another isolate puts there meanwhile is lost, for as long as a popular page is served
/// without asking; to read it once more and to encode the page anew costs a fifth of the whole answer.
pub(super) fn keep_in_colo(ports: &Ports, key: &PageKey, stored: Bytes) {
    let (colo_cache, key) = (Arc::clone(&ports.colo_cache), key.path_query.clone());
    ports.wait_until.spawn(Box::pin(async move {
        let _ = colo_cache.put(&key, stored).await;
    }));
}

/// Removes a page from memory, and after the answer from both stores.
pub(super) fn remove_copies(isolate: &Isolate, ports: &Ports, key: &PageKey) {
    lock(&isolate.pages).remove(&key.path_query);
    let (colo_cache, global_store) = (Arc::clone(&ports.colo_cache), Arc::clone(&ports.global_store));
    let PageKey { path_query, shared } = key.clone();
    ports.wait_until.spawn(Box::pin(async move {
        let _ = colo_cache.remove(&path_query).await;
        if shared {
            let _ = global_store.remove(&path_query).await;
        }
    }));
}
