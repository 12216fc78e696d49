//! Reports of comments by readers.

use gailou_shared::id::CommentId;
use gailou_shared::token::Member;
use gailou_shared::wire::{MemberRef, ReportReason};

use crate::domain::operation::CommentChange;
use crate::domain::review::NewReport;
use crate::service::challenge::WriteSource;
use crate::service::edit::{append_change, read_any_row};
use crate::service::subject::{SubjectAudience, check_seen};
use crate::service::{ServiceError, ServiceResult, challenge};
use crate::state::AppState;

/// Reports a comment that readers see. A second report of the same member changes nothing. So many reports as
/// `rules.report_threshold` says take the comment out of the lists until a moderator decides.
///
/// # Errors
/// [`ServiceError::ChallengeRequired`], `CommentNotFound`, or the journal's.
pub async fn report(
    app: &AppState,
    member: &Member,
    source: &WriteSource,
    id: CommentId,
    reason: ReportReason,
    note: Option<String>,
) -> ServiceResult<()> {
    challenge::check(app, member, source).await?;
    let _place = app.writes.admit().await?;
    let row = read_any_row(app, id).await?;
    if !row.is_visible() {
        return Err(ServiceError::CommentNotFound);
    }
    check_seen(app, &row.subject, SubjectAudience::of(member)).await?;
    let reporter = MemberRef { id: member.id, name: member.name.clone() };
    let threshold = u64::from(app.settings().values.rules.report_threshold);
    let report = NewReport { reporter, reason, note, threshold };
    append_change(app, id, CommentChange::Report(Box::new(report)), None).await?;
    Ok(())
}
