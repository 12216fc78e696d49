//! `/v1/counts`: the counts of many subjects.

use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::response::Response;
use gailou_shared::id::SubjectKey;
use gailou_shared::limits;
use gailou_shared::wire::DataEnvelope;

use crate::http::cached_page::{CacheableRead, json_page};
use crate::http::extract::QueryParameters;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::ports::popularity::ReadLists;
use crate::service::subject;
use crate::state::AppState;
use crate::state::page_cache::BuiltPage;

pub(super) async fn get_counts(
    State(app): State<Arc<AppState>>,
    CountedSubjects { keys, page_key }: CountedSubjects,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let build = || async {
        let counts = DataEnvelope { data: subject::count_subjects(&app, &keys).await? };
        let page = json_page(&counts, keys.clone())?;
        Ok(BuiltPage { reads: Some(ReadLists::default()), ..page })
    };
    read.answer(&page_key, build).await
}

/// The subjects of the parameters `subject`, each once, in one order.
#[derive(Debug)]
pub(super) struct CountedSubjects {
    keys: Vec<SubjectKey>,
    page_key: String,
}

impl FromRequestParts<HttpState> for CountedSubjects {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let mut names: Vec<&str> = query.all("subject").collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() || names.len() > limits::MAX_COUNT_SUBJECTS {
            return Err(Refusal::field("subject", "must be given 1 to 100 times"));
        }
        let keys = names.iter().map(|name| subject_named(&state.app, name)).collect::<Result<_, _>>()?;
        // Keys of subjects hold any character; JSON keeps them apart.
        let names = serde_json::Value::from(names);
        Ok(Self { keys, page_key: format!("/v1/counts {names}") })
    }
}

fn subject_named(app: &AppState, name: &str) -> Result<SubjectKey, Refusal> {
    let wrong = || Refusal::field("subject", "must be {type}/{key}");
    let (kind, key) = name.split_once('/').ok_or_else(wrong)?;
    subject::threading_of(app, kind, None)?;
    SubjectKey::new(kind, key).map_err(|error| Refusal::field("subject", error.to_string()))
}
