//! The node numbers of a cluster, leased by the databases' own clocks, since the clocks of processes differ.
//!
//! **Where a number is leased.** Where its row is: each number has one row in one of the databases, so the
//! number of databases that a process knows decides nothing, and a database that is away takes only its own
//! numbers with it. [`spread_node_numbers`] puts number n into database n mod N when it is free; it is frozen
//! where it was before it appears elsewhere, so no moment has two.
//!
//! **Failover.** A database that goes on elsewhere without its last commits may not know of a lease. So a server
//! that has not given numbers before gives none for the time of one lease, in which every lease that it does not
//! know of expires; other databases give theirs meanwhile. One case remains: one and the same server that goes
//! back in time within the time of a lease (its files were replaced), or that goes on beside its successor, and a
//! database that goes back to before [`spread_node_numbers`] moved a number away. Then two processes may have one
//! number for a while; the random first sequence makes equal ids rare, and the second comment of an id becomes a
//! dead letter.

use async_trait::async_trait;
use gailou_shared::id::IMPORT_NODE;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::pool::MysqlPool;
use crate::adapters::mysql::rows::count_at;
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::statement::sql;
use crate::ports::store::{LeasedNode, NODE_LEASE, NodeLeases, Result, StoreError};

/// The database's clock, in Unix milliseconds.
const DATABASE_NOW_MS: &str = "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)";
/// The server that answers. A server that takes over from another has another name.
const SERVER_NAME: &str = "LEFT(CONCAT(@@hostname, ':', @@port, '/', @@server_id), 255)";
const NODE_LEASE_MS: u64 = NODE_LEASE.as_millis() as u64;
/// The holder of a number that moves to another database.
const MOVING_HOLDER: &str = "moving";
/// The end of the lease of a number that moves, in Unix milliseconds: never.
const MOVING_UNTIL_MS: u64 = 1 << 60;
/// Renewals with an unknown outcome that are remembered: more than there are in the time of a lease.
const MAX_UNKNOWN_RENEWALS: usize = 16;

#[async_trait]
impl NodeLeases for MysqlStore {
    async fn take_node(&self, database: usize, holder: &str, ttl_ms: u64, last_ms: u64) -> Result<Option<LeasedNode>> {
        let mut session = self.session("take_node", database).await?;
        let now = read_now(&mut session).await?;
        check_server(&mut session, now, ttl_ms).await?;
        session.begin().await?;
        let taken = self.take_free_node(&mut session, now, database, holder, ttl_ms, last_ms).await;
        session.finish(taken).await
    }

    async fn renew_node(&self, leased: &mut LeasedNode, ttl_ms: u64, last_ms: u64) -> Result<bool> {
        let mut session = self.session("renew_node", leased.database).await?;
        let now = read_now(&mut session).await?;
        // Takes note of another server, for those who take a number. A renewal does not wait: the server knows the
        // lease or refuses it.
        let _ = check_server(&mut session, now, ttl_ms).await;
        let known: Vec<String> = leased.expiries.iter().map(u64::to_string).collect();
        let text = format!(
            "UPDATE node SET expires_at = ?, last_ms = GREATEST(last_ms, ?) \
             WHERE node = ? AND holder = ? AND expires_at IN ({})",
            known.join(", ")
        );
        let expiry = now + ttl_ms;
        if leased.expiries.len() >= MAX_UNKNOWN_RENEWALS {
            leased.expiries.remove(0);
        }
        leased.expiries.push(expiry);
        let renew = sql(text).bind(expiry).bind(last_ms).bind(leased.node).bind(leased.holder.as_str());
        if session.execute(renew).await? == 0 {
            return Ok(false);
        }
        leased.expiries = vec![expiry];
        Ok(true)
    }

    async fn release_node(&self, leased: &LeasedNode, last_ms: u64) -> Result<()> {
        let known: Vec<String> = leased.expiries.iter().map(u64::to_string).collect();
        let text = format!(
            "UPDATE node SET holder = '', expires_at = 0, last_ms = ? WHERE node = ? AND holder = ? \
             AND expires_at IN ({})",
            known.join(", ")
        );
        let release = sql(text).bind(last_ms).bind(leased.node).bind(leased.holder.as_str());
        self.session("release_node", leased.database).await?.execute(release).await?;
        Ok(())
    }
}

