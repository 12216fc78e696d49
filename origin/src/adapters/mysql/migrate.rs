//! The tables of every database, made and brought up to date.
//!
//! Every step can be repeated: statements that define tables cannot be rolled back, so whoever
//! stopped half-way goes on from the beginning.

use gailou_shared::id::{IMPORT_NODE, SLOT_COUNT};
use sqlx::Row;
use sqlx::mysql::MySqlConnectOptions;

use crate::adapters::mysql::pool::{Pool, Session, sql};
use crate::adapters::mysql::slot_map::first_shard;
use crate::ports::store::{Result, StoreError};

/// The migrations by number, from 1.
const MIGRATIONS: [&str; 1] = [include_str!("../../../../migrations/mysql/0001_init.sql")];

/// The server's number for a table that does not exist.
const NO_SUCH_TABLE: u16 = 1146;
/// The server's number for a database that does not exist.
const UNKNOWN_DATABASE: u16 = 1049;

/// What says how far a database is, and that it is the one it is taken for.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS migration (number SMALLINT NOT NULL PRIMARY KEY, \
     tables SMALLINT NOT NULL, shard SMALLINT NOT NULL, at BIGINT NOT NULL) ENGINE = InnoDB";

/// Makes the databases that are missing, their tables and rows of slots.
pub(super) async fn run(databases: &[MySqlConnectOptions], tables: u16) -> Result<()> {
    if databases.is_empty() || tables == 0 || tables > SLOT_COUNT || !SLOT_COUNT.is_multiple_of(tables) {
        return Err(StoreError::Database(
            format!("there must be a database, and the number of tables must divide {SLOT_COUNT}; it is {tables}")
                .into(),
        ));
    }
    let mut owners = None;
    for (shard, options) in databases.iter().enumerate() {
        create(options).await?;
        let pool = Pool::new(options.clone());
        let mut session = pool.session().await?;
        // A lock of the server's, gone with the connection whatever happens.
        let locked = "SELECT CAST(GET_LOCK(CONCAT('gailou.migrate.', MD5(DATABASE())), 2) AS SIGNED)";
        if session.first(sql(locked)).await?.map(|r| r.try_get::<Option<i64>, _>(0)).transpose()?.flatten() != Some(1) {
            return Err(StoreError::Unavailable(format!("{}: somebody else is migrating it", pool.place()).into()));
        }
        let mut work = Work { session, place: pool.place(), shard, tables };
        work.define().await?;
        let owners = match &owners {
            Some(owners) => owners,
            None => owners.insert(work.map(databases.len()).await?),
        };
        work.slots(owners).await?;
        work.session.raw("DO RELEASE_LOCK(CONCAT('gailou.migrate.', MD5(DATABASE())))").await?;
    }
    Ok(())
}

/// Refuses databases that [`run`] has not brought to where this version is.
pub(super) async fn check(pools: &[Pool], tables: u16) -> Result<()> {
    for (shard, pool) in pools.iter().enumerate() {
        let mut work = Work { session: pool.session().await?, place: pool.place(), shard, tables };
        let done = match work.done().await {
            Err(error) if error.code() == Some(NO_SUCH_TABLE) => 0,
            done => done?,
        };
        if done < MIGRATIONS.len() {
            return Err(StoreError::Database(
                format!("{}: the tables are not up to date, run `gailou migrate`", pool.place()).into(),
            ));
        }
    }
    Ok(())
}

/// Makes the database where the account may and it is not there.
async fn create(options: &MySqlConnectOptions) -> Result<()> {
    match Pool::new(options.clone()).session().await {
        Err(error) if error.code() == Some(UNKNOWN_DATABASE) => {
            let name = options.get_database().unwrap_or_default().to_owned();
            let mut server = Pool::new(options.clone().database("")).session().await?;
            server.raw(&format!("CREATE DATABASE IF NOT EXISTS `{name}` CHARACTER SET utf8mb4")).await
        }
        other => other.map(|_| ()),
    }
}

/// One database at work.
struct Work {
    session: Session,
    place: String,
    shard: usize,
    tables: u16,
}

