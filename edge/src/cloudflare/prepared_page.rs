//! A page as JavaScript sends it: the objects are made once, and the fast path sends them again and again.
//!
//! The platform compresses a page in memory after its first answer, so that the next readers get a quarter of the bytes
//! and nothing is compressed for each of them.

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use gailou_shared::http_headers::MIN_COMPRESSED_BYTES;
use http::HeaderMap;
use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::{self, Array, Function, Reflect, Uint8Array};
use worker::send::{SendFuture, SendWrapper};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Context, web_sys};

use super::convert::{js_bytes, js_headers};
use crate::cached_page::CachedPage;
use crate::page_service;

/// A body with the rest of its response.
struct SentBody {
    bytes: Uint8Array,
    init: web_sys::ResponseInit,
}

/// The objects of one page.
pub(super) struct PreparedPage {
    plain: SentBody,
    headers: web_sys::Headers,
    /// Empty until it is compressed.
    gzip: OnceCell<SentBody>,
    /// Whether nothing is to be done for `gzip`: the page is too short, or the compression has begun.
    is_left_plain: Cell<bool>,
}

impl PreparedPage {
    /// The objects of this page, made if they are not there yet.
    pub(super) fn of(page: &CachedPage) -> worker::Result<Arc<SendWrapper<Self>>> {
        if let Some(Ok(prepared)) = page.prepared.get().map(|prepared| Arc::clone(prepared).downcast()) {
            return Ok(prepared);
        }
        let prepared = Arc::new(SendWrapper::new(Self::new(page)?));
        // There is one thread, so they have not been made meanwhile.
        let _ = page.prepared.set(Arc::clone(&prepared) as _);
        Ok(prepared)
    }

    fn new(page: &CachedPage) -> worker::Result<Self> {
        let mut headers = HeaderMap::new();
        page_service::insert_page_headers(page, &mut headers);
        let headers = js_headers(&headers)?;
        let init = web_sys::ResponseInit::new();
        init.set_headers(&headers);
        let plain = SentBody { bytes: js_bytes(&page.body), init };
        let is_short = page.body.len() < MIN_COMPRESSED_BYTES;
        Ok(Self { plain, headers, gzip: OnceCell::new(), is_left_plain: Cell::new(is_short) })
    }

    /// The response with the page. The first that could be compressed is not, and begins the compression.
    pub(super) fn respond(
        prepared: &Arc<SendWrapper<Self>>,
        accepts_gzip: bool,
        context: &Context,
    ) -> Result<web_sys::Response, JsValue> {
        if accepts_gzip && let Some(gzip) = prepared.gzip.get() {
            return gzip.response();
        }
        if accepts_gzip && !prepared.is_left_plain.replace(true) {
            let prepared = Arc::clone(prepared);
            context.wait_until(SendFuture::new(async move {
                // A page that cannot be compressed stays as it is.
                if let Ok(gzip) = prepared.compress().await {
                    let _ = prepared.gzip.set(gzip);
                }
            }));
        }
        prepared.plain.response()
    }

    async fn compress(&self) -> Result<SentBody, JsValue> {
        // Not in web-sys, but behind a flag of the compiler.
        let class: Function = Reflect::get(&js_sys::global(), &"CompressionStream".into())?.dyn_into()?;
        let coder = Reflect::construct(&class, &Array::of1(&"gzip".into()))?;
        let plain =
            web_sys::Response::new_with_opt_js_u8_array(Some(&self.plain.bytes))?.body().ok_or(JsValue::NULL)?;
        let compressed =
            web_sys::Response::new_with_opt_readable_stream(Some(&plain.pipe_through(coder.unchecked_ref())))?;
        let bytes = Uint8Array::new(&JsFuture::from(compressed.array_buffer()?).await?);

        let headers = web_sys::Headers::new_with_headers(&self.headers)?;
        headers.set("content-encoding", "gzip")?;
        if let Some(etag) = headers.get("etag")? {
            headers.set("etag", &format!("W/{etag}"))?;
        }
        let init = web_sys::ResponseInit::new();
        init.set_headers(&headers);
        // The bytes are in this coding already.
        Reflect::set(&init, &"encodeBody".into(), &"manual".into())?;
        Ok(SentBody { bytes, init })
    }
}

impl SentBody {
    fn response(&self) -> Result<web_sys::Response, JsValue> {
        web_sys::Response::new_with_opt_js_u8_array_and_init(Some(&self.bytes), &self.init)
    }
}
