//! The cache in Redis: one script a call, so that each is one step for everybody else.
//!
//! All keys carry the hash tag `{name:slot}`. A value is one string: kind (`v` value, `t` void,
//! `c` stamp alone), stamp (16 hex digits), version and generation (16 digits each), the moment
//! until which it is fresh (Unix milliseconds by the server's clock, 13 digits), and its bytes. A
//! list is kept as up to two sorted sets, one from each end: ids by floor, and marks `L`, `H` (what
//! is loaded), `V` (version) and `U` (fresh until) with scores below zero. Floors are below 2^53,
//! where scores are exact; ids would not be.

use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, Slot};

use crate::adapters::redis::{Connection, Script};
use crate::ports::cache::{
    Cache, CacheError, Changes, End, Filling, Floors, Found, Key, ListKey, Lives, Loaded, Part, Put, Range, Result,
    Stamp, WINDOW,
};

/// Life of a slot's generation. When it ends, the slot's comments are loaded again.
const GENERATION: Duration = Duration::from_secs(86_400);
/// The greatest whole number up to which scores are exact; a list that has no end ends there.
const GREATEST: u64 = (1 << 53) - 1;
/// Bytes in front of a value.
const HEAD: usize = 62;

/// The cache in Redis, under a cluster's name.
#[derive(Debug)]
pub struct RedisCache {
    connection: Connection,
    name: String,
    lives: Lives,
    scripts: Scripts,
}

#[derive(Debug)]
struct Scripts {
    get: Script,
    put: Script,
    change: Script,
    range: Script,
    begin: Script,
    fill: Script,
}

impl From<crate::adapters::redis::Error> for CacheError {
    fn from(error: crate::adapters::redis::Error) -> Self {
        Self(error.to_string())
    }
}

impl RedisCache {
    pub fn new(connection: Connection, name: &str) -> Self {
        Self::living(connection, name, Lives::DEFAULT)
    }

    pub(crate) fn living(connection: Connection, name: &str, lives: Lives) -> Self {
        let scripts = Scripts {
            get: Script::new(include_str!("get.lua")),
            put: Script::new(include_str!("put.lua")),
            change: Script::new(include_str!("change.lua")),
            range: Script::new(include_str!("range.lua")),
            begin: Script::new(include_str!("begin.lua")),
            fill: Script::new(include_str!("fill.lua")),
        };
        Self { connection, name: name.to_owned(), lives, scripts }
    }

    #[cfg(test)]
    pub(crate) async fn lose_one(&self, slot: Slot, key: &Key) {
        let name = self.value(slot, key);
        self.connection.query::<()>(&name, ::redis::cmd("DEL").arg(&name)).await.unwrap();
    }

    fn tagged(&self, slot: Slot, rest: &str) -> String {
        format!("{{{}:{}}}:{rest}", self.name, slot.get())
    }

    fn generation(&self, slot: Slot) -> String {
        self.tagged(slot, "gen")
    }

    fn value(&self, slot: Slot, key: &Key) -> String {
        let rest = match key {
            Key::Subject(subject) => format!("s:{subject}"),
            Key::Comment(id) => format!("c:{id}"),
            Key::TopReplies(root) => format!("t:{root}"),
            Key::Snapshot(id) => id.iter().fold(String::from("p:"), |text, byte| format!("{text}{byte:02x}")),
        };
        self.tagged(slot, &rest)
    }

    fn list(&self, list: &ListKey, part: &str) -> String {
        let rest = match list {
            ListKey::Roots(subject) => format!("l:{part}:r:{subject}"),
            ListKey::Replies(root) => format!("l:{part}:u:{root}"),
        };
        self.tagged(list.slot(), &rest)
    }

    fn window(&self, list: &ListKey, end: End) -> String {
        match end {
            End::Newest => self.list(list, "new"),
            End::Oldest => self.list(list, "old"),
        }
    }
}

