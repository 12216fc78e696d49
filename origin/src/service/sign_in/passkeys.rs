//! Passkeys (WebAuthn) of administrators and moderators: added by who is signed in, and then what signs in.
//!
//! The library verifies answers of authenticators; here is what it knows nothing of: which accounts, which challenges,
//! which records. An authenticator says who signs in, so there is no name to type, and the public key is looked for
//! among the passkeys of that account alone.
//!
//! Promise: a challenge is answered once, within 5 minutes, for what it was made for, by a page at `public_url`, and by
//! an authenticator that has verified its user. A passkey is void with its account, without the role, and once older
//! tokens of its account are refused.

use gailou_shared::id::{MemberId, PasskeyId, Slot};
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::{Passkey, PasskeyChallenge, PasskeyList};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::Url;
use webauthn_rs::prelude::{
    DiscoverableAuthentication, Passkey as VerifiedPasskey, PasskeyRegistration, PublicKeyCredential,
    RegisterPublicKeyCredential, Uuid, WebauthnError,
};
use webauthn_rs::{Webauthn, WebauthnBuilder};

use crate::domain::audit::AuditEntry;
use crate::domain::member_standing::member_slot;
use crate::domain::passkey::{CHALLENGE_LIFETIME_MS, PasskeyInsertion, StoredPasskey};
use crate::domain::sign_in::{OwnAccount, SignInLink};
use crate::service::sign_in::session::{self, Session};
use crate::service::{ServiceError, ServiceResult, audit_log};
use crate::state::AppState;

/// The verbs of the audit log.
const ADD_ACTION: &str = "add_passkey";
const REMOVE_ACTION: &str = "remove_passkey";
const KNOWN_PASSKEY: ServiceError = ServiceError::VersionConflict("this account has this passkey already");
const NO_SUCH_PASSKEY: ServiceError = ServiceError::NotFound("this account has no such passkey");

/// Begins to add a passkey to the account of who is signed in.
///
/// # Errors
/// [`ServiceError::Forbidden`] for who may have none, or where the installation has no name; or the store's.
pub async fn begin_registration(app: &AppState, member: &Member) -> ServiceResult<PasskeyChallenge> {
    let relying_party = relying_party(app)?;
    let account = own_account(app, member).await?;
    let known = list_valid(app, account.id).await?;
    let known = known.into_iter().map(|passkey| passkey.credential).collect();
    let name = if account.name.is_empty() { account.id.to_string() } else { account.name };
    let (made, state) = relying_party
        .start_passkey_registration(user_handle(account.id), &name, &name, Some(known))
        .map_err(|error| unexpected(&error))?;
    let mut options = to_json(&made.public_key)?;
    // The library leaves it to the authenticator, but there is no name to find it by.
    options["authenticatorSelection"]["residentKey"] = json!("required");
    options["authenticatorSelection"]["requireResidentKey"] = json!(true);
    let (account, state, expires_at) = (account.id, to_json(&state)?, app.now() + CHALLENGE_LIFETIME_MS);
    open_challenge(app, options, &SignInLink::PasskeyRegistration { account, state, expires_at }).await
}

