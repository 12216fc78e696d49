//! The dictionary of the word filter, as moderators read and change it.
//!
//! Existing comments are not filtered again. Promise: of two changes that are made at the same time none is lost, and
//! each leaves an entry in the audit log.

use std::collections::BTreeMap;
use std::sync::Arc;

use gailou_shared::cursor::{Cursor, CursorList, WalkPosition};
use gailou_shared::id::Slot;
use gailou_shared::limits;
use gailou_shared::rank::Sort;
use gailou_shared::token::Member;
use gailou_shared::wire::{DictionaryPage, DictionaryVersion, FieldError, ListPageInfo, TermMatch, TermMatches};
use gailou_shared::word_filter::{Dictionary, DictionaryError, FilterVerdict, Term};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::domain::audit::AuditEntry;
use crate::domain::operation::{Operation, OperationOutcome};
use crate::domain::row::{CommentRow, StoredDictionary};
use crate::service::readable_text::readable_text;
use crate::service::{ServiceError, ServiceResult, audit_log};
use crate::state::AppState;

/// Terms on a page: 350 bytes of JSON each at most.
const MAX_TERMS_PER_PAGE: usize = 2_500;
/// How often a change is made again because another one came between.
const MAX_TRIES: usize = 10;
/// The newest comments that a term is looked for in.
const COMMENTS_TO_TEST: usize = 1_000;
/// Comments that are in memory at a time: 4 MB at most.
const COMMENTS_PER_READ: usize = 100;
/// Comments with the term that are answered.
const MAX_MATCHES_SHOWN: usize = 100;
/// Their texts, in bytes.
const MAX_MATCH_BYTES: usize = limits::MAX_LIST_BYTES / 2;

/// A page of the terms.
///
/// # Errors
/// [`ServiceError::BadCursor`]; [`ServiceError::CursorExpired`] when the dictionary has changed; or the store's.
pub async fn list(app: &AppState, cursor: Option<Cursor>) -> ServiceResult<DictionaryPage> {
    let list = CursorList::moderation("words", &[]);
    let from = match cursor {
        None => (None, 0),
        Some(Cursor { list: of, at: WalkPosition::After(index), epoch, .. }) if of == list => (Some(epoch), index),
        Some(_) => return Err(ServiceError::BadCursor("belongs to another list")),
    };
    let StoredDictionary { version, terms } = app.tables.read_dictionary().await?;
    let (epoch, first) = from;
    if epoch.is_some_and(|epoch| epoch != version) {
        return Err(ServiceError::CursorExpired);
    }
    let first = usize::try_from(first).unwrap_or(usize::MAX);
    let end = first.saturating_add(MAX_TERMS_PER_PAGE);
    let has_more = end < terms.len();
    let next = has_more.then(|| {
        let at = WalkPosition::After(end as u64);
        app.cursor_key.encode(&Cursor { list, sort: Sort::default(), epoch: version, at })
    });
    let data = terms.into_iter().skip(first).take(MAX_TERMS_PER_PAGE).collect();
    Ok(DictionaryPage { version, data, page: ListPageInfo { next, has_more } })
}

/// Replaces all terms.
///
/// # Errors
/// [`ServiceError::WrongFields`]; [`ServiceError::VersionConflict`] where the version is another than the expected one;
/// or the journal's.
pub async fn replace(
    app: &AppState,
    moderator: &Member,
    terms: Vec<Term>,
    expected: Option<u64>,
) -> ServiceResult<DictionaryVersion> {
    check_terms(&terms, "data")?;
    let terms: BTreeMap<String, Term> = terms.into_iter().map(|term| (term.term.clone(), term)).collect();
    let terms: Vec<Term> = terms.into_values().collect();
    write(app, moderator, expected, |_| (terms.clone(), json!({"count": terms.len()}))).await
}

/// Adds terms, in place of those with the same text, and removes others.
///
/// # Errors
/// As [`replace`].
pub async fn change(
    app: &AppState,
    moderator: &Member,
    add: Vec<Term>,
    remove: Vec<String>,
    expected: Option<u64>,
) -> ServiceResult<DictionaryVersion> {
    check_terms(&add, "add")?;
    write(app, moderator, expected, |stored| {
        let mut terms: BTreeMap<String, Term> = stored.into_iter().map(|term| (term.term.clone(), term)).collect();
        remove.iter().for_each(|text| _ = terms.remove(text));
        terms.extend(add.iter().map(|term| (term.term.clone(), term.clone())));
        (terms.into_values().collect(), json!({"added": add, "removed": remove}))
    })
    .await
}

