//! Creates the tables of every database, and migrates them to this version.
//!
//! Every step can be repeated: statements that define tables cannot be rolled back, so a migration that
//! was interrupted starts again from the beginning.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use futures_util::future::join_all;
use gailou_shared::id::{SLOT_COUNT, Slot};
use sqlx::Row as _;
use sqlx::mysql::MySqlConnectOptions;

use crate::adapters::mysql::copies::copy_member_ends;
use crate::adapters::mysql::error::{NO_SUCH_TABLE, UNKNOWN_DATABASE};
use crate::adapters::mysql::installation::{self, Installation};
use crate::adapters::mysql::named_lock::NamedLock;
use crate::adapters::mysql::node_leases::spread_node_numbers;
use crate::adapters::mysql::pool::MysqlPool;
use crate::adapters::mysql::rows::number_at;
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_map::initial_shard;
use crate::adapters::mysql::slot_state::{SlotOwner, SlotState, SlotStatus};
use crate::adapters::mysql::statement::sql;
use crate::domain::columns::StoredEnum as _;
use crate::ports::store::{Result, StoreError};

/// The migrations by number, from 1.
const MYSQL_MIGRATIONS: [&str; 31] = [
    include_str!("../../../../migrations/mysql/0001_init.sql"),
    include_str!("../../../../migrations/mysql/0002_indexes.sql"),
    include_str!("../../../../migrations/mysql/0003_edits.sql"),
    include_str!("../../../../migrations/mysql/0004_author_role.sql"),
    include_str!("../../../../migrations/mysql/0005_member_name.sql"),
    include_str!("../../../../migrations/mysql/0006_member_data.sql"),
    include_str!("../../../../migrations/mysql/0007_member_name_member.sql"),
    include_str!("../../../../migrations/mysql/0008_root_keys.sql"),
    include_str!("../../../../migrations/mysql/0009_outbox.sql"),
    include_str!("../../../../migrations/mysql/0010_node_last_ms.sql"),
    include_str!("../../../../migrations/mysql/0011_move_number.sql"),
    include_str!("../../../../migrations/mysql/0012_slot_keys.sql"),
    include_str!("../../../../migrations/mysql/0013_checkpoint.sql"),
    include_str!("../../../../migrations/mysql/0014_dead_reaction.sql"),
    include_str!("../../../../migrations/mysql/0015_moderation.sql"),
    include_str!("../../../../migrations/mysql/0016_former_audit.sql"),
    include_str!("../../../../migrations/mysql/0017_installation_audit.sql"),
    include_str!("../../../../migrations/mysql/0018_setting_changes.sql"),
    include_str!("../../../../migrations/mysql/0019_member_standing.sql"),
    include_str!("../../../../migrations/mysql/0020_index_queue.sql"),
    include_str!("../../../../migrations/mysql/0021_activity.sql"),
    include_str!("../../../../migrations/mysql/0022_refused_text.sql"),
    include_str!("../../../../migrations/mysql/0023_media.sql"),
    include_str!("../../../../migrations/mysql/0024_sign_in.sql"),
    include_str!("../../../../migrations/mysql/0025_event.sql"),
    include_str!("../../../../migrations/mysql/0026_webhook.sql"),
    include_str!("../../../../migrations/mysql/0027_passkey.sql"),
    include_str!("../../../../migrations/mysql/0028_merged_guest.sql"),
    include_str!("../../../../migrations/mysql/0029_author_network.sql"),
    include_str!("../../../../migrations/mysql/0030_shown_texts.sql"),
    include_str!("../../../../migrations/mysql/0031_watch.sql"),
];

/// What all migrations together make of an empty database. To change a table costs more than to create it.
const CURRENT_SCHEMA_SQL: &str = include_str!("../../../../migrations/mysql/schema.sql");

/// The number of a row of [`MIGRATION_TABLE`] that says that a restore into the database has not ended.
pub(super) const UNFINISHED_RESTORE: u16 = 0;
/// The migrations that a database has, and which database of which cluster it is.
pub(super) const MIGRATION_TABLE: &str = "CREATE TABLE IF NOT EXISTS migration (number SMALLINT NOT NULL PRIMARY KEY, \
     tables SMALLINT NOT NULL, shard SMALLINT NOT NULL, at BIGINT NOT NULL) ENGINE = InnoDB";

