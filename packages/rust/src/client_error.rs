//! Why a call of the client fails.

use std::time::Duration;

use gailou_shared::wire::{Code, Problem};

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The answer is no success.
    #[error("{} {}: {}", problem.status, problem.code, problem.detail)]
    Refused {
        /// What the server says: `status`, `code` for a program, `detail` for a person, and `errors` with each wrong field.
        /// An answer that is not Gailou's own, such as that of a proxy, gets a code by its status.
        problem: Box<Problem>,
        /// How long the server asks to wait; zero when it asks nothing.
        retry_after: Duration,
    },
    /// No whole answer came: whether the server has done what was asked is unknown.
    #[error("no answer came")]
    NoAnswer(#[from] reqwest::Error),
    /// The answer is a success of another shape, such as the page of a proxy; or what is posted is not JSON.
    #[error("this is not the JSON of the interface")]
    Shape(#[source] serde_json::Error),
    /// This is no address of a server, or not one that the client can reach.
    #[error("not an address: {0}")]
    Address(&'static str),
}

impl ClientError {
    /// What the server says, when it refuses.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Refused { problem, .. } => Some(problem),
            _ => None,
        }
    }

    /// The refusal with this status and body.
    pub(crate) fn refused(status: u16, body: &[u8], retry_after: Duration) -> Self {
        let unnamed = || {
            let code = if status >= 502 { Code::Unavailable } else { Code::Internal };
            Problem::new(code, String::new(), String::new(), Vec::new())
        };
        let problem = serde_json::from_slice(body).unwrap_or_else(|_| unnamed());
        Self::Refused { problem: Box::new(Problem { status, ..problem }), retry_after }
    }

    /// How long a failure asks to wait that passes by itself; `None` for one that does not.
    pub(crate) fn asked_wait(&self) -> Option<Duration> {
        match self {
            // Too many requests, and a server that cannot be reached or has too much to do.
            Self::Refused { problem, retry_after } if matches!(problem.status, 429 | 502..=504) => Some(*retry_after),
            // What cannot be sent at all fails again.
            Self::NoAnswer(error) if !error.is_builder() && !error.is_redirect() => Some(Duration::ZERO),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_that_is_not_gailous_gets_a_code_by_its_status() {
        let check = |status: u16, body: &str, expected: (&str, &str)| {
            let error = ClientError::refused(status, body.as_bytes(), Duration::ZERO);
            let problem = error.problem().unwrap();
            assert_eq!((problem.status, &*problem.code, &*problem.detail), (status, expected.0, expected.1), "{body}");
        };
        check(413, "<h1>Too large</h1>", ("internal", ""));
        check(502, "", ("unavailable", ""));
        check(503, r#"{"code":"overloaded"}"#, ("unavailable", ""));
        let own = r#"{"type":"/problems/muted","title":"Forbidden","status":403,"detail":"No","code":"muted","trace_id":"x"}"#;
        check(403, own, ("muted", "No"));
    }

    #[test]
    fn refusals_that_pass_by_themselves_are_repeated_and_no_others() {
        let passing = |status| ClientError::refused(status, b"", Duration::from_secs(7)).asked_wait();
        for status in [429, 502, 503, 504] {
            assert_eq!(passing(status), Some(Duration::from_secs(7)), "{status}");
        }
        for status in [301, 400, 401, 403, 404, 409, 410, 413, 415, 422, 500, 501, 505] {
            assert_eq!(passing(status), None, "{status}");
        }
    }
}
