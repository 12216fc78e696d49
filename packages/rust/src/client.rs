//! The client of one server: lists, and posts.

use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::wire::Comment;
use reqwest::redirect;
use secrecy::SecretString;

use crate::client_error::ClientError;
use crate::comment_walk::{CommentWalk, ListOptions, ListSource};
use crate::new_post::NewPost;
use crate::retry_policy::RetryPolicy;
use crate::server_connection::{ServerConnection, parse_base_url};

/// A client of one server. A clone shares its connections.
#[derive(Debug, Clone)]
pub struct Client {
    connection: ServerConnection,
}

impl Client {
    /// A client of the server at this address, `https://comments.example`. It has no token, so it only reads. It follows no
    /// redirect, so that a token goes to this server alone.
    ///
    /// # Errors
    /// [`ClientError::Address`] for what is no address of a server, and for HTTPS without the feature `tls`;
    /// [`ClientError::NoAnswer`] where the system has no certificates.
    pub fn new(base_url: &str) -> Result<Self, ClientError> {
        if parse_base_url(base_url)?.scheme() == "https" && !cfg!(feature = "tls") {
            return Err(ClientError::Address("https needs the feature `tls` of gailou-client"));
        }
        Self::with_http(base_url, new_http()?)
    }

    /// The same with a client of `reqwest` that the program has: its proxies, its certificates, its limits.
    ///
    /// # Errors
    /// [`ClientError::Address`] for what is no address of a server.
    pub fn with_http(base_url: &str, http: reqwest::Client) -> Result<Self, ClientError> {
        let (base_url, retry_policy) = (parse_base_url(base_url)?, RetryPolicy::default());
        Ok(Self { connection: ServerConnection { base_url, token: None, http, retry_policy } })
    }

    /// The same client with the token of a member or a guest.
    #[must_use]
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.connection.token = Some(SecretString::from(token.into()));
        self
    }

    /// The same client, which repeats by this policy.
    #[must_use]
    pub fn with_retry_policy(mut self, retry_policy: RetryPolicy) -> Self {
        self.connection.retry_policy = retry_policy;
        self
    }

    /// The roots of a subject, to the end of the list, each once. Nothing is sent before the first is asked for.
    #[must_use]
    pub fn comments(&self, subject: &SubjectKey, options: ListOptions) -> CommentWalk {
        CommentWalk::new(self.connection.clone(), ListSource::Roots(subject.clone()), options)
    }

    /// Everything below a comment, as a flat list, to its end, each once. It can be sorted by `hot`, `old` and `new`.
    #[must_use]
    pub fn replies(&self, id: CommentId, options: ListOptions) -> CommentWalk {
        CommentWalk::new(self.connection.clone(), ListSource::Replies(id), options)
    }

    /// Posts a comment and returns it; its `state` is `review` when it is held. It is sent again, by the client's
    /// [`RetryPolicy`] and with the same key, where the connection breaks or the server has no time (429, 502, 503, 504):
    /// however often it is sent, it is one comment.
    ///
    /// # Errors
    /// [`ClientError::Refused`] when the server refuses, or has not had time after the last attempt. Whether the comment was
    /// posted is not known after [`ClientError::NoAnswer`] and a 5xx: [`Client::post_with_key`] can be called again.
    pub async fn post(&self, subject: &SubjectKey, post: &NewPost) -> Result<Comment, ClientError> {
        self.post_with_key(subject, post, &format!("{:032x}", rand::random::<u128>())).await
    }

    /// The same with an idempotency key of the caller, 1 to 128 visible ASCII characters: calls of one member with the same
    /// key and the same comment are one comment for 24 hours.
    ///
    /// # Errors
    /// As [`Client::post`].
    pub async fn post_with_key(
        &self,
        subject: &SubjectKey,
        post: &NewPost,
        idempotency_key: &str,
    ) -> Result<Comment, ClientError> {
        let url = self.connection.comments_url(subject)?;
        let json = serde_json::to_vec(post).map_err(ClientError::Shape)?;
        self.connection.post(&url, idempotency_key, json).await
    }
}

pub(crate) fn new_http() -> Result<reqwest::Client, ClientError> {
    #[cfg(feature = "tls")]
    choose_cryptography();
    Ok(reqwest::Client::builder().redirect(redirect::Policy::none()).build()?)
}

/// Where the process has chosen none, it is that of ring, as `rustls` chooses by itself where one alone is compiled in.
#[cfg(feature = "tls")]
fn choose_cryptography() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // An error says that another thread was first.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_of_no_server_is_refused() {
        for address in ["", "a.example", "ftp://a.example", "http://", "mailto:a@a.example", "http://a.example?b"] {
            assert!(matches!(Client::new(address), Err(ClientError::Address(_))), "{address}");
        }
        assert_eq!(Client::new("https://a.example").is_ok(), cfg!(feature = "tls"));
        assert!(Client::new("http://a.example").is_ok());
    }
}
