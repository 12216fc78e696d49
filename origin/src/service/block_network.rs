//! Blocking the network that a comment was posted from. A moderator sees no address, and none is stored.

use gailou_shared::id::CommentId;
use gailou_shared::token::Member;
use gailou_shared::wire::NetworkBlock;
use serde_json::{Map, json};

use crate::config::HashedNetwork;
use crate::domain::network_digest::NETWORK_KNOWN_MS;
use crate::service::edit::read_any_row;
use crate::service::{ServiceError, ServiceResult, settings};
use crate::state::AppState;

/// How often it is tried again because other settings were changed meanwhile.
const MAX_TRIES: usize = 10;
const UNKNOWN_NETWORK: ServiceError = ServiceError::NotFound(
    "it is not known where this comment was posted from: it is older than 30 days, imported, a moderator's or erased",
);

/// Blocks the network of a comment for 30 days: nothing is posted from it, and no guest is made. It is a change of
/// `rules.blocked.hashed_networks`, with its entry in the audit log; doing so again begins the days anew.
///
/// # Errors
/// [`ServiceError::CommentNotFound`]; [`ServiceError::NotFound`] where the network is not known; those of a change of
/// settings.
pub async fn block(app: &AppState, moderator: &Member, id: CommentId) -> ServiceResult<NetworkBlock> {
    read_any_row(app, id).await?;
    let digest = app.tables.read_author_network(id).await?.ok_or(UNKNOWN_NETWORK)?;
    let blocked = HashedNetwork::new(digest, app.now() + NETWORK_KNOWN_MS);
    let blocked = blocked.ok_or_else(|| ServiceError::Bug("the clock has no date".into()))?;
    for _ in 0..MAX_TRIES {
        let current = app.settings();
        let hashed_networks = current.values.rules.blocked.hashed_networks.with(blocked, app.now());
        let rules = json!({"blocked": {"hashed_networks": hashed_networks}});
        let patch = Map::from_iter([("rules".to_owned(), rules)]);
        match settings::change(app, moderator, patch, Some(current.version)).await {
            Err(ServiceError::VersionConflict(_)) => {
                app.reload_settings().await.map_err(|error| ServiceError::Bug(error.to_string()))?;
            }
            changed => return changed.map(|_| NetworkBlock { until: blocked.ends_at() }),
        }
    }
    Err(ServiceError::VersionConflict("others change the settings all the time; try again"))
}
