//! `gailou token`: signs a token for a member, as the host site does.
//!
//! Needs no server. Without a configured secret it uses the one in the data directory, which it makes if it
//! is missing. Promise: a server with the same configuration accepts the token.

use anyhow::Context as _;
use clap::Args;
use gailou_shared::id::{FIRST_GUEST_ID, MemberId};
use gailou_shared::limits;
use gailou_shared::token::{Member, Role};

use crate::bootstrap::token_secret;
use crate::clock::Clock;
use crate::config::Config;

/// The arguments.
#[derive(Debug, Args)]
pub(super) struct Token {
    /// The member's id, below 2^62
    #[arg(long, value_name = "N", value_parser = host_member)]
    sub: MemberId,
    /// The name that is shown
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: String,
    /// The role: member, moderator or admin
    #[arg(long, default_value = "member", value_parser = role)]
    role: Role,
    /// The level that the host gives the member
    #[arg(long, value_name = "N", default_value_t = 0)]
    level: u8,
    /// The address of a picture
    #[arg(long, value_name = "URL")]
    avatar: Option<String>,
    /// How long the token is valid, at most 30 days
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600, value_parser = clap::value_parser!(u64).range(1..=limits::MAX_TOKEN_LIFETIME_SECONDS))]
    ttl: u64,
}

fn host_member(text: &str) -> Result<MemberId, String> {
    let id: MemberId = text.parse().map_err(|e: gailou_shared::id::InvalidId| e.to_string())?;
    if id.get() < FIRST_GUEST_ID { Ok(id) } else { Err("must be below 2^62: larger ids belong to guests".into()) }
}

fn name(text: &str) -> Result<String, String> {
    let name = text.trim();
    let ok = !name.is_empty() && name.chars().count() <= limits::MAX_NAME_CHARS && !name.chars().any(char::is_control);
    let wrong = || format!("must be 1 to {} characters, without control characters", limits::MAX_NAME_CHARS);
    ok.then(|| name.to_owned()).ok_or_else(wrong)
}

fn role(name: &str) -> Result<Role, String> {
    match name {
        "member" => Ok(Role::Member),
        "moderator" => Ok(Role::Moderator),
        "admin" => Ok(Role::Admin),
        _ => Err("must be member, moderator or admin".into()),
    }
}

impl Token {
    /// The signed token.
    pub(super) fn sign(&self, config: &Config) -> anyhow::Result<String> {
        let now = Clock::system().now() / 1_000;
        let member = Member {
            id: self.sub,
            name: self.name.clone(),
            avatar: self.avatar.clone(),
            level: self.level,
            role: self.role,
        };
        let key = token_secret::host_key(config)?;
        let token = key.sign(&member, &config.auth.audience, now..now + self.ttl).context(
            "cannot sign a token: the configuration has the public key only, and the host has the private key",
        )?;
        key.verify(&token, &config.auth.audience, now).context("a server would refuse this token")?;
        Ok(token)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::config::Options;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        token: Token,
    }

    fn parse(arguments: &[&str]) -> Result<Token, clap::Error> {
        let given = ["token"].iter().chain(arguments);
        Cli::try_parse_from(given).map(|cli| cli.token)
    }

    #[test]
    fn server_accepts_the_printed_token() {
        let directory = tempfile::tempdir().unwrap();
        let config = Config { data: directory.path().into(), ..Config::read(Options::default(), []).unwrap() };
        let given = ["--sub", "7", "--name", " Ann ", "--role", "moderator", "--level", "3"];
        let token = parse(&given).unwrap().sign(&config).unwrap();
        let now = Clock::system().now() / 1_000;
        let member = token_secret::host_key(&config).unwrap().verify(&token, "gailou", now + 3_590).unwrap();
        assert_eq!((member.id.get(), member.name.as_str(), member.role, member.level), (7, "Ann", Role::Moderator, 3));
    }

    #[test]
    fn wrong_argument_exits_with_2() {
        for wrong in [
            &["--name", "a"][..],
            &["--sub", "7"],
            &["--sub", "07", "--name", "a"],
            &["--sub", "4611686018427387904", "--name", "a"],
            &["--sub", "7", "--name", " "],
            &["--sub", "7", "--name", "a", "--role", "king"],
            &["--sub", "7", "--name", "a", "--level", "256"],
            &["--sub", "7", "--name", "a", "--ttl", "0"],
            &["--sub", "7", "--name", "a", "--ttl", "2592001"],
        ] {
            assert_eq!(parse(wrong).unwrap_err().exit_code(), 2, "{wrong:?}");
        }
    }
}
