//! Renders texts off the async threads: five thousand characters of markup take milliseconds.
//!
//! What the HTML may contain is in [`crate::domain::markdown`].

use std::num::NonZeroUsize;
use std::sync::LazyLock;

use tokio::sync::Semaphore;

use crate::domain::markdown;

/// Texts that are rendered at a time: one for each core. Writes wait, whose number is bounded.
static RENDER_PLACES: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(std::thread::available_parallelism().map_or(1, NonZeroUsize::get)));

/// The HTML of a text.
pub(super) async fn render(text: String) -> String {
    if markdown::is_plain(&text) {
        return markdown::html(&text);
    }
    let place = RENDER_PLACES.acquire().await;
    let rendered = tokio::task::spawn_blocking(move || markdown::html(&text)).await;
    drop(place);
    match rendered {
        Ok(html) => html,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
