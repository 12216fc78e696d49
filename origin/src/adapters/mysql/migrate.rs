//! Creates the tables of every database, and migrates them to this version.
//!
//! Every step can be repeated: statements that define tables cannot be rolled back, so a migration that
//! was interrupted starts again from the beginning.

use gailou_shared::id::{IMPORT_NODE, SLOT_COUNT};
use sqlx::Row as _;
use sqlx::mysql::MySqlConnectOptions;

use crate::adapters::mysql::error::{NO_SUCH_TABLE, UNKNOWN_DATABASE};
use crate::adapters::mysql::named_lock::NamedLock;
use crate::adapters::mysql::pool::MysqlPool;
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_map::initial_shard;
use crate::adapters::mysql::slot_state::SlotState;
use crate::adapters::mysql::statement::sql;
use crate::domain::columns::StoredEnum as _;
use crate::ports::store::{Result, StoreError};

/// The migrations by number, from 1.
const MYSQL_MIGRATIONS: [&str; 8] = [
    include_str!("../../../../migrations/mysql/0001_init.sql"),
    include_str!("../../../../migrations/mysql/0002_indexes.sql"),
    include_str!("../../../../migrations/mysql/0003_edits.sql"),
    include_str!("../../../../migrations/mysql/0004_author_role.sql"),
    include_str!("../../../../migrations/mysql/0005_member_name.sql"),
    include_str!("../../../../migrations/mysql/0006_member_data.sql"),
    include_str!("../../../../migrations/mysql/0007_member_name_member.sql"),
    include_str!("../../../../migrations/mysql/0008_root_keys.sql"),
];

/// The migrations that a database has, and which database of which cluster it is.
const MIGRATION_TABLE: &str = "CREATE TABLE IF NOT EXISTS migration (number SMALLINT NOT NULL PRIMARY KEY, \
     tables SMALLINT NOT NULL, shard SMALLINT NOT NULL, at BIGINT NOT NULL) ENGINE = InnoDB";

/// `ER_DUP_FIELDNAME`, `ER_DUP_KEYNAME` and `ER_CANT_DROP_FIELD_OR_KEY`: an interrupted migration has
/// changed the table already.
const DONE_BEFORE: [u16; 3] = [1060, 1061, 1091];

/// How long a process waits while another migrates the same database.
const MIGRATION_LOCK_WAIT_S: u64 = 2;

/// Creates missing databases, their tables, and the rows of their slots.
pub(super) async fn run(databases: &[MySqlConnectOptions], tables: u16) -> Result<()> {
    if databases.is_empty() || tables == 0 || tables > SLOT_COUNT || !SLOT_COUNT.is_multiple_of(tables) {
        let text =
            format!("there must be a database, and the number of tables must divide {SLOT_COUNT}; it is {tables}");
        return Err(StoreError::Database(text.into()));
    }
    let mut owners = None;
    for (shard, options) in databases.iter().enumerate() {
        create_database(options).await?;
        let pool = MysqlPool::new(options.clone());
        let lock = NamedLock::acquire(pool.session("migrate").await?, "migrate", MIGRATION_LOCK_WAIT_S).await?;
        let Some(mut lock) = lock else {
            let text = format!("{}: another process is migrating it; run this again later", pool.address());
            return Err(StoreError::Unavailable(text.into()));
        };
        let mut migration = DatabaseMigration { session: lock.session(), address: pool.address(), shard, tables };
        migration.create_tables().await?;
        let owners = match &owners {
            Some(owners) => owners,
            None => owners.insert(migration.create_slot_map(databases.len()).await?),
        };
        migration.create_slots(owners).await?;
        lock.release().await?;
    }
    Ok(())
}

/// Refuses databases that [`run`] has not migrated to this version.
pub(super) async fn check(pools: &[MysqlPool], tables: u16) -> Result<()> {
    for (shard, pool) in pools.iter().enumerate() {
        let (mut session, address) = (pool.session("check_migrations").await?, pool.address());
        let mut migration = DatabaseMigration { session: &mut session, address, shard, tables };
        let applied = match migration.count_applied().await {
            Err(error) if error.code() == Some(NO_SUCH_TABLE) => 0,
            applied => applied?,
        };
        if applied < MYSQL_MIGRATIONS.len() {
            return migration.refuse("the tables are not up to date, run `gailou migrate`");
        }
    }
    Ok(())
}

