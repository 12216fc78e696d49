//! `view` of a list.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use gailou_shared::list_view::{ListView, VIEW_PARAMETER};
use gailou_shared::page_key::page_key;
use gailou_shared::wire::FieldError;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::extract::query::QueryParameters;
use crate::http::openapi::parameters;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;

impl QueryParameters {
    /// The parameter `view`.
    pub(in crate::http) fn view(&self) -> Result<ListView, FieldError> {
        let Some(name) = self.get(VIEW_PARAMETER) else { return Ok(ListView::default()) };
        ListView::parse(name).ok_or_else(|| {
            let names: Vec<_> = ListView::ALL.iter().map(|view| view.name()).collect();
            FieldError::new(VIEW_PARAMETER, format!("must be one of {}", names.join(", ")))
        })
    }
}

/// The description of `view`.
pub(in crate::http) fn view_parameter() -> Parameter {
    let description = "`compact` leaves out of each comment `content` and `subject`, `media` and `mentions` where they \
                       are empty, and `path` unless the subject is in mode `building`.";
    let views = parameters::text().enum_values(Some(ListView::ALL.iter().map(|view| view.name())));
    parameters::query(VIEW_PARAMETER, description, views.default(Some(ListView::default().name().into()))).build()
}

/// The view of a list that has no other parameter.
#[derive(Debug)]
pub(in crate::http) struct ViewQuery(pub(in crate::http) ListView);

impl ViewQuery {
    /// The key of the page in the cache.
    pub(in crate::http) fn page_key(&self, path: &str) -> String {
        page_key(path, &[self.0.key_parameter()])
    }
}

impl FromRequestParts<HttpState> for ViewQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        query.view().map(Self).map_err(|error| Refusal::fields(vec![error]))
    }
}

impl IntoParams for ViewQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![view_parameter()]
    }
}
