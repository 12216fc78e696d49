//! `gailou token`: a member's token, as the host site would sign it.
//!
//! Needs no data directory and no server. Promise: what it prints is a token that a server with
//! the same configuration takes.

use anyhow::Context as _;
use clap::Args;
use gailou_shared::id::{FIRST_GUEST, MemberId};
use gailou_shared::limits;
use gailou_shared::token::{Member, Role};

use crate::app::Clock;
use crate::config::Config;

/// The arguments.
#[derive(Debug, Args)]
pub(super) struct Token {
    /// The member's id, below 2^62
    #[arg(long, value_name = "N", value_parser = host_member)]
    sub: MemberId,
    /// The name to show
    #[arg(long, value_name = "NAME")]
    name: String,
    /// member, moderator or admin
    #[arg(long, default_value = "member", value_parser = role)]
    role: Role,
    /// The host's level of the member
    #[arg(long, value_name = "N", default_value_t = 0)]
    level: u8,
    /// Address of a picture
    #[arg(long, value_name = "URL")]
    avatar: Option<String>,
    /// How long it is good, at most 30 days
    #[arg(long, value_name = "SECONDS", default_value_t = 3_600, value_parser = clap::value_parser!(u64).range(1..=limits::TOKEN_SECONDS))]
    ttl: u64,
}

fn host_member(text: &str) -> Result<MemberId, String> {
    let id: MemberId = text.parse().map_err(|e: gailou_shared::id::NotAnId| e.to_string())?;
    if id.get() < FIRST_GUEST { Ok(id) } else { Err("must be below 2^62: larger ids are guests'".into()) }
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
        let key = config.token_key()?;
        let token = key
            .sign(&member, &config.auth.audience, now + self.ttl)
            .context("the configuration holds a public key only: the host alone can sign tokens")?;
        key.verify(&token, &config.auth.audience, now).context("no server would take this token")?;
        Ok(token)
    }
}
