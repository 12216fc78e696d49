//! What a text becomes when it is posted. Nothing is stored.

use serde::Serialize;
use utoipa::ToSchema;

use crate::service::ServiceResult;
use crate::service::filter::filter_and_render;
use crate::state::AppState;

/// A text as it would be shown.
#[derive(Debug, Serialize, ToSchema)]
pub struct Preview {
    /// Its HTML, of the elements that comments may have, with the words masked that the filter masks.
    pub html: String,
}

/// The HTML that a comment with this text has.
///
/// # Errors
/// [`ServiceError::ContentRejected`](crate::service::ServiceError::ContentRejected) as for a comment, or `Overloaded`.
pub async fn preview(app: &AppState, content: String) -> ServiceResult<Preview> {
    let _place = app.writes.admit().await?;
    let filtered = filter_and_render(&app.dictionary(), content).await?;
    Ok(Preview { html: filtered.html })
}
