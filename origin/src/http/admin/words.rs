//! `/v1/admin/words`: the dictionary of the word filter.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use gailou_shared::content::parse_object;
use gailou_shared::cursor::Cursor;
use gailou_shared::wire::{DictionaryPage, DictionaryVersion, FieldError, TermMatches};
use gailou_shared::word_filter::{Term, TermAction};
use serde_json::{Map, Value};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::admin::{PrivateAnswer, private};
use crate::http::extract::{AfterBody, IfMatch, JsonBody, Moderator, ModeratorRead, QueryParameters};
use crate::http::openapi::bodies::{TermTest, TermsChange, TermsReplacement};
use crate::http::openapi::parameters;
use crate::http::openapi::responses::{BodyRefusals, Conflict, Gone, MemberRefusals};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::dictionary;
use crate::state::AppState;

/// The terms of the word filter.
///
/// Only moderators may. A cursor is `410` after the dictionary has changed.
#[utoipa::path(
    get, path = "/v1/admin/words", tag = "admin",
    params(WordsQuery),
    responses((status = 200, description = "A page of the terms.", body = DictionaryPage), MemberRefusals, Gone),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn list_words(
    State(app): State<Arc<AppState>>,
    _: ModeratorRead,
    WordsQuery(cursor): WordsQuery,
) -> PrivateAnswer<DictionaryPage> {
    let _place = app.reads.admit().await?;
    private(dictionary::list(&app, cursor).await?)
}

/// Replace the terms of the word filter.
///
/// Only moderators may. Larger dictionaries than a body holds are loaded by `gailou words load`.
#[utoipa::path(
    put, path = "/v1/admin/words", tag = "admin",
    params(IfMatch),
    request_body(content = TermsReplacement, examples(
        ("one" = (value = json!({"data": [{"term": "casino", "category": "ad", "action": "review"}]}))),
    )),
    responses(
        (status = 200, description = "The dictionary after the call.", body = DictionaryVersion),
        MemberRefusals, Conflict, BodyRefusals,
    ),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn put_words(
    State(app): State<Arc<AppState>>,
    Moderator(moderator): Moderator,
    expected: AfterBody<IfMatch>,
    JsonBody(body): JsonBody,
) -> Result<Json<DictionaryVersion>, Refusal> {
    let IfMatch(expected) = expected?;
    let (fields, mut errors) = (parse_object(&body).map_err(Refusal::fields)?, Vec::new());
    let terms = terms(&fields, "data", &mut errors);
    match terms {
        Some(terms) if errors.is_empty() => Ok(Json(dictionary::replace(&app, &moderator, terms, expected).await?)),
        Some(_) => Err(Refusal::fields(errors)),
        None => Err(Refusal::field("data", "must be a list of terms")),
    }
}

/// Add terms to the word filter, and remove terms.
///
/// Only moderators may. A term that is there gets its new category and action.
#[utoipa::path(
    patch, path = "/v1/admin/words", tag = "admin",
    params(IfMatch),
    request_body(content = TermsChange, examples(
        ("add" = (value = json!({"add": [{"term": "casino", "category": "ad", "action": "review"}], "remove": ["lotto"]}))),
    )),
    responses(
        (status = 200, description = "The dictionary after the call.", body = DictionaryVersion),
        MemberRefusals, Conflict, BodyRefusals,
    ),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn patch_words(
    State(app): State<Arc<AppState>>,
    Moderator(moderator): Moderator,
    expected: AfterBody<IfMatch>,
    JsonBody(body): JsonBody,
) -> Result<Json<DictionaryVersion>, Refusal> {
    let IfMatch(expected) = expected?;
    let (fields, mut errors) = (parse_object(&body).map_err(Refusal::fields)?, Vec::new());
    let add = terms(&fields, "add", &mut errors).unwrap_or_default();
    let remove = removed(&fields, &mut errors);
    if !errors.is_empty() {
        return Err(Refusal::fields(errors));
    }
    Ok(Json(dictionary::change(&app, &moderator, add, remove, expected).await?))
}

