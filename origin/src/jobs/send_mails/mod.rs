//! Sends the mails that notify members of what happened.
//!
//! What is to be mailed is in the rows of what members are notified, with the moment for it. This job claims the rows of one
//! mail for some minutes, sends it, and then records that. A process that dies in between has sent it, or not: another
//! one sends it again when the claim is over, by the same `Message-ID`, which is made of the rows, so that a mailbox
//! shows it once. A mail that the server does not take is sent again for a day, and then given up; one that it refuses, twice,
//! hours later, since the reason may be the sender and not the mail.
//!
//! One loop a database. Who has read a notification before it is mailed is not mailed it.

mod compose;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use gailou_shared::id::{CommentId, EventId, MemberId, SubjectKey};
use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::wire::NotifyChoice;
use metrics::{counter, describe_counter};
use tokio::time::MissedTickBehavior;

use crate::clock::Clock;
use crate::domain::building;
use crate::domain::email_address::EmailAddress;
use crate::domain::mail_plan::{MAX_MAILS_PER_HOUR, next_hour, refused_retry_at, retry_at};
use crate::domain::notification::{NotificationReason, StoredNotification, owner_member};
use crate::domain::row::{CommentRow, SubjectRow};
use crate::domain::unsubscribe::UnsubscribeKey;
use crate::jobs::send_mails::compose::{MailItem, compose};
use crate::outage_log::OutageLog;
use crate::ports::mailer::{Mail, MailError, Mailer};
use crate::ports::store::{CommentReader, DueMail, MailOutcome, MailQueue, MemberContacts, Result, Watches};
use crate::state::erased_members::ErasedMembers;

/// How often mails are looked for that are due.
const MAIL_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// For how long a process claims a mail: far longer than the 60 s that a mail may take, and its reads.
const CLAIM_MS: u64 = 120_000;
/// Mails that are claimed at once, and sent at the same time: as many as there are connections to the server, so that none
/// waits for another one's time.
const MAILS_PER_CLAIM: usize = 4;
/// Claims of one step: 1,000 mails.
const MAX_CLAIMS_PER_STEP: usize = 250;
/// What one mail notifies of; of what is beyond them it says how many there are. 60 kB of the longest texts, and 140 kB of the
/// largest buildings.
const MAX_ITEMS: usize = 20;

/// Mails by `outcome`.
const MAIL_COUNT: &str = "gailou_mails_total";

/// What the job reads and writes.
pub trait MailTables: CommentReader + MailQueue + MemberContacts + Watches {}

impl<T: CommentReader + MailQueue + MemberContacts + Watches + ?Sized> MailTables for T {}

/// Sends the mails of an installation.
#[derive(Debug)]
pub struct MailSender<S: ?Sized> {
    pub tables: Arc<S>,
    pub mailer: Arc<dyn Mailer>,
    pub erased_members: Arc<ErasedMembers>,
    /// Who is mailed of new and held comments.
    pub owner: Option<EmailAddress>,
    /// The address of this installation, without a slash at its end.
    pub public_url: String,
    pub unsubscribe_key: UnsubscribeKey,
    pub clock: Clock,
}

