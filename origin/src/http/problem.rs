//! Refusals, and how they are sent: `application/problem+json` (RFC 9457).
//!
//! The one place that gives a [`ServiceError`] its code and status, and the one that logs a 5xx.
//! What a 5xx was caused by is for the log: the sender reads a sentence that names nothing inside.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::MatchedPath;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use gailou_shared::refusal_page::{CONTENT_SECURITY_POLICY as DOCUMENT_POLICY, DocumentRead};
use gailou_shared::wire::{Challenge, Code, FieldError, Problem};

use crate::domain::picture::PictureError;
use crate::http::dialect::Dialect;
use crate::ports::journal::JournalError;
use crate::ports::rate_limits::{RateLimited, RatePolicy};
use crate::ports::search_index::SearchError;
use crate::ports::store::StoreError;
use crate::service::{ServiceError, wrong_fields};
use crate::state::admission::NotAdmitted;

/// How soon a request that was refused for a moment may be sent again.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// How soon a reader of events comes again, where the revisions cannot be read.
const EVENTS_RETRY_AFTER: Duration = Duration::from_secs(3);

/// When to search again while the index is built.
const SEARCH_RETRY_AFTER: Duration = Duration::from_secs(5);
/// When to ask again for what is left out to spare the databases.
const LEFT_OUT_RETRY_AFTER: Duration = Duration::from_secs(10);

/// Why a request is refused, before the request's id is known.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    code: Code,
    detail: Cow<'static, str>,
    errors: Vec<FieldError>,
    retry_after: Option<Duration>,
    rate_limited: Option<Box<RateLimited>>,
    challenge: Option<Box<Challenge>>,
    /// Whose words it is written in, where a widget of another system has asked.
    dialect: Option<Dialect>,
    /// For the log.
    cause: Option<Box<str>>,
}

impl Refusal {
    pub(super) fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            detail: detail.into(),
            errors: vec![],
            retry_after: None,
            rate_limited: None,
            challenge: None,
            dialect: None,
            cause: None,
        }
    }

    /// `invalid_request` that names each wrong field.
    pub(super) fn fields(errors: Vec<FieldError>) -> Self {
        Self { errors, ..Self::new(Code::InvalidRequest, "") }.with_named_fields()
    }

    fn with_named_fields(self) -> Self {
        Self { detail: wrong_fields(&self.errors).into(), ..self }
    }

    /// `invalid_request` for one field.
    pub(super) fn field(field: impl Into<Cow<'static, str>>, detail: impl Into<Cow<'static, str>>) -> Self {
        Self::fields(vec![FieldError::new(field, detail)])
    }

    pub(super) fn bad_cursor(detail: impl Into<Cow<'static, str>>) -> Self {
        let detail = detail.into();
        Self { errors: vec![FieldError::new("cursor", detail.clone())], ..Self::new(Code::BadCursor, detail) }
    }

    pub(super) fn body_too_large() -> Self {
        let detail = format!("a body has at most {} bytes", gailou_shared::limits::MAX_BODY_BYTES);
        Self::new(Code::BodyTooLarge, detail)
    }

    /// The same in the words of another system.
    pub(super) const fn speak(&mut self, dialect: Dialect) {
        self.dialect = Some(dialect);
    }

    pub(super) const fn code(&self) -> Code {
        self.code
    }

    /// Each wrong field.
    pub(super) fn errors(&self) -> &[FieldError] {
        &self.errors
    }

    /// The request did not come through the edge, and has to.
    pub(super) fn not_from_the_edge() -> Self {
        Self::new(Code::Forbidden, "requests must come through the edge")
    }

    /// A refusal that a repetition may not meet.
    pub(super) fn temporary(code: Code, detail: &'static str, retry_after: Duration, cause: Option<String>) -> Self {
        Self { retry_after: Some(retry_after), cause: cause.map(<_>::into), ..Self::new(code, detail) }
    }

    /// What this call answers is left out, to spare the databases.
    pub(super) fn left_out(detail: &'static str) -> Self {
        Self::temporary(Code::Overloaded, detail, LEFT_OUT_RETRY_AFTER, None)
    }

    /// A bug or a broken machine: logged, never explained.
    fn bug(cause: String) -> Self {
        Self {
            cause: Some(cause.into()),
            ..Self::new(Code::Internal, "something went wrong here; this is not your fault")
        }
    }
}

impl From<ServiceError> for Refusal {
    fn from(error: ServiceError) -> Self {
        Self::from(&error)
    }
}

impl From<Arc<ServiceError>> for Refusal {
    fn from(error: Arc<ServiceError>) -> Self {
        Self::from(&*error)
    }
}

