//! Members and their tokens, as the host site would sign them.

use gailou::clock::Clock;
use gailou::config::DEVELOPMENT_SECRET;
use gailou_shared::id::MemberId;
use gailou_shared::token::{Member, Role, TokenKey};

/// A member with a token that is good for twenty days.
#[derive(Debug, Clone)]
pub struct Who {
    pub id: String,
    pub name: String,
    pub token: String,
}

/// What every origin of the suite verifies tokens by.
pub fn token_key() -> TokenKey {
    TokenKey::secret(DEVELOPMENT_SECRET.as_bytes()).expect("the development secret is long enough")
}

/// The member `id` with this role: `member`, `moderator` or `admin`.
pub fn who(id: u64, name: &str, role: &str) -> Who {
    let role = match role {
        "member" => Role::Member,
        "moderator" => Role::Moderator,
        "admin" => Role::Admin,
        other => panic!("no role {other:?}"),
    };
    let member = Member { id: MemberId::new(id).expect("an id"), name: name.into(), avatar: None, level: 3, role };
    let expires = Clock::system().now() / 1_000 + 20 * 86_400;
    let token = token_key().sign(&member, "gailou", expires).expect("a secret signs");
    Who { id: id.to_string(), name: name.into(), token }
}
