//! Everything of one member: handed out, and erased.

use std::sync::Arc;

use backon::Retryable as _;
use futures_util::Stream;
use futures_util::stream::try_unfold;
use gailou_shared::id::{CommentId, EventId, MemberId, MemberKind, RefusedTextId};
use gailou_shared::path::{Mode, Threading};
use gailou_shared::token::Member;
use gailou_shared::wire::{Comment, NotificationKind, Reaction, ReportReason};
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;

use crate::domain::audit::AuditEntry;
use crate::domain::email_address::EmailAddress;
use crate::domain::member_standing::MemberStanding;
use crate::domain::operation::{ErasureStep, Operation};
use crate::domain::row::{CommentRow, EarlierText, OtherTexts};
use crate::service::export::retry_delays;
use crate::service::{ServiceError, ServiceResult, account, comment_view};
use crate::state::AppState;
use crate::state::admission::NotAdmitted;

/// Comments that are in memory at a time: 60 earlier texts of 20 kB each make 12 MB at most.
const COMMENTS_PER_CHUNK: usize = 10;
/// Reactions that are in memory at a time.
const REACTIONS_PER_CHUNK: usize = 1_000;
/// Reports that are in memory at a time: 4 MB at most.
const REPORTS_PER_CHUNK: usize = 1_000;

/// Refused texts that are in memory at a time: 2 MB at most.
const REFUSED_PER_CHUNK: usize = 100;

/// Notifications that are in memory at a time.
const NOTIFICATIONS_PER_CHUNK: usize = 500;

/// Watches that are in memory at a time: 300 kB at most.
const WATCHES_PER_CHUNK: usize = 500;

/// A comment of an export.
#[derive(Debug, Serialize)]
pub struct ExportedMemberComment {
    #[serde(flatten)]
    pub comment: Comment,
    /// The text as it was typed, where the word filter masked part of it.
    pub written: Option<String>,
    /// Earlier texts, the first one first.
    pub history: Vec<ExportedText>,
}

/// An earlier text of an exported comment.
#[derive(Debug, Serialize)]
pub struct ExportedText {
    pub content: String,
    /// When an edit replaced it, Unix milliseconds.
    pub replaced_at: u64,
}

#[derive(Serialize)]
struct ExportedReaction {
    comment_id: CommentId,
    reaction: Reaction,
}

/// A report in an export.
#[derive(Serialize)]
struct ExportedReport {
    comment_id: CommentId,
    reason: ReportReason,
    note: Option<String>,
    /// Unix milliseconds.
    at: u64,
}

/// A notification in an export, newest first.
#[derive(Serialize)]
struct ExportedNotification {
    id: EventId,
    kind: NotificationKind,
    action: Option<&'static str>,
    comment_id: CommentId,
    /// Unix milliseconds.
    created_at: u64,
    read: bool,
}

/// A watched thread in an export, the latest first.
#[derive(Serialize)]
struct ExportedWatch {
    subject: String,
    /// Unix milliseconds.
    created_at: u64,
}

/// Where an export goes on.
#[derive(Clone, Copy)]
enum ExportStep {
    Member,
    /// `begins`: no comment was written yet.
    Comments {
        above: Option<CommentId>,
        begins: bool,
    },
    Reactions {
        above: Option<CommentId>,
    },
    /// Those of the member, and then of each guest who the member was: `of` says whose.
    Reports {
        of: usize,
        above: Option<CommentId>,
        begins: bool,
    },
    Refused {
        of: usize,
        above: Option<RefusedTextId>,
        begins: bool,
    },
    Notifications {
        below: Option<EventId>,
    },
    Watches {
        below: Option<EventId>,
    },
    End,
}

/// Begins the export of a member. Its chunks together are one JSON object; an error ends it in the middle.
///
/// # Errors
/// [`ServiceError::NotAdmitted`] while too many others are in progress.
pub fn export(
    app: Arc<AppState>,
    member: Member,
) -> ServiceResult<impl Stream<Item = ServiceResult<String>> + Send + 'static> {
    let place = app.exports.clone().try_acquire_owned().map_err(|_| ServiceError::from(NotAdmitted))?;
    let export = MemberExport { app, member, _place: place };
    Ok(try_unfold((export, ExportStep::Member), |(export, step)| async move {
        // An answer that has begun cannot be refused any more.
        let next = (|| export.next(step)).retry(retry_delays()).when(is_away).await?;
        Ok(next.map(|(chunk, step)| (chunk, (export, step))))
    }))
}