/// Adds a passkey.
///
/// # Errors
/// [`ServiceError::WrongFields`] for a challenge that is over, or an answer that is none; [`ServiceError::Forbidden`]
/// for who may have none; [`ServiceError::VersionConflict`] for one that the account has, or one too many; or the
/// store's.
pub async fn finish_registration(
    app: &AppState,
    member: &Member,
    challenge: &str,
    name: String,
    credential: Value,
) -> ServiceResult<Passkey> {
    let relying_party = relying_party(app)?;
    let account = own_account(app, member).await?.id;
    let credential: RegisterPublicKeyCredential = parse_credential(credential)?;
    let state = match take_challenge(app, challenge).await? {
        Some(SignInLink::PasskeyRegistration { account: of, state, .. }) if of == account => state,
        _ => return Err(ServiceError::wrong_field("challenge", "is over; begin again")),
    };
    // The library refuses it, too, and names another reason.
    if list_valid(app, account).await?.iter().any(|passkey| passkey.credential == credential.raw_id) {
        return Err(KNOWN_PASSKEY);
    }
    let state: PasskeyRegistration = serde_json::from_value(state).map_err(|error| damaged(&error))?;
    let verified = relying_party.finish_passkey_registration(&credential, &state).map_err(|error| {
        tracing::info!(member = %account, %error, "Refused a passkey that member {account} wanted to add");
        ServiceError::wrong_field(
            "credential",
            "is no answer to this challenge, at this address, with its user verified",
        )
    })?;
    let id: PasskeyId = app.ids.next(Slot::FIRST, app.now()).ok_or(ServiceError::NoNodeNumber)?.into();
    let passkey = StoredPasskey {
        account,
        id,
        credential: verified.cred_id().to_vec(),
        name,
        record: to_text(&verified)?,
        created_at: app.now(),
        used_at: None,
    };
    let audit = audit_log::entry(app, member, member_slot(account), ADD_ACTION, None)?;
    let audit = AuditEntry { after: Some(audited(&passkey)), ..audit };
    match app.tables.insert_passkey(&passkey, &audit).await? {
        PasskeyInsertion::Inserted => Ok(view(passkey)),
        PasskeyInsertion::Known => Err(KNOWN_PASSKEY),
        PasskeyInsertion::Full => {
            Err(ServiceError::VersionConflict("this account has 10 passkeys already; remove one first"))
        }
        PasskeyInsertion::NoAccount => Err(NOT_OWN),
    }
}

/// The passkeys of who is signed in.
///
/// # Errors
/// [`ServiceError::Forbidden`] for who may have none, or the store's.
pub async fn list(app: &AppState, member: &Member) -> ServiceResult<PasskeyList> {
    let account = own_account(app, member).await?.id;
    Ok(PasskeyList { data: list_valid(app, account).await?.into_iter().map(view).collect() })
}

/// Gives a passkey another name.
///
/// # Errors
/// [`ServiceError::NotFound`], [`ServiceError::Forbidden`] for who may have none, or the store's.
pub async fn rename(app: &AppState, member: &Member, id: PasskeyId, name: &str) -> ServiceResult<Passkey> {
    let passkey = find(app, member, id).await?;
    if !app.tables.rename_passkey(passkey.account, id, name).await? {
        return Err(NO_SUCH_PASSKEY);
    }
    Ok(view(StoredPasskey { name: name.to_owned(), ..passkey }))
}

/// Removes a passkey. Browsers that it has signed in stay so.
///
/// # Errors
/// [`ServiceError::NotFound`], [`ServiceError::Forbidden`] for who may have none, or the store's.
pub async fn remove(app: &AppState, member: &Member, id: PasskeyId) -> ServiceResult<()> {
    let passkey = find(app, member, id).await?;
    let audit = audit_log::entry(app, member, member_slot(passkey.account), REMOVE_ACTION, None)?;
    let audit = AuditEntry { before: Some(audited(&passkey)), ..audit };
    if app.tables.delete_passkey(passkey.account, id, &audit).await? { Ok(()) } else { Err(NO_SUCH_PASSKEY) }
}

/// Begins to sign in with a passkey.
///
/// # Errors
/// [`ServiceError::Forbidden`] where the installation has no name, or the store's.
pub async fn begin_sign_in(app: &AppState) -> ServiceResult<PasskeyChallenge> {
    let (made, state) = relying_party(app)?.start_discoverable_authentication().map_err(|error| unexpected(&error))?;
    let options = to_json(&made.public_key)?;
    let (state, expires_at) = (to_json(&state)?, app.now() + CHALLENGE_LIFETIME_MS);
    open_challenge(app, options, &SignInLink::PasskeySignIn { state, expires_at }).await
}

