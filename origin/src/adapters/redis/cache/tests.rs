//! The cache on a server that goes back to an older copy of itself.

use std::collections::HashMap;

use gailou_shared::id::SubjectKey;

use super::*;
use crate::ports::cache::Invalidation;
use crate::testing::redis_server::RedisServer;

const SLOT: Slot = Slot::FIRST;

async fn cache_on(server: &RedisServer) -> RedisCache {
    RedisCache::new(RedisConnection::open(&server.urls(), None).await.unwrap(), "test")
}

async fn get(cache: &RedisCache, keys: &[CacheKey]) -> Vec<CachedValue> {
    cache.get_values(SLOT, keys).await.unwrap()
}

async fn put(cache: &RedisCache, keys: &[CacheKey], found: &[CachedValue], version: u64) {
    let put = |(key, found): (&CacheKey, &CachedValue)| {
        let (key, stamp, value) = (key.clone(), found.stamp, version.to_string().into());
        CachePut { key, stamp, version, value }
    };
    let puts: Vec<_> = keys.iter().zip(found).map(put).collect();
    cache.put_values(SLOT, &puts).await.unwrap();
}

fn part(version: u64, id: CommentId) -> ListPart {
    ListPart { end: ListEnd::Newest, low: 0, high: None, version, floors: vec![(1, id)] }
}

/// A comment is deleted, and its server goes back to before that.
#[tokio::test]
async fn value_of_an_earlier_server_is_not_served() {
    let Some(server) = RedisServer::start().await else { return };
    let cache = cache_on(&server).await;
    let id = CommentId::from_parts(1_700_000_000_000, SLOT, 0, 0);
    let (comment, other) = (CacheKey::Comment(id), CacheKey::TopReplies(id));
    let keys = [comment.clone(), CacheKey::Subject(SubjectKey::new("video", "2").unwrap()), other];
    let list = CachedList::Replies(id);
    let missing = get(&cache, &keys).await;
    put(&cache, &keys, &missing, 5).await;
    let filling = cache.begin_fill(&list).await.unwrap();
    assert!(cache.fill_part(&list, &filling, &part(5, id)).await.unwrap());
    assert!(get(&cache, &keys).await.iter().all(|value| value.is_fresh));
    cache.connection.query::<()>("test", "", &::redis::cmd("SAVE")).await.unwrap();
    // What this one began, it cannot end at the next one.
    let slow = (get(&cache, &keys).await, cache.begin_fill(&list).await.unwrap());
    let gone = HashMap::from([(comment, Invalidation { version: 6, is_gone: true })]);
    let takedown = CacheChanges { values: gone, takedown: true, ..CacheChanges::default() };
    cache.apply_changes(SLOT, &takedown).await.unwrap();

    let server = server.restart().await;
    let cache = cache_on(&server).await;
    put(&cache, &keys, &slow.0, 7).await;
    assert!(!cache.fill_part(&list, &slow.1, &part(7, id)).await.unwrap());
    let found = get(&cache, &keys).await;
    assert!(found.iter().all(|value| !value.is_fresh && value.value.is_none()), "{found:?}");
    let floors = cache.read_floors(None, &list, FloorRange::newest(1)).await.unwrap();
    assert!(floors.is_none_or(|floors| !floors.is_fresh));
    // It is filled anew.
    put(&cache, &keys, &found, 6).await;
    assert!(get(&cache, &keys).await.iter().all(|value| value.is_fresh));
    let filling = cache.begin_fill(&list).await.unwrap();
    assert_eq!((filling.newest, filling.oldest), (None, None));
    assert!(cache.fill_part(&list, &filling, &part(6, id)).await.unwrap());
    assert!(cache.read_floors(None, &list, FloorRange::newest(1)).await.unwrap().is_some_and(|floors| floors.is_fresh));
    assert!(cache.begin_fill(&list).await.unwrap().newest.is_some());
}
