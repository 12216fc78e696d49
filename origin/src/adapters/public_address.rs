//! Whether an address at which this installation is to be reached answers, and what time it is there, for `gailou doctor`.
//!
//! The same for a provider of accounts. It sends nothing but the request, and follows no redirect.

use std::time::Duration;

use axum::http::{StatusCode, header};
use bytes::Bytes;
use chrono::DateTime;
use http_body_util::Empty;
use hyper::Request;
use tokio::time::timeout;

use crate::adapters::https_client::{HttpsClient, https_client};
use crate::ports::failure::Failure;

/// How long an answer may take.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(5);

/// Asks the server at this address. The time is its `Date`, in Unix milliseconds, where it has one.
///
/// # Errors
/// When there is no answer in time, or another one than `200`.
pub async fn ask(url: &str) -> Result<Option<u64>, Failure> {
    let client: HttpsClient<Empty<Bytes>> = https_client();
    let request = Request::get(url).body(Empty::new()).map_err(Failure::with_causes)?;
    let answer = timeout(ADDRESS_TIMEOUT, client.request(request)).await;
    let answer = answer.map_err(|_| format!("no answer in {} s", ADDRESS_TIMEOUT.as_secs()))?;
    let answer = answer.map_err(Failure::with_causes)?;
    if answer.status() != StatusCode::OK {
        return Err(format!("it answered {}", answer.status()).into());
    }
    let date =
        answer.headers().get(header::DATE).and_then(|date| DateTime::parse_from_rfc2822(date.to_str().ok()?).ok());
    Ok(date.and_then(|date| date.timestamp_millis().try_into().ok()))
}