/// Signs in the account of a passkey.
///
/// # Errors
/// [`ServiceError::PasskeyRefused`], [`ServiceError::Forbidden`] for an account that has no role any more,
/// [`ServiceError::WrongFields`] for what no browser sends, or the store's.
pub async fn finish_sign_in(app: &AppState, challenge: &str, credential: Value) -> ServiceResult<Session> {
    let relying_party = relying_party(app)?;
    let credential: PublicKeyCredential = parse_credential(credential)?;
    let Some(SignInLink::PasskeySignIn { state, .. }) = take_challenge(app, challenge).await? else {
        return Err(ServiceError::PasskeyRefused);
    };
    if is_from_a_frame(&credential) {
        return Err(ServiceError::PasskeyRefused);
    }
    let state: DiscoverableAuthentication = serde_json::from_value(state).map_err(|error| damaged(&error))?;
    let identified = relying_party.identify_discoverable_authentication(&credential);
    let (handle, credential_id) = identified.map_err(|_| ServiceError::PasskeyRefused)?;
    let account = account_of(handle).filter(|id| !app.erased_members.contains(*id));
    let account = account.ok_or(ServiceError::PasskeyRefused)?;
    let passkeys = list_valid(app, account).await?;
    let passkey = passkeys.into_iter().find(|passkey| passkey.credential == credential_id);
    let passkey = passkey.ok_or(ServiceError::PasskeyRefused)?;
    let mut verified: VerifiedPasskey = serde_json::from_str(&passkey.record).map_err(|error| damaged(&error))?;
    let result = relying_party.finish_discoverable_authentication_v2(&credential, state, &verified);
    let result = result.map_err(|error| refused(account, passkey.id, &error))?;
    verified.update_credential(&result);
    let account = app.tables.read_account(account).await?.ok_or(ServiceError::PasskeyRefused)?;
    check_role(app.standings.rules_of(account.id).role.unwrap_or(account.role))?;
    let record = to_text(&verified)?;
    if !app.tables.use_passkey(account.id, passkey.id, &passkey.record, &record, app.now()).await? {
        return Err(ServiceError::PasskeyRefused);
    }
    Ok(session::begin(app, account, None, None).await?.session)
}

/// Whether a page asked that is in a frame of another site. The library looks at that only when a passkey is added.
fn is_from_a_frame(credential: &PublicKeyCredential) -> bool {
    let client: Value = serde_json::from_slice(&credential.response.client_data_json).unwrap_or_default();
    client["crossOrigin"] == true
}

/// The installation as authenticators know it: by the host of `public_url`, for pages of exactly that origin.
fn relying_party(app: &AppState) -> ServiceResult<Webauthn> {
    let no_name =
        || ServiceError::Forbidden("passkeys need a host with a name in public_url, not an address of numbers");
    let origin = Url::parse(&app.sign_in.public_url()).map_err(|_| no_name())?;
    let host = origin.domain().ok_or_else(no_name)?;
    let builder = WebauthnBuilder::new(host, &origin).and_then(WebauthnBuilder::build);
    builder.map_err(|error| unexpected(&error))
}

const NOT_OWN: ServiceError =
    ServiceError::Forbidden("passkeys are for accounts of this installation; this member signs in elsewhere");

/// The account of a member, who is a moderator at least.
async fn own_account(app: &AppState, member: &Member) -> ServiceResult<OwnAccount> {
    check_role(member.role)?;
    app.tables.read_account(member.id).await?.ok_or(NOT_OWN)
}

fn check_role(role: Role) -> ServiceResult<()> {
    if role < Role::Moderator {
        return Err(ServiceError::Forbidden("passkeys are for administrators and moderators"));
    }
    Ok(())
}

