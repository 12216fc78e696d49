//! The addresses of one server, and requests to it that are repeated.

use gailou_shared::id::{CommentId, SubjectKey};
use reqwest::header::{CACHE_CONTROL, CONTENT_TYPE};
use reqwest::{Method, RequestBuilder, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;

use crate::client_error::ClientError;
use crate::retry_policy::RetryPolicy;
use crate::send::send_once;

const NO_SERVER: &str = "must begin with http:// or https:// and name a server";

/// Where the server is, who asks, and how often.
#[derive(Debug, Clone)]
pub(crate) struct ServerConnection {
    pub(crate) base_url: Url,
    pub(crate) token: Option<SecretString>,
    pub(crate) http: reqwest::Client,
    pub(crate) retry_policy: RetryPolicy,
}

impl ServerConnection {
    /// The address of the roots of this subject.
    pub(crate) fn comments_url(&self, subject: &SubjectKey) -> Result<Url, ClientError> {
        // No URL has them as a segment: `/a/%2E%2E/b` is `/b`.
        if matches!(subject.key(), "." | "..") {
            return Err(ClientError::Address("no path leads to a subject with the key `.` or `..`"));
        }
        self.url(&["v1", "subjects", subject.kind(), subject.key(), "comments"])
    }

    /// The address of what is below this comment.
    pub(crate) fn replies_url(&self, id: CommentId) -> Result<Url, ClientError> {
        self.url(&["v1", "comments", &id.to_string(), "replies"])
    }

    /// Reads what is at this address.
    pub(crate) async fn get<T: DeserializeOwned>(&self, url: &Url, is_past_caches: bool) -> Result<T, ClientError> {
        let attempt = || {
            let request = self.request(Method::GET, url);
            send_once(if is_past_caches { request.header(CACHE_CONTROL, "no-cache") } else { request })
        };
        self.retry_policy.run(attempt).await
    }

    /// Posts this JSON; all attempts have the same key.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        url: &Url,
        key: &str,
        json: Vec<u8>,
    ) -> Result<T, ClientError> {
        let attempt = || {
            let request = self.request(Method::POST, url).header("Idempotency-Key", key);
            send_once(request.header(CONTENT_TYPE, "application/json").body(json.clone()))
        };
        self.retry_policy.run(attempt).await
    }

    fn request(&self, method: Method, url: &Url) -> RequestBuilder {
        let request = self.http.request(method, url.clone()).timeout(self.retry_policy.attempt_timeout);
        match &self.token {
            Some(token) => request.bearer_auth(token.expose_secret()),
            None => request,
        }
    }

    /// The address of these segments, which are encoded, below the base.
    fn url(&self, segments: &[&str]) -> Result<Url, ClientError> {
        let mut url = self.base_url.clone();
        url.path_segments_mut().map_err(|()| ClientError::Address(NO_SERVER))?.pop_if_empty().extend(segments);
        Ok(url)
    }
}

/// The address of a server, with or without a path.
pub(crate) fn parse_base_url(text: &str) -> Result<Url, ClientError> {
    let url = Url::parse(text).map_err(|_| ClientError::Address(NO_SERVER))?;
    let is_server = matches!(url.scheme(), "http" | "https") && url.query().is_none() && url.fragment().is_none();
    if is_server { Ok(url) } else { Err(ClientError::Address(NO_SERVER)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(base_url: &str) -> ServerConnection {
        ServerConnection {
            base_url: parse_base_url(base_url).unwrap(),
            token: Some("very-secret".into()),
            // That of the feature `tls` needs a choice of cryptography first.
            http: crate::client::new_http().unwrap(),
            retry_policy: RetryPolicy::default(),
        }
    }

    #[test]
    fn segments_are_encoded_below_the_base() {
        let check = |base_url: &str, key: &str, expected: &str| {
            let subject = SubjectKey::new("article", key).unwrap();
            assert_eq!(connection(base_url).comments_url(&subject).unwrap().as_str(), expected);
        };
        check("http://a.example", "hello", "http://a.example/v1/subjects/article/hello/comments");
        check("http://a.example/base/", "a/b ?%", "http://a.example/base/v1/subjects/article/a%2Fb%20%3F%25/comments");
        check("http://a.example/base", "…", "http://a.example/base/v1/subjects/article/%E2%80%A6/comments");
        let url = connection("http://a.example").replies_url("12".parse().unwrap()).unwrap();
        assert_eq!(url.as_str(), "http://a.example/v1/comments/12/replies");
    }

    #[test]
    fn key_that_no_url_can_hold_is_refused() {
        for key in [".", ".."] {
            let subject = SubjectKey::new("article", key).unwrap();
            let refused = connection("http://a.example").comments_url(&subject);
            assert!(matches!(refused, Err(ClientError::Address(_))), "{key}");
        }
    }

    #[test]
    fn token_is_not_printed() {
        let printed = format!("{:?}", connection("http://a.example"));
        assert!(!printed.contains("very-secret"), "{printed}");
    }
}
