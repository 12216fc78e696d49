//! Translates between the platform's requests and responses and those of the `http` crate.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use wasm_bindgen::JsCast;
use worker::js_sys::{self, Uint8Array};
use worker::send::{SendFuture, SendWrapper};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Delay, web_sys};

use crate::event_stream::{ClaimedStream, EventStream};
use crate::ports::PlatformStream;

pub(super) fn js_bytes(bytes: &Bytes) -> Uint8Array {
    Uint8Array::from(&**bytes)
}

pub(super) fn js_headers(headers: &HeaderMap) -> worker::Result<web_sys::Headers> {
    let js = web_sys::Headers::new()?;
    for (name, value) in headers {
        if let Ok(value) = value.to_str() {
            js.append(name.as_str(), value)?;
        }
    }
    Ok(js)
}

pub(super) fn http_headers(js: &web_sys::Headers) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for pair in js.entries().into_iter().flatten() {
        let pair: js_sys::Array = pair.unchecked_into();
        let (Some(name), Some(value)) = (pair.get(0).as_string(), pair.get(1).as_string()) else { continue };
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(&value)) {
            headers.append(name, value);
        }
    }
    headers
}

/// The whole body of a response.
pub(super) async fn whole_body(response: &web_sys::Response) -> Result<Bytes, wasm_bindgen::JsValue> {
    let buffer = JsFuture::from(response.array_buffer()?).await?;
    Ok(Uint8Array::new(&buffer).to_vec().into())
}

/// A request of a client.
pub(super) fn incoming_request(
    request: &web_sys::Request,
    path_query: &str,
    method: &str,
) -> Result<http::Request<Body>, http::Error> {
    let body = request.body().map_or_else(Body::empty, |stream| Body::new(worker::Body::new(stream)));
    let path_query = path_query.split('#').next().unwrap_or("/");
    let mut built = http::Request::builder().method(method).uri(path_query).body(body)?;
    *built.headers_mut() = http_headers(&request.headers());
    Ok(built)
}

/// The response to a client: an event stream, the origin's unread stream, or whole bytes.
pub(super) async fn outgoing_response(response: Response) -> worker::Result<web_sys::Response> {
    let (mut parts, body) = response.into_parts();
    let init = web_sys::ResponseInit::new();
    init.set_status(parts.status.as_u16());
    // The platform counts the body itself.
    parts.headers.remove(http::header::CONTENT_LENGTH);
    init.set_headers(js_headers(&parts.headers)?.as_ref());
    // These have no body, and the platform refuses even an empty one.
    if matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED) {
        return Ok(web_sys::Response::new_with_opt_str_and_init(None, &init)?);
    }
    if let Some(stream) = parts.extensions.get::<ClaimedStream>().and_then(ClaimedStream::take) {
        let body = event_stream_body(stream)?;
        return Ok(web_sys::Response::new_with_opt_readable_stream_and_init(Some(&body), &init)?);
    }
    if let Some(stream) = parts.extensions.get::<PlatformStream>() {
        let stream = stream.0.downcast_ref::<SendWrapper<Option<web_sys::ReadableStream>>>();
        let stream = stream.and_then(|stream| stream.0.as_ref());
        return Ok(web_sys::Response::new_with_opt_readable_stream_and_init(stream, &init)?);
    }
    let whole = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    Ok(web_sys::Response::new_with_opt_js_u8_array_and_init(Some(&js_bytes(&whole)), &init)?)
}

/// A pipe, and a task after the answer that writes the chunks of `stream` into it.
///
/// The platform gives no signal when a client disconnects: a later write fails, or the task is ended
/// half a minute after the connection. So the task writes without being asked: the platform would never
/// ask a pull stream of a lost client again, and never free it.
fn event_stream_body(mut stream: EventStream) -> worker::Result<web_sys::ReadableStream> {
    let pipe = web_sys::TransformStream::new()?;
    let writer = pipe.writable().get_writer()?;
    let wait_until = stream.wait_until();
    wait_until.spawn(Box::pin(SendFuture::new(async move {
        while let Some(chunk) = stream.next_chunk(|ms| Delay::from(Duration::from_millis(ms.into()))).await {
            let written = JsFuture::from(writer.write_with_chunk(js_bytes(&chunk).unchecked_ref()));
            if written.await.is_err() {
                return;
            }
        }
        let _ = JsFuture::from(writer.close()).await;
    })));
    Ok(pipe.readable())
}
