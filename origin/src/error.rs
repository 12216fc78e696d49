//! What a request is refused with. Turned into `application/problem+json` by [`crate::http`],
//! which knows the request's id and is the one place that logs a 5xx.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use gailou_shared::wire::{Code, FieldError};

use crate::ports::journal::JournalError;
use crate::ports::store::StoreError;

/// A refusal.
#[derive(Debug, Clone)]
pub struct ApiError {
    pub code: Code,
    /// For the reader; says nothing about the inside.
    pub detail: String,
    pub errors: Vec<FieldError>,
    pub retry_after: Option<Duration>,
    /// `RateLimit-Policy` and `RateLimit`.
    pub rate_limit: Option<Box<(String, String)>>,
    /// For the log.
    pub cause: Option<String>,
}

impl ApiError {
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), errors: vec![], retry_after: None, rate_limit: None, cause: None }
    }

    /// `invalid_request` that names each wrong field.
    pub fn fields(errors: Vec<FieldError>) -> Self {
        let names: Vec<_> = errors.iter().map(|e| e.field.as_ref()).collect();
        let detail = format!("wrong: {}", names.join(", "));
        Self { errors, ..Self::new(Code::InvalidRequest, detail) }
    }

    /// `invalid_request` for one field.
    pub fn field(
        field: impl Into<std::borrow::Cow<'static, str>>,
        detail: impl Into<std::borrow::Cow<'static, str>>,
    ) -> Self {
        Self::fields(vec![FieldError::new(field, detail)])
    }

    pub fn comment_not_found() -> Self {
        Self::new(Code::CommentNotFound, "there is no such comment")
    }

    /// A bug or a broken machine: logged, never explained.
    pub fn internal(cause: impl std::fmt::Display) -> Self {
        Self { cause: Some(cause.to_string()), ..Self::new(Code::Internal, "something went wrong here") }
    }

    pub fn rate_limited(name: &str, count: u32, window: Duration, wait: Duration) -> Self {
        let seconds = wait.as_secs() + 1;
        Self {
            retry_after: Some(Duration::from_secs(seconds)),
            rate_limit: Some(Box::new((
                format!("\"{name}\";q={count};w={}", window.as_secs()),
                format!("\"{name}\";r=0;t={seconds}"),
            ))),
            ..Self::new(Code::RateLimited, format!("too many requests; try again in {seconds} s"))
        }
    }

    /// This process holds no node number, so it can make no ids.
    pub fn no_node() -> Self {
        Self {
            cause: Some("no lease of a node number".into()),
            retry_after: Some(Duration::from_secs(1)),
            ..Self::new(Code::Unavailable, "new comments cannot be taken for the moment; nothing was written")
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let wait = Some(Duration::from_secs(1));
        match error {
            StoreError::Damaged(_) => Self::internal(error),
            StoreError::Database(_) | StoreError::Unavailable(_) | StoreError::Moved => Self {
                cause: Some(error.to_string()),
                retry_after: wait,
                ..Self::new(Code::Unavailable, "the database does not answer")
            },
        }
    }
}

impl From<JournalError> for ApiError {
    fn from(error: JournalError) -> Self {
        let wait = Some(Duration::from_secs(1));
        let cause = Some(error.to_string());
        match error {
            JournalError::Full => Self {
                cause,
                retry_after: wait,
                ..Self::new(Code::Overloaded, "too many writes at once; nothing was written")
            },
            JournalError::Closed => Self {
                cause,
                retry_after: wait,
                ..Self::new(
                    Code::Unavailable,
                    "the server is stopping; the outcome is unknown, send it again with the same key",
                )
            },
            JournalError::Unknown(_) => Self {
                cause,
                retry_after: wait,
                ..Self::new(Code::Unavailable, "the outcome is unknown, send it again with the same key")
            },
            JournalError::Store(error) => error.into(),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.code.parts().1).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}
