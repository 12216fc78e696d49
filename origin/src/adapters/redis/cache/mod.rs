//! The shared cache in Redis: one script for each method, so that each call is atomic.
//!
//! Keys and formats are in `format`; the scripts are beside this file.

mod format;

use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, Slot};

use crate::adapters::redis::cache::format::{
    CacheKeyNames, MAX_EXACT_SCORE, damaged, encode_stamp, encode_version, milliseconds, new_stamp, parse_number,
    parse_stamp, parse_value, parse_window,
};
use crate::adapters::redis::{RedisCallError, RedisConnection, RedisScript};
use crate::domain::row::FloorRange;
use crate::ports::cache::{
    Cache, CacheChanges, CacheError, CacheKey, CacheLifetimes, CachePut, CachedFloors, CachedList, CachedValue,
    ListEnd, ListFilling, ListPart, MAX_WINDOW_ENTRIES, Result, add_jitter,
};
use crate::ports::failure::Failure;

/// How long a slot's generation lives. When it expires, the slot's comments are loaded again.
const GENERATION_TTL: Duration = Duration::from_secs(86_400);

/// The cache of one cluster.
#[derive(Debug)]
pub struct RedisCache {
    connection: RedisConnection,
    names: CacheKeyNames,
    lifetimes: CacheLifetimes,
    scripts: CacheScripts,
}

#[derive(Debug)]
struct CacheScripts {
    get_values: RedisScript,
    put_values: RedisScript,
    apply_changes: RedisScript,
    read_floors: RedisScript,
    begin_fill: RedisScript,
    fill_part: RedisScript,
}

impl From<RedisCallError> for CacheError {
    fn from(error: RedisCallError) -> Self {
        Self(Failure::of_driver(error))
    }
}

impl RedisCache {
    /// The cache of the cluster called `name`.
    pub fn new(connection: RedisConnection, name: &str) -> Self {
        Self::with_lifetimes(connection, name, CacheLifetimes::DEFAULT)
    }

    pub(crate) fn with_lifetimes(connection: RedisConnection, name: &str, lifetimes: CacheLifetimes) -> Self {
        let scripts = CacheScripts {
            get_values: RedisScript::new("cache.get_values", include_str!("get_values.lua")),
            put_values: RedisScript::new("cache.put_values", include_str!("put_values.lua")),
            apply_changes: RedisScript::new("cache.apply_changes", include_str!("apply_changes.lua")),
            read_floors: RedisScript::new("cache.read_floors", include_str!("read_floors.lua")),
            begin_fill: RedisScript::new("cache.begin_fill", include_str!("begin_fill.lua")),
            fill_part: RedisScript::new("cache.fill_part", include_str!("fill_part.lua")),
        };
        Self { connection, names: CacheKeyNames::new(name), lifetimes, scripts }
    }

    #[cfg(test)]
    pub(crate) async fn delete(&self, slot: Slot, key: &CacheKey) {
        let name = self.names.value(slot, key);
        self.connection.query::<()>("test", &name, ::redis::cmd("DEL").arg(&name)).await.unwrap();
    }
}

#[async_trait]
impl Cache for RedisCache {
    async fn get_values(&self, slot: Slot, keys: &[CacheKey]) -> Result<Vec<CachedValue>> {
        if keys.is_empty() {
            return Ok(vec![]);
        }
        let values = keys.iter().map(|key| self.names.value(slot, key));
        let names: Vec<_> = std::iter::once(self.names.generation(slot)).chain(values).collect();
        let mut call = self.scripts.get_values.call(&names);
        call.arg(new_stamp()).arg(milliseconds(self.lifetimes.stamp)).arg(milliseconds(GENERATION_TTL));
        let answer: Vec<Vec<u8>> = self.connection.run_script(&call).await?;
        let [generation, now, values @ ..] = &answer[..] else { return Err(damaged("an answer")) };
        let (generation, now) = (parse_number(generation)?, parse_number(now)?);
        values.iter().map(|bytes| parse_value(bytes, generation, now)).collect()
    }

