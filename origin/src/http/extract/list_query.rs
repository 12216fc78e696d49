//! `sort`, `limit`, `cursor` and `view` of a list.

use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use gailou_shared::limits;
use gailou_shared::list_view::ListView;
use gailou_shared::page_key::{page_key, unless_default};
use gailou_shared::rank::Sort;
use gailou_shared::wire::FieldError;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::extract::list_view::view_parameter;
use crate::http::extract::query::QueryParameters;
use crate::http::openapi::parameters;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::page::{PageQuery, is_newest_first};

/// The sorts that a list has.
pub(in crate::http) trait ListSorts {
    const LIST_SORTS: &'static [Sort];
    /// Whether it is an answer in JSON, which has views.
    const HAS_VIEWS: bool = true;
}

/// Sorts of a subject's roots.
#[derive(Debug)]
pub(in crate::http) struct RootSorts;

impl ListSorts for RootSorts {
    const LIST_SORTS: &'static [Sort] = Sort::ALL;
}

/// Sorts of a subject's roots as HTML.
#[derive(Debug)]
pub(in crate::http) struct PrintedRootSorts;

impl ListSorts for PrintedRootSorts {
    const LIST_SORTS: &'static [Sort] = Sort::ALL;
    const HAS_VIEWS: bool = false;
}

/// Sorts of a comment's replies.
#[derive(Debug)]
pub(in crate::http) struct ReplySorts;

impl ListSorts for ReplySorts {
    const LIST_SORTS: &'static [Sort] = &[Sort::Hot, Sort::Old, Sort::New];
}

/// The requested page of a list; wrong parameters are `400`, each by its name.
#[derive(Debug)]
pub(in crate::http) struct ListQuery<S> {
    pub(in crate::http) page: PageQuery,
    pub(in crate::http) view: ListView,
    /// As it was sent.
    cursor: Option<String>,
    sorts: PhantomData<S>,
}

impl<S: ListSorts> FromRequestParts<HttpState> for ListQuery<S> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let limit = query.number("limit", limits::MAX_PAGE_SIZE, limits::DEFAULT_PAGE_SIZE);
        let sort = query.get("sort").map(|name| sort_named(name, S::LIST_SORTS)).transpose();
        let view = if S::HAS_VIEWS { query.view() } else { Ok(ListView::default()) };
        let (limit, sort, view) = match (limit, sort, view) {
            (Ok(limit), Ok(sort), Ok(view)) => (limit, sort, view),
            (limit, sort, view) => {
                let errors = [limit.err(), sort.err(), view.err()];
                return Err(Refusal::fields(errors.into_iter().flatten().collect()));
            }
        };
        let cursor = query.cursor(&state.app)?;
        if let (Some(cursor), Some(sort)) = (&cursor, sort)
            && cursor.sort != sort
            && !(sort == Sort::New && is_newest_first(cursor))
        {
            return Err(Refusal::bad_cursor("belongs to another sort"));
        }
        let sort = cursor.map(|cursor| cursor.sort).or(sort).unwrap_or_default();
        let page = PageQuery { sort, limit, cursor };
        Ok(Self { page, view, cursor: query.get("cursor").map(str::to_owned), sorts: PhantomData })
    }
}

impl<S: ListSorts> IntoParams for ListQuery<S> {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let sorts = parameters::text().enum_values(Some(S::LIST_SORTS.iter().map(|sort| sort.name())));
        let sorts = sorts.default(Some(Sort::default().name().into()));
        let sort = "The order of the list. A cursor has a sort of its own; another one beside it is `bad_cursor`.";
        let mut all = vec![
            parameters::query("sort", sort, sorts).build(),
            parameters::page_size(),
            parameters::cursor("`page.next` of the page before."),
        ];
        all.extend(S::HAS_VIEWS.then(view_parameter));
        all
    }
}

impl<S> ListQuery<S> {
    /// The key of the page in the cache.
    pub(in crate::http) fn page_key(&self, path: &str) -> String {
        page_key(path, &self.key_parameters())
    }

    /// What counts of the query in the key of the page. A cursor knows its sort.
    pub(in crate::http) fn key_parameters(&self) -> [(&'static str, Option<String>); 4] {
        let sort =
            (self.page.sort != Sort::Hot && self.page.cursor.is_none()).then(|| self.page.sort.name().to_owned());
        [
            ("sort", sort),
            ("limit", unless_default(self.page.limit, limits::DEFAULT_PAGE_SIZE)),
            ("cursor", self.cursor.clone()),
            self.view.key_parameter(),
        ]
    }
}

fn sort_named(name: &str, sorts: &[Sort]) -> Result<Sort, FieldError> {
    Sort::parse(name).filter(|sort| sorts.contains(sort)).ok_or_else(|| {
        let names: Vec<_> = sorts.iter().map(|sort| sort.name()).collect();
        FieldError::new("sort", format!("must be one of {}", names.join(", ")))
    })
}
