//! The shared cache in Redis: one script for each method, so that each call is atomic.
//!
//! Keys and formats are in `format`; the scripts are beside this file.

mod format;
#[cfg(test)]
mod tests;

use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, Slot, SubjectKey};

use crate::adapters::redis::cache::format::{
    CacheKeyNames, MAX_EXACT_SCORE, SlotGeneration, damaged, depends_on_generation, encode_stamp, encode_version,
    milliseconds, new_stamp, parse_number, parse_stamp, parse_value, parse_window,
};
use crate::adapters::redis::{RedisCallError, RedisConnection, RedisScript};
use crate::domain::row::FloorRange;
use crate::ports::cache::{
    Cache, CacheChanges, CacheError, CacheKey, CacheLifetimes, CachePut, CachedFloors, CachedList, CachedValue,
    ListEnd, ListFilling, ListPart, MAX_WINDOW_ENTRIES, Result, add_jitter,
};
use crate::ports::failure::Failure;

/// The code of a script that enters the era of its server.
macro_rules! in_era {
    ($file:literal) => {
        concat!(include_str!("../run_id.lua"), include_str!("era.lua"), include_str!($file))
    };
}

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
            get_values: RedisScript::new("cache.get_values", in_era!("get_values.lua")),
            put_values: RedisScript::new("cache.put_values", in_era!("put_values.lua")),
            apply_changes: RedisScript::new("cache.apply_changes", include_str!("apply_changes.lua")),
            read_floors: RedisScript::new("cache.read_floors", in_era!("read_floors.lua")),
            begin_fill: RedisScript::new("cache.begin_fill", in_era!("begin_fill.lua")),
            fill_part: RedisScript::new("cache.fill_part", in_era!("fill_part.lua")),
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
        let names: Vec<_> = self.names.generations(slot).into_iter().chain(values).collect();
        let mut call = self.scripts.get_values.call(&names);
        call.arg(new_stamp()).arg(milliseconds(self.lifetimes.stamp)).arg(milliseconds(GENERATION_TTL));
        let answer: Vec<Vec<u8>> = self.connection.run_script(&call).await?;
        let [era, generation, now, values @ ..] = &answer[..] else { return Err(damaged("an answer")) };
        let generation = SlotGeneration { era: parse_number(era)?, current: parse_number(generation)? };
        let now = parse_number(now)?;
        keys.iter().zip(values).map(|(key, bytes)| parse_value(key, bytes, generation, now)).collect()
    }

    async fn put_values(&self, slot: Slot, values: &[CachePut]) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        let keys = values.iter().map(|put| self.names.value(slot, &put.key));
        let names: Vec<_> = self.names.generations(slot).into_iter().chain(keys).collect();
        let mut call = self.scripts.put_values.call(&names);
        call.arg(new_stamp()).arg(milliseconds(GENERATION_TTL));
        for put in values {
            let found_in = match put.key {
                CacheKey::Snapshot(_) => String::new(),
                _ => encode_version(put.stamp.generation),
            };
            let (freshness, retention) = self.lifetimes.of(&put.key);
            call.arg(encode_stamp(put.stamp.own)).arg(found_in).arg(u8::from(depends_on_generation(&put.key)));
            call.arg(encode_version(put.version));
            call.arg(milliseconds(freshness)).arg(milliseconds(retention)).arg(&put.value[..]);
        }
        Ok(self.connection.run_script(&call).await?)
    }

    async fn apply_changes(&self, slot: Slot, changes: &CacheChanges) -> Result<()> {
        let values: Vec<_> = changes.values.iter().collect();
        let lists: Vec<_> = changes.lists.iter().filter(|(_, moves)| !moves.is_empty()).collect();
        let commits: Vec<_> = changes.commits.iter().collect();
        let mut names = vec![self.names.generation(slot)];
        names.extend(values.iter().map(|(key, _)| self.names.value(slot, key)));
        names.extend(commits.iter().map(|(subject, _)| self.names.commits(subject)));
        for (list, _) in &lists {
            let windows = [ListEnd::Newest, ListEnd::Oldest].map(|end| self.names.window(list, end));
            names.extend(windows.into_iter().chain([self.names.filling(list)]));
        }
        let mut call = self.scripts.apply_changes.call(&names);
        call.arg(new_stamp()).arg(u8::from(changes.takedown)).arg(milliseconds(GENERATION_TTL));
        call.arg(MAX_WINDOW_ENTRIES).arg(milliseconds(2 * self.lifetimes.retention));
        call.arg(values.len()).arg(commits.len());
        for (_, invalidation) in values {
            call.arg(encode_version(invalidation.version)).arg(u8::from(invalidation.is_gone));
        }
        for (_, versions) in commits {
            call.arg(versions.len());
            versions.iter().for_each(|version| _ = call.arg(version));
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

    async fn forget_slot(&self, slot: Slot) -> Result<()> {
        // The next call begins another era.
        let [_, era] = self.names.generations(slot);
        Ok(self.connection.query("cache.forget_slot", &era, ::redis::cmd("DEL").arg(&era)).await?)
    }

    async fn read_floors(
        &self,
        subject: Option<&SubjectKey>,
        list: &CachedList,
        range: FloorRange,
    ) -> Result<Option<CachedFloors>> {
        let ends =
            if range.ascending { [ListEnd::Oldest, ListEnd::Newest] } else { [ListEnd::Newest, ListEnd::Oldest] };
        let mut names = self.names.generations(list.slot()).to_vec();
        names.extend(ends.into_iter().flat_map(|end| self.names.window_and_era(list, end)));
        names.extend(subject.map(|subject| self.names.commits(subject)));
        let mut call = self.scripts.read_floors.call(&names);
        call.arg(u8::from(range.ascending)).arg(range.beyond.map_or(String::new(), |beyond| beyond.to_string()));
        call.arg(range.count).arg(MAX_EXACT_SCORE).arg(milliseconds(GENERATION_TTL));
        let answer: Option<Vec<Vec<u8>>> = self.connection.run_script(&call).await?;
        let Some([is_fresh, version, entries @ ..]) = answer.as_deref() else { return Ok(None) };
        let (pairs, _) = entries.as_chunks::<2>();
        let floors = pairs.iter().map(|[id, floor]| {
            let id = CommentId::new(parse_number(id)?).map_err(|_| damaged("an id"))?;
            Ok((parse_number(floor)?, id))
        });
        let floors = floors.collect::<Result<_>>()?;
        Ok(Some(CachedFloors { floors, is_fresh: is_fresh == b"1", version: parse_number(version)? }))
    }

    async fn begin_fill(&self, list: &CachedList) -> Result<ListFilling> {
        let mut names = self.names.generations(list.slot()).to_vec();
        names.push(self.names.filling(list));
        names.extend(
            [ListEnd::Newest, ListEnd::Oldest].into_iter().flat_map(|end| self.names.window_and_era(list, end)),
        );
        let mut call = self.scripts.begin_fill.call(&names);
        call.arg(new_stamp()).arg(milliseconds(self.lifetimes.stamp)).arg(milliseconds(GENERATION_TTL));
        let answer: Vec<Vec<u8>> = self.connection.run_script(&call).await?;
        let [era, stamp, windows @ ..] = &answer[..] else { return Err(damaged("an answer")) };
        let (newest, oldest) = windows.split_at_checked(3).ok_or_else(|| damaged("an answer"))?;
        let (newest, oldest) = (parse_window(newest)?, parse_window(oldest)?);
        Ok(ListFilling { era: parse_number(era)?, stamp: parse_stamp(stamp)?, newest, oldest })
    }

    async fn fill_part(&self, list: &CachedList, filling: &ListFilling, part: &ListPart) -> Result<bool> {
        let mut names = self.names.generations(list.slot()).to_vec();
        names.push(self.names.filling(list));
        names.extend(self.names.window_and_era(list, part.end));
        let mut call = self.scripts.fill_part.call(&names);
        call.arg(encode_version(filling.era)).arg(encode_stamp(filling.stamp)).arg(part.version);
        call.arg(part.low).arg(part.high.unwrap_or(MAX_EXACT_SCORE));
        for lifetime in [self.lifetimes.freshness, self.lifetimes.retention] {
            call.arg(milliseconds(add_jitter(lifetime)));
        }
        call.arg(milliseconds(GENERATION_TTL));
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