/// Try a term.
///
/// Only moderators may. Answers which of the newest 1,000 visible comments it would be found in.
#[utoipa::path(
    post, path = "/v1/admin/words/test", tag = "admin",
    request_body(content = TermTest, examples(("term" = (value = json!({"term": "casino"}))))),
    responses(
        (status = 200, description = "The comments.", body = TermMatches),
        MemberRefusals, BodyRefusals,
    ),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn test_word(
    State(app): State<Arc<AppState>>,
    Moderator(_): Moderator,
    JsonBody(body): JsonBody,
) -> PrivateAnswer<TermMatches> {
    let fields = parse_object(&body).map_err(Refusal::fields)?;
    let Some(term) = fields.get("term").and_then(Value::as_str) else {
        return Err(Refusal::field("term", "must be text"));
    };
    let _place = app.reads.admit().await?;
    let term = Term { term: term.to_owned(), category: "test".into(), action: TermAction::Review };
    private(dictionary::test(&app, term).await?)
}

/// The terms in this field; `None` where it is absent. Each part that is wrong is an error.
fn terms(fields: &Map<String, Value>, field: &str, errors: &mut Vec<FieldError>) -> Option<Vec<Term>> {
    let Some(list) = fields.get(field)?.as_array() else {
        errors.push(FieldError::new(field.to_owned(), "must be a list of terms"));
        return Some(vec![]);
    };
    let mut terms = Vec::with_capacity(list.len());
    for (index, value) in list.iter().enumerate() {
        let mut text = |name: &str| {
            let text = value.get(name).and_then(Value::as_str);
            if text.is_none() {
                errors.push(FieldError::new(format!("{field}[{index}].{name}"), "must be text"));
            }
            text
        };
        let (term, category) = (text("term"), text("category"));
        let action = value.get("action").and_then(|action| serde_json::from_value::<TermAction>(action.clone()).ok());
        if action.is_none() {
            errors.push(FieldError::new(format!("{field}[{index}].action"), "must be one of mask, review, block"));
        }
        if let (Some(term), Some(category), Some(action)) = (term, category, action) {
            terms.push(Term { term: term.to_owned(), category: category.to_owned(), action });
        }
    }
    Some(terms)
}

/// The texts of the terms to remove.
fn removed(fields: &Map<String, Value>, errors: &mut Vec<FieldError>) -> Vec<String> {
    let Some(value) = fields.get("remove") else { return vec![] };
    let texts = value.as_array().and_then(|list| list.iter().map(|text| text.as_str().map(str::to_owned)).collect());
    texts.unwrap_or_else(|| {
        errors.push(FieldError::new("remove", "must be a list of texts"));
        vec![]
    })
}

/// The cursor of a page of the terms.
#[derive(Debug)]
pub(in crate::http) struct WordsQuery(Option<Cursor>);

impl FromRequestParts<HttpState> for WordsQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        Ok(Self(query.cursor(&state.app)?))
    }
}

impl IntoParams for WordsQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![parameters::cursor("`page.next` of the page before.")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wrong_part_of_a_term_is_named() {
        let body = r#"{"add": [{"term": "a", "category": "ad", "action": "mask"}, {"term": 5, "action": "burn"}, 7],
            "remove": ["a", 7]}"#;
        let (fields, mut errors) = (parse_object(body.as_bytes()).unwrap(), Vec::new());
        assert_eq!(terms(&fields, "add", &mut errors).unwrap().len(), 1);
        assert!(removed(&fields, &mut errors).is_empty());
        let names: Vec<_> = errors.iter().map(|error| &*error.field).collect();
        let of_third = ["add[2].term", "add[2].category", "add[2].action"];
        assert_eq!(names, [&["add[1].term", "add[1].category", "add[1].action"][..], &of_third, &["remove"]].concat());
        assert!(terms(&fields, "data", &mut errors).is_none());
    }
}