fn stamp(number: u64) -> String {
    format!("{number:016x}")
}

fn fresh_stamp() -> String {
    stamp(rand::random())
}

/// A version as scripts compare it. Versions count commits and never come near the bound.
fn version(number: u64) -> String {
    format!("{:016}", number.min(GREATEST))
}

fn ms(life: Duration) -> u64 {
    u64::try_from(life.as_millis()).unwrap_or(u64::MAX)
}

fn damaged(what: &str) -> CacheError {
    CacheError(format!("{what} is not what was put there"))
}

fn number<T: std::str::FromStr>(bytes: &[u8]) -> Result<T> {
    std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()).ok_or_else(|| damaged("a number"))
}

/// A key's bytes, at `now`, in a slot of this generation.
fn found(bytes: &[u8], generation: u64, now: u64) -> Result<Found> {
    let (head, body) = bytes.split_at_checked(HEAD).ok_or_else(|| damaged("a value"))?;
    let own = std::str::from_utf8(&head[1..17]).ok().and_then(|text| u64::from_str_radix(text, 16).ok());
    let own = own.ok_or_else(|| damaged("a stamp"))?;
    let (of, until): (u64, u64) = (number(&head[33..49])?, number(&head[49..62])?);
    let fresh = head[0] == b'v' && until > now && (of == 0 || of == generation);
    let value = (!body.is_empty()).then(|| body.to_vec());
    Ok(Found { fresh: fresh && value.is_some(), value, stamp: Stamp { own, generation } })
}

/// Low, high and entries of a window.
fn loaded(parts: &[Vec<u8>]) -> Result<Option<Loaded>> {
    match parts {
        [low, high, entries] if !low.is_empty() => {
            let high = number(high)?;
            let high = (high < GREATEST).then_some(high);
            Ok(Some(Loaded { low: number(low)?, high, entries: number(entries)? }))
        }
        _ => Ok(None),
    }
}

#[async_trait]
impl Cache for RedisCache {
    async fn get(&self, slot: Slot, keys: &[Key]) -> Result<Vec<Found>> {
        if keys.is_empty() {
            return Ok(vec![]);
        }
        let names: Vec<_> =
            std::iter::once(self.generation(slot)).chain(keys.iter().map(|key| self.value(slot, key))).collect();
        let mut call = self.scripts.get.call(&names);
        call.arg(fresh_stamp()).arg(ms(self.lives.claim)).arg(ms(GENERATION));
        let answer: Vec<Vec<u8>> = self.connection.run(&call).await?;
        let [generation, now, values @ ..] = &answer[..] else { return Err(damaged("an answer")) };
        let (generation, now) = (number(generation)?, number(now)?);
        values.iter().map(|bytes| found(bytes, generation, now)).collect()
    }

