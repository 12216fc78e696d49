//! A list that is read to its end, whatever its cursors go through.

use std::collections::HashSet;
use std::vec;

use futures_util::stream::{self, Stream};
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::limits::MAX_PAGE_SIZE;
use gailou_shared::rank::Sort;
use gailou_shared::wire::{Code, Comment, CommentPage};
use reqwest::Url;

use crate::client_error::ClientError;
use crate::server_connection::ServerConnection;

/// A list whose cursors expire more often is not read to its end.
const MAX_RESTARTS: usize = 3;

/// The order of a list, and how much of it is fetched at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListOptions {
    /// The order; `hot` by default.
    pub sort: Sort,
    /// Comments on a page, 1 to 100; 100 by default.
    pub page_size: usize,
}

impl Default for ListOptions {
    fn default() -> Self {
        Self { sort: Sort::Hot, page_size: MAX_PAGE_SIZE }
    }
}

/// Where a list comes from.
#[derive(Debug, Clone)]
pub(crate) enum ListSource {
    Roots(SubjectKey),
    Replies(CommentId),
}

/// The comments of a list, each once; the pages are fetched as they are needed, with the retries of a post. Where a cursor
/// expires, the list starts again, past the caches and without what was given.
#[derive(Debug)]
pub struct CommentWalk {
    connection: ServerConnection,
    source: ListSource,
    options: ListOptions,
    /// Of the next page; `None` of the first.
    cursor: Option<String>,
    is_last_page: bool,
    restarts: usize,
    /// What is left of the page that was fetched.
    unread: vec::IntoIter<Comment>,
    seen: HashSet<CommentId>,
}

impl CommentWalk {
    pub(crate) fn new(connection: ServerConnection, source: ListSource, options: ListOptions) -> Self {
        Self {
            connection,
            source,
            options,
            cursor: None,
            is_last_page: false,
            restarts: 0,
            unread: Vec::new().into_iter(),
            seen: HashSet::new(),
        }
    }

    /// The next comment; `None` at the end. A call that is dropped or has failed has lost nothing: the next one goes on.
    ///
    /// # Errors
    /// [`ClientError`] when a page cannot be read.
    pub async fn next(&mut self) -> Result<Option<Comment>, ClientError> {
        loop {
            if let Some(comment) = self.unread.find(|comment| self.seen.insert(comment.id)) {
                return Ok(Some(comment));
            }
            if self.is_last_page {
                return Ok(None);
            }
            self.fetch_page().await?;
        }
    }

    /// The same as a stream, which ends with the first error.
    pub fn into_stream(self) -> impl Stream<Item = Result<Comment, ClientError>> {
        stream::try_unfold(self, async |mut list| Ok(list.next().await?.map(|comment| (comment, list))))
    }

    async fn fetch_page(&mut self) -> Result<(), ClientError> {
        let url = self.page_url()?;
        match self.connection.get::<CommentPage>(&url, self.restarts > 0).await {
            Ok(page) => {
                self.unread = page.data.into_iter();
                self.is_last_page = page.page.next.is_none();
                self.cursor = page.page.next;
                Ok(())
            }
            Err(error) if is_cursor_expired(&error) && self.restarts < MAX_RESTARTS => {
                self.cursor = None;
                self.restarts += 1;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    fn page_url(&self) -> Result<Url, ClientError> {
        let mut url = match &self.source {
            ListSource::Roots(subject) => self.connection.comments_url(subject),
            ListSource::Replies(id) => self.connection.replies_url(*id),
        }?;
        url.query_pairs_mut()
            .append_pair("sort", self.options.sort.name())
            .append_pair("limit", &self.options.page_size.to_string())
            .extend_pairs(self.cursor.iter().map(|cursor| ("cursor", cursor)));
        Ok(url)
    }
}

fn is_cursor_expired(error: &ClientError) -> bool {
    error.problem().is_some_and(|problem| problem.code == Code::CursorExpired.parts().0)
}
