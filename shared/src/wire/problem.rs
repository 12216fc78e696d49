//! The problem that every refusal is sent as, and the codes it may have.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::wire::Challenge;

/// A refusal, as `application/problem+json` (RFC 9457).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// A URI reference that names the kind of problem.
    #[cfg_attr(feature = "openapi", schema(format = "uri-reference"))]
    pub r#type: String,
    /// The status in words.
    pub title: String,
    /// The HTTP status.
    #[cfg_attr(feature = "openapi", schema(minimum = 400, maximum = 599))]
    pub status: u16,
    /// What went wrong, for a person.
    pub detail: String,
    /// What went wrong, for a program: stable, never translated.
    #[cfg_attr(feature = "openapi", schema(value_type = Code))]
    pub code: Cow<'static, str>,
    /// The request's id, as in `X-Request-Id`.
    pub trace_id: String,
    /// Each wrong field.
    #[cfg_attr(feature = "openapi", schema(min_items = 1))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// What to answer, where the code is `challenge_required`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<Box<Challenge>>,
}

/// A wrong field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FieldError {
    /// Its name: a JSON field, a query parameter, a path segment or a header; `body` for the body as a whole.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub field: Cow<'static, str>,
    /// What it must be.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub detail: Cow<'static, str>,
}

impl FieldError {
    /// The error of `field`.
    pub fn new(field: impl Into<Cow<'static, str>>, detail: impl Into<Cow<'static, str>>) -> Self {
        Self { field: field.into(), detail: detail.into() }
    }

    /// The categories of the blocked words in a text, separated by commas. The words themselves
    /// are never named.
    #[must_use]
    pub fn blocked_words(categories: &[String]) -> Self {
        Self::new("content", categories.join(", "))
    }
}

/// The codes of the contract, each with its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(rename_all = "snake_case"))]
#[expect(missing_docs, reason = "the contract's own words")]
pub enum Code {
    InvalidRequest,
    BadCursor,
    TokenMissing,
    TokenInvalid,
    Forbidden,
    Muted,
    LevelTooLow,
    GuestsNotAllowed,
    ChallengeRequired,
    SiteNotAllowed,
    UnknownSubjectType,
    CommentNotFound,
    ParentNotFound,
    NotFound,
    MethodNotAllowed,
    SubjectClosed,
    EditWindowOver,
    VersionConflict,
    CursorExpired,
    BodyTooLarge,
    UnsupportedMediaType,
    ContentRejected,
    IdempotencyMismatch,
    RateLimited,
    Internal,
    Unavailable,
    Overloaded,
    OriginUnreachable,
}

impl Code {
    /// Code, status, and the status in words.
    #[must_use]
    pub const fn parts(self) -> (&'static str, u16, &'static str) {
        const BAD_REQUEST: &str = "Bad Request";
        const SERVICE_UNAVAILABLE: &str = "Service Unavailable";
        match self {
            Self::InvalidRequest => ("invalid_request", 400, BAD_REQUEST),
            Self::BadCursor => ("bad_cursor", 400, BAD_REQUEST),
            Self::TokenMissing => ("token_missing", 401, "Unauthorized"),
            Self::TokenInvalid => ("token_invalid", 401, "Unauthorized"),
            Self::Forbidden => ("forbidden", 403, "Forbidden"),
            Self::Muted => ("muted", 403, "Forbidden"),
            Self::LevelTooLow => ("level_too_low", 403, "Forbidden"),
            Self::GuestsNotAllowed => ("guests_not_allowed", 403, "Forbidden"),
            Self::ChallengeRequired => ("challenge_required", 403, "Forbidden"),
            Self::SiteNotAllowed => ("site_not_allowed", 403, "Forbidden"),
            Self::UnknownSubjectType => ("unknown_subject_type", 404, "Not Found"),
            Self::CommentNotFound => ("comment_not_found", 404, "Not Found"),
            Self::ParentNotFound => ("parent_not_found", 404, "Not Found"),
            Self::NotFound => ("not_found", 404, "Not Found"),
            Self::MethodNotAllowed => ("method_not_allowed", 405, "Method Not Allowed"),
            Self::SubjectClosed => ("subject_closed", 409, "Conflict"),
            Self::EditWindowOver => ("edit_window_over", 409, "Conflict"),
            Self::VersionConflict => ("version_conflict", 409, "Conflict"),
            Self::CursorExpired => ("cursor_expired", 410, "Gone"),
            Self::BodyTooLarge => ("body_too_large", 413, "Content Too Large"),
            Self::UnsupportedMediaType => ("unsupported_media_type", 415, "Unsupported Media Type"),
            Self::ContentRejected => ("content_rejected", 422, "Unprocessable Content"),
            Self::IdempotencyMismatch => ("idempotency_mismatch", 422, "Unprocessable Content"),
            Self::RateLimited => ("rate_limited", 429, "Too Many Requests"),
            Self::Internal => ("internal", 500, "Internal Server Error"),
            Self::Unavailable => ("unavailable", 503, SERVICE_UNAVAILABLE),
            Self::Overloaded => ("overloaded", 503, SERVICE_UNAVAILABLE),
            Self::OriginUnreachable => ("origin_unreachable", 503, SERVICE_UNAVAILABLE),
        }
    }
}

impl Problem {
    /// The problem of this code in the request `trace_id`.
    #[must_use]
    pub fn new(code: Code, detail: String, trace_id: String, errors: Vec<FieldError>) -> Self {
        let (code, status, title) = code.parts();
        let r#type = alloc::format!("/problems/{code}");
        Self {
            r#type,
            title: title.into(),
            status,
            detail,
            code: Cow::Borrowed(code),
            trace_id,
            errors,
            challenge: None,
        }
    }
}
