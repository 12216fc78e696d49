//! The search index in OpenSearch, which the processes of a cluster share.
//!
//! Two aliases name the indexes: `{name}-search` the one that answers, `{name}-search-next` the one that is being
//! built. Texts are analysed before they come here, so both kinds of indexes find the same. A document has the version
//! of its comment, which the engine compares. Nothing is retried in here, a call takes no longer than
//! `SEARCH_TIMEOUT` or `INDEXING_TIMEOUT`, and none is made while the server does not answer.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use axum::http::{HeaderValue, Method, Request, StatusCode, header};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use gailou_shared::id::CommentId;
use http_body_util::{BodyExt as _, Full, Limited};
use serde_json::{Value, json};

use crate::adapters::https_client::{HttpsClient, https_client};
use crate::circuit_breaker::CircuitBreaker;
use crate::config::Password;
use crate::domain::search_index::{IndexStatus, SearchDocument, SearchFilter, state_name};
use crate::domain::search_text::SearchCondition;
use crate::ports::failure::Failure;
use crate::ports::search_index::{SearchError, SearchIndex, SearchResult};
use crate::telemetry::measure_bounded;

/// How long a search may take.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a call that writes may take.
const INDEXING_TIMEOUT: Duration = Duration::from_secs(30);
/// Largest answer that is read: that to 200 documents has about 60 kB.
const MAX_SEARCH_ANSWER_BYTES: usize = 4 << 20;

/// The indexes of an installation on a server.
#[derive(Debug)]
pub struct OpenSearchIndex {
    client: HttpsClient,
    url: String,
    name: String,
    authorization: Option<HeaderValue>,
    breaker: CircuitBreaker,
}

/// What the server answered.
struct EngineAnswer {
    status: StatusCode,
    body: Value,
}

impl EngineAnswer {
    /// The answer, where it is one of success.
    fn expect_success(self) -> SearchResult<Value> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        let reason = self.body["error"]["reason"].as_str().unwrap_or("it gave no reason");
        Err(unavailable(format!("OpenSearch answered {}: {reason}", self.status.as_u16())))
    }
}

fn unavailable(text: impl AsRef<str>) -> SearchError {
    SearchError::Unavailable(text.into())
}

impl OpenSearchIndex {
    /// The server at `url` (without a slash at its end), whose indexes have names that begin with `name`.
    pub fn new(url: &str, name: &str, account: Option<(String, Password)>) -> Self {
        let authorization = account.and_then(|(username, password)| {
            let credentials = BASE64_STANDARD.encode(format!("{username}:{}", password.expose()));
            let mut value = HeaderValue::try_from(format!("Basic {credentials}")).ok()?;
            value.set_sensitive(true);
            Some(value)
        });
        Self {
            client: https_client(),
            url: url.to_owned(),
            name: name.to_owned(),
            authorization,
            breaker: CircuitBreaker::new("opensearch", url),
        }
    }

    fn answering_alias(&self) -> String {
        format!("{}-search", self.name)
    }

    fn building_alias(&self) -> String {
        format!("{}-search-next", self.name)
    }

    /// The name of the index with this id.
    fn index_name(&self, id: &str) -> String {
        format!("{}-comments-{id}", self.name)
    }