/// `ER_DUP_FIELDNAME`, `ER_DUP_KEYNAME` and `ER_CANT_DROP_FIELD_OR_KEY`: an interrupted migration has
/// changed the table already.
pub(super) const DONE_BEFORE: [u16; 3] = [1060, 1061, 1091];

/// How long a process waits while another migrates the same database.
const MIGRATION_LOCK_WAIT_S: u64 = 2;

/// Creates missing databases, their tables, the id of the installation, and the rows of their slots. A database that is
/// empty, and was not always, is refused unless it is adopted.
pub(super) async fn run(databases: &[MySqlConnectOptions], tables: u16, adopts_empty: bool) -> Result<()> {
    check_numbers(databases.len(), tables)?;
    let pools: Vec<MysqlPool> = databases.iter().cloned().map(MysqlPool::new).collect();
    installation::refuse_others(&pools).await?;
    if !adopts_empty {
        refuse_lost_databases(&pools).await?;
    }
    // The map comes after the tables of all databases: whatever it names was not empty before.
    for (shard, pool) in pools.iter().enumerate() {
        create_database(&databases[shard]).await?;
        let lock = NamedLock::acquire(pool.session("migrate").await?, "migrate", MIGRATION_LOCK_WAIT_S).await?;
        let Some(mut lock) = lock else {
            let text = format!("{}: another process is migrating it; run this again later", pool.address());
            return Err(StoreError::Unavailable(text.into()));
        };
        let mut migration = DatabaseMigration { session: lock.session(), address: pool.address(), shard, tables };
        migration.create_tables().await?;
        lock.release().await?;
    }
    installation::make(&pools).await?;
    create_slot_rows(&pools).await?;
    spread_node_numbers(&pools).await?;
    copy_member_ends(&pools).await
}

/// Refuses numbers of databases, and of tables of each kind, that no cluster can have.
pub(super) fn check_numbers(databases: usize, tables: u16) -> Result<()> {
    if databases == 0 || tables == 0 || tables > SLOT_COUNT || !SLOT_COUNT.is_multiple_of(tables) {
        let text =
            format!("there must be a database, and the number of tables must divide {SLOT_COUNT}; it is {tables}");
        return Err(StoreError::Database(text.into()));
    }
    Ok(())
}

/// Creates the rows of the slot map and of the slots where they are missing; the database of every slot.
pub(super) async fn create_slot_rows(pools: &[MysqlPool]) -> Result<Vec<usize>> {
    let owners = create_slot_map(pools).await?;
    for (shard, pool) in pools.iter().enumerate() {
        create_slots(pool, shard, &owners).await?;
    }
    Ok(owners)
}

/// Refuses databases that [`run`] has not migrated to this version. Those that do not answer stay closed.
///
/// # Errors
/// When one is another, or none answers.
pub(super) async fn check_available(pools: &[MysqlPool], tables: u16, installation: &Installation) -> Result<()> {
    let checked = join_all(pools.iter().enumerate().map(|(shard, pool)| check_version(pool, shard, tables))).await;
    let (mut away, mut answered) = (None, false);
    for (pool, checked) in pools.iter().zip(checked) {
        match checked {
            Ok(found) => {
                installation.compare(found, &pool.address())?;
                pool.open();
                answered = true;
            }
            Err(error) if error.is_away() => away = Some(error),
            Err(error) => return Err(error),
        }
    }
    away.filter(|_| !answered).map_or(Ok(()), Err)
}

/// Opens a database to sessions if [`run`] has migrated it to this version, and it is one of the installation.
pub(super) async fn check(pool: &MysqlPool, shard: usize, tables: u16, installation: &Installation) -> Result<()> {
    installation.compare(check_version(pool, shard, tables).await?, &pool.address())?;
    pool.open();
    Ok(())
}