fn is_away(error: &ServiceError) -> bool {
    matches!(error, ServiceError::Store(error) if error.is_away())
}

/// An export in progress.
struct MemberExport {
    app: Arc<AppState>,
    member: Member,
    _place: OwnedSemaphorePermit,
}

impl MemberExport {
    /// The next part of the JSON, and where it goes on; `None` at the end.
    async fn next(&self, step: ExportStep) -> ServiceResult<Option<(String, ExportStep)>> {
        let (tables, id) = (&self.app.tables, self.member.id);
        Ok(Some(match step {
            ExportStep::Member => {
                let Member { name, avatar, level, role, .. } = account::author(&self.app, &self.member).await;
                let guest = id.kind() == MemberKind::Guest;
                let standing = tables.read_standings(&[id]).await?.pop().map(|(_, standing)| standing);
                let MemberStanding { rules, friends, .. } = standing.unwrap_or_default();
                let contact = tables.read_contacts(&[id]).await?.remove(&id).unwrap_or_default();
                let own = tables.read_account(id).await?;
                let member = serde_json::json!({
                    "id": id, "name": name, "avatar": avatar, "level": level, "role": role, "guest": guest,
                    "muted_until": rules.muted_until, "friends": friends,
                    "email": contact.email.as_ref().map(EmailAddress::as_str), "notify": contact.notify(),
                    "language": contact.language, "account_since": own.map(|account| account.created_at),
                });
                (format!("{{\"member\":{member},\"comments\":["), ExportStep::Comments { above: None, begins: true })
            }
            ExportStep::Comments { above, begins } => {
                let ids = tables.list_comments_of(id, above, COMMENTS_PER_CHUNK).await?;
                match ids.last() {
                    None => ("],\"reactions\":[".into(), ExportStep::Reactions { above: None }),
                    Some(last) => {
                        let comments = self.read_comments(&ids).await?;
                        let next = ExportStep::Comments { above: Some(*last), begins: begins && comments.is_empty() };
                        (items(&comments, begins)?, next)
                    }
                }
            }
            ExportStep::Reactions { above } => {
                let found = tables.list_reactions_of(id, above, REACTIONS_PER_CHUNK).await?;
                match found.last() {
                    None => ("],\"reports\":[".into(), ExportStep::Reports { of: 0, above: None, begins: true }),
                    Some((last, _)) => {
                        let next = ExportStep::Reactions { above: Some(*last) };
                        let reactions = found.iter();
                        let reactions = reactions.map(|(comment_id, reaction)| ExportedReaction {
                            comment_id: *comment_id,
                            reaction: *reaction,
                        });
                        (items(&reactions.collect::<Vec<_>>(), above.is_none())?, next)
                    }
                }
            }
            ExportStep::Reports { of, above, begins } => {
                let Some(person) = self.person(of).await? else {
                    let next = ExportStep::Refused { of: 0, above: None, begins: true };
                    return Ok(Some(("],\"rejected\":[".into(), next)));
                };
                let found = tables.list_reports_of(person, above, REPORTS_PER_CHUNK).await?;
                match found.last() {
                    None => (String::new(), ExportStep::Reports { of: of + 1, above: None, begins }),
                    Some((last, _)) => {
                        let next = ExportStep::Reports { of, above: Some(*last), begins: false };
                        let reports = found.into_iter().map(|(comment_id, report)| ExportedReport {
                            comment_id,
                            reason: report.reason,
                            note: report.note,
                            at: report.at,
                        });
                        (items(&reports.collect::<Vec<_>>(), begins)?, next)
                    }
                }
            }
            ExportStep::Refused { of, above, begins } => {
                let Some(person) = self.person(of).await? else {
                    let next = ExportStep::Notifications { below: None };
                    return Ok(Some(("],\"notifications\":[".into(), next)));
                };
                let found = tables.list_refused_of(person, above, REFUSED_PER_CHUNK).await?;
                match found.last() {
                    None => (String::new(), ExportStep::Refused { of: of + 1, above: None, begins }),
                    Some(last) => {
                        let next = ExportStep::Refused { of, above: Some(last.id), begins: false };
                        (items(&found, begins)?, next)
                    }
                }
            }
            ExportStep::Notifications { below } => {
                let found = tables.list_notifications(id, below, NOTIFICATIONS_PER_CHUNK).await?;
                match found.last() {
                    None => ("],\"watches\":[".into(), ExportStep::Watches { below: None }),
                    Some(last) => {
                        let next = ExportStep::Notifications { below: Some(last.id) };
                        let notifications = found.iter().map(|row| ExportedNotification {
                            id: row.id,
                            kind: row.reason.kind(),
                            action: row.reason.action(),
                            comment_id: row.comment,
                            created_at: row.at,
                            read: row.is_read,
                        });
                        (items(&notifications.collect::<Vec<_>>(), below.is_none())?, next)
                    }
                }
            }
            ExportStep::Watches { below } => {
                let found = tables.list_watches(id, below, WATCHES_PER_CHUNK).await?;
                match found.last() {
                    None => ("]}".into(), ExportStep::End),
                    Some(last) => {
                        let next = ExportStep::Watches { below: Some(last.id) };
                        let watches = found.iter().map(|watch| ExportedWatch {
                            subject: watch.subject.to_string(),
                            created_at: watch.created_at,
                        });
                        (items(&watches.collect::<Vec<_>>(), below.is_none())?, next)
                    }
                }
            }
            ExportStep::End => return Ok(None),
        }))
    }

