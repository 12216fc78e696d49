//! The ports to accounts of this installation, and to where they are signed in.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::MemberId;

use crate::domain::sign_in::{OwnAccount, RefreshFamily, SignInDigest, SignInLink};
use crate::ports::store::Result;

/// Accounts, and what they are found by. Erasing a member deletes theirs, but for their identities in a cluster.
#[async_trait]
pub trait AccountRows: Send + Sync + Debug {
    /// An account; `None` where there is none, or it is erased.
    async fn read_account(&self, id: MemberId) -> Result<Option<OwnAccount>>;
    /// Stores an account; false where its id is taken.
    async fn insert_account(&self, account: &OwnAccount) -> Result<bool>;
    /// Changes the name and the picture of an account, where they are given.
    async fn change_account(&self, id: MemberId, name: Option<&str>, avatar: Option<Option<&str>>) -> Result<()>;
    /// Gives a name to an account that has none.
    async fn name_account(&self, id: MemberId, name: &str) -> Result<()>;
    /// The account that an identity has; it may have been erased.
    async fn find_identity(&self, digest: &SignInDigest) -> Result<Option<MemberId>>;
    /// Gives an identity to an account, unless it has another than `former`; the account that it has.
    async fn claim_identity(
        &self,
        digest: &SignInDigest,
        former: Option<MemberId>,
        account: MemberId,
        at: u64,
    ) -> Result<MemberId>;
    /// Deletes all identities of an account.
    async fn delete_identities(&self, account: MemberId) -> Result<()>;
    /// Whether any account is an administrator's.
    async fn has_admin(&self) -> Result<bool>;
}

/// Where accounts are signed in, and addresses that sign in once.
#[async_trait]
pub trait SignInRows: Send + Sync + Debug {
    /// Stores a family. Of more than
    /// [`MAX_FAMILIES_PER_ACCOUNT`](crate::domain::sign_in::MAX_FAMILIES_PER_ACCOUNT), those end that were idle the
    /// longest.
    async fn begin_family(&self, family: &RefreshFamily) -> Result<()>;
    /// Exchanges the newest token of a family for another. Returns the family as it is now; `None` where there is
    /// none, or it ends by this ([`RefreshFamily::present`]). Of two exchanges of one token, one ends the family.
    async fn rotate_family(
        &self,
        account: MemberId,
        id: u64,
        presented: &SignInDigest,
        next: &SignInDigest,
        now: u64,
    ) -> Result<Option<RefreshFamily>>;
    /// Ends a family; nothing where there is none.
    async fn end_family(&self, account: MemberId, id: u64) -> Result<()>;
    /// Stores an address that signs in once.
    async fn put_link(&self, digest: &SignInDigest, link: &SignInLink, at: u64) -> Result<()>;
    /// An address that signs in once and was not opened; `None` where there is none, or it is too old.
    async fn find_link(&self, digest: &SignInDigest, now: u64) -> Result<Option<SignInLink>>;
    /// Uses such an address up: `None` where it was used, or is older than
    /// [`LINK_LIFETIME_MS`](crate::domain::sign_in::LINK_LIFETIME_MS). Of two who open it, one gets it.
    async fn take_link(&self, digest: &SignInDigest, now: u64) -> Result<Option<SignInLink>>;
}
