//! Signs members, reads lists to their end, and posts once over retries.
#![doc = ""]
#![doc = include_str!("../README.md")]
#![deny(missing_docs, clippy::print_stdout)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod client;
mod comment_walk;
mod member_token;
mod new_post;

mod client_error;
mod retry_after;
mod retry_policy;
mod send;
mod server_connection;
mod system_time;

pub use gailou_shared::id::{CommentId, InvalidId, InvalidSubject, MediaId, MemberId, SubjectKey};
pub use gailou_shared::rank::Sort;
pub use gailou_shared::token::{Member, Role, TokenError};
pub use gailou_shared::wire;

pub use client::Client;
pub use client_error::ClientError;
pub use comment_walk::{CommentWalk, ListOptions};
pub use member_token::{SignTokenError, TokenOptions, sign_member_token};
pub use new_post::NewPost;
pub use retry_policy::RetryPolicy;