    /// The member, and the guests who have become the member, by a number from 0 on.
    async fn person(&self, number: usize) -> ServiceResult<Option<MemberId>> {
        let Some(guest) = number.checked_sub(1) else { return Ok(Some(self.member.id)) };
        Ok(self.app.tables.list_merged_guests(self.member.id).await?.get(guest).copied())
    }

    /// A history may name a comment before it has a row, and one that is another member's by now.
    async fn read_comments(&self, ids: &[CommentId]) -> ServiceResult<Vec<ExportedMemberComment>> {
        let rows = self.app.tables.read_comments(ids).await?;
        let mut comments = Vec::with_capacity(rows.len());
        for row in ids.iter().filter_map(|id| rows.get(id)).filter(|row| row.author.id == self.member.id) {
            let OtherTexts { original_text, earlier } = self.app.tables.read_other_texts(row.id()).await?;
            let text = |text: EarlierText| ExportedText { content: text.content, replaced_at: text.replaced_at };
            comments.push(ExportedMemberComment {
                comment: comment_view::for_author(&self.app, row, threading(&self.app, row)),
                written: original_text,
                history: earlier.into_iter().map(text).collect(),
            });
        }
        Ok(comments)
    }
}

/// How the comment's thread is built; as a flat list where its type is not configured any more.
fn threading(app: &AppState, row: &CommentRow) -> Threading {
    let unknown = Threading { mode: Mode::Flat, level_limit: 1 };
    app.threading_of(row.subject.kind(), row.mode).unwrap_or(unknown)
}

/// The items of a JSON array that begins or goes on with them.
fn items<T: Serialize>(list: &[T], begins: bool) -> ServiceResult<String> {
    let mut text = String::new();
    for item in list {
        let json = serde_json::to_string(item);
        let json = json.map_err(|error| ServiceError::Bug(format!("an export cannot be written: {error}")))?;
        if !begins || !text.is_empty() {
            text.push(',');
        }
        text.push_str(&json);
    }
    Ok(text)
}

/// Erases a member: their tokens are refused from now on, and what they wrote and were called is not
/// shown to anybody. It is overwritten a moment later, a history of thousands of comments within seconds
/// ([`crate::jobs::erase_members`]). The entry of the audit log is of an admin who erases another member.
///
/// # Errors
/// The journal's.
pub async fn erase(app: &AppState, member: MemberId, audit: Option<AuditEntry>) -> ServiceResult<()> {
    let _place = app.writes.admit().await?;
    let step = ErasureStep::Begin;
    app.journal.append(Operation::Erasure { member, step, audit }).await?;
    app.erased_members.add(member);
    tracing::info!(%member, "The erasure of member {member} begins");
    Ok(())
}