impl From<&ServiceError> for Refusal {
    fn from(error: &ServiceError) -> Self {
        let code = match error {
            ServiceError::WrongFields(errors) => return Self::fields(errors.clone()),
            ServiceError::BadCursor(detail) => return Self::bad_cursor(*detail),
            ServiceError::ContentRejected(categories) => {
                let errors = vec![FieldError::blocked_words(categories)];
                return Self { errors, ..Self::new(Code::ContentRejected, error.to_string()) };
            }
            ServiceError::NameRejected(detail) => {
                let errors = vec![FieldError::new("name", *detail)];
                return Self { errors, ..Self::new(Code::ContentRejected, error.to_string()) };
            }
            ServiceError::AltRejected => {
                let errors = vec![FieldError::new("alt", "contains words that are not allowed here")];
                return Self { errors, ..Self::new(Code::ContentRejected, error.to_string()) };
            }
            ServiceError::Picture(refused @ (PictureError::TooManyPixels | PictureError::Damaged)) => {
                return Self::field("file", refused.to_string());
            }
            ServiceError::Picture(PictureError::UnknownKind) => Code::UnsupportedMediaType,
            ServiceError::Blob(failure) => {
                let detail = "the store of pictures does not answer";
                return Self::temporary(Code::Unavailable, detail, RETRY_AFTER, Some(failure.to_string()));
            }
            ServiceError::ChallengeRequired { reason, challenge } => {
                let refusal = Self::new(Code::ChallengeRequired, *reason);
                return Self { challenge: Some(challenge.clone()), ..refusal };
            }
            ServiceError::RateLimited(limited) => return limited.clone().into(),
            ServiceError::NotAdmitted(not_admitted) => return (*not_admitted).into(),
            ServiceError::NoNodeNumber => {
                let detail = "new comments cannot be taken for the moment; nothing was written";
                return Self::temporary(Code::Unavailable, detail, RETRY_AFTER, Some(error.to_string()));
            }
            ServiceError::Journal(error) => return error.into(),
            ServiceError::Store(error) => return error.into(),
            ServiceError::Revisions(_) => {
                let detail = "what happened lately is not known for the moment";
                return Self::temporary(Code::Unavailable, detail, EVENTS_RETRY_AFTER, Some(error.to_string()));
            }
            ServiceError::Search(error) => return error.into(),
            ServiceError::Provider => {
                let detail = "the provider does not answer; try again later";
                return Self::temporary(Code::Unavailable, detail, RETRY_AFTER, Some(error.to_string()));
            }
            ServiceError::Bug(cause) => return Self::bug(cause.clone()),
            ServiceError::UnknownSubjectType => Code::UnknownSubjectType,
            ServiceError::CommentNotFound => Code::CommentNotFound,
            ServiceError::NotFound(_) => Code::NotFound,
            ServiceError::VersionConflict(_) => Code::VersionConflict,
            ServiceError::ParentNotFound => Code::ParentNotFound,
            ServiceError::CursorExpired => Code::CursorExpired,
            ServiceError::Forbidden(_) => Code::Forbidden,
            ServiceError::Muted(_) => Code::Muted,
            ServiceError::SiteNotAllowed(_) => Code::SiteNotAllowed,
            ServiceError::VisitOver | ServiceError::SignInAgain | ServiceError::PasskeyRefused => Code::TokenInvalid,
            ServiceError::GuestsNotAllowed(_) => Code::GuestsNotAllowed,
            ServiceError::LevelTooLow(_) => Code::LevelTooLow,
            ServiceError::SubjectClosed => Code::SubjectClosed,
            ServiceError::EditWindowOver | ServiceError::TooManyEdits => Code::EditWindowOver,
            ServiceError::IdempotencyMismatch => Code::IdempotencyMismatch,
        };
        Self::new(code, error.to_string())
    }
}

impl From<RateLimited> for Refusal {
    fn from(limited: RateLimited) -> Self {
        let refusal = Self::new(Code::RateLimited, limited.to_string());
        Self { retry_after: Some(limited.retry_after), rate_limited: Some(Box::new(limited)), ..refusal }
    }
}

impl From<NotAdmitted> for Refusal {
    fn from(_: NotAdmitted) -> Self {
        let detail = "the server is very busy; nothing of this request was done";
        Self::temporary(Code::Overloaded, detail, RETRY_AFTER, None)
    }
}

impl From<&JournalError> for Refusal {
    fn from(error: &JournalError) -> Self {
        let (code, detail) = match error {
            JournalError::Store(error) => return error.into(),
            JournalError::Full => (Code::Overloaded, "too many writes at once; nothing was written"),
            JournalError::NotSent => {
                (Code::Unavailable, "new comments and changes cannot be taken for the moment; nothing was written")
            }
            JournalError::NotStoredYet => {
                (Code::Unavailable, "this comment is accepted and not stored yet; nothing was changed, try again later")
            }
            JournalError::Closed => (
                Code::Unavailable,
                "the server is stopping; the outcome is unknown, send it again with the same Idempotency-Key",
            ),
            JournalError::Unknown(_) => {
                (Code::Unavailable, "the outcome is unknown, send it again with the same Idempotency-Key")
            }
        };
        Self::temporary(code, detail, RETRY_AFTER, Some(error.to_string()))
    }
}

