//! Members with signed tokens, as the host site would sign them.

use gailou::clock::Clock;
use gailou_shared::id::MemberId;
use gailou_shared::token::{Member, Role, TokenKey};

/// The token secret of every origin of the suite.
pub const TOKEN_SECRET: &str = "the token secret of the test suite";

/// How long a token of the suite is valid: longer than any test moves its clock.
const TOKEN_LIFETIME_SECONDS: u64 = 20 * 86_400;

/// A member with a token.
#[derive(Debug, Clone)]
pub struct TestMember {
    pub id: String,
    pub name: String,
    pub token: String,
}

impl TestMember {
    /// A member with a token that is signed with [`token_key`].
    pub fn new(id: u64, name: &str, role: Role) -> Self {
        let id = MemberId::new(id).expect("a member id");
        Self::of(&Member { id, name: name.into(), avatar: None, level: 3, role })
    }

    /// This member, with a token that is signed with [`token_key`].
    pub fn of(member: &Member) -> Self {
        let now = Clock::system().now() / 1_000;
        let token = token_key().sign(member, "gailou", now..now + TOKEN_LIFETIME_SECONDS).expect("a secret signs");
        Self { id: member.id.to_string(), name: member.name.clone(), token }
    }
}

/// The member with id 7.
pub fn ann() -> TestMember {
    TestMember::new(7, "Ann", Role::Member)
}

/// The member with id 8.
pub fn bob() -> TestMember {
    TestMember::new(8, "Bob", Role::Member)
}

/// The moderator with id 50.
pub fn moderator() -> TestMember {
    TestMember::new(50, "Mod", Role::Moderator)
}

/// The administrator with id 51.
pub fn admin() -> TestMember {
    TestMember::new(51, "Admin", Role::Admin)
}

/// The member with id 99, whom tests make the owner of a subject.
pub fn owner() -> TestMember {
    TestMember::new(99, "Owner", Role::Member)
}

/// One of many members, whose name does not matter.
pub fn member(id: u64) -> TestMember {
    TestMember::new(id, "M", Role::Member)
}

/// The key that every origin of the suite verifies tokens with.
pub fn token_key() -> TokenKey {
    TokenKey::secret(TOKEN_SECRET.as_bytes()).expect("the secret is long enough")
}
