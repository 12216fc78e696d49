//! Slots that move while they are written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use gailou_shared::id::{CommentId, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::{CommentState, MemberRef, Reaction, ReportReason};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use tokio::time::{Instant, sleep};

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::named_lock::NamedLock;
use crate::adapters::mysql::reshard::SlotRows;
use crate::adapters::mysql::row_numbers::{first_subject, member_slot};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_state::SlotStatus;
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::tests::write::{NOW, comment, like, publish};
use crate::adapters::mysql::tests::{TestDatabases, find_misplaced, key, member, move_slot, put_comment};
use crate::cluster::reshard::{MoveTarget, delete_old_copies};
use crate::domain::audit::AuditEntry;
use crate::domain::member_standing::StandingPatch;
use crate::domain::operation::{CommentChange, LoggedOperation, Operation, PinnedBy, ReactionChange, SubjectPatch};
use crate::domain::positions::OperationStream;
use crate::domain::review::NewReport;
use crate::domain::row::NewCommentRow;
use crate::ports::store::{BatchWriter as _, CommentReader as _, Sharding as _, SlotPositions as _, StoreError};

#[tokio::test(flavor = "multi_thread")]
async fn slot_moves_while_it_is_written() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = Arc::new(databases.open().await);
    let key = key(1);
    let (slot, from) = (key.slot(), store.database_of(key.slot()));
    let (stop, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let longest = Arc::new(AtomicU64::new(0));
    let writers = (0..4).map(|node| {
        let (store, key, stop, written, longest) =
            (store.clone(), key.clone(), stop.clone(), written.clone(), longest.clone());
        tokio::spawn(async move {
            let mut sequence = 0;
            while !stop.load(Ordering::Relaxed) {
                let id = CommentId::from_parts(1_700_000_000_000 + sequence, key.slot(), node, 0);
                let begun = Instant::now();
                loop {
                    match put_comment(&store, &key, id, member(7 + node)).await {
                        Ok(()) => break,
                        Err(StoreError::Moved) => store.wait_for_move(begun).await.unwrap(),
                        Err(error) => panic!("{error}"),
                    }
                }
                longest.fetch_max(begun.elapsed().as_millis() as u64, Ordering::Relaxed);
                written.fetch_add(1, Ordering::Relaxed);
                sequence += 1;
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    sleep(Duration::from_secs(2)).await;
    move_slot(&store, slot, 1 - from).await;
    sleep(Duration::from_millis(500)).await;
    // Back, over rows that still exist there.
    move_slot(&store, slot, from).await;
    move_slot(&store, slot, 1 - from).await;
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    let written = written.load(Ordering::Relaxed);
    eprintln!("{written} written, the longest write took {} ms", longest.load(Ordering::Relaxed));
    assert!(!find_misplaced(&store).await.is_empty(), "the old rows still exist");
    delete_old_copies(&*store, &[slot]).await.unwrap();
    assert_eq!(find_misplaced(&store).await, Vec::<String>::new());
    let mut session = store.long_session("test", 1 - from).await.unwrap();
    let n = store.table_number(slot);
    for table in ["comment", "content", "reaction", "root_rank", "idempotency"] {
        let found = session.fetch_first(sql(format!("SELECT COUNT(*) FROM {table}_{n}"))).await.unwrap().unwrap();
        assert_eq!(sqlx::Row::get::<i64, _>(&found, 0) as u64, written, "{table}");
    }
    let subject = store.read_subjects(std::slice::from_ref(&key)).await.unwrap().remove(0).unwrap();
    assert_eq!((subject.comments, subject.version), (written, written));
    assert_eq!(store.read_positions(OperationStream::Comments, &[slot]).await.unwrap()[&slot], written);
    databases.drop_all().await;
}

/// Random batches of every operation, the same for the same seed.
struct RandomBatches {
    random: StdRng,
    key: SubjectKey,
    paths: Vec<Path>,
    audits: u64,
}

impl RandomBatches {
    fn next(&mut self) -> Vec<LoggedOperation> {
        let count = self.random.random_range(1..25);
        (0..count).map(|_| self.operation()).map(|operation| LoggedOperation::new(NOW, operation)).collect()
    }

    fn operation(&mut self) -> Operation {
        let n = self.paths.len() as u64;
        if n < 5 || self.random.random_bool(0.4) {
            let parent = self.paths.get((n / 2) as usize).filter(|_| n > 20 && n % 4 > 1);
            let state = if n % 9 == 8 { CommentState::Review } else { CommentState::Published };
            let new = NewCommentRow { state, ..comment(n, &self.key, parent) };
            self.paths.push(new.path.clone());
            return publish(&new);
        }
        let id = self.paths[self.random.random_range(0..self.paths.len())].id();
        let change = match self.random.random_range(0..18) {
            0 => CommentChange::State(CommentState::Deleted),
            1 => CommentChange::State(CommentState::Published),
            2 => CommentChange::State(CommentState::Hidden),
            3 => CommentChange::Pin(Some(PinnedBy::Moderator)),
            4 => CommentChange::Feature(true),
            held @ (5 | 10) => CommentChange::Edit {
                content: format!("{n} 中'"),
                html: "e".into(),
                original_text: None,
                state: if held == 10 { CommentState::Review } else { CommentState::Published },
                reasons: vec![],
                max_edits: 0,
            },
            6 => {
                let patch = SubjectPatch { title: Some(Some(format!("title {n}"))), ..SubjectPatch::default() };
                return Operation::Subject { key: self.key.clone(), patch, audit: None };
            }
            7 => {
                let snapshot = Snapshot::rank(vec![(n as i64, id)]);
                return Operation::Snapshot { slot: id.slot(), snapshot };
            }
            8 | 9 => {
                let (by, change) = (member(self.random.random_range(1..9)), ReactionChange::Take(Reaction::Like));
                return Operation::React { id, member: by, change };
            }
            11 | 12 => {
                let reporter = MemberRef { id: member(self.random.random_range(1..9)), name: "reader".into() };
                CommentChange::Report(Box::new(NewReport {
                    reporter,
                    reason: ReportReason::Abuse,
                    note: None,
                    threshold: 3,
                }))
            }
            13 => CommentChange::Approve,
            14 => CommentChange::Reject,
            15 => {
                // The author's slot moves too.
                let member = comment(0, &self.key, None).author.id;
                let patch = StandingPatch { note: Some(Some(format!("note {n}"))), ..StandingPatch::default() };
                let audit = self.audit(member_slot(member));
                return Operation::Standing { member, patch: Box::new(patch), audit };
            }
            _ => return like(id, self.random.random_range(1..9)),
        };
        let is_audited = matches!(change, CommentChange::State(_) | CommentChange::Approve | CommentChange::Reject);
        let audit = is_audited.then(|| self.audit(id.slot()));
        Operation::Change { id, change, audit }
    }

    fn audit(&mut self, slot: Slot) -> AuditEntry {
        self.audits += 1;
        AuditEntry {
            id: CommentId::from_parts(NOW + self.audits, slot, 1, 0).into(),
            actor: MemberRef { id: member(9), name: "moderator".into() },
            action: "test",
            reason: None,
            before: None,
            after: None,
        }
    }
}

/// Two stores get the same batches; in one of them the slots move all the time.
#[tokio::test(flavor = "multi_thread")]
async fn moved_slot_has_the_rows_of_one_that_stayed() {
    let (Some(databases), Some(quiet)) = (TestDatabases::new(2), TestDatabases::new(1)) else { return };
    let (store, still) = (Arc::new(databases.open().await), quiet.open().await);
    let author = comment(0, &key(1), None).author.id;
    let slots = [key(1).slot(), member_slot(author)];
    let moving = Arc::new(AtomicBool::new(true));
    let mover = {
        let (store, moving) = (store.clone(), moving.clone());
        tokio::spawn(async move {
            let mut moves = 0;
            while moving.load(Ordering::Relaxed) {
                for slot in slots {
                    move_slot(&store, slot, 1 - store.database_of(slot)).await;
                    moves += 1;
                }
            }
            moves
        })
    };
    let mut batches = RandomBatches { random: StdRng::seed_from_u64(7), key: key(1), paths: vec![], audits: 0 };
    let mut operations = 0;
    for _ in 0..250 {
        let batch = batches.next();
        operations += batch.len();
        still.persist(&batch).await.unwrap();
        store.persist(&batch).await.unwrap();
    }
    moving.store(false, Ordering::Relaxed);
    let moves = mover.await.unwrap();
    eprintln!("{operations} operations, {} comments, {moves} moves", batches.paths.len());
    assert!(moves >= 4);
    for slot in slots {
        let checksums = async |store: &MysqlStore| {
            let mut session = store.long_session("test", store.database_of(slot)).await.unwrap();
            SlotRows::new(&mut session, store.table_number(slot), slot)
                .await
                .unwrap()
                .checksums(&mut session)
                .await
                .unwrap()
        };
        let (moved, stayed) = (checksums(&store).await, checksums(&still).await);
        assert_eq!(moved, stayed, "slot {}", slot.get());
    }
    delete_old_copies(&*store, &slots).await.unwrap();
    assert_eq!(find_misplaced(&store).await, Vec::<String>::new());
    databases.drop_all().await;
    quiet.drop_all().await;
}

/// Rows that the server has read for a connection.
async fn rows_read(session: &mut MysqlSession) -> u64 {
    let all = session.fetch_text("SHOW SESSION STATUS LIKE 'Handler_read%'").await.unwrap();
    all.iter().map(|r| sqlx::Row::get::<String, _>(r, 1).parse::<u64>().unwrap()).sum()
}

/// Inserts rows of these comments of a subject's slot into the tables that a move copies.
async fn fill(store: &MysqlStore, shard: usize, subject: &SubjectKey, comments: std::ops::Range<u64>) {
    let (slot, n) = (subject.slot(), store.table_number(subject.slot()));
    let first = first_subject(slot);
    let mut session = store.long_session("test", shard).await.unwrap();
    let ids: Vec<CommentId> = comments.map(|n| CommentId::from_parts(NOW + n, slot, 1, 0)).collect();
    for chunk in ids.chunks(500) {
        let values = |row: &dyn Fn(CommentId) -> String| chunk.iter().map(|id| row(*id)).collect::<Vec<_>>().join(",");
        for text in [
            format!(
                "reaction_{n} (comment_id, member_id, reaction) VALUES {}",
                values(&|id| format!("({id}, 1, 1),({id}, 2, 1)"))
            ),
            format!("reply_rank_{n} (root_id, hot, id) VALUES {}", values(&|id| format!("({id}, 1, 1),({id}, 2, 2)"))),
            format!(
                "comment_{n} (id, subject, list, root_id, path, depth, state, visibility, author_id, author_name, \
                 author_level, created_at) VALUES {}",
                values(&|id| format!("({id}, {first}, {first}, {id}, '{id}', 1, 1, 0, 1, 'Ann', 0, 1)"))
            ),
            format!("content_{n} (id, content, html) VALUES {}", values(&|id| format!("({id}, 't', 't')"))),
            format!("alias_{n} (id, comment_id) VALUES {}", values(&|id| format!("({id}, 1)"))),
            format!("mention_{n} (member_id, comment_id) VALUES {}", values(&|id| format!("(1, {id}),(2, {id})"))),
            format!(
                "member_comment_{n} (member_id, comment_id, slot, held) VALUES {}",
                values(&|id| format!("(1, {id}, {}, 0)", slot.get()))
            ),
            format!(
                "idempotency_{n} VALUES {}",
                values(&|id| format!("(1, 'f{id}', {}, REPEAT('r', 32), {id}, 0, 1)", slot.get()))
            ),
        ] {
            session.execute_text(format!("INSERT INTO {text}")).await.unwrap();
        }
    }
}

#[tokio::test]
async fn move_reads_what_its_slot_holds_and_not_the_tables() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let subject = key(1);
    let (slot, n) = (subject.slot(), store.table_number(subject.slot()));
    let from = store.database_of(slot);
    fill(&store, from, &subject, 0..1_500).await;
    // What a move of the slot reads, in the source and in the target, and what deleting its copy reads.
    let measure = async || {
        let mut lock =
            NamedLock::acquire(store.long_session("test", 0).await.unwrap(), "test", 1).await.unwrap().unwrap();
        let mut source = store.long_session("test", from).await.unwrap();
        let mut target = store.long_session("test", 1 - from).await.unwrap();
        let rows = SlotRows::new(&mut source, n, slot).await.unwrap();
        let before = rows_read(&mut source).await + rows_read(&mut target).await;
        let status = SlotStatus::read(&mut target, slot).await.unwrap();
        let mut copy = MoveTarget::new(&mut target, &mut lock, slot, status).unwrap();
        copy.copy_all(&rows, &mut source).await.unwrap();
        copy.delete_all(&rows).await.unwrap();
        rows_read(&mut source).await + rows_read(&mut target).await - before
    };
    let alone = measure().await;
    let others: Vec<SubjectKey> =
        (2..).map(key).filter(|key| key.slot() != slot && store.table_number(key.slot()) == n).take(4).collect();
    for shard in [0, 1] {
        for other in &others {
            fill(&store, shard, other, 0..3_000).await;
        }
        let tables =
            ["comment", "content", "reaction", "reply_rank", "alias", "mention", "member_comment", "idempotency"];
        let tables = tables.map(|table| format!("{table}_{n}")).join(", ");
        store.long_session("test", shard).await.unwrap().execute_text(format!("ANALYZE TABLE {tables}")).await.unwrap();
    }
    let among_others = measure().await;
    eprintln!("rows read for the move of a slot: {alone} alone, {among_others} beside 8 times as many");
    // Without the keys it is seven times as many.
    assert!(4 * among_others < 5 * alone, "{among_others} rows, alone {alone}");
    databases.drop_all().await;
}