/// Writes what `make` makes of the terms, with its words for the audit log; again, while others come between.
async fn write(
    app: &AppState,
    moderator: &Member,
    expected: Option<u64>,
    make: impl Fn(Vec<Term>) -> (Vec<Term>, Value),
) -> ServiceResult<DictionaryVersion> {
    let _place = app.writes.admit().await?;
    for _ in 0..MAX_TRIES {
        let StoredDictionary { version, terms } = app.tables.read_dictionary().await?;
        if expected.is_some_and(|expected| expected != version) {
            return Err(ServiceError::VersionConflict("the dictionary has changed since; read it again"));
        }
        let before = json!({"version": version, "count": terms.len()});
        let (terms, after) = make(terms);
        let count = terms.len() as u64;
        let terms = spawn_blocking(move || Dictionary::build(0, &terms).map(|_| terms)).await;
        let terms = terms.map_err(|error| ServiceError::Bug(error.to_string()))?;
        let terms = terms.map_err(|error| ServiceError::wrong_field("body", error.to_string()))?;
        let entry = audit_log::entry(app, moderator, Slot::FIRST, "words", None)?;
        let audit = Some(AuditEntry { before: Some(before), after: Some(after), ..entry });
        let operation = Operation::Dictionary { terms, expected_version: Some(version), audit };
        if !matches!(app.journal.append(operation).await?, OperationOutcome::Conflict) {
            app.reload_dictionary().await.map_err(|error| ServiceError::Bug(error.to_string()))?;
            return Ok(DictionaryVersion { version: version + 1, count });
        }
    }
    Err(ServiceError::VersionConflict("others change the dictionary all the time; try again"))
}

/// Names the first term that cannot be used, in this field.
fn check_terms(terms: &[Term], field: &str) -> ServiceResult<()> {
    match Dictionary::build(0, terms) {
        Ok(_) => Ok(()),
        Err(DictionaryError::Term { index, reason }) => {
            let error = FieldError::new(format!("{field}[{index}]"), reason.to_string());
            Err(ServiceError::WrongFields(vec![error]))
        }
        Err(error) => Err(ServiceError::WrongFields(vec![FieldError::new(field.to_owned(), error.to_string())])),
    }
}

/// Which of the newest comments a term would be found in.
///
/// # Errors
/// [`ServiceError::WrongFields`], or the store's.
pub async fn test(app: &AppState, term: Term) -> ServiceResult<TermMatches> {
    let dictionary = Dictionary::build(0, &[term]);
    let dictionary = Arc::new(dictionary.map_err(|error| match error {
        DictionaryError::Term { reason, .. } => ServiceError::wrong_field("term", reason.to_string()),
        error => ServiceError::wrong_field("term", error.to_string()),
    })?);
    let ids = app.tables.list_latest(None, COMMENTS_TO_TEST).await?;
    let mut matches = TermMatches { data: vec![], count: 0 };
    let mut used = 0;
    for chunk in ids.chunks(COMMENTS_PER_READ) {
        let mut rows = app.store.read_comments(chunk).await?;
        let rows: Vec<CommentRow> =
            chunk.iter().filter_map(|id| rows.remove(id)).filter(CommentRow::is_visible).collect();
        let dictionary = dictionary.clone();
        let found = spawn_blocking(move || {
            let is_found = |text: &str| !matches!(dictionary.check(text), FilterVerdict::Pass);
            let is_match = |row: &CommentRow| is_found(&row.content) || is_found(&readable_text(&row.html));
            rows.into_iter()
                .filter(is_match)
                .map(|row| TermMatch { id: row.id(), content: row.content })
                .collect::<Vec<_>>()
        });
        for found in found.await.map_err(|error| ServiceError::Bug(error.to_string()))? {
            matches.count += 1;
            used += found.content.len();
            if matches.data.len() < MAX_MATCHES_SHOWN && used <= MAX_MATCH_BYTES {
                matches.data.push(found);
            }
        }
    }
    Ok(matches)
}
