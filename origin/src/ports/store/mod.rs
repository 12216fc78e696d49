//! The ports to the tables, one file a role. The adapters are SQLite and MySQL.
//!
//! Tables answer from rows and never from a cache; a read sees every batch that was acknowledged
//! before it began. They refuse nothing for business reasons: [`crate::service`] decides those before
//! an operation is appended to the journal.
//!
//! A function takes the narrowest port that it needs. The aliases at the end of this file are for
//! places that hold one object for many such functions.

mod accounts;
mod activity;
mod audit_log;
mod backup;
mod batch_writer;
mod broker_states;
mod change_feed;
mod checkpoints;
mod comments;
mod dead_reactions;
mod erasures;
mod error;
mod events;
mod health;
mod idempotency;
mod index_queues;
mod latest;
mod mail_queue;
mod media;
mod member_contacts;
mod member_data;
mod member_directory;
mod member_names;
mod member_standings;
mod members;
mod node_leases;
mod notifications;
mod outbox;
mod passkeys;
mod reaction_states;
mod reconcile;
mod refused_texts;
mod reranker;
mod reviews;
mod rewinds;
mod settings;
mod sharding;
#[cfg(feature = "cluster")]
mod slot_moves;
mod slot_positions;
mod subject_directory;
mod threads;
mod transfer;
mod watches;
mod webhooks;

pub use accounts::{AccountRows, SignInRows};
pub use activity::ActivityReader;
pub use audit_log::{AuditFilter, AuditReader};
pub use backup::{PICTURE_LIST_FILE_NAME, TableBackup};
pub use batch_writer::BatchWriter;
pub use broker_states::BrokerStates;
pub use change_feed::ChangeFeedReader;
pub use checkpoints::Checkpoints;
pub use comments::CommentReader;
pub use dead_reactions::DeadReactions;
pub use erasures::ErasureReader;
pub use error::{Result, StoreError};
pub use events::{EventBacklog, EventQueues, QueuedEvent};
pub use health::HealthCheck;
pub use idempotency::IdempotencyReader;
pub use index_queues::{IndexBacklog, IndexQueues, QueuedComment};
pub use latest::LatestReader;
pub use mail_queue::{DueMail, MailOutcome, MailQueue};
pub use media::MediaRows;
pub use member_contacts::MemberContacts;
pub use member_data::MemberDataReader;
pub use member_directory::MemberDirectory;
pub use member_names::MemberNameReader;
pub use member_standings::MemberStandingReader;
pub use members::MemberReader;
pub use node_leases::{LeasedNode, NODE_LEASE, NodeLeases};
pub use notifications::Notifications;
pub use outbox::{Delivered, Outboxes};
pub use passkeys::PasskeyRows;
pub use reaction_states::ReactionStateReader;
#[cfg(feature = "cluster")]
pub use reconcile::HistoryReconciler;
pub use reconcile::Reconciler;
pub use refused_texts::RefusedTexts;
pub use reranker::{RerankProgress, Reranker};
pub use reviews::ReviewReader;
pub use rewinds::Rewinds;
pub use settings::StoredSettings;
pub use sharding::Sharding;
#[cfg(feature = "cluster")]
pub use slot_moves::{CopiedSlot, MoveLock, MoveSession, SlotMoves};
pub use slot_positions::SlotPositions;
pub use subject_directory::{FoundSubjects, ListedSubject, SubjectDirectory};
pub use threads::{Listed, ThreadReader};
pub use transfer::Transfer;
pub use watches::Watches;
pub use webhooks::WebhookRows;

/// What a request reads: from the tables, or through the caches of a cluster.
pub trait Store: CommentReader + ThreadReader + MemberReader + IdempotencyReader {}

impl<T: CommentReader + ThreadReader + MemberReader + IdempotencyReader> Store for T {}

/// The tables themselves, with what only commands, start-up and background jobs need.
pub trait Tables:
    Store
    + AccountRows
    + ActivityReader
    + AuditReader
    + BatchWriter
    + ChangeFeedReader
    + ErasureReader
    + EventQueues
    + HealthCheck
    + IndexQueues
    + LatestReader
    + MailQueue
    + MediaRows
    + MemberContacts
    + MemberDataReader
    + MemberDirectory
    + MemberNameReader
    + MemberStandingReader
    + Notifications
    + PasskeyRows
    + Reconciler
    + RefusedTexts
    + Reranker
    + ReviewReader
    + SignInRows
    + StoredSettings
    + SubjectDirectory
    + Transfer
    + Watches
    + WebhookRows
{
}

impl<
    T: Store
        + AccountRows
        + ActivityReader
        + AuditReader
        + BatchWriter
        + ChangeFeedReader
        + ErasureReader
        + EventQueues
        + HealthCheck
        + IndexQueues
        + LatestReader
        + MailQueue
        + MediaRows
        + MemberContacts
        + MemberDataReader
        + MemberDirectory
        + MemberNameReader
        + MemberStandingReader
        + Notifications
        + PasskeyRows
        + Reconciler
        + RefusedTexts
        + Reranker
        + ReviewReader
        + SignInRows
        + StoredSettings
        + SubjectDirectory
        + Transfer
        + Watches
        + WebhookRows,
> Tables for T
{
}

/// What the caches of a cluster are filled from.
pub trait CacheSource: Store + ReactionStateReader + Sharding {}

impl<T: Store + ReactionStateReader + Sharding> CacheSource for T {}

/// Tables behind the broker of a cluster, as the journal and the persist job use them.
pub trait SlotTables:
    CommentReader
    + IdempotencyReader
    + BatchWriter
    + BrokerStates
    + Checkpoints
    + Rewinds
    + Sharding
    + SlotPositions
    + ReactionStateReader
{
}

impl<
    T: CommentReader
        + IdempotencyReader
        + BatchWriter
        + BrokerStates
        + Checkpoints
        + Rewinds
        + Sharding
        + SlotPositions
        + ReactionStateReader,
> SlotTables for T
{
}