/// Sends the mails of one database for as long as it is polled.
pub async fn run<S: MailTables + ?Sized>(sender: Arc<MailSender<S>>, database: usize) {
    describe_counter!(MAIL_COUNT, "Mails to members and to the owner, by what became of them.");
    let mut tick = tokio::time::interval(MAIL_POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let outage = OutageLog::default();
    // A process that died has left claims: where it was the only one, they are over.
    let mut is_released = false;
    loop {
        tick.tick().await;
        if !is_released {
            is_released = sender.tables.release_mails(sender.clock.now()).await.is_ok();
        }
        match sender.step(database).await {
            Ok(()) => outage.end(|| tracing::info!(database, "Mails of database {database} are sent again")),
            Err(error) => outage.begin(|| {
                let retry_ms = MAIL_POLL_INTERVAL.as_millis();
                tracing::warn!(database, retry_ms, %error, "Could not read the mails of database {database}; retrying every {retry_ms} ms");
            }),
        }
    }
}

impl<S: MailTables + ?Sized> MailSender<S> {
    /// Sends what is due.
    ///
    /// # Errors
    /// When the tables do not answer. What was claimed is sent when the claim is over.
    pub async fn step(&self, database: usize) -> Result<()> {
        for _ in 0..MAX_CLAIMS_PER_STEP {
            let now = self.clock.now();
            let due = self.tables.claim_mails(database, now, now + CLAIM_MS, MAILS_PER_CLAIM).await?;
            let claimed = due.len();
            let done = join_all(due.into_iter().map(|mail| self.finish(mail))).await;
            done.into_iter().collect::<Result<()>>()?;
            if claimed < MAILS_PER_CLAIM {
                break;
            }
        }
        Ok(())
    }

    /// Sends a mail and records what became of it.
    async fn finish(&self, mail: DueMail) -> Result<()> {
        let outcome = self.send(&mail).await?;
        let label = match outcome {
            MailOutcome::Sent(_) => "sent",
            MailOutcome::Later(..) => "later",
            MailOutcome::Dropped => "dropped",
        };
        counter!(MAIL_COUNT, "outcome" => label).increment(1);
        self.tables.finish_mail(&mail, outcome).await
    }

    async fn send(&self, due: &DueMail) -> Result<MailOutcome> {
        let now = self.clock.now();
        if due.mailed_lately >= MAX_MAILS_PER_HOUR {
            // All that waits until then is one mail.
            return Ok(MailOutcome::Later(next_hour(now), due.tries.saturating_sub(1)));
        }
        let Some((to, language)) = self.find_address(due.member).await? else { return Ok(MailOutcome::Dropped) };
        let Some(mail) = self.write(due, to, language).await? else {
            // What they were to hear of is gone, and they have not heard of it.
            let unseen: Vec<EventId> = due.rows.iter().filter(|row| !row.is_read).map(|row| row.id).collect();
            self.tables.end_waiting(due.member, &unseen).await?;
            return Ok(MailOutcome::Dropped);
        };
        let member = due.member;
        Ok(match self.mailer.send(&mail).await {
            Ok(()) => MailOutcome::Sent(self.clock.now()),
            Err(error @ MailError::Refused(_)) => match refused_retry_at(due.tries, now) {
                Some(at) => MailOutcome::Later(at, due.tries),
                None => {
                    tracing::warn!(%member, %error, "The mail server does not take a mail to member {member}; it is given up");
                    MailOutcome::Dropped
                }
            },
            Err(error @ MailError::Away(_)) => match retry_at(due.tries, now) {
                Some(at) => MailOutcome::Later(at, due.tries),
                None => {
                    let tries = due.tries;
                    tracing::warn!(%member, tries, %error, "Could not send a mail to member {member} for a day; it is given up");
                    MailOutcome::Dropped
                }
            },
        })
    }

    /// A mail of the newest of these notifications that may be seen; `None` where none may.
    async fn write(&self, due: &DueMail, to: EmailAddress, language: ReaderLanguage) -> Result<Option<Mail>> {
        let unread: Vec<&StoredNotification> = due.rows.iter().filter(|row| !row.is_read).collect();
        let mut older = unread.len();
        for rows in unread.chunks(MAX_ITEMS) {
            older -= rows.len();
            let content = MailContent::read(self, rows).await?;
            let items = content.items(self, rows);
            if !items.is_empty() {
                let is_owner = due.member == owner_member();
                let unsubscribe_url = (!is_owner).then(|| self.unsubscribe_url(due.member));
                return Ok(Some(compose(due, to, language, &items, older, unsubscribe_url)));
            }
        }
        Ok(None)
    }

    /// Where a member is mailed, and in which language; `None` where they are not (any more).
    async fn find_address(&self, member: MemberId) -> Result<Option<(EmailAddress, ReaderLanguage)>> {
        if member == owner_member() {
            return Ok(self.owner.clone().map(|owner| (owner, ReaderLanguage::English)));
        }
        if self.erased_members.contains(member) {
            return Ok(None);
        }
        let contact = self.tables.read_contacts(&[member]).await?.remove(&member).unwrap_or_default();
        let is_wanted = contact.notify() != NotifyChoice::Never;
        let language = contact.language.as_deref().and_then(ReaderLanguage::of).unwrap_or_default();
        Ok(contact.email.filter(|_| is_wanted).map(|email| (email, language)))
    }

    fn unsubscribe_url(&self, member: MemberId) -> String {
        format!("{}/v1/unsubscribe?member={member}&signature={}", self.public_url, self.unsubscribe_key.sign(member))
    }
}

/// What a mail is made of: comments with the floors that are drawn below them, and their subjects.
struct MailContent {
    comments: HashMap<CommentId, CommentRow>,
    subjects: HashMap<SubjectKey, SubjectRow>,
}

impl MailContent {
    async fn read<S: MailTables + ?Sized>(sender: &MailSender<S>, rows: &[&StoredNotification]) -> Result<Self> {
        let ids: BTreeSet<CommentId> = rows.iter().map(|row| row.comment).collect();
        let mut comments = sender.tables.read_comments(&ids.iter().copied().collect::<Vec<_>>()).await?;
        let above: BTreeSet<CommentId> = comments.values().flat_map(floors).filter(|id| !ids.contains(id)).collect();
        comments.extend(sender.tables.read_comments(&above.into_iter().collect::<Vec<_>>()).await?);
        comments.values_mut().for_each(|row| sender.erased_members.redact(row));
        let keys: Vec<SubjectKey> =
            comments.values().map(|row| row.subject.clone()).collect::<BTreeSet<_>>().into_iter().collect();
        let found = sender.tables.read_subjects(&keys).await?;
        let subjects = found.into_iter().flatten().map(|row| (row.key.clone(), row)).collect();
        Ok(Self { comments, subjects })
    }

    /// What a mail notifies of: what may be seen.
    fn items<S: MailTables + ?Sized>(&self, sender: &MailSender<S>, rows: &[&StoredNotification]) -> Vec<MailItem<'_>> {
        let item = |row: &&StoredNotification| {
            let comment = self.comments.get(&row.comment).filter(|comment| is_shown(row, comment))?;
            let subject = self.subjects.get(&comment.subject)?;
            if subject.state == gailou_shared::wire::SubjectState::Hidden {
                return None;
            }
            let floor = |id| self.comments.get(&id).filter(|floor| floor.is_visible());
            Some(MailItem::new(row.reason, comment, floor, subject, &sender.public_url))
        };
        rows.iter().filter_map(item).collect()
    }
}

/// The comments that a mail of this one draws below it.
fn floors(comment: &CommentRow) -> Vec<CommentId> {
    let path: Vec<CommentId> = comment.path.ids().collect();
    building::quoted(&path).collect()
}

/// Whether a member may see what they are notified of.
fn is_shown(row: &StoredNotification, comment: &CommentRow) -> bool {
    match row.reason {
        NotificationReason::Reply
        | NotificationReason::Mention
        | NotificationReason::Watched
        | NotificationReason::New => comment.is_visible(),
        NotificationReason::Decision(_) => !comment.is_erased(),
        NotificationReason::Held => comment.state == gailou_shared::wire::CommentState::Review || comment.is_visible(),
    }
}