impl Work {
    /// How many migrations it has.
    async fn done(&mut self) -> Result<usize> {
        let rows = self.session.all(sql("SELECT number, tables, shard FROM migration ORDER BY number")).await?;
        for row in &rows {
            let (tables, shard): (i16, i16) = (row.try_get(1)?, row.try_get(2)?);
            if i32::from(tables) != i32::from(self.tables) {
                return Err(StoreError::Database(format!(
                    "{}: its tables are numbered to {tables}, the configuration says {} (cluster.tables can never change)",
                    self.place, self.tables
                ).into()));
            }
            if usize::try_from(shard) != Ok(self.shard) {
                return Err(StoreError::Database(
                    format!(
                        "{}: it is number {shard} of the databases (from 0), the configuration has it as number {}",
                        self.place, self.shard
                    )
                    .into(),
                ));
            }
        }
        if rows.len() > MIGRATIONS.len() {
            return Err(StoreError::Database(
                format!("{}: it belongs to a newer version of gailou", self.place).into(),
            ));
        }
        Ok(rows.len())
    }

    async fn define(&mut self) -> Result<()> {
        self.session.patient().await?;
        self.session.raw(TABLE).await?;
        let done = self.done().await?;
        for (index, text) in MIGRATIONS.iter().enumerate().skip(done) {
            for statement in statements(text, self.tables) {
                self.session.raw(&statement).await?;
            }
            let note = sql(
                "INSERT IGNORE INTO migration (number, tables, shard, at) VALUES (?, ?, ?, UNIX_TIMESTAMP() * 1000)",
            );
            self.session.run(note.bind(index as i64 + 1).bind(self.tables).bind(self.shard as i64)).await?;
        }
        Ok(())
    }

    /// Where every slot lives, decided when there is no map yet; and the node numbers there are.
    async fn map(&mut self, databases: usize) -> Result<Vec<usize>> {
        let owners: Vec<String> =
            (0..SLOT_COUNT).map(|slot| format!("({slot}, {}, 1)", first_shard(slot, databases))).collect();
        self.session
            .raw(&format!("INSERT IGNORE INTO slot_map (slot, shard, version) VALUES {}", owners.join(", ")))
            .await?;
        let nodes: Vec<String> = (0..IMPORT_NODE).map(|node| format!("({node}, '', 0)")).collect();
        self.session
            .raw(&format!("INSERT IGNORE INTO node (node, holder, expires_at) VALUES {}", nodes.join(", ")))
            .await?;
        let rows = self.session.all(sql("SELECT shard FROM slot_map ORDER BY slot")).await?;
        rows.iter().map(|row| Ok(usize::try_from(row.try_get::<i16, _>(0)?).unwrap_or(usize::MAX))).collect()
    }

    async fn slots(&mut self, owners: &[usize]) -> Result<()> {
        let rows: Vec<String> = owners
            .iter()
            .enumerate()
            .map(|(slot, owner)| format!("({slot}, {})", u8::from(*owner == self.shard)))
            .collect();
        self.session.raw(&format!("INSERT IGNORE INTO slot (slot, state) VALUES {}", rows.join(", "))).await
    }
}

/// The statements of a migration, those with `{n}` once for each number.
fn statements(text: &str, tables: u16) -> Vec<String> {
    let code: Vec<&str> = text.lines().map(|line| line.split("--").next().unwrap_or_default().trim_end()).collect();
    let code = code.join("\n");
    let mut all = Vec::new();
    for statement in code.split(';').map(str::trim).filter(|s| !s.is_empty()) {
        if statement.contains("{n}") {
            all.extend((0..tables).map(|n| statement.replace("{n}", &n.to_string())));
        } else {
            all.push(statement.to_owned());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_tables_are_made_once_a_number() {
        let text = "-- first; second\nCREATE TABLE a (x INT); -- third\n\nCREATE TABLE b_{n} (y INT);\n";
        assert_eq!(
            statements(text, 2),
            ["CREATE TABLE a (x INT)", "CREATE TABLE b_0 (y INT)", "CREATE TABLE b_1 (y INT)"]
        );
    }
}
