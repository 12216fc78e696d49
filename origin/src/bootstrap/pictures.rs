//! Who has pictures: of members, and of comments that are imported.

use std::sync::Arc;

use crate::adapters::avatar_service::AvatarClient;
use crate::adapters::chosen_pictures::ChosenPictureClient;
use crate::adapters::picture_hosts::PictureHostClient;
use crate::config::Config;
use crate::domain::avatar::PictureAddresses;
use crate::domain::sign_in::SignInKey;
use crate::ports::avatars::{AvatarService, ChosenPictures};
use crate::ports::picture_hosts::PictureHosts;

/// The service that has pictures by the hashes of e-mail addresses.
pub(super) fn avatar_service(config: &Config) -> Option<Arc<dyn AvatarService>> {
    AvatarClient::new(&config.avatars).map(|client| Arc::new(client) as Arc<dyn AvatarService>)
}

/// Where readers get the pictures that host sites name: here, where it is known how readers reach this installation.
pub(super) fn addresses(config: &Config, key: SignInKey) -> PictureAddresses {
    PictureAddresses::new(config.public_url.as_deref().filter(|_| config.avatars.proxy), key)
}

/// The hosts of pictures that owners of accounts have chosen. Where webhooks may lead is where it may fetch.
pub(super) fn chosen_pictures(config: &Config) -> Arc<dyn ChosenPictures> {
    Arc::new(ChosenPictureClient::new(config.webhooks.allow_private))
}

/// The hosts of pictures that imported comments show. Where webhooks may lead is where it may fetch.
pub fn picture_hosts(config: &Config) -> Arc<dyn PictureHosts> {
    Arc::new(PictureHostClient::new(config.webhooks.allow_private))
}