impl From<&StoreError> for Refusal {
    fn from(error: &StoreError) -> Self {
        match error {
            StoreError::Damaged(_) => Self::bug(error.to_string()),
            StoreError::Busy(_) => NotAdmitted.into(),
            StoreError::NotCaughtUp => {
                let detail =
                    "this comment is not stored, and not everything that was accepted is stored yet; try again later";
                Self::temporary(Code::Unavailable, detail, RETRY_AFTER, Some(error.to_string()))
            }
            StoreError::Database(_)
            | StoreError::Unavailable(_)
            | StoreError::Moved
            | StoreError::CheckpointChanged => {
                let detail = "the database does not answer";
                Self::temporary(Code::Unavailable, detail, RETRY_AFTER, Some(error.to_string()))
            }
        }
    }
}

impl From<&SearchError> for Refusal {
    fn from(error: &SearchError) -> Self {
        let (detail, retry_after) = match error {
            SearchError::NotBuilt => ("the search index is being built; try again later", SEARCH_RETRY_AFTER),
            SearchError::NotConfigured => ("this installation has no search", LEFT_OUT_RETRY_AFTER),
            SearchError::Unavailable(_) => ("the search does not answer", RETRY_AFTER),
        };
        Self::temporary(Code::Unavailable, detail, retry_after, Some(error.to_string()))
    }
}

/// A refusal leaves its handler as a bare status. The middleware, which knows the request's id, turns
/// it into a problem.
impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl Refusal {
    /// The code and the status that it is answered with.
    pub(super) fn code_and_status(&self) -> (&'static str, u16) {
        let (code, status, _) = self.code.parts();
        (code, status)
    }

    fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.code.parts().1).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The refusal as the contract writes it, for the request with this id; for a browser's read of a document, as a page.
    pub(super) fn into_problem(
        self,
        request_id: &HeaderValue,
        method: &Method,
        route: Option<&MatchedPath>,
        read: Option<&DocumentRead>,
    ) -> Response {
        let request_id = request_id.to_str().unwrap_or_default().to_owned();
        let (status, code) = (self.status(), self.code.parts().0);
        if status.is_server_error() {
            let cause = self.cause.as_deref().unwrap_or("unknown");
            let route = route.map_or("none", MatchedPath::as_str);
            let status = status.as_u16();
            // 500 is a bug. 503 passes: the client retries. An overload is logged where it is noticed, once:
            // a line for each refusal would add to it.
            if self.code == Code::Overloaded {
                tracing::debug!(request_id, %method, route, status, code, "Refused {method} {route} with {status}");
            } else if self.code == Code::Internal {
                tracing::error!(request_id, %method, route, status, code, cause, "Refused {method} {route} with {status}: {cause}");
            } else {
                tracing::warn!(request_id, %method, route, status, code, cause, "Refused {method} {route} with {status}: {cause}");
            }
        }
        let problem = Problem::new(self.code, self.detail.into_owned(), request_id, self.errors);
        let problem = Problem { challenge: self.challenge, ..problem };
        let mut response = match read {
            Some(read) => {
                let policy = [(header::CONTENT_SECURITY_POLICY, DOCUMENT_POLICY)];
                (status, policy, Html(read.refused(&problem.code, &problem.trace_id))).into_response()
            }
            None => {
                let (status, (kind, body)) = match self.dialect {
                    Some(dialect) => (dialect.status(status), dialect.refusal(&problem)),
                    None => (status, ("application/problem+json", serde_json::to_vec(&problem).unwrap_or_default())),
                };
                (status, [(header::CONTENT_TYPE, kind)], body).into_response()
            }
        };
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let headers = response.headers_mut();
        let mut insert = |name: HeaderName, value: String| {
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        };
        if let Some(wait) = self.retry_after {
            insert(header::RETRY_AFTER, wait.as_secs().max(1).to_string());
        }
        if let Some(RateLimited { policy, retry_after }) = self.rate_limited.map(|limited| *limited) {
            let RatePolicy { name, count, window } = policy;
            let (window, reset) = (window.as_secs(), retry_after.as_secs());
            insert(HeaderName::from_static("ratelimit-policy"), format!("\"{name}\";q={count};w={window}"));
            insert(HeaderName::from_static("ratelimit"), format!("\"{name}\";r=0;t={reset}"));
        }
        if status == StatusCode::UNAUTHORIZED {
            insert(header::WWW_AUTHENTICATE, "Bearer".into());
        }
        response
    }
}