    async fn put(&self, slot: Slot, values: &[Put]) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        let names: Vec<_> =
            std::iter::once(self.generation(slot)).chain(values.iter().map(|put| self.value(slot, &put.key))).collect();
        let mut call = self.scripts.put.call(&names);
        call.arg(fresh_stamp());
        for put in values {
            let generation = match put.key {
                Key::Comment(_) => format!("{:016}", put.stamp.generation),
                _ => String::new(),
            };
            let (fresh, kept) = self.lives.of(&put.key);
            call.arg(stamp(put.stamp.own)).arg(generation).arg(version(put.version));
            call.arg(ms(fresh)).arg(ms(kept)).arg(&put.value[..]);
        }
        Ok(self.connection.run(&call).await?)
    }

    async fn change(&self, slot: Slot, changes: &Changes) -> Result<()> {
        let values: Vec<_> = changes.values.iter().collect();
        let lists: Vec<_> = changes.lists.iter().filter(|(_, moves)| !moves.is_empty()).collect();
        let mut names = vec![self.generation(slot)];
        names.extend(values.iter().map(|(key, _)| self.value(slot, key)));
        for (list, _) in &lists {
            names.extend([self.window(list, End::Newest), self.window(list, End::Oldest), self.list(list, "fill")]);
        }
        let mut call = self.scripts.change.call(&names);
        call.arg(fresh_stamp()).arg(u8::from(changes.takedown)).arg(ms(GENERATION)).arg(WINDOW).arg(values.len());
        for (_, void) in values {
            call.arg(version(void.version)).arg(u8::from(void.gone));
        }
        for (_, moves) in lists {
            let mut moves: Vec<_> = moves.iter().collect();
            moves.sort_unstable_by_key(|(_, moved)| moved.version);
            call.arg(moves.len());
            for (id, moved) in moves {
                call.arg(u8::from(moved.listed)).arg(moved.floor).arg(id.get()).arg(moved.version);
            }
        }
        Ok(self.connection.run(&call).await?)
    }

    async fn range(&self, list: &ListKey, range: Range) -> Result<Option<Floors>> {
        let ends = if range.ascending { [End::Oldest, End::Newest] } else { [End::Newest, End::Oldest] };
        let mut call = self.scripts.range.call(&ends.map(|end| self.window(list, end)));
        call.arg(u8::from(range.ascending)).arg(range.beyond.map_or(String::new(), |beyond| beyond.to_string()));
        call.arg(range.count).arg(GREATEST);
        let answer: Option<Vec<Vec<u8>>> = self.connection.run(&call).await?;
        let Some([fresh, entries @ ..]) = answer.as_deref() else { return Ok(None) };
        let (pairs, _) = entries.as_chunks::<2>();
        let floors = pairs.iter().map(|[id, floor]| {
            let id = CommentId::new(number(id)?).map_err(|_| damaged("an id"))?;
            Ok((number(floor)?, id))
        });
        Ok(Some(Floors { floors: floors.collect::<Result<_>>()?, fresh: fresh == b"1" }))
    }

    async fn begin(&self, list: &ListKey) -> Result<Filling> {
        let names = [self.list(list, "fill"), self.window(list, End::Newest), self.window(list, End::Oldest)];
        let mut call = self.scripts.begin.call(&names);
        call.arg(fresh_stamp()).arg(ms(self.lives.claim));
        let answer: Vec<Vec<u8>> = self.connection.run(&call).await?;
        let [stamp, windows @ ..] = &answer[..] else { return Err(damaged("an answer")) };
        let stamp = std::str::from_utf8(stamp).ok().and_then(|text| u64::from_str_radix(text, 16).ok());
        let (newest, oldest) = windows.split_at_checked(3).ok_or_else(|| damaged("an answer"))?;
        Ok(Filling {
            stamp: stamp.ok_or_else(|| damaged("a stamp"))?,
            newest: loaded(newest)?,
            oldest: loaded(oldest)?,
        })
    }

    async fn fill(&self, list: &ListKey, filling: &Filling, part: &Part) -> Result<bool> {
        let mut call = self.scripts.fill.call(&[self.list(list, "fill"), self.window(list, part.end)]);
        let (fresh, kept) =
            (crate::ports::cache::jitter(self.lives.fresh), crate::ports::cache::jitter(self.lives.kept));
        call.arg(stamp(filling.stamp)).arg(part.version).arg(part.low).arg(part.high.unwrap_or(GREATEST));
        call.arg(ms(fresh)).arg(ms(kept));
        for (floor, id) in &part.floors {
            call.arg(floor).arg(id.get());
        }
        Ok(self.connection.run(&call).await?)
    }

    async fn first(&self, list: &ListKey, life: Duration) -> Result<bool> {
        let name = self.list(list, "first");
        let mut command = ::redis::cmd("SET");
        command.arg(&name).arg("").arg("NX").arg("PX").arg(ms(life));
        let done: Option<String> = self.connection.query(&name, &command).await?;
        Ok(done.is_some())
    }
}