impl MysqlStore {
    /// Takes the free number that was used longest ago; one that belongs to this database first.
    async fn take_free_node(
        &self,
        session: &mut MysqlSession,
        now: u64,
        database: usize,
        holder: &str,
        ttl_ms: u64,
        last_ms: u64,
    ) -> Result<Option<LeasedNode>> {
        let find = format!(
            "SELECT node, last_ms FROM node WHERE node < {IMPORT_NODE} AND {} \
             ORDER BY node % ? <> ?, last_ms, node LIMIT 1 FOR UPDATE",
            free(now, ttl_ms)
        );
        let found = session.fetch_first(sql(find).bind(self.pools.len() as u64).bind(database as u64)).await?;
        let Some(row) = found else { return Ok(None) };
        let (node, after_ms) = (count_at(&row, 0)?, count_at(&row, 1)?);
        let last_ms = last_ms.max(after_ms + ttl_ms);
        let take = "UPDATE node SET holder = ?, expires_at = ?, last_ms = ? WHERE node = ?";
        session.execute(sql(take).bind(holder).bind(now + ttl_ms).bind(last_ms).bind(node)).await?;
        let expiries = vec![now + ttl_ms];
        Ok(Some(LeasedNode { node, database, holder: holder.to_owned(), after_ms, expiries }))
    }
}

async fn read_now(session: &mut MysqlSession) -> Result<u64> {
    let row = session.fetch_first(sql(format!("SELECT {DATABASE_NOW_MS}"))).await?;
    row.map_or(Err(StoreError::Database("the server has no clock".into())), |row| count_at(&row, 0))
}

/// The condition for a number that may be taken: it was given back, or its lease ended one lease ago.
fn free(now: u64, ttl_ms: u64) -> String {
    format!("(holder = '' AND expires_at <= {now} OR expires_at <= {})", now.saturating_sub(ttl_ms))
}

/// Fails while the leases of the server before this one may run.
async fn check_server(session: &mut MysqlSession, now: u64, ttl_ms: u64) -> Result<()> {
    // The first assignment sees the former server.
    let put = format!(
        "INSERT INTO node_server (id, server, since) VALUES (0, {SERVER_NAME}, ?) \
         ON DUPLICATE KEY UPDATE since = IF(server = VALUES(server), since, VALUES(since)), server = VALUES(server)"
    );
    session.execute(sql(put).bind(now)).await?;
    let row = session.fetch_first(sql("SELECT since FROM node_server WHERE id = 0")).await?;
    let since = row.map(|row| count_at(&row, 0)).transpose()?.unwrap_or(now);
    if now < since.saturating_add(ttl_ms) {
        let text = format!("its server is another than before, and gives node numbers {ttl_ms} ms later");
        return Err(StoreError::Unavailable(text.into()));
    }
    Ok(())
}

/// Creates the missing node numbers, and moves each that is free to the database with its remainder.
///
/// Every step can be repeated. A number that is held stays where it is until this runs again.
pub(super) async fn spread_node_numbers(pools: &[MysqlPool]) -> Result<()> {
    let mut places = vec![Vec::new(); IMPORT_NODE as usize];
    for (database, pool) in pools.iter().enumerate() {
        let mut session = pool.session("migrate").await?;
        // A database in which no number was ever leased has no former server.
        let text = format!("INSERT IGNORE INTO node_server (id, server, since) VALUES (0, {SERVER_NAME}, 0)");
        session.execute(sql(text)).await?;
        for row in session.fetch_all(sql("SELECT node FROM node")).await? {
            if let Some(places) = places.get_mut(count_at(&row, 0)? as usize) {
                places.push(database);
            }
        }
    }
    for (node, places) in (0_u64..).zip(places) {
        let home = node as usize % pools.len();
        if places.is_empty() {
            let text = "INSERT IGNORE INTO node (node, holder, expires_at) VALUES (?, '', 0)";
            pools[home].session("migrate").await?.execute(sql(text).bind(node)).await?;
        }
        for from in places.into_iter().filter(|from| *from != home) {
            move_node(node, &pools[from], &pools[home]).await?;
        }
    }
    Ok(())
}

/// Moves a number, if it is free.
async fn move_node(node: u64, from: &MysqlPool, to: &MysqlPool) -> Result<()> {
    let mut source = from.session("migrate").await?;
    let now = read_now(&mut source).await?;
    let freeze = format!("UPDATE node SET holder = ?, expires_at = ? WHERE node = ? AND {}", free(now, NODE_LEASE_MS));
    source.execute(sql(freeze).bind(MOVING_HOLDER).bind(MOVING_UNTIL_MS).bind(node)).await?;
    let find = sql("SELECT last_ms FROM node WHERE node = ? AND holder = ?").bind(node).bind(MOVING_HOLDER);
    let Some(row) = source.fetch_first(find).await? else { return Ok(()) };
    let put = "INSERT IGNORE INTO node (node, holder, expires_at, last_ms) VALUES (?, '', 0, ?)";
    to.session("migrate").await?.execute(sql(put).bind(node).bind(count_at(&row, 0)?)).await?;
    source.execute(sql("DELETE FROM node WHERE node = ? AND holder = ?").bind(node).bind(MOVING_HOLDER)).await?;
    Ok(())
}
