//! The picture of a member by the hash of their e-mail address, that of an account of this installation, or one that a
//! host site names.
//!
//! Promise: there is always one, and no reader's address reaches the service, or the host of a picture that an owner of an
//! account has chosen or a host site has named. A file of theirs is decoded and encoded again before it is sent; what is no
//! picture, too large, late or missing is a drawing.

use std::time::Duration;

use bytes::Bytes;
use gailou_shared::id::MemberId;

use crate::domain::avatar::{AvatarHash, NamedPicture, PICTURES_PATH};
use crate::domain::picture;
use crate::domain::sign_in::OwnAccount;
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

/// The address at which readers get the picture of an account; `None` where it has none.
pub(super) fn address_of(app: &AppState, account: &OwnAccount) -> Option<String> {
    let hash = AvatarHash::of_account(account.id, account.avatar.as_deref()?, &app.sign_in.key);
    Some(own_address(app, &hash))
}

/// The address at which this installation has the picture of a hash.
pub fn own_address(app: &AppState, hash: &AvatarHash) -> String {
    format!("{}{PICTURES_PATH}{hash}", app.sign_in.public_url())
}

/// The picture of this hash.
pub async fn find(app: &AppState, hash: &AvatarHash) -> Avatar {
    if let Some(account) = hash.account(&app.sign_in.key) {
        // Their picture may be in memory still.
        if app.erased_members.contains(account) {
            return drawing(hash, UNKNOWN_FRESH_FOR);
        }
        return app.avatars.get_or(hash, make(hash, fetch_chosen(app, account))).await;
    }
    if app.avatars.service.is_none() {
        return drawing(hash, PICTURE_FRESH_FOR);
    }
    app.avatars.get_or(hash, make(hash, fetch(&app.avatars, hash))).await
}

/// The picture that a host site names.
pub async fn find_named(app: &AppState, named: &NamedPicture) -> Avatar {
    app.avatars.get_or(&named.hash, make(&named.hash, fetch_elsewhere(&app.avatars, &named.address))).await
}

async fn make(hash: &AvatarHash, fetched: impl Future<Output = Result<Option<Avatar>, Failure>>) -> Avatar {
    match fetched.await {
        Ok(Some(picture)) => picture,
        Ok(None) => drawing(hash, UNKNOWN_FRESH_FOR),
        // The adapter logs an outage; one file that is no picture is worth no line.
        Err(_) => drawing(hash, FAILURE_FRESH_FOR),
    }
}

/// The picture that the account has now, also where the address was made of a former one.
async fn fetch_chosen(app: &AppState, account: MemberId) -> Result<Option<Avatar>, Failure> {
    let account = app.tables.read_account(account).await.map_err(Failure::of_driver)?;
    let Some(address) = account.and_then(|account| account.avatar) else { return Ok(None) };
    if let Some((_, hash)) = address.rsplit_once(PICTURES_PATH)
        && let Some(hash) = AvatarHash::parse(hash).filter(|hash| own_address(app, hash) == address)
    {
        return fetch(&app.avatars, &hash).await;
    }
    fetch_elsewhere(&app.avatars, &address).await
}

async fn fetch_elsewhere(avatars: &Avatars, address: &str) -> Result<Option<Avatar>, Failure> {
    let file = {
        let _place = avatars.chosen_questions.try_acquire().map_err(Failure::of_driver)?;
        avatars.chosen.fetch(address).await?
    };
    encode(avatars, file).await
}

async fn fetch(avatars: &Avatars, hash: &AvatarHash) -> Result<Option<Avatar>, Failure> {
    let Some(service) = &avatars.service else { return Ok(None) };
    let file = {
        // Who finds no place is not kept waiting for others' questions.
        let _place = avatars.questions.try_acquire().map_err(Failure::of_driver)?;
        service.fetch(hash).await?
    };
    encode(avatars, file).await
}

/// The picture in a file, encoded again.
async fn encode(avatars: &Avatars, file: Option<Bytes>) -> Result<Option<Avatar>, Failure> {
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
