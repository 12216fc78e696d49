//! What must be true after everything is healed: by the tables, by every server, by the histories and the feeds.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use gailou_shared::id::CommentId;
use gailou_shared::wire::CommentState;
use tokio::time::{Instant, advance, sleep};

use crate::cluster::accept_log;
use crate::domain::operation::ChangeRow;
use crate::domain::positions::OperationStream;
use crate::domain::row::{CommentList, CommentRow, FloorRange, ReactionCounts};
use crate::ports::broker::Topic;
use crate::ports::store::{CommentReader as _, MemberReader as _, ThreadReader as _};
use crate::state::change_feed::Span;
use crate::testing::faults::lock;
use crate::testing::simulation::database::{Database, member_slot};
use crate::testing::simulation::database_slots::database_of;
use crate::testing::simulation::faults::{Fault, FaultMaker, FaultPlan, MAX_CLOCK_JUMP_MS};
use crate::testing::simulation::oracle::{Doubt, Oracle, Post};
use crate::testing::simulation::process::{Cluster, ServeProcess};

/// How long everything may take to be stored after the faults.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(90);
const SETTLE_POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Until no cache holds anything from before: values are fresh for a minute.
const CACHE_TIME: Duration = Duration::from_secs(70);
/// Until what was invalidated at last is invalidated everywhere.
const NOTIFY_TIME: Duration = Duration::from_secs(4);
/// How often an operator tries to accept the log.
const MAX_ACCEPT_TRIES: usize = 20;

impl FaultMaker {
    /// Heals everything, waits until it has settled, and compares.
    pub(super) async fn check(&self, plan: &FaultPlan) {
        self.world.heal();
        for node in self.cluster.nodes() {
            node.freeze(Duration::ZERO);
            node.set_clock_ahead(0);
        }
        self.cluster.restart_dead();
        self.world.explain(|| "everything is healed".into());
        // Records that the log has lost before anything read them are not missed: their reactions are counted until the
        // next one of their slot.
        let with_reactions = !plan.has(Fault::LogDamage) || self.accept_log().await;
        self.settle_moves().await;
        if let Err(what) = self.settle().await {
            lock(&self.oracle).fail(what);
            return;
        }
        self.delete_leftovers().await;
        let has_old_caches = plan.kinds.iter().any(|kind| *kind != Fault::Deployment);
        if has_old_caches {
            // As if all machines were suspended: nothing is cached any more, and nothing was polled meanwhile.
            advance(CACHE_TIME).await;
            if let Err(what) = self.settle().await {
                lock(&self.oracle).fail(what);
                return;
            }
        }
        sleep(NOTIFY_TIME).await;
        self.check_slots();
        self.check_tables(plan);
        let clock_error_ms = if plan.has(Fault::ClockJump) { MAX_CLOCK_JUMP_MS } else { 0 };
        for server in self.cluster.serve() {
            self.check_server(&server, with_reactions, clock_error_ms).await;
        }
    }

    /// The broker is stopped if and only if the tables know that the log was damaged; then an operator accepts it.
    /// Returns whether it was accepted.
    async fn accept_log(&self) -> bool {
        let until = Instant::now() + SETTLE_TIMEOUT;
        let begins_at = Instant::now() + SETTLE_TIMEOUT / 3;
        let mut has_begun = false;
        while self.cluster.stopped().is_none() && self.cluster.is_log_damaged() && Instant::now() < until {
            sleep(SETTLE_POLL_INTERVAL).await;
            // A partition without a new record is looked at when it begins again.
            if !has_begun && Instant::now() >= begins_at {
                has_begun = true;
                self.cluster.jobs().iter().for_each(|job| job.node.kill());
                self.cluster.restart_dead();
            }
        }
        if self.cluster.stopped().is_none() {
            if self.cluster.is_log_damaged() {
                lock(&self.oracle).fail("the log was damaged, and the broker is not stopped".into());
            }
            return false;
        }
        for _ in 0..MAX_ACCEPT_TRIES {
            if let Some((tables, broker)) = self.cluster.command().await {
                match accept_log::accept(&broker, &tables).await {
                    Ok(accepted) => {
                        self.world.explain(|| format!("the log is accepted: {accepted:?}"));
                        return true;
                    }
                    Err(error) => self.world.explain(|| format!("the log is not accepted: {error:#}")),
                }
            }
            sleep(Duration::from_secs(2)).await;
        }
        lock(&self.oracle).fail("the log cannot be accepted".into());
        false
    }

    /// Waits until every record is applied and nothing is owed.
    async fn settle(&self) -> Result<(), String> {
        let until = Instant::now() + SETTLE_TIMEOUT;
        loop {
            let Some(waits_for) = waits_for(&self.cluster) else { return Ok(()) };
            if Instant::now() >= until {
                return Err(format!("nothing settles: {waits_for}"));
            }
            sleep(SETTLE_POLL_INTERVAL).await;
        }
    }

