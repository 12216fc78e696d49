//! The moderators' list of all subjects.
//!
//! Promise: a call looks at a bounded number of subjects, so a page may hold fewer than were asked for, even none,
//! while there are more; following the cursors looks at each subject once.

use gailou_shared::cursor::{Cursor, CursorList, WalkPosition};
use gailou_shared::id::SubjectKey;
use gailou_shared::rank::Sort;
use gailou_shared::wire::{ListPageInfo, ModeratedSubject, ModeratedSubjectPage, SubjectState};

use crate::domain::row::SubjectRow;
use crate::ports::store::{FoundSubjects, ListedSubject};
use crate::service::{ServiceError, ServiceResult};
use crate::state::AppState;

/// Subjects that are read at once where only some are wanted.
const SUBJECTS_PER_READ: usize = 500;
/// How often they are read for one page.
const MAX_READS: usize = 4;

/// Which subjects a moderator looks for.
#[derive(Debug, Clone, Default)]
pub struct SubjectFilter {
    /// What `type/key` or the title contains, in any case.
    pub text: Option<String>,
    pub state: Option<SubjectState>,
}

impl SubjectFilter {
    /// The subject that the text names as it is.
    fn named(&self) -> Option<SubjectKey> {
        let (kind, key) = self.text.as_deref()?.split_once('/')?;
        SubjectKey::new(kind, key).ok()
    }

    fn matches(&self, row: &SubjectRow) -> bool {
        let contains = |wanted: &str, text: &str| text.to_lowercase().contains(wanted);
        self.state.is_none_or(|state| state == row.state)
            && self.text.as_ref().map(|text| text.to_lowercase()).is_none_or(|wanted| {
                contains(&wanted, &row.key.to_string())
                    || row.title.as_ref().is_some_and(|title| contains(&wanted, title))
            })
    }
}

/// A page of the subjects that fulfil the filter. One that its text names as it is comes first.
///
/// # Errors
/// [`ServiceError::BadCursor`], or the store's.
pub async fn list(
    app: &AppState,
    filter: &SubjectFilter,
    limit: usize,
    cursor: Option<Cursor>,
) -> ServiceResult<ModeratedSubjectPage> {
    let state = filter.state.map(state_name);
    let list = CursorList::moderation("subjects", &[filter.text.as_deref(), state]);
    let mut below = match cursor {
        None => None,
        Some(Cursor { list: of, at: WalkPosition::After(number), .. }) if of == list => Some(number as i64),
        Some(_) => return Err(ServiceError::BadCursor("belongs to another list")),
    };
    let named = filter.named();
    let mut rows: Vec<SubjectRow> = Vec::with_capacity(limit);
    if let Some(key) = named.as_ref().filter(|_| cursor.is_none()) {
        let found = app.tables.read_subjects(std::slice::from_ref(key)).await?.pop().flatten();
        rows.extend(found.filter(|row| filter.matches(row)));
    }
    let is_all = filter.text.is_none() && filter.state.is_none();
    let read = if is_all { limit + 1 } else { SUBJECTS_PER_READ };
    let mut next = None;
    for _ in 0..MAX_READS {
        let found = app.tables.list_subjects(below, read).await?;
        let wanted = |row: &SubjectRow| named.as_ref() != Some(&row.key) && filter.matches(row);
        next = take(found, limit, wanted, &mut rows);
        below = next;
        if next.is_none() || rows.len() >= limit {
            break;
        }
    }
    let data = views(app, rows).await?;
    let next = next.map(|number| {
        let at = WalkPosition::After(number as u64);
        app.cursor_key.encode(&Cursor { list, sort: Sort::New, epoch: 0, at })
    });
    Ok(ModeratedSubjectPage { data, page: ListPageInfo { has_more: next.is_some(), next } })
}

/// Takes of a part of the list what is wanted, until there are `limit`. The number below which the list goes on.
fn take(
    found: FoundSubjects,
    limit: usize,
    wanted: impl Fn(&SubjectRow) -> bool,
    rows: &mut Vec<SubjectRow>,
) -> Option<i64> {
    let mut last = None;
    for ListedSubject { number, row } in found.subjects {
        if rows.len() >= limit && wanted(&row) {
            // Only the end of a list is without a next page: a subject before this one is at `last`.
            return Some(last.unwrap_or(number + 1));
        }
        if wanted(&row) {
            rows.push(row);
        }
        last = Some(number);
    }
    found.below
}

/// The rows as moderators see them. A subject whose type is not configured any more is left out.
async fn views(app: &AppState, mut rows: Vec<SubjectRow>) -> ServiceResult<Vec<ModeratedSubject>> {
    rows.retain(|row| app.threading_of(row.key.kind(), row.mode).is_some());
    let keys: Vec<SubjectKey> = rows.iter().map(|row| row.key.clone()).collect();
    let newest = app.tables.list_newest_of(&keys).await?;
    let view = |(row, newest): (SubjectRow, Option<gailou_shared::id::CommentId>)| {
        let mode = app.threading_of(row.key.kind(), row.mode)?.mode;
        Some(ModeratedSubject {
            r#type: row.key.kind().to_owned(),
            key: row.key.key().to_owned(),
            title: row.title,
            url: row.url,
            owner_id: row.owner_id,
            mode,
            state: row.state,
            roots: row.roots,
            comments: row.comments,
            last_activity: newest.map(gailou_shared::id::CommentId::created_ms),
        })
    };
    Ok(rows.into_iter().zip(newest).filter_map(view).collect())
}

/// The contract's word for a state.
pub const fn state_name(state: SubjectState) -> &'static str {
    match state {
        SubjectState::Open => "open",
        SubjectState::Closed => "closed",
        SubjectState::Hidden => "hidden",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(key: &str, title: Option<&str>) -> SubjectRow {
        let key = SubjectKey::new("article", key).unwrap();
        SubjectRow { title: title.map(Into::into), ..SubjectRow::empty(key) }
    }

    #[test]
    fn text_is_looked_for_in_keys_and_titles_in_any_case() {
        let check = |text: &str, found: bool| {
            let filter = SubjectFilter { text: Some(text.into()), state: None };
            assert_eq!(filter.matches(&row("Seven-7", Some("Über Größe 盖楼"))), found, "{text}");
        };
        check("seven", true);
        check("ÜBER", true);
        check("盖", true);
        check("article/sev", true);
        check("eight", false);
    }

    #[test]
    fn part_of_the_list_is_taken_to_its_end_and_no_further() {
        let part = || FoundSubjects {
            subjects: (1..=3).rev().map(|n| ListedSubject { number: n, row: row(&n.to_string(), None) }).collect(),
            below: None,
        };
        let check = |limit: usize, before: usize, taken: usize, next: Option<i64>| {
            let mut rows = vec![row("0", None); before];
            assert_eq!(take(part(), limit, |_| true, &mut rows), next, "limit {limit}, {before} before");
            assert_eq!(rows.len(), before + taken);
        };
        check(3, 0, 3, None);
        check(2, 0, 2, Some(2));
        check(1, 1, 0, Some(4));
        let mut rows = vec![];
        assert_eq!(take(part(), 1, |row| row.key.key() == "2", &mut rows), None);
        assert_eq!(rows.len(), 1);
    }
}
