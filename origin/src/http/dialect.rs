//! Refusals in the words of other comment systems, whose widgets may call this one ([`crate::http::compat`]).

use axum::http::StatusCode;
use gailou_shared::wire::Problem;
use serde_json::json;

/// Before the paths of what these widgets call.
pub(super) const COMPAT_PATH: &str = "/compat/";
/// The numbers by which the widgets know a refusal, whatever it is of; they show its text.
const WALINE_REFUSAL: u32 = 1_000;
pub(super) const TWIKOO_REFUSAL: u32 = 1_000;

const JSON_TYPE: &str = "application/json";
const TEXT_TYPE: &str = "text/plain; charset=utf-8";

/// Whose words an answer is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Artalk,
    Isso,
    Twikoo,
    Waline,
}

impl Dialect {
    /// The status of a refusal: the widget of Twikoo reads no answer with another one than 200.
    pub(super) const fn status(self, status: StatusCode) -> StatusCode {
        match self {
            Self::Twikoo => StatusCode::OK,
            Self::Artalk | Self::Isso | Self::Waline => status,
        }
    }

    /// A refusal as its widget shows it: the type and the body of the answer.
    pub(super) fn refusal(self, problem: &Problem) -> (&'static str, Vec<u8>) {
        let fields: Vec<String> =
            problem.errors.iter().map(|error| format!("{} {}", error.field, error.detail)).collect();
        let fields = fields.join("; ");
        let detail = match &*problem.code {
            "challenge_required" => "new guests have to prove here that they are no robots, which this form cannot do",
            "invalid_request" => &fields,
            _ => &problem.detail,
        };
        match self {
            Self::Artalk => (JSON_TYPE, json!({"msg": detail}).to_string().into_bytes()),
            // It takes the fields of an object for counts, and shows no refusal.
            Self::Isso => (TEXT_TYPE, detail.as_bytes().to_vec()),
            // Its list of comments needs `data`.
            Self::Twikoo => {
                (JSON_TYPE, json!({"code": TWIKOO_REFUSAL, "message": detail, "data": []}).to_string().into_bytes())
            }
            Self::Waline => (JSON_TYPE, json!({"errno": WALINE_REFUSAL, "errmsg": detail}).to_string().into_bytes()),
        }
    }
}