    fn check_tables(&self, plan: &FaultPlan) {
        let mut oracle = lock(&self.oracle);
        let databases = lock(&self.cluster.databases).clone();
        databases.iter().for_each(|database| database.tables.check());
        let mut failures = Vec::new();
        if let Some(reason) = self.cluster.stopped() {
            failures.push(format!("the broker is stopped: {reason}"));
        }
        let letters = &self.cluster.broker.logs().dead_letters;
        if !plan.has(Fault::LogDamage) {
            failures.extend(letters.iter().map(|letter| {
                let (topic, offset) = (letter.record.topic, letter.record.offset);
                format!("{topic:?}[{}] has a dead letter at {offset}: {}", letter.record.partition, letter.error)
            }));
        }
        failures.extend(check_posts(&oracle, &databases));
        for ((id, member), pair) in &oracle.reactions {
            let database = &databases[database_of(&databases, id.slot())];
            let own = database.tables.aliases.get(id).unwrap_or(id);
            let reaction = database.tables.reactions.get(&(*own, *member)).copied();
            if !pair.possible.contains(&reaction) {
                failures.push(format!("{member} has {reaction:?} to {id}, and not one of {:?}", pair.possible));
            }
        }
        failures.extend(check_histories(&databases));
        failures.into_iter().for_each(|text| oracle.fail(text));
    }

    /// What a server answers is what the tables hold, and its feed names what was taken down. `clock_error_ms`: how far
    /// a clock may be from the right time.
    async fn check_server(&self, server: &ServeProcess, with_reactions: bool, clock_error_ms: u64) {
        let databases = lock(&self.cluster.databases).clone();
        let number = server.node.number;
        let mut failures = Vec::new();
        for (database, of) in databases.iter().enumerate() {
            for id in of.ids() {
                let Some(stored) = of.comment(id) else { continue };
                match server.cached_store.read_comments(&[id]).await {
                    Ok(rows) => failures.extend(compare(rows.get(&id), &stored, with_reactions)),
                    Err(error) => failures.push(format!("{id} cannot be read: {error}")),
                }
            }
            for key in of.tables.subjects.keys() {
                let list = CommentList::Roots(key.clone());
                let expected: Vec<_> = of.floors(&list).into_iter().collect();
                match server.cached_store.list_floors(&list, FloorRange::oldest(1_000)).await {
                    Ok(floors) if floors == expected => {}
                    other => failures.push(format!("the roots of {key} are {other:?} instead of {expected:?}")),
                }
                let subject = server.cached_store.read_subjects(std::slice::from_ref(key)).await;
                let counts = |row: &crate::domain::row::SubjectRow| (row.roots, row.comments);
                let found = subject.ok().and_then(|mut rows| rows.pop().flatten()).as_ref().map(counts);
                if found != of.subject(key).as_ref().map(counts) {
                    failures.push(format!("{key} has {found:?} roots and comments"));
                }
            }
            let page = server.feed.page(Span::Full, server.node.clock().now(), 0);
            let named: BTreeSet<CommentId> = page.iter().flat_map(|page| &page.rows).map(|row| row.id).collect();
            // Where a database went back everything is void that its feed names before it says so, whatever the clocks
            // of those who wrote it; and of slots that have moved what was made before `since`.
            let void = of.changes.values().filter(|row| row.is_rewind()).map(|row| row.seq).max().unwrap_or(0);
            let since = page.as_ref().map_or(0, |page| page.since) + 2 * clock_error_ms;
            let has_moved = |slot| databases.iter().any(|of| of.slots.status(slot).move_number > 0);
            let is_made = |row: &&ChangeRow| row.seq > void && (row.at >= since || !has_moved(row.subject.slot()));
            let made = of.changes.values().filter(is_made).filter_map(|row| row.id);
            let missing = made.into_iter().find(|id| !named.contains(id));
            failures.extend(missing.map(|id| format!("the change feed of {database} does not name {id}")));
        }
        let pairs: Vec<_> = lock(&self.oracle).reactions.keys().copied().filter(|_| with_reactions).collect();
        for (id, member) in pairs {
            let of = &databases[database_of(&databases, id.slot())];
            let own = of.tables.aliases.get(&id).copied().unwrap_or(id);
            let stored = of.tables.reactions.get(&(own, member)).copied();
            match server.cached_store.read_reactions(member, &[own]).await {
                Ok(found) if found.get(&own).copied() == stored => {}
                other => failures.push(format!("{member} has {other:?} to {id} instead of {stored:?}")),
            }
        }
        let mut oracle = lock(&self.oracle);
        failures.into_iter().for_each(|text| oracle.fail(format!("server {number}: {text}")));
    }
}

