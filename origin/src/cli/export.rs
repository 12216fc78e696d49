//! `gailou export`: threads as JSON lines, as import reads them.

use std::pin::pin;

use futures_util::TryStreamExt as _;
use gailou_shared::id::SubjectKey;
use serde::{Deserialize, Serialize};

use crate::cli::output::Console;
use crate::service::export;
use crate::state::AppState;

/// A subject as it is given on the command line and sent to the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct SubjectArgument(SubjectKey);

/// The subject called `TYPE/KEY`; a key may contain further slashes.
pub(super) fn subject(text: &str) -> Result<SubjectArgument, String> {
    let (kind, key) = text.split_once('/').ok_or("must be TYPE/KEY, such as article/42")?;
    SubjectKey::new(kind, key).map(SubjectArgument).map_err(|e| format!("the {} {e}", e.field()))
}

#[cfg(feature = "cluster")]
impl SubjectArgument {
    pub(super) fn key(&self) -> &SubjectKey {
        &self.0
    }
}

impl std::fmt::Display for SubjectArgument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl TryFrom<String> for SubjectArgument {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        subject(&text)
    }
}

impl From<SubjectArgument> for String {
    fn from(subject: SubjectArgument) -> Self {
        subject.0.to_string()
    }
}

/// Writes the comments of a subject, or all comments.
pub(super) async fn run(
    app: &AppState,
    subject: Option<SubjectArgument>,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    let mut chunks = pin!(export::export(app.tables.clone(), subject.map(|subject| subject.0)));
    while let Some(text) = chunks.try_next().await? {
        if !text.is_empty() {
            console.out(&text).await?;
        }
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subject_splits_at_the_first_slash() {
        let check = |text: &str, expected: Result<(&str, &str), &str>| {
            let parsed = subject(text);
            let got = parsed.as_ref().map(|s| (s.0.kind(), s.0.key()));
            assert_eq!(got.map_err(String::as_str), expected, "{text}");
        };
        check("video/2", Ok(("video", "2")));
        check("article/2024/a b", Ok(("article", "2024/a b")));
        check("video", Err("must be TYPE/KEY, such as article/42"));
        check("video/", Err("the key must be 1 to 512 bytes of UTF-8"));
        check("/2", Err("the type must be 1 to 32 characters of a-z, 0-9, _ and -"));
    }
}