/// Creates a missing database, where the account may.
async fn create_database(options: &MySqlConnectOptions) -> Result<()> {
    match MysqlPool::new(options.clone()).session("migrate").await {
        Err(error) if error.code() == Some(UNKNOWN_DATABASE) => {
            let name = options.get_database().unwrap_or_default().to_owned();
            let mut server = MysqlPool::new(options.clone().database("")).session("migrate").await?;
            server.allow_long_work().await?;
            server.execute_text(format!("CREATE DATABASE IF NOT EXISTS `{name}` CHARACTER SET utf8mb4")).await
        }
        other => other.map(|_| ()),
    }
}

/// One database that is migrated or checked.
struct DatabaseMigration<'s> {
    session: &'s mut MysqlSession,
    address: String,
    shard: usize,
    tables: u16,
}

impl DatabaseMigration<'_> {
    /// How many migrations the database has.
    async fn count_applied(&mut self) -> Result<usize> {
        let rows = self.session.fetch_all(sql("SELECT number, tables, shard FROM migration ORDER BY number")).await?;
        for row in &rows {
            let (tables, shard): (i16, i16) = (row.try_get(1)?, row.try_get(2)?);
            if i32::from(tables) != i32::from(self.tables) {
                return self.refuse(&format!(
                    "its tables are numbered to {tables}, the configuration says {} (cluster.tables can never change)",
                    self.tables
                ));
            }
            if usize::try_from(shard) != Ok(self.shard) {
                return self.refuse(&format!(
                    "it is number {shard} of the databases (from 0), the configuration has it as number {}",
                    self.shard
                ));
            }
        }
        if rows.len() > MYSQL_MIGRATIONS.len() {
            return self.refuse("it belongs to a newer version of gailou");
        }
        Ok(rows.len())
    }

    fn refuse<T>(&self, why: &str) -> Result<T> {
        Err(StoreError::Database(format!("{}: {why}", self.address).into()))
    }

    async fn create_tables(&mut self) -> Result<()> {
        self.session.allow_long_work().await?;
        self.session.execute_text(MIGRATION_TABLE).await?;
        let applied = self.count_applied().await?;
        for (index, text) in MYSQL_MIGRATIONS.iter().enumerate().skip(applied) {
            for statement in statements(text, self.tables) {
                match self.session.execute_text(statement).await {
                    Err(error) if error.code().is_some_and(|code| DONE_BEFORE.contains(&code)) => {}
                    done => done?,
                }
            }
            let record = sql(
                "INSERT IGNORE INTO migration (number, tables, shard, at) VALUES (?, ?, ?, UNIX_TIMESTAMP() * 1000)",
            );
            self.session.execute(record.bind(index as i64 + 1).bind(self.tables).bind(self.shard as i64)).await?;
        }
        Ok(())
    }

    /// Creates the slot map and the node numbers, where they are missing; the database of every slot.
    async fn create_slot_map(&mut self, databases: usize) -> Result<Vec<usize>> {
        let owners: Vec<String> =
            (0..SLOT_COUNT).map(|slot| format!("({slot}, {}, 1)", initial_shard(slot, databases))).collect();
        let text = format!("INSERT IGNORE INTO slot_map (slot, shard, version) VALUES {}", owners.join(", "));
        self.session.execute_text(text).await?;
        let nodes: Vec<String> = (0..IMPORT_NODE).map(|node| format!("({node}, '', 0)")).collect();
        let text = format!("INSERT IGNORE INTO node (node, holder, expires_at) VALUES {}", nodes.join(", "));
        self.session.execute_text(text).await?;
        let rows = self.session.fetch_all(sql("SELECT shard FROM slot_map ORDER BY slot")).await?;
        rows.iter().map(|row| Ok(usize::try_from(row.try_get::<i16, _>(0)?).unwrap_or(usize::MAX))).collect()
    }

    /// Creates the rows of the slots, where they are missing.
    async fn create_slots(&mut self, owners: &[usize]) -> Result<()> {
        let state = |owner: usize| if owner == self.shard { SlotState::Owned } else { SlotState::Elsewhere };
        let rows = owners.iter().enumerate().map(|(slot, owner)| format!("({slot}, {})", state(*owner).number()));
        let rows: Vec<String> = rows.collect();
        self.session.execute_text(format!("INSERT IGNORE INTO slot (slot, state) VALUES {}", rows.join(", "))).await
    }
}

/// The statements of a migration; those with `{n}` once for each number.
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
    fn numbered_table_is_created_once_for_each_number() {
        let text = "-- first; second\nCREATE TABLE a (x INT); -- third\n\nCREATE TABLE b_{n} (y INT);\n";
        assert_eq!(
            statements(text, 2),
            ["CREATE TABLE a (x INT)", "CREATE TABLE b_0 (y INT)", "CREATE TABLE b_1 (y INT)"]
        );
    }
}
