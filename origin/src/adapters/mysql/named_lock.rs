//! A lock of the server, for work that only one process may do. The server releases it with its
//! connection, so a process that dies holds nothing.

use sqlx::Row as _;

use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::statement::sql;
use crate::ports::store::{Result, StoreError};

/// A held lock, and the connection that holds it.
#[derive(Debug)]
pub struct NamedLock {
    session: MysqlSession,
    purpose: &'static str,
}

impl NamedLock {
    /// Waits up to `wait_s` seconds for the lock of this purpose on the connection's database; `None`
    /// when another process holds it.
    pub(super) async fn acquire(mut session: MysqlSession, purpose: &'static str, wait_s: u64) -> Result<Option<Self>> {
        let text = format!("SELECT CAST(GET_LOCK({}, ?) AS SIGNED)", name(purpose));
        let found = session.fetch_first(sql(text).bind(wait_s)).await?;
        let acquired: Option<i64> = found.map(|r| r.try_get(0)).transpose()?.flatten();
        Ok((acquired == Some(1)).then_some(Self { session, purpose }))
    }

    /// The connection that holds the lock.
    pub(super) fn session(&mut self) -> &mut MysqlSession {
        &mut self.session
    }

    /// Keeps the connection awake, and fails when it, or the lock by itself, is lost.
    pub(super) async fn check(&mut self) -> Result<()> {
        let text = format!("SELECT CAST(IS_USED_LOCK({}) = CONNECTION_ID() AS SIGNED)", name(self.purpose));
        let held: Option<i64> = self.session.fetch_first(sql(text)).await?.map(|r| r.try_get(0)).transpose()?.flatten();
        if held == Some(1) { Ok(()) } else { Err(StoreError::Unavailable("the named lock was lost".into())) }
    }

    pub(super) async fn release(mut self) -> Result<()> {
        self.session.execute_text(format!("DO RELEASE_LOCK({})", name(self.purpose))).await
    }
}

/// A lock's name, unique on the server: names are limited to 64 characters, those of databases too. Not by `MD5()`,
/// which MySQL has had in a component since 9.6.
fn name(purpose: &str) -> String {
    format!("CONCAT('gailou.{purpose}.', LEFT(SHA2(DATABASE(), 256), 32))")
}