/// What is not stored yet.
fn waits_for(cluster: &Cluster) -> Option<String> {
    if let Some(reason) = cluster.stopped() {
        return Some(format!("the broker is stopped: {reason}"));
    }
    let server = cluster.pick_server()?;
    let logs = cluster.broker.logs();
    let databases = lock(&cluster.databases);
    for (stream, topic) in
        [(OperationStream::Comments, Topic::Comments), (OperationStream::Reactions, Topic::Reactions)]
    {
        for partition in 0..cluster.broker.partitions {
            let end = logs.partitions[&(topic, partition)].records.len() as u64;
            let end = server.broker.offsets.position(topic, partition, end);
            for (number, database) in databases.iter().enumerate() {
                let next = database.checkpoints.get(&(stream, partition)).map(|checkpoint| checkpoint.next);
                if next != Some(end) {
                    return Some(format!("{topic:?}[{partition}] ends at {end}, database {number} has {next:?}"));
                }
            }
        }
    }
    let owing = databases.iter().position(|database| !database.outbox.is_empty());
    owing.map(|database| format!("database {database} owes histories"))
}

/// What is wrong with the comments in the tables.
fn check_posts(oracle: &Oracle, databases: &[Database]) -> Vec<String> {
    let mut failures = Vec::new();
    let mut by_key: BTreeMap<&str, CommentId> = BTreeMap::new();
    for (id, stored) in databases.iter().flat_map(|database| &database.tables.comments) {
        if let Some(other) = by_key.insert(&stored.texts.0, *id) {
            failures.push(format!("{} is there as {other} and as {id}", stored.texts.0));
        }
    }
    for post in &oracle.posts {
        let found = by_key.get(post.key.as_str());
        match (found, post.acknowledged) {
            (Some(id), None) if post.is_there == Doubt::No => {
                failures.push(format!("{} was never sent, and is there as {id}", post.key));
            }
            (None, Some((id, at))) if !oracle.may_be_lost(post) => {
                failures.push(format!("{} was acknowledged as {id} at {at} ms, and is lost", post.key));
            }
            // What the log has lost is published anew by the next request with its key.
            (Some(again), Some((id, _))) if oracle.may_be_lost(post) && !is_stored(id, databases) => {
                failures.extend(check_post(post, *again, databases));
            }
            (Some(_), Some((id, _))) => failures.extend(check_post(post, id, databases)),
            _ => {}
        }
    }
    failures
}

fn is_stored(id: CommentId, databases: &[Database]) -> bool {
    databases[database_of(databases, id.slot())].stored(id).is_some()
}

fn check_post(post: &Post, id: CommentId, databases: &[Database]) -> Option<String> {
    let database = &databases[database_of(databases, id.slot())];
    let Some(stored) = database.stored(id) else { return Some(format!("{} is not found as {id}", post.key)) };
    let own = stored.row.path.id();
    let is_other = |second: &CommentId| database.stored(*second).is_none_or(|stored| stored.row.path.id() != own);
    if let Some(second) = post.second_ids.iter().find(|second| is_other(second)) {
        return Some(format!("{} was acknowledged as {id} and as {second}, which is not the same", post.key));
    }
    let is_deleted = stored.row.state == CommentState::Deleted;
    match post.is_deleted {
        Doubt::No if is_deleted => return Some(format!("{} is deleted, and no client has asked for it", post.key)),
        Doubt::Yes if !is_deleted => return Some(format!("{} was deleted, and is there", post.key)),
        _ => {}
    }
    let text = &stored.texts.1.content;
    (!post.texts.contains(text)).then(|| format!("{} has the text {text:?} instead of {:?}", post.key, post.texts))
}

/// Comments that their authors' histories do not have.
fn check_histories(databases: &[Database]) -> Vec<String> {
    let comments = databases.iter().flat_map(|database| &database.tables.comments);
    let is_missing = |(id, author): &(CommentId, _)| {
        let database = &databases[database_of(databases, member_slot(*author))];
        !database.histories.contains_key(&(*author, *id))
    };
    let missing = comments.map(|(id, stored)| (*id, stored.author.id)).filter(is_missing);
    missing.map(|(id, author)| format!("the history of {author} does not have {id}")).collect()
}

/// How an answer differs from the row.
fn compare(answer: Option<&CommentRow>, stored: &CommentRow, with_reactions: bool) -> Option<String> {
    let id = stored.id();
    let Some(row) = answer else { return Some(format!("{id} is 404")) };
    let shown = |row: &CommentRow| {
        let counts = with_reactions.then_some(ReactionCounts { likes: row.likes, dislikes: row.dislikes });
        (row.state, row.content.clone(), row.floor, row.replies, counts)
    };
    let (shown, expected) = (shown(row), shown(stored));
    (shown != expected).then(|| format!("{id} is shown as {shown:?} instead of {expected:?}"))
}
