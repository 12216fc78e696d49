//! Event streams on the platform: a pipe, and a task after the answer that writes into it.
//!
//! The platform tells nobody that a client is gone; it fails a later write, or ends the task half
//! a minute after the connection. Nothing here waits to be asked for more: a stream that is read on
//! demand is never asked again, and never freed.

use std::time::Duration;

use wasm_bindgen::JsCast;
use worker::send::SendFuture;
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Delay, web_sys};

use super::bytes;
use crate::live::Reader;

/// The body of an answer that says what `reader` says.
pub(super) fn body(mut reader: Reader) -> worker::Result<web_sys::ReadableStream> {
    let pipe = web_sys::TransformStream::new()?;
    let writer = pipe.writable().get_writer()?;
    let later = reader.later();
    later.run(Box::pin(SendFuture::new(async move {
        while let Some(chunk) = reader.next(|ms| Delay::from(Duration::from_millis(ms.into()))).await {
            let written = JsFuture::from(writer.write_with_chunk(bytes(&chunk).unchecked_ref()));
            if written.await.is_err() {
                return;
            }
        }
        let _ = JsFuture::from(writer.close()).await;
    })));
    Ok(pipe.readable())
}
