//! `/v1/counts`: the counts of many subjects.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::response::Response;
use gailou_shared::id::SubjectKey;
use gailou_shared::limits;
use gailou_shared::wire::{CountsBySubject, DataEnvelope, SubjectCounts};
use serde_json::json;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn, ParameterStyle};
use utoipa::openapi::{ArrayBuilder, Required};

use crate::http::cached_page::{CacheableRead, json_page};
use crate::http::extract::QueryParameters;
use crate::http::openapi::parameters;
use crate::http::openapi::responses::{NotFound, NotModified, PublicRefusals};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::ports::popularity::ReadLists;
use crate::service::subject;
use crate::state::AppState;
use crate::state::page_cache::BuiltPage;

/// Counts of many subjects.
#[utoipa::path(
    get, path = "/v1/counts", tag = "subjects",
    params(CountedSubjects, CacheableRead),
    responses(
        (
            status = 200, description = "The counts by `type/key`.", body = inline(DataEnvelope<BTreeMap<String, SubjectCounts>>),
            example = json!({"data": {"video/2": {"roots": 1, "comments": 2}}}),
        ),
        PublicRefusals, NotFound, NotModified,
    ),
)]
pub(super) async fn get_counts(
    State(app): State<Arc<AppState>>,
    CountedSubjects { names, keys, page_key }: CountedSubjects,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let build = || async {
        let counts = subject::count_subjects(&app, &keys).await?;
        // By the names that were asked for, which may be those of pages that have moved.
        let named = names.iter().zip(&keys).map(|(name, key)| {
            let counts = counts.get(&key.to_string()).copied().unwrap_or_default();
            (name.clone(), counts)
        });
        let page = json_page(&DataEnvelope { data: named.collect::<CountsBySubject>() }, keys.clone())?;
        Ok(BuiltPage { reads: Some(ReadLists::default()), ..page })
    };
    read.answer(&page_key, build).await
}

/// The subjects of the parameters `subject`, each once, in one order.
#[derive(Debug)]
pub(super) struct CountedSubjects {
    names: Vec<String>,
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
            let detail = format!("must be given 1 to {} times", limits::MAX_COUNT_SUBJECTS);
            return Err(Refusal::field("subject", detail));
        }
        let keys = names.iter().map(|name| subject_named(&state.app, name)).collect::<Result<_, _>>()?;
        // Keys of subjects hold any character; JSON keeps them apart.
        let page_key = format!("/v1/counts {}", json!(names));
        Ok(Self { names: names.into_iter().map(str::to_owned).collect(), keys, page_key })
    }
}

impl IntoParams for CountedSubjects {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let name = parameters::text().pattern(Some("^[a-z0-9_-]{1,32}/.+$"));
        let names = ArrayBuilder::new().items(name).min_items(Some(1)).max_items(Some(limits::MAX_COUNT_SUBJECTS));
        let subject = parameters::query("subject", "`type/key`, once for each subject.", names);
        let subject = subject.required(Required::True).style(Some(ParameterStyle::Form)).explode(Some(true));
        vec![subject.example(Some(json!(["video/2"]))).build()]
    }
}

/// The subject that a parameter names as `type/key`.
pub(super) fn subject_named(app: &AppState, name: &str) -> Result<SubjectKey, Refusal> {
    let wrong = || Refusal::field("subject", "must be {type}/{key}");
    let (kind, key) = name.split_once('/').ok_or_else(wrong)?;
    subject::threading_of(app, kind, None)?;
    let subject = SubjectKey::new(kind, key).map_err(|error| Refusal::field("subject", error.to_string()))?;
    Ok(app.settings().moved_pages.resolve(subject))
}
