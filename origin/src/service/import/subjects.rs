//! Titles and addresses of subjects, for those that have none yet.
//!
//! Promise: what a subject has stays, also where it is set while an import runs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use gailou_shared::id::SubjectKey;

use crate::domain::import_line::SubjectDescription;
use crate::domain::operation::{Operation, SubjectPatch};
use crate::ports::journal::JournalError;
use crate::service::import::{FULL_JOURNAL_PAUSE, Result};
use crate::state::AppState;

/// Subjects in one query.
const SUBJECTS_PER_QUERY: usize = 500;
/// Changes of subjects that wait for the journal at a time.
const MAX_PENDING_CHANGES: usize = 100;

/// What the lines of a part say of subjects: of each the first title and the first address.
#[derive(Debug, Default)]
pub(super) struct SubjectDescriptions(HashMap<SubjectKey, SubjectDescription>);

impl SubjectDescriptions {
    pub(super) fn add(&mut self, description: SubjectDescription) {
        match self.0.entry(description.subject.clone()) {
            Entry::Vacant(vacant) => _ = vacant.insert(description),
            Entry::Occupied(mut first) => {
                let first = first.get_mut();
                first.title = first.title.take().or(description.title);
                first.url = first.url.take().or(description.url);
            }
        }
    }
}

/// Gives subjects the titles and addresses that they have not. Returns how many it changed.
pub(super) async fn describe_subjects(app: &AppState, descriptions: SubjectDescriptions) -> Result<u64> {
    let descriptions: Vec<_> = descriptions.0.into_values().collect();
    let mut described = 0;
    for chunk in descriptions.chunks(SUBJECTS_PER_QUERY) {
        let keys: Vec<_> = chunk.iter().map(|description| description.subject.clone()).collect();
        let rows = app.tables.read_subjects(&keys).await?;
        let changes: Vec<_> = chunk
            .iter()
            .zip(rows)
            .filter_map(|(description, row)| {
                let (has_title, has_url) = row.map_or((false, false), |row| (row.title.is_some(), row.url.is_some()));
                let missing = |text: &Option<String>, is_there: bool| text.clone().filter(|_| !is_there).map(Some);
                let (title, url) = (missing(&description.title, has_title), missing(&description.url, has_url));
                let is_change = title.is_some() || url.is_some();
                let patch = SubjectPatch { title, url, fills_gaps: true, ..SubjectPatch::default() };
                is_change.then(|| Operation::Subject { key: description.subject.clone(), patch, audit: None })
            })
            .collect();
        described += changes.len() as u64;
        let appends = stream::iter(changes).map(|change| append(app, change)).buffered(MAX_PENDING_CHANGES);
        appends.try_collect::<()>().await?;
    }
    Ok(described)
}

/// Appends a change, also to a journal that is full for a moment.
async fn append(app: &AppState, change: Operation) -> Result<()> {
    loop {
        match app.journal.append(change.clone()).await {
            Err(JournalError::Full) => tokio::time::sleep(FULL_JOURNAL_PAUSE).await,
            outcome => return Ok(outcome.map(drop)?),
        }
    }
}
