//! The picture of a member by the hash of their e-mail address.
//!
//! Promise: there is always one, and no reader's address reaches the service. A file of the service is decoded and encoded
//! again before it is sent; what is no picture, too large, late or missing is a drawing.

use std::time::Duration;

use bytes::Bytes;

use crate::domain::avatar::AvatarHash;
use crate::domain::picture;
use crate::ports::failure::Failure;
use crate::state::AppState;
use crate::state::avatars::{Avatar, Avatars};

/// Pixels of a picture on each side: twice what the element shows.
const AVATAR_SIDE: u32 = 160;
/// How long a picture of the service is fresh: a member who changes it sees that the day after.
const PICTURE_FRESH_FOR: Duration = Duration::from_secs(86_400);
/// The same of a drawing for a hash that the service does not know.
const UNKNOWN_FRESH_FOR: Duration = Duration::from_secs(3_600);
/// The same where the service did not answer with a picture.
const FAILURE_FRESH_FOR: Duration = Duration::from_secs(60);

/// The picture of this hash.
pub async fn find(app: &AppState, hash: &AvatarHash) -> Avatar {
    let avatars = &app.avatars;
    if avatars.service.is_none() {
        return drawing(hash, PICTURE_FRESH_FOR);
    }
    avatars.get_or(hash, make(avatars, hash)).await
}

async fn make(avatars: &Avatars, hash: &AvatarHash) -> Avatar {
    match fetch(avatars, hash).await {
        Ok(Some(picture)) => picture,
        Ok(None) => drawing(hash, UNKNOWN_FRESH_FOR),
        // The adapter logs an outage; one file that is no picture is worth no line.
        Err(_) => drawing(hash, FAILURE_FRESH_FOR),
    }
}

async fn fetch(avatars: &Avatars, hash: &AvatarHash) -> Result<Option<Avatar>, Failure> {
    let Some(service) = &avatars.service else { return Ok(None) };
    let file = {
        // Who finds no place is not kept waiting for others' questions.
        let _place = avatars.questions.try_acquire().map_err(Failure::of_driver)?;
        service.fetch(hash).await?
    };
    let Some(file) = file else { return Ok(None) };
    let place = avatars.decoders.clone().acquire_owned().await.map_err(Failure::of_driver)?;
    let made = tokio::task::spawn_blocking(move || {
        // It works on when its reader has gone.
        let _place = place;
        picture::make_square(&file, AVATAR_SIDE)
    });
    let made = made.await;
    // A decoder that panics has met bytes that its authors have not thought of.
    let picture = made.map_err(Failure::of_driver)?.map_err(Failure::of_driver)?;
    let content_type = picture.format.content_type();
    Ok(Some(Avatar { bytes: picture.bytes, content_type, fresh_for: PICTURE_FRESH_FOR }))
}

fn drawing(hash: &AvatarHash, fresh_for: Duration) -> Avatar {
    Avatar { bytes: Bytes::from(hash.draw()), content_type: "image/svg+xml", fresh_for }
}
