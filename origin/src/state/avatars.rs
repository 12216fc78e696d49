//! The pictures of members, as they are answered, in memory.
//!
//! Decides nothing about what a picture is: [`crate::service::avatar`] does. Promise: readers who ask for one hash at once
//! are one question to the service; the pictures are bounded in bytes, and the questions in number.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use moka::Expiry;
use moka::future::Cache;
use tokio::sync::Semaphore;

use crate::domain::avatar::{AvatarHash, PictureAddresses};
use crate::ports::avatars::{AvatarService, ChosenPictures};

/// Most bytes of pictures in memory; one has 10 KB, and a picture that cannot be compressed 100.
const MAX_CACHED_BYTES: u64 = 32 << 20;
/// What an entry takes beside its picture.
const ENTRY_BYTES: u32 = 256;
/// Questions to the service in progress: their files take 4 MB.
const MAX_QUESTIONS: usize = 16;
/// Pictures that are decoded at once: 17 MB each, and twice that while one is made smaller.
const MAX_DECODERS: usize = 2;

/// A picture as it is sent.
#[derive(Debug, Clone)]
pub struct Avatar {
    pub bytes: Bytes,
    pub content_type: &'static str,
    /// How long it may be kept, here and in the caches of others.
    pub fresh_for: Duration,
}

/// The service, and what it has answered.
#[derive(Debug)]
pub struct Avatars {
    /// `None` where there are drawings alone.
    pub service: Option<Arc<dyn AvatarService>>,
    pub questions: Semaphore,
    pub chosen: Arc<dyn ChosenPictures>,
    /// Where readers get the pictures that host sites name.
    pub addresses: PictureAddresses,
    /// Places of their own: the hosts of chosen pictures are anybody's, and may be slow.
    pub chosen_questions: Semaphore,
    pub decoders: Arc<Semaphore>,
    cached: Cache<AvatarHash, Avatar>,
}

/// Each picture leaves the cache when it is not fresh any more.
struct UntilStale;

impl Expiry<AvatarHash, Avatar> for UntilStale {
    fn expire_after_create(&self, _: &AvatarHash, avatar: &Avatar, _: Instant) -> Option<Duration> {
        Some(avatar.fresh_for)
    }
}

impl Avatars {
    pub fn new(
        service: Option<Arc<dyn AvatarService>>,
        chosen: Arc<dyn ChosenPictures>,
        addresses: PictureAddresses,
    ) -> Self {
        let weight = |_: &AvatarHash, avatar: &Avatar| {
            u32::try_from(avatar.bytes.len()).unwrap_or(u32::MAX).saturating_add(ENTRY_BYTES)
        };
        let cached = Cache::builder().max_capacity(MAX_CACHED_BYTES).weigher(weight).expire_after(UntilStale).build();
        let (questions, chosen_questions) = (Semaphore::new(MAX_QUESTIONS), Semaphore::new(MAX_QUESTIONS));
        let decoders = Arc::new(Semaphore::new(MAX_DECODERS));
        Self { service, questions, chosen, addresses, chosen_questions, decoders, cached }
    }

    /// The picture of this hash: a fresh one in memory, else what `make` makes, once for all who wait.
    pub async fn get_or(&self, hash: &AvatarHash, make: impl Future<Output = Avatar>) -> Avatar {
        self.cached.get_with_by_ref(hash, make).await
    }
}