    async fn put_values(&self, slot: Slot, values: &[CachePut]) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        let keys = values.iter().map(|put| self.names.value(slot, &put.key));
        let names: Vec<_> = std::iter::once(self.names.generation(slot)).chain(keys).collect();
        let mut call = self.scripts.put_values.call(&names);
        call.arg(new_stamp());
        for put in values {
            let generation = match put.key {
                CacheKey::Comment(_) => encode_version(put.stamp.generation),
                _ => String::new(),
            };
            let (freshness, retention) = self.lifetimes.of(&put.key);
            call.arg(encode_stamp(put.stamp.own)).arg(generation).arg(encode_version(put.version));
            call.arg(milliseconds(freshness)).arg(milliseconds(retention)).arg(&put.value[..]);
        }
        Ok(self.connection.run_script(&call).await?)
    }

    async fn apply_changes(&self, slot: Slot, changes: &CacheChanges) -> Result<()> {
        let values: Vec<_> = changes.values.iter().collect();
        let lists: Vec<_> = changes.lists.iter().filter(|(_, moves)| !moves.is_empty()).collect();
        let mut names = vec![self.names.generation(slot)];
        names.extend(values.iter().map(|(key, _)| self.names.value(slot, key)));
        for (list, _) in &lists {
            let windows = [ListEnd::Newest, ListEnd::Oldest].map(|end| self.names.window(list, end));
            names.extend(windows.into_iter().chain([self.names.filling(list)]));
        }
        let mut call = self.scripts.apply_changes.call(&names);
        call.arg(new_stamp()).arg(u8::from(changes.takedown)).arg(milliseconds(GENERATION_TTL));
        call.arg(MAX_WINDOW_ENTRIES).arg(values.len());
        for (_, invalidation) in values {
            call.arg(encode_version(invalidation.version)).arg(u8::from(invalidation.is_gone));
        }
        for (_, moves) in lists {
            let mut moves: Vec<_> = moves.iter().collect();
            moves.sort_unstable_by_key(|(_, moved)| moved.version);
            call.arg(moves.len());
            for (id, moved) in moves {
                call.arg(u8::from(moved.is_listed)).arg(moved.floor).arg(id.get()).arg(moved.version);
            }
        }
        Ok(self.connection.run_script(&call).await?)
    }

    async fn read_floors(&self, list: &CachedList, range: FloorRange) -> Result<Option<CachedFloors>> {
        let ends =
            if range.ascending { [ListEnd::Oldest, ListEnd::Newest] } else { [ListEnd::Newest, ListEnd::Oldest] };
        let mut call = self.scripts.read_floors.call(&ends.map(|end| self.names.window(list, end)));
        call.arg(u8::from(range.ascending)).arg(range.beyond.map_or(String::new(), |beyond| beyond.to_string()));
        call.arg(range.count).arg(MAX_EXACT_SCORE);
        let answer: Option<Vec<Vec<u8>>> = self.connection.run_script(&call).await?;
        let Some([is_fresh, entries @ ..]) = answer.as_deref() else { return Ok(None) };
        let (pairs, _) = entries.as_chunks::<2>();
        let floors = pairs.iter().map(|[id, floor]| {
            let id = CommentId::new(parse_number(id)?).map_err(|_| damaged("an id"))?;
            Ok((parse_number(floor)?, id))
        });
        Ok(Some(CachedFloors { floors: floors.collect::<Result<_>>()?, is_fresh: is_fresh == b"1" }))
    }

    async fn begin_fill(&self, list: &CachedList) -> Result<ListFilling> {
        let windows = [ListEnd::Newest, ListEnd::Oldest].map(|end| self.names.window(list, end));
        let names: Vec<_> = std::iter::once(self.names.filling(list)).chain(windows).collect();
        let mut call = self.scripts.begin_fill.call(&names);
        call.arg(new_stamp()).arg(milliseconds(self.lifetimes.stamp));
        let answer: Vec<Vec<u8>> = self.connection.run_script(&call).await?;
        let [stamp, windows @ ..] = &answer[..] else { return Err(damaged("an answer")) };
        let (newest, oldest) = windows.split_at_checked(3).ok_or_else(|| damaged("an answer"))?;
        Ok(ListFilling { stamp: parse_stamp(stamp)?, newest: parse_window(newest)?, oldest: parse_window(oldest)? })
    }

    async fn fill_part(&self, list: &CachedList, filling: &ListFilling, part: &ListPart) -> Result<bool> {
        let names = [self.names.filling(list), self.names.window(list, part.end)];
        let mut call = self.scripts.fill_part.call(&names);
        call.arg(encode_stamp(filling.stamp)).arg(part.version);
        call.arg(part.low).arg(part.high.unwrap_or(MAX_EXACT_SCORE));
        for lifetime in [self.lifetimes.freshness, self.lifetimes.retention] {
            call.arg(milliseconds(add_jitter(lifetime)));
        }
        for (floor, id) in &part.floors {
            call.arg(floor).arg(id.get());
        }
        Ok(self.connection.run_script(&call).await?)
    }

    async fn claim_rebuild(&self, list: &CachedList, lease: Duration) -> Result<bool> {
        let name = self.names.rebuild_claim(list);
        let mut command = ::redis::cmd("SET");
        command.arg(&name).arg("").arg("NX").arg("PX").arg(milliseconds(lease));
        let claimed: Option<String> = self.connection.query("cache.claim_rebuild", &name, &command).await?;
        Ok(claimed.is_some())
    }
}