/// Closes a database to sessions. Its installation if [`run`] has migrated it to this version.
async fn check_version(pool: &MysqlPool, shard: usize, tables: u16) -> Result<Option<String>> {
    pool.close();
    let (mut session, address) = (pool.unchecked_session("check_migrations").await?, pool.address());
    let mut migration = DatabaseMigration { session: &mut session, address, shard, tables };
    let applied = match migration.count_applied().await {
        Err(error) if error.code() == Some(NO_SUCH_TABLE) => 0,
        applied => applied?,
    };
    if applied < MYSQL_MIGRATIONS.len() {
        return migration.refuse("the tables are not up to date, run `gailou migrate`");
    }
    installation::read(&mut session).await
}

/// Refuses a database that is empty while the slot map names it, and an empty first database beside one that is not:
/// a lost volume, or a wrong address.
async fn refuse_lost_databases(pools: &[MysqlPool]) -> Result<()> {
    let named = numbers_or_none(&pools[0], "SELECT DISTINCT CAST(shard AS SIGNED) FROM slot_map").await?;
    let mut some_are_filled = false;
    // Another process may be filling them for the first time: the first database first.
    for (shard, pool) in pools.iter().enumerate().rev() {
        let is_filled =
            !numbers_or_none(pool, "SELECT CAST(number AS SIGNED) FROM migration LIMIT 1").await?.is_empty();
        if !is_filled && (named.contains(&(shard as i64)) || shard == 0 && some_are_filled) {
            let text = format!(
                "{}: it is empty, and the other databases know that it was not: a lost volume, or a wrong address. \
                 Restore it, or give up what it had by `gailou migrate --adopt-empty`",
                pool.address()
            );
            return Err(StoreError::Database(text.into()));
        }
        some_are_filled |= is_filled;
    }
    Ok(())
}

/// The numbers in the first column of a query; none without its table or its database.
async fn numbers_or_none(pool: &MysqlPool, query: &str) -> Result<Vec<i64>> {
    let read = async { pool.session("migrate").await?.fetch_text(query).await };
    match read.await {
        Err(error) if matches!(error.code(), Some(NO_SUCH_TABLE | UNKNOWN_DATABASE)) => Ok(vec![]),
        rows => rows?.iter().map(|row| number_at(row, 0)).collect(),
    }
}

/// Creates the rows of the slot map where they are missing; the database of every slot. A slot belongs to the
/// database whose row says so, else to the one that the map has; in a new one, to one of an even range.
async fn create_slot_map(pools: &[MysqlPool]) -> Result<Vec<usize>> {
    let (mut claims, mut is_new) = (Vec::new(), Vec::new());
    for (shard, pool) in pools.iter().enumerate() {
        let mut session = pool.session("migrate").await?;
        is_new.push(session.fetch_text("SELECT slot FROM slot LIMIT 1").await?.is_empty());
        claims.extend(SlotStatus::read_present(&mut session).await?.into_iter().map(|claim| (shard, claim)));
    }
    let owner = |slot: Slot| {
        let of_slot = claims.iter().filter(|(_, (claimed, _))| *claimed == slot);
        let by_rows = SlotOwner::find(of_slot.map(|(shard, (_, status))| (*shard, *status))).database();
        let by_range = initial_shard(slot.get(), pools.len());
        // A database that has rows, and none that says so, does not have the slot.
        let new = || Some(by_range).filter(|shard| is_new[*shard]).or_else(|| is_new.iter().position(|new| *new));
        (by_rows, new().unwrap_or(by_range))
    };
    let owners: Vec<(Option<usize>, usize)> = (0..SLOT_COUNT).filter_map(Slot::new).map(owner).collect();
    let rows =
        owners.iter().enumerate().map(|(slot, (by_rows, new))| format!("({slot}, {}, 1)", by_rows.unwrap_or(*new)));
    let rows: Vec<String> = rows.collect();
    let mut session = pools[0].session("migrate").await?;
    session
        .execute_text(format!("INSERT IGNORE INTO slot_map (slot, shard, version) VALUES {}", rows.join(", ")))
        .await?;
    let stored = session.fetch_text("SELECT shard FROM slot_map ORDER BY slot").await?;
    let stored = stored.iter().map(|row| Ok(usize::try_from(number_at(row, 0)?).unwrap_or(usize::MAX)));
    let stored = stored.collect::<Result<Vec<usize>>>()?;
    Ok(owners.into_iter().zip(stored).map(|((by_rows, _), stored)| by_rows.unwrap_or(stored)).collect())
}

