//! Reads a body as far as a bound, and says whether the bound or the sender ended it. No platform types.

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;

/// Why there is no whole body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyError {
    /// It has more bytes than the bound.
    TooLarge,
    /// It broke off.
    Broken(String),
}

/// The whole body of at most `max_bytes`; at most one chunk beyond them is ever held.
///
/// # Errors
/// [`BodyError`] says why the body ended early.
pub async fn read_bounded(body: Body, max_bytes: usize) -> Result<Bytes, BodyError> {
    let mut chunks = body.into_data_stream();
    let mut whole = BytesMut::new();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|error| BodyError::Broken(error.to_string()))?;
        if whole.len().saturating_add(chunk.len()) > max_bytes {
            return Err(BodyError::TooLarge);
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn body_beyond_the_bound_is_no_broken_body() {
        let check = |chunks: Vec<Result<&'static str, &'static str>>, expected: Result<&'static str, BodyError>| {
            let chunks = chunks.into_iter().map(|chunk| chunk.map_err(std::io::Error::other));
            let body = Body::from_stream(futures_util::stream::iter(chunks));
            let expected = expected.map(Bytes::from);
            assert_eq!(futures_executor::block_on(read_bounded(body, 6)), expected);
        };
        check(vec![], Ok(""));
        check(vec![Ok("abc"), Ok("def")], Ok("abcdef"));
        check(vec![Ok("abc"), Ok("defg")], Err(BodyError::TooLarge));
        check(vec![Ok("abcdefg"), Err("gone")], Err(BodyError::TooLarge));
        check(vec![Ok("abc"), Err("gone")], Err(BodyError::Broken("gone".into())));
    }
}