    fn id_of<'n>(&self, index: &'n str) -> Option<&'n str> {
        index.strip_prefix(&self.name)?.strip_prefix("-comments-")
    }

    async fn send(
        &self,
        operation: &'static str,
        method: Method,
        path: &str,
        body: Vec<u8>,
        max_wait: Duration,
    ) -> SearchResult<EngineAnswer> {
        let lines = path.starts_with("/_bulk");
        let kind = if lines { "application/x-ndjson" } else { "application/json" };
        let mut request =
            Request::builder().method(method).uri(format!("{}{path}", self.url)).header(header::CONTENT_TYPE, kind);
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let request = request.body(Full::from(body)).map_err(|error| unavailable(error.to_string()))?;
        if !self.breaker.try_call(Instant::now()) {
            return Err(unavailable("OpenSearch did not answer a moment ago"));
        }
        let call = async {
            let failed = |error| SearchError::Unavailable(Failure::with_causes(error));
            let (head, answer) = self.client.request(request).await.map_err(failed)?.into_parts();
            let answer = Limited::new(answer, MAX_SEARCH_ANSWER_BYTES).collect().await;
            let answer = answer.map_err(|error| unavailable(error.to_string()))?.to_bytes();
            Ok(EngineAnswer { status: head.status, body: serde_json::from_slice(&answer).unwrap_or(Value::Null) })
        };
        let answered = measure_bounded("opensearch", operation, max_wait, call).await;
        let answered = answered.map_err(|_| unavailable("OpenSearch gave no answer in time")).flatten();
        match &answered {
            Ok(answer) if !answer.status.is_server_error() => self.breaker.record_success(),
            _ => self.breaker.record_failure(Instant::now()),
        }
        answered
    }

    async fn call(
        &self,
        operation: &'static str,
        method: Method,
        path: &str,
        body: &Value,
    ) -> SearchResult<EngineAnswer> {
        let body = if body.is_null() { vec![] } else { body.to_string().into_bytes() };
        self.send(operation, method, path, body, INDEXING_TIMEOUT).await
    }

    /// The index that an alias names.
    fn named_by(&self, aliases: &Value, alias: &str) -> Option<String> {
        let indexes = aliases.as_object()?;
        let named = indexes.iter().find(|(_, of)| of["aliases"].get(alias).is_some());
        named.and_then(|(index, _)| self.id_of(index)).map(str::to_owned)
    }

    /// The fields of a document, by the names of [`OpenSearchIndex::source`].
    fn mapping() -> Value {
        let text =
            |positions| json!({"type": "text", "analyzer": "whitespace", "norms": false, "index_options": positions});
        json!({
            "settings": {"index": {"number_of_shards": 1, "refresh_interval": "1s", "sort.field": "id", "sort.order": "desc"}},
            "mappings": {"dynamic": false, "_source": {"enabled": false}, "properties": {
                "id": {"type": "long"},
                "subject": {"type": "keyword"},
                "author": {"type": "long"},
                "state": {"type": "keyword"},
                "visible": {"type": "boolean"},
                "created_at": {"type": "long"},
                "grams": text("positions"),
                "chars": text("docs"),
            }},
        })
    }

    fn source(of: &SearchDocument) -> Value {
        json!({
            "id": of.id.get(),
            "subject": of.subject.to_string(),
            "author": of.author.get(),
            "state": state_name(of.state),
            "visible": of.is_visible,
            "created_at": of.created_at,
            "grams": of.text.grams,
            "chars": of.text.chars,
        })
    }

    fn query(filter: &SearchFilter) -> Value {
        let mut all: Vec<Value> = Vec::new();
        let mut term = |name: &str, value: Option<Value>| all.extend(value.map(|value| json!({"term": {name: value}})));
        term("subject", filter.subject.as_ref().map(|subject| subject.to_string().into()));
        term("author", filter.author.map(|author| author.get().into()));
        term("state", filter.state.map(|state| state_name(state).into()));
        term("visible", filter.visible_only.then_some(true.into()));
        if filter.from.is_some() || filter.to.is_some() {
            // Beyond what a long can be is beyond every comment.
            let bound = |time: Option<u64>| time.map(|time| time.min(i64::MAX as u64));
            all.push(json!({"range": {"created_at": {"gte": bound(filter.from), "lt": bound(filter.to)}}}));
        }
        all.extend(filter.below.map(|id| json!({"range": {"id": {"lt": id.get()}}})));
        all.extend(filter.conditions.iter().map(|condition| match condition {
            SearchCondition::Char(c) => json!({"term": {"chars": c.to_string()}}),
            // Its words are separated as those of the field.
            SearchCondition::Grams(grams) => json!({"match_phrase": {"grams": grams.join(" ")}}),
        }));
        json!({"bool": {"filter": all}})
    }
}

#[async_trait]
impl SearchIndex for OpenSearchIndex {
    async fn search(&self, filter: &SearchFilter, count: usize) -> SearchResult<Vec<CommentId>> {
        let request = json!({
            "query": Self::query(filter),
            "size": count,
            "sort": [{"id": "desc"}],
            "track_total_hits": false,
        });
        let path = format!("/{}/_search", self.answering_alias());
        let body = request.to_string().into_bytes();
        let answer = self.send("search", Method::POST, &path, body, SEARCH_TIMEOUT).await?;
        if answer.status == StatusCode::NOT_FOUND {
            return Err(SearchError::NotBuilt);
        }
        let found = answer.expect_success()?;
        let hits = found["hits"]["hits"].as_array().ok_or_else(|| unavailable("OpenSearch answered without hits"))?;
        let id = |hit: &Value| hit["_id"].as_str().and_then(|id| id.parse().ok());
        hits.iter()
            .map(|hit| id(hit).ok_or_else(|| unavailable("OpenSearch answered with an id of no comment")))
            .collect()
    }

    async fn status(&self) -> SearchResult<IndexStatus> {
        let (answering, building) = (self.answering_alias(), self.building_alias());
        let answer = self.call("status", Method::GET, &format!("/_alias/{answering},{building}"), &Value::Null).await?;
        // Where one of the aliases is missing, the answer is 404 with the other one.
        let aliases = if answer.status == StatusCode::NOT_FOUND { answer.body } else { answer.expect_success()? };
        Ok(IndexStatus { answering: self.named_by(&aliases, &answering), building: self.named_by(&aliases, &building) })
    }

