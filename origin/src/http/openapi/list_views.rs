//! Descriptions of lists, which are answered whole or compact.

use gailou_shared::wire::compact::{CompactComment, CompactCommentContext, CompactCommentPage, CompactCommentTree};
use gailou_shared::wire::openapi::{CommentChain, CompactCommentChain, EitherView, compact_schema};
use gailou_shared::wire::{Comment, CommentContext, CommentPage, CommentTree};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::http::openapi::bodies::HistoryPage;

pub(in crate::http) type CommentChainView = EitherView<CommentChain, CompactCommentChain>;
pub(in crate::http) type CommentContextView = EitherView<CommentContext, CompactCommentContext<'static>>;
pub(in crate::http) type CommentPageView = EitherView<CommentPage, CompactCommentPage<'static>>;
pub(in crate::http) type CommentTreeView = EitherView<CommentTree, CompactCommentTree<'static>>;
pub(in crate::http) type HistoryPageView = EitherView<HistoryPage, CompactHistoryPage>;

/// Comments in either view.
pub(in crate::http) struct CommentListView;

impl PartialSchema for CommentListView {
    fn schema() -> RefOr<Schema> {
        ArrayBuilder::new().items(EitherView::<Comment, CompactComment<'_>>::schema()).into()
    }
}

impl ToSchema for CommentListView {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        EitherView::<Comment, CompactComment<'_>>::schemas(schemas);
    }
}

/// A page of compact comments on various subjects.
pub(in crate::http) struct CompactHistoryPage;

impl PartialSchema for CompactHistoryPage {
    fn schema() -> RefOr<Schema> {
        compact_schema::<HistoryPage>("A page of compact comments on various subjects.")
    }
}

impl ToSchema for CompactHistoryPage {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((CompactComment::name().into_owned(), CompactComment::schema()));
        HistoryPage::schemas(schemas);
    }
}
