//! The faults: what happens to which part of the cluster, for how long, and how it ends.

use std::time::Duration;

use gailou::circuit_breaker::BREAKER_OPEN_TIME;
use gailou_shared::id::SubjectKey;
use gailou_tests::backing_servers::ServerKind;

use crate::chaos_client::ChaosRound;
use crate::chaos_cluster::{ChaosCluster, ClusterPart};
use crate::log_loss;

/// How long an origin is frozen at least: longer than the lease of its node number, which is 10 s.
const MIN_FREEZE_OF_AN_ORIGIN: Duration = Duration::from_secs(12);
/// How long all jobs are frozen: longer than an acknowledged comment is pending before it is a row, which is
/// 60 s.
const FREEZE_OF_ALL_JOBS: Duration = Duration::from_secs(65);
/// How long a database is away: in short rounds longer than every timeout and every retry, in long ones longer
/// than everything that is kept for a minute.
const SHORT_OUTAGE_OF_A_DATABASE: Duration = Duration::from_secs(20);
const LONG_OUTAGE_OF_A_DATABASE: Duration = Duration::from_secs(90);
/// How long a server goes on after its copy is made, at least: it must be used again, and learn what it then
/// loses.
const MIN_TIME_BEFORE_A_REWIND: Duration = Duration::from_secs(10);
/// How long a column has another name.
const RENAME_DURATION: Duration = Duration::from_secs(10);
/// A round of this length has time for all faults.
const LONG_ROUND: Duration = Duration::from_secs(60);
/// The column of the comments that is renamed, and its name meanwhile.
const COLUMN: &str = "author_level";
const OTHER_COLUMN: &str = "author_level_later";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClusterFault {
    /// A part is killed (SIGKILL) and restarted.
    Kill(ClusterPart),
    /// A part stands still (SIGSTOP) and goes on.
    Freeze(ClusterPart),
    /// The connections to a server break.
    Cut(ServerKind),
    /// A server comes back with less: with the data that it had when the fault began.
    Rewind(ServerKind),
    /// While no job runs, the topic of the comments is deleted, made again and filled with other records.
    RecreateTopic,
    /// A column of the comments has another name, as after a migration that ran too early.
    RenameColumn,
    /// The slot map forgets the last move of a slot, as after a failover of its database.
    ResetSlotMap,
}

impl ClusterFault {
    pub(crate) fn all() -> Vec<Self> {
        let servers = [ServerKind::Redis, ServerKind::Kafka, ServerKind::Mariadb, ServerKind::Mysql];
        let parts: Vec<ClusterPart> =
            [ClusterPart::Origin, ClusterPart::Job].into_iter().chain(servers.map(ClusterPart::Server)).collect();
        let mut faults: Vec<Self> = parts.iter().copied().map(Self::Kill).collect();
        faults.extend(parts.into_iter().map(Self::Freeze));
        faults.extend(servers.map(Self::Cut));
        faults.push(Self::Freeze(ClusterPart::AllJobs));
        faults.extend(servers.map(Self::Rewind));
        faults.extend([Self::RenameColumn, Self::ResetSlotMap]);
        // The first, while there are few records: it appends as many.
        faults.insert(0, Self::RecreateTopic);
        faults
    }

    pub(crate) fn name(self) -> String {
        match self {
            Self::Kill(part) => format!("kill-{}", part.name()),
            Self::Freeze(part) => format!("freeze-{}", part.name()),
            Self::Cut(server) => format!("cut-{}", server.name()),
            Self::Rewind(server) => format!("rewind-{}", server.name()),
            Self::RecreateTopic => "recreate-topic".to_owned(),
            Self::RenameColumn => "rename-column".to_owned(),
            Self::ResetSlotMap => "reset-slot-map".to_owned(),
        }
    }

    /// Whether rounds of this length have this fault. In short rounds each way to lose a database hits one of
    /// the two, and what takes a minute by itself is left out.
    pub(crate) fn fits(self, round: Duration) -> bool {
        let is_long = matches!(
            self,
            Self::Freeze(ClusterPart::AllJobs | ClusterPart::Server(ServerKind::Mariadb))
                | Self::Kill(ClusterPart::Server(ServerKind::Mysql))
                | Self::Cut(ServerKind::Mariadb)
                | Self::Rewind(ServerKind::Mariadb | ServerKind::Kafka)
        );
        round >= LONG_ROUND || !is_long
    }

    /// The length of the fault in a round of this length.
    pub(crate) fn duration(self, round: Duration) -> Duration {
        let short = (round / 3).min(Duration::from_secs(10));
        match self {
            Self::Freeze(ClusterPart::Origin) => MIN_FREEZE_OF_AN_ORIGIN.max(short),
            Self::Freeze(ClusterPart::AllJobs) => FREEZE_OF_ALL_JOBS,
            Self::Kill(part) | Self::Freeze(part) if part.is_database() => {
                if round >= LONG_ROUND {
                    LONG_OUTAGE_OF_A_DATABASE
                } else {
                    SHORT_OUTAGE_OF_A_DATABASE
                }
            }
            // The load does not end: it has something to lose at once.
            Self::Rewind(ServerKind::Kafka) => short,
            Self::Rewind(_) => MIN_TIME_BEFORE_A_REWIND.max(short),
            Self::RenameColumn => RENAME_DURATION,
            _ => short,
        }
    }

