//! The addresses that the host's tokens say (`email`), for the contacts of its members.
//!
//! Promise: recording costs a request a look into memory. An address is recorded at most once an hour for each member, in
//! the background; where that fails it is recorded with the member's next request.

use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::MemberId;
use moka::sync::Cache;
use tokio::sync::Semaphore;

use crate::domain::email_address::EmailAddress;
use crate::domain::member_contact::ContactPatch;
use crate::ports::store::Tables;

/// How long a recorded address is not recorded again.
const RECORD_INTERVAL: Duration = Duration::from_secs(3_600);
/// Members kept in memory as recorded: 50,000 of about 100 bytes are 5 MB. One that was evicted is recorded again.
const MAX_RECORDED_MEMBERS: u64 = 50_000;
/// Addresses that are recorded at a time; while the tables do not answer, further ones wait for the next request.
const MAX_RECORDINGS: usize = 32;

/// What was recorded lately: members, and the digests of their addresses.
#[derive(Debug)]
pub struct ClaimedAddresses {
    recorded: Cache<MemberId, [u8; 32]>,
    permits: Arc<Semaphore>,
}

impl Default for ClaimedAddresses {
    fn default() -> Self {
        Self {
            recorded: Cache::builder().max_capacity(MAX_RECORDED_MEMBERS).time_to_live(RECORD_INTERVAL).build(),
            permits: Arc::new(Semaphore::new(MAX_RECORDINGS)),
        }
    }
}

impl ClaimedAddresses {
    /// Records an address that a verified token says; what is no address is ignored.
    pub fn record(&self, tables: &Arc<dyn Tables>, member: MemberId, claimed: &str) {
        let Some(email) = EmailAddress::parse(claimed) else { return };
        let digest = email.digest();
        if self.recorded.get(&member) == Some(digest) {
            return;
        }
        let Ok(permit) = self.permits.clone().try_acquire_owned() else { return };
        self.recorded.insert(member, digest);
        let (tables, recorded) = (tables.clone(), self.recorded.clone());
        tokio::spawn(async move {
            let _permit = permit;
            let patch = ContactPatch { email: Some(email), ..ContactPatch::default() };
            if let Err(error) = tables.change_contact(member, &patch).await {
                recorded.invalidate(&member);
                tracing::debug!(%member, %error, "Could not record the address of member {member}");
            }
        });
    }
}