/// The passkeys of an account. Those from before its older tokens were refused end here: who had such a token may have
/// added them.
async fn list_valid(app: &AppState, account: MemberId) -> ServiceResult<Vec<StoredPasskey>> {
    if let Some(not_before) = app.standings.rules_of(account).tokens_not_before {
        app.tables.delete_passkeys_before(account, not_before).await?;
    }
    Ok(app.tables.list_passkeys(account).await?)
}

async fn find(app: &AppState, member: &Member, id: PasskeyId) -> ServiceResult<StoredPasskey> {
    let account = own_account(app, member).await?.id;
    list_valid(app, account).await?.into_iter().find(|passkey| passkey.id == id).ok_or(NO_SUCH_PASSKEY)
}

/// What authenticators keep of an account: its id, which is random and public.
fn user_handle(account: MemberId) -> Uuid {
    Uuid::from_u64_pair(0, account.get())
}

fn account_of(handle: Uuid) -> Option<MemberId> {
    let (zero, id) = handle.as_u64_pair();
    (zero == 0).then(|| MemberId::new(id).ok()).flatten()
}

/// Stores a challenge, whose answer is sent with the text of it.
async fn open_challenge(app: &AppState, options: Value, link: &SignInLink) -> ServiceResult<PasskeyChallenge> {
    let challenge = options["challenge"].as_str().ok_or_else(|| ServiceError::Bug("no challenge".into()))?.to_owned();
    app.tables.put_link(&app.sign_in.key.challenge_digest(&challenge), link, app.now()).await?;
    Ok(PasskeyChallenge { challenge, options })
}

/// Uses up a challenge, whatever comes of the answer; `None` where it was used, or is too old.
async fn take_challenge(app: &AppState, challenge: &str) -> ServiceResult<Option<SignInLink>> {
    let now = app.now();
    let taken = app.tables.take_link(&app.sign_in.key.challenge_digest(challenge), now).await?;
    Ok(taken.filter(|link| match link {
        SignInLink::PasskeyRegistration { expires_at, .. } | SignInLink::PasskeySignIn { expires_at, .. } => {
            now < *expires_at
        }
        SignInLink::Email { .. } | SignInLink::Code { .. } | SignInLink::Admin => false,
    }))
}

/// Why an answer signs in nowhere: for the log alone, since its sender may be anyone.
fn refused(member: MemberId, passkey: PasskeyId, error: &WebauthnError) -> ServiceError {
    if matches!(error, WebauthnError::CredentialPossibleCompromise) {
        tracing::warn!(
            %member, %passkey,
            "The passkey {passkey} of member {member} has signed less often than before: it may be copied; it was refused"
        );
    } else {
        tracing::info!(%member, %passkey, %error, "Refused an answer of the passkey {passkey} of member {member}");
    }
    ServiceError::PasskeyRefused
}

fn parse_credential<T: DeserializeOwned>(credential: Value) -> ServiceResult<T> {
    let wrong = |_| ServiceError::wrong_field("credential", "must be a public-key credential in WebAuthn's JSON");
    serde_json::from_value(credential).map_err(wrong)
}

fn to_json(value: &impl Serialize) -> ServiceResult<Value> {
    serde_json::to_value(value).map_err(|error| damaged(&error))
}

fn to_text(value: &impl Serialize) -> ServiceResult<String> {
    serde_json::to_string(value).map_err(|error| damaged(&error))
}

fn damaged(error: &serde_json::Error) -> ServiceError {
    ServiceError::Bug(format!("a record of a passkey cannot be read or written: {error}"))
}

fn unexpected(error: &WebauthnError) -> ServiceError {
    ServiceError::Bug(format!("a challenge for a passkey cannot be made: {error}"))
}

fn audited(passkey: &StoredPasskey) -> Value {
    json!({ "passkey": passkey.id, "name": passkey.name })
}

fn view(passkey: StoredPasskey) -> Passkey {
    let StoredPasskey { id, name, created_at, used_at, .. } = passkey;
    Passkey { id, name, created_at, used_at }
}