    /// How long writes may be refused after the fault, by the breaker of a server.
    pub(crate) const fn refused_after(self) -> Duration {
        match self {
            // It ends when writes are acknowledged again.
            Self::Rewind(ServerKind::Kafka) => Duration::ZERO,
            Self::Kill(ClusterPart::Server(_))
            | Self::Freeze(ClusterPart::Server(_))
            | Self::Cut(_)
            | Self::Rewind(_)
            | Self::RenameColumn => BREAKER_OPEN_TIME,
            _ => Duration::ZERO,
        }
    }

    /// Whether acknowledged deletions may be undone: they are rows of one database and no records of the broker,
    /// so a database that goes back has lost them. `docs/cluster.md` says what protects them.
    pub(crate) fn may_undo_deletions(self) -> bool {
        matches!(self, Self::Rewind(server) if ClusterPart::Server(server).is_database())
    }

    pub(crate) async fn begin(self, cluster: &mut ChaosCluster, round: &ChaosRound) {
        match self {
            Self::Kill(part) => cluster.kill(part),
            Self::Freeze(part) => cluster.freeze(part),
            Self::Cut(server) => cluster.cut(server),
            Self::Rewind(ServerKind::Kafka) => log_loss::copy_log(cluster, round).await,
            Self::Rewind(server) => cluster.save(server),
            Self::RecreateTopic => log_loss::stop_jobs(cluster, round).await,
            Self::RenameColumn => rename_column(cluster, COLUMN, OTHER_COLUMN),
            Self::ResetSlotMap => reset_slot_map(cluster, round).await,
        }
    }

    pub(crate) async fn end(self, cluster: &mut ChaosCluster, round: &ChaosRound) {
        match self {
            Self::Kill(part) => cluster.restart(part).await,
            Self::Freeze(part) => cluster.resume(part),
            Self::Cut(server) => cluster.reconnect(server),
            Self::Rewind(ServerKind::Kafka) => log_loss::rewind_log(cluster, round).await,
            Self::Rewind(server) => rewind(cluster, round, server),
            Self::RecreateTopic => log_loss::recreate_topic(cluster, round).await,
            Self::RenameColumn => rename_column(cluster, OTHER_COLUMN, COLUMN),
            // As the documentation says.
            Self::ResetSlotMap => move_slot(cluster, round, owner_by_rows(cluster, round)).await,
        }
    }
}

/// Sets a server back; a database must have lost rows, or the round proves nothing.
fn rewind(cluster: &mut ChaosCluster, round: &ChaosRound, server: ServerKind) {
    let before = cluster.query("SELECT id FROM comment_{n}").len();
    cluster.rewind(server);
    if ClusterPart::Server(server).is_database() && cluster.query("SELECT id FROM comment_{n}").len() >= before {
        round.report(format!("{} had nothing to lose: this proves too little", server.name()));
    }
}

fn rename_column(cluster: &ChaosCluster, from: &str, to: &str) {
    cluster.query(&format!("ALTER TABLE comment_{{n}} RENAME COLUMN {from} TO {to}"));
}

/// The slot of the first subject of a round.
fn slot_of(round: &ChaosRound) -> u16 {
    let (kind, key) = round.subjects[0].split_once('/').expect("type/key");
    SubjectKey::new(kind, key).expect("a subject").slot().get()
}

/// The number of the database whose row says that it has the slot.
fn owner_by_rows(cluster: &ChaosCluster, round: &ChaosRound) -> usize {
    let statement = format!("SELECT state FROM slot WHERE slot = {}", slot_of(round));
    [0, 1].into_iter().find(|database| cluster.sql(*database, &statement).trim() == "1").expect("one database has it")
}

/// Moves the slot of the first subject to the other database, and lets the map forget it.
async fn reset_slot_map(cluster: &ChaosCluster, round: &ChaosRound) {
    let before = owner_by_rows(cluster, round);
    move_slot(cluster, round, 1 - before).await;
    cluster.sql(0, &format!("UPDATE slot_map SET shard = {before} WHERE slot = {}", slot_of(round)));
}

async fn move_slot(cluster: &ChaosCluster, round: &ChaosRound, to: usize) {
    let slot = slot_of(round).to_string();
    let moved = cluster.run(&["shard", "move", "--slots", &slot, "--to", &to.to_string()]).await;
    if moved.code != Some(0) {
        round.report(format!("slot {slot} was not moved to {to}: {}{}", moved.stdout, moved.stderr));
    }
}