    async fn put(&self, documents: &[SearchDocument]) -> SearchResult<()> {
        let status = self.status().await?;
        let mut lines = String::new();
        for alias in [status.answering.map(|_| self.answering_alias()), status.building.map(|_| self.building_alias())]
        {
            let Some(alias) = alias else { continue };
            for document in documents {
                let action = json!({"index": {
                    "_index": alias, "_id": document.id.to_string(), "require_alias": true,
                    // The engine takes versions from 0 on, and refuses smaller ones.
                    "version": document.version, "version_type": "external_gte",
                }});
                lines.push_str(&format!("{action}\n{}\n", Self::source(document)));
            }
        }
        if lines.is_empty() {
            return Ok(());
        }
        let answer = self.send("put", Method::POST, "/_bulk", lines.into_bytes(), INDEXING_TIMEOUT).await?;
        let body = answer.expect_success()?;
        let items = body["items"].as_array().into_iter().flatten();
        // A document of a larger version stays.
        let failed = items
            .map(|item| &item["index"])
            .find(|item| !matches!(item["status"].as_u64(), Some(200..=299)) && item["status"].as_u64() != Some(409));
        match failed {
            None => Ok(()),
            Some(item) => {
                let reason = item["error"]["reason"].as_str().unwrap_or("it gave no reason");
                Err(unavailable(format!("OpenSearch refused a document: {reason}")))
            }
        }
    }

    async fn commit(&self) -> SearchResult<()> {
        // The engine's log was synced before it answered, and it refreshes its indexes every second.
        Ok(())
    }

    async fn begin_build(&self, id: &str) -> SearchResult<()> {
        let alias = self.building_alias();
        if let Some(unfinished) = self.status().await?.building {
            let path = format!("/{}", self.index_name(&unfinished));
            self.call("drop", Method::DELETE, &path, &Value::Null).await?.expect_success()?;
        }
        let mut index = Self::mapping();
        index["aliases"] = json!({alias: {}});
        let path = format!("/{}", self.index_name(id));
        self.call("create", Method::PUT, &path, &index).await?.expect_success()?;
        Ok(())
    }

    async fn finish_build(&self) -> SearchResult<()> {
        let status = self.status().await?;
        let Some(built) = status.building else { return Ok(()) };
        let built = self.index_name(&built);
        self.call("refresh", Method::POST, &format!("/{built}/_refresh"), &Value::Null).await?.expect_success()?;
        let mut actions = vec![
            json!({"add": {"index": built, "alias": self.answering_alias()}}),
            json!({"remove": {"index": built, "alias": self.building_alias()}}),
        ];
        // All at once: there is always one that answers.
        actions.extend(status.answering.map(|former| json!({"remove_index": {"index": self.index_name(&former)}})));
        let actions = json!({"actions": actions});
        self.call("swap", Method::POST, "/_aliases", &actions).await?.expect_success()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::contract::search_index as contract;

    /// On the real server that `GAILOU_TEST_OPENSEARCH` names, which CI has.
    #[tokio::test]
    async fn index_keeps_its_promises() {
        let Ok(url) = std::env::var("GAILOU_TEST_OPENSEARCH") else {
            assert!(std::env::var_os("CI").is_none(), "GAILOU_TEST_OPENSEARCH names no server");
            eprintln!("SKIPPED: GAILOU_TEST_OPENSEARCH names no server");
            return;
        };
        let name = format!("test-{:08x}", rand::random::<u32>());
        let index = OpenSearchIndex::new(&url, &name, None);
        contract::check(&index).await;
        let answering = index.status().await.unwrap().answering.unwrap();
        let path = format!("/{}", index.index_name(&answering));
        index.call("drop", Method::DELETE, &path, &Value::Null).await.unwrap().expect_success().unwrap();
        assert!(matches!(index.search(&SearchFilter::default(), 1).await, Err(SearchError::NotBuilt)));
    }

    #[tokio::test]
    async fn server_that_is_away_is_unavailable() {
        let index = OpenSearchIndex::new("http://127.0.0.1:1", "gailou", None);
        assert!(matches!(index.search(&SearchFilter::default(), 1).await, Err(SearchError::Unavailable(_))));
        assert!(matches!(index.status().await, Err(SearchError::Unavailable(_))));
    }

    #[test]
    fn password_is_sent_and_not_shown() {
        let account = Some(("gailou".to_owned(), Password::new("not-a-secret").unwrap()));
        let index = OpenSearchIndex::new("https://127.0.0.1:9200", "gailou", account);
        assert_eq!(index.authorization.as_ref().unwrap(), "Basic Z2FpbG91Om5vdC1hLXNlY3JldA==");
        assert!(!format!("{index:?}").contains("Z2Fp"));
    }
}
