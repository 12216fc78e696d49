//! The id of the installation: random, made once, and kept in every database and by the broker.
//!
//! A database of another installation is refused by name. One that has no id yet is not, and gets it when it is migrated.

use std::sync::OnceLock;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::error::{NO_SUCH_TABLE, UNKNOWN_DATABASE};
use crate::adapters::mysql::pool::MysqlPool;
use crate::adapters::mysql::rows::damaged;
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::statement::sql;
use crate::ports::store::{Result, StoreError};

/// The setting that has the id: 32 hexadecimal digits.
const INSTALLATION_SETTING: &str = "installation";

/// The installation of the first database that was compared, and the address of that database.
#[derive(Debug, Default)]
pub(super) struct Installation(OnceLock<(String, String)>);

impl Installation {
    /// Refuses a database of another installation.
    pub(super) fn compare(&self, found: Option<String>, address: &str) -> Result<()> {
        let Some(found) = found else { return Ok(()) };
        let (known, of) = self.0.get_or_init(|| (found.clone(), address.to_owned()));
        if *known == found {
            return Ok(());
        }
        let text = format!(
            "{address}: it belongs to installation {found}, and {of} to {known}: a wrong address, or a database of \
             another cluster"
        );
        Err(StoreError::Database(text.into()))
    }
}

impl MysqlStore {
    /// The id of the installation; `None` while no database that was checked has one.
    pub fn installation(&self) -> Option<&str> {
        self.installation.0.get().map(|(id, _)| id.as_str())
    }
}

/// The id in a database that has tables.
pub(super) async fn read(session: &mut MysqlSession) -> Result<Option<String>> {
    let found = sql("SELECT value FROM setting WHERE name = ?").bind(INSTALLATION_SETTING);
    let found: Option<Vec<u8>> =
        session.fetch_first(found).await?.map(|row| sqlx::Row::try_get(&row, 0)).transpose()?;
    found.map(|id| String::from_utf8(id).map_err(damaged)).transpose()
}

/// The id in a database that may be empty, or not there.
async fn read_or_none(pool: &MysqlPool) -> Result<Option<String>> {
    let read = async { read(&mut pool.session("read_installation").await?).await };
    match read.await {
        Err(error) if matches!(error.code(), Some(NO_SUCH_TABLE | UNKNOWN_DATABASE)) => Ok(None),
        found => found,
    }
}

/// Refuses databases of two installations, before anything is changed in one.
pub(super) async fn refuse_others(pools: &[MysqlPool]) -> Result<()> {
    let installation = Installation::default();
    for pool in pools {
        installation.compare(read_or_none(pool).await?, &pool.address())?;
    }
    Ok(())
}

/// Makes an id, unless a database has one, and gives it to those that have none. The first database decides, so that
/// two processes never make different ones.
pub(super) async fn make(pools: &[MysqlPool]) -> Result<()> {
    let mut id = None;
    for pool in pools {
        id = id.or(read_or_none(pool).await?);
    }
    let mut id = id.unwrap_or_else(|| format!("{:032x}", rand::random::<u128>()));
    let installation = Installation::default();
    for pool in pools {
        let mut session = pool.session("make_installation").await?;
        let put = sql("INSERT IGNORE INTO setting (name, value) VALUES (?, ?)");
        session.execute(put.bind(INSTALLATION_SETTING).bind(id.as_bytes())).await?;
        let stored = read(&mut session).await?.ok_or_else(|| damaged("a setting that was stored is missing"))?;
        installation.compare(Some(stored.clone()), &pool.address())?;
        id = stored;
    }
    Ok(())
}
