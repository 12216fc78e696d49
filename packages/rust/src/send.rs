//! One request, sent once, and its answer as a type.

use reqwest::RequestBuilder;
use reqwest::header::RETRY_AFTER;
use serde::de::DeserializeOwned;

use crate::client_error::ClientError;
use crate::retry_after::parse_retry_after;
use crate::system_time::now_seconds;

/// Sends the request; every answer but a success is an error.
pub(crate) async fn send_once<T: DeserializeOwned>(request: RequestBuilder) -> Result<T, ClientError> {
    let response = request.send().await?;
    let status = response.status();
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let retry_after = parse_retry_after(retry_after, now_seconds());
    let body = response.bytes().await?;
    if status.is_success() {
        serde_json::from_slice(&body).map_err(ClientError::Shape)
    } else {
        Err(ClientError::refused(status.as_u16(), &body, retry_after))
    }
}