/// Creates the rows of the slots in a database, where they are missing.
async fn create_slots(pool: &MysqlPool, shard: usize, owners: &[usize]) -> Result<()> {
    let state = |owner: usize| if owner == shard { SlotState::Owned } else { SlotState::Elsewhere };
    let rows = owners.iter().enumerate().map(|(slot, owner)| format!("({slot}, {})", state(*owner).number()));
    let text = format!("INSERT IGNORE INTO slot (slot, state) VALUES {}", rows.collect::<Vec<_>>().join(", "));
    pool.session("migrate").await?.execute_text(text).await
}

/// Creates a missing database, where the account may.
pub(super) async fn create_database(options: &MySqlConnectOptions) -> Result<()> {
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
        let rows = self
            .session
            .fetch_all(sql("SELECT CAST(number AS SIGNED), tables, shard FROM migration ORDER BY number"))
            .await?;
        for row in &rows {
            if number_at(row, 0)? == i64::from(UNFINISHED_RESTORE) {
                return self.refuse("a restore into it has not ended: drop the database, and restore again");
            }
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
        if applied == 0 {
            for statement in current_statements(self.tables) {
                self.session.execute_text(statement).await?;
            }
            return self.record(1..=MYSQL_MIGRATIONS.len()).await;
        }
        for (index, text) in MYSQL_MIGRATIONS.iter().enumerate().skip(applied) {
            for statement in statements(text, self.tables) {
                match self.session.execute_text(statement).await {
                    Err(error) if error.code().is_some_and(|code| DONE_BEFORE.contains(&code)) => {}
                    done => done?,
                }
            }
            self.record(index + 1..=index + 1).await?;
        }
        Ok(())
    }

    /// Records migrations as applied.
    async fn record(&mut self, numbers: RangeInclusive<usize>) -> Result<()> {
        let (tables, shard) = (self.tables, self.shard);
        let rows = numbers.map(|number| format!("({number}, {tables}, {shard}, UNIX_TIMESTAMP() * 1000)"));
        let rows = rows.collect::<Vec<_>>().join(", ");
        let text = format!("INSERT IGNORE INTO migration (number, tables, shard, at) VALUES {rows}");
        self.session.execute_text(text).await
    }
}

/// How many migrations there are.
pub const fn count_migrations() -> usize {
    MYSQL_MIGRATIONS.len()
}

/// The statements of the first migrations.
pub(super) fn statements_up_to(migration: usize, tables: u16) -> impl Iterator<Item = String> {
    MYSQL_MIGRATIONS.iter().take(migration).flat_map(move |text| statements(text, tables))
}

/// The statements that make all tables of a new database.
pub(super) fn current_statements(tables: u16) -> Vec<String> {
    statements(CURRENT_SCHEMA_SQL, tables)
}

/// The tables that migrations make, also those that a later one drops; without the one of the migrations.
pub(super) fn made_tables(tables: u16) -> BTreeSet<String> {
    let name = |statement: String| {
        let rest = statement.strip_prefix("CREATE TABLE IF NOT EXISTS ")?;
        Some(rest.split_whitespace().next()?.to_owned())
    };
    statements_up_to(count_migrations(), tables).filter_map(name).collect()
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
    fn backup_knows_every_table_by_the_statement_that_makes_it() {
        for statement in statements_up_to(count_migrations(), 1) {
            let is_named = statement.starts_with("CREATE TABLE IF NOT EXISTS ") || !statement.contains("CREATE TABLE");
            assert!(is_named && !statement.contains(" RENAME "), "{statement}");
        }
        let made = made_tables(2);
        for table in ["slot", "checkpoint", "setting_changes", "comment_0", "comment_1", "member_standing_1", "media"] {
            assert!(made.contains(table), "{table}");
        }
    }

    #[test]
    fn numbered_table_is_created_once_for_each_number() {
        let text = "-- first; second\nCREATE TABLE a (x INT); -- third\n\nCREATE TABLE b_{n} (y INT);\n";
        assert_eq!(
            statements(text, 2),
            ["CREATE TABLE a (x INT)", "CREATE TABLE b_0 (y INT)", "CREATE TABLE b_1 (y INT)"]
        );
    }
}
