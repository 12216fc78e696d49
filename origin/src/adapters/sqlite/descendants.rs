//! What is under a comment that is no root: read by path, or in the order of its thread where
//! [`DescendantCounts`] says so.

use gailou_shared::id::CommentId;
use gailou_shared::limits;
use gailou_shared::path::Path;
use gailou_shared::rank::{self, EngagementCounts, Sort};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::adapters::sqlite::query::fetch_all;
use crate::adapters::sqlite::rows::{comment_id, count};
use crate::domain::descendants::DescendantCounts;
use crate::domain::row::{FloorRange, WeightsByType};
use crate::ports::store::Result;

/// The comments below a path, in no order of a list.
const BELOW_SQL: &str = "FROM comment c INDEXED BY comment_path WHERE c.subject = (SELECT subject FROM comment WHERE id = ?1) \
     AND c.path > ?2 AND c.path < ?3 AND c.listed = 1";

/// Floors and ids of the listed descendants.
pub(super) fn list_floors(c: &Connection, top: &Path, range: FloorRange) -> Result<Vec<(u64, CommentId)>> {
    let counts = read_counts(c, top)?;
    if counts.is_empty() {
        return Ok(vec![]);
    }
    let FloorRange { ascending, beyond, count: limit } = range;
    let (compare, order) = if ascending { (">", "ASC") } else { ("<", "DESC") };
    let (root, from, to) = (top.root_id().signed(), top.as_bytes(), top.subtree_end());
    let read = |r: &Row<'_>| Ok((count(r.get(0)?), comment_id(r.get(1)?)?));
    if let Some(window) = counts.window(range) {
        let sql = format!(
            "SELECT floor, id FROM comment INDEXED BY comment_reply_floor \
             WHERE root_id = ?1 AND depth > 1 AND listed = 1 AND floor BETWEEN ?4 AND ?5 \
             AND path > ?2 AND path < ?3 ORDER BY floor {order} LIMIT ?6"
        );
        let found = fetch_all(c, &sql, params![root, from, to, window.first, window.last, limit as i64], read)?;
        if window.is_whole || found.len() == limit {
            return Ok(found);
        }
    }
    let start = if ascending { 0 } else { i64::MAX };
    let beyond = beyond.map_or(start, |b| i64::try_from(b).unwrap_or(i64::MAX));
    let sql = format!("SELECT c.floor, c.id {BELOW_SQL} AND c.floor {compare} ?4 ORDER BY c.floor {order} LIMIT ?5");
    fetch_all(c, &sql, params![root, from, to, beyond, limit as i64], read)
}

/// The best descendants. Replies have one key, that of [`Sort::Hot`].
pub(super) fn rank(c: &Connection, top: &Path, weights: &WeightsByType) -> Result<Vec<(i64, CommentId)>> {
    let (root, from, to) = (top.root_id().signed(), top.as_bytes(), top.subtree_end());
    let limit = limits::MAX_SNAPSHOT_IDS as i64;
    let read = |r: &Row<'_>| Ok((r.get(0)?, comment_id(r.get(1)?)?));
    if top.depth() == 1 {
        let sql = "SELECT hot, id FROM reply_rank WHERE root_id = ?1 ORDER BY hot DESC, id DESC LIMIT ?2";
        return fetch_all(c, sql, [root, limit], read);
    }
    let counts = read_counts(c, top)?;
    if counts.is_empty() {
        return Ok(vec![]);
    }
    if counts.is_ranked_by_thread() {
        let sql = "SELECT r.hot, r.id FROM reply_rank r CROSS JOIN comment c ON c.id = r.id \
                   WHERE r.root_id = ?1 AND c.path > ?2 AND c.path < ?3 ORDER BY r.hot DESC, r.id DESC LIMIT ?4";
        return fetch_all(c, sql, params![root, from, to, limit], read);
    }
    let kind = "SELECT s.type FROM comment c JOIN subject s ON s.id = c.subject WHERE c.id = ?1";
    let kind: Option<String> = c.prepare_cached(kind)?.query_row([root], |r| r.get(0)).optional()?;
    let weights = kind.and_then(|kind| weights.get(&kind).copied()).unwrap_or_default();
    let read = |r: &Row<'_>| {
        let counts =
            EngagementCounts { likes: count(r.get(1)?), dislikes: count(r.get(2)?), replies: count(r.get(3)?) };
        Ok((rank::sort_key(Sort::Hot, counts, count(r.get(4)?), &weights), comment_id(r.get(0)?)?))
    };
    let sql = format!("SELECT c.id, c.likes, c.dislikes, c.replies, c.created_at {BELOW_SQL}");
    let mut all = fetch_all(c, &sql, params![root, from, to], read)?;
    all.sort_unstable_by(|a, b| rank::compare_ranked(*a, *b));
    all.truncate(limits::MAX_SNAPSHOT_IDS);
    Ok(all)
}

fn read_counts(c: &Connection, top: &Path) -> Result<DescendantCounts> {
    let sql = "SELECT c.replies, r.replies, r.floors FROM comment c JOIN comment r ON r.id = c.root_id WHERE c.id = ?1";
    let read = |r: &Row<'_>| {
        Ok(DescendantCounts {
            replies: count(r.get(0)?),
            thread_replies: count(r.get(1)?),
            last_floor: count(r.get(2)?),
        })
    };
    let mut found = fetch_all(c, sql, [top.id().signed()], read)?;
    Ok(found.pop().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::Slot;

    use super::*;
    use crate::adapters::sqlite::SqliteStore;
    use crate::adapters::sqlite::query::tests::steps_of;
    use crate::adapters::sqlite::rank_again::rank_chunk_again;
    use crate::ports::store::ThreadReader as _;

    const NOW: u64 = 1_700_000_000_000;

    /// A store with threads that are written by statements of their own.
    struct Threads {
        store: SqliteStore,
        next: u64,
        _folder: tempfile::TempDir,
    }

    impl Threads {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = SqliteStore::open(&folder.path().join("gailou.db"), WeightsByType::new()).unwrap();
            store
                .writer()
                .execute("INSERT INTO subject (id, type, obj_id, key) VALUES (1, 'article', 1, '1')", [])
                .unwrap();
            Self { store, next: 0, _folder: folder }
        }

        /// Adds `count` visible replies to the comment at this path, or a root; the path of the last one.
        fn add(&mut self, parent: Option<&Path>, count: u64) -> Path {
            let mut writer = self.store.writer();
            let tx = writer.transaction().unwrap();
            let mut last = None;
            for _ in 0..count {
                self.next += 1;
                let n = self.next;
                let id = CommentId::from_parts(NOW + n, Slot::FIRST, 0, 0);
                let path = parent.map_or(Path::root(id), |parent| parent.child(id).unwrap());
                let root = path.root_id().signed();
                tx.prepare_cached("UPDATE comment SET floors = floors + 1 WHERE id = ?1")
                    .unwrap()
                    .execute([root])
                    .unwrap();
                tx.prepare_cached(
                    "INSERT INTO comment (id, subject, root_id, parent_id, path, depth, floor, state, visibility, listed, \
                     author_id, author_name, author_level, likes, created_at) \
                     VALUES (?1, 1, ?2, ?3, ?4, ?5, coalesce((SELECT floors FROM comment WHERE id = ?2), 1), 0, 0, 1, 7, \
                     'reader', 1, ?6, ?7)",
                )
                .unwrap()
                .execute(params![
                    id.signed(),
                    root,
                    path.parent_id().map(CommentId::signed),
                    path.as_bytes(),
                    path.depth() as i64,
                    n * 7 % 1_000,
                    NOW + n,
                ])
                .unwrap();
                for ancestor in path.ids().take(path.depth() - 1) {
                    let sql = "UPDATE comment SET replies = replies + 1 WHERE id = ?1";
                    tx.prepare_cached(sql).unwrap().execute([ancestor.signed()]).unwrap();
                }
                last = Some(path);
            }
            tx.commit().unwrap();
            last.unwrap()
        }

        /// Ranks every comment, as a change of the weights does.
        fn rank(&self) {
            let mut writer = self.store.writer();
            writer.execute("DELETE FROM setting WHERE name = 'weights'", []).unwrap();
            while rank_chunk_again(&mut writer, &WeightsByType::new()).unwrap().is_some() {}
        }

        /// Steps of everything that a reader of the replies of a comment causes, by name.
        fn steps(&self, path: &Path) -> Vec<(&'static str, i64)> {
            let connection = self.store.writer();
            let (newest, oldest) = (FloorRange::newest(20), FloorRange::oldest(20));
            let floors = |range| steps_of(|| list_floors(&connection, path, range).unwrap()).1;
            let ranked = steps_of(|| super::rank(&connection, path, &WeightsByType::new()).unwrap()).1;
            vec![("new", floors(newest)), ("old", floors(oldest)), ("hot", ranked)]
        }
    }

    /// Three comments of one kind each: a leaf, one with few replies, one with as many as are ever sorted.
    fn add_comments(threads: &mut Threads, root: &Path) -> [Path; 3] {
        [0, 5, 1_000].map(|replies| {
            let comment = threads.add(Some(root), 1);
            if replies > 0 {
                threads.add(Some(&comment), replies);
            }
            comment
        })
    }

    #[test]
    fn replies_of_a_reply_cost_the_same_in_a_large_thread() {
        let mut threads = Threads::new();
        let (small, large) = (threads.add(None, 1), threads.add(None, 1));
        threads.add(Some(&large), 10_000);
        let (in_small, in_large) = (add_comments(&mut threads, &small), add_comments(&mut threads, &large));
        threads.add(Some(&small), 20);
        threads.add(Some(&large), 10_000);
        threads.rank();
        for (a, b) in in_small.iter().zip(&in_large) {
            for ((name, small), (_, large)) in threads.steps(a).into_iter().zip(threads.steps(b)) {
                // Four times: the order of a thread is read up to there.
                assert!(large <= 4 * small + 100, "{name} below {b:?} took {large} steps, in a small thread {small}");
            }
        }
    }

    #[tokio::test]
    async fn part_of_a_large_thread_is_listed_as_by_a_full_scan() {
        let mut threads = Threads::new();
        let root = threads.add(None, 1);
        let comment = threads.add(Some(&root), 1);
        // Its replies are the oldest and the newest of the thread, with a gap that no window spans.
        threads.add(Some(&comment), 700);
        threads.add(Some(&root), 6_000);
        let child = threads.add(Some(&comment), 500);
        threads.add(Some(&child), 30);
        threads.rank();
        let mut expected: Vec<(u64, CommentId)> = {
            let writer = threads.store.writer();
            let sql = "SELECT floor, id FROM comment WHERE path > ?1 AND path < ?2";
            fetch_all(&writer, sql, params![comment.as_bytes(), comment.subtree_end()], |r| {
                Ok((count(r.get(0)?), comment_id(r.get(1)?)?))
            })
            .unwrap()
        };
        assert_eq!(expected.len(), 1_230);
        let list = crate::domain::row::CommentList::Under(comment.clone());
        for ascending in [true, false] {
            expected.sort_unstable();
            if !ascending {
                expected.reverse();
            }
            let (mut seen, mut beyond) = (vec![], None);
            loop {
                let page = threads.store.list_floors(&list, FloorRange { ascending, beyond, count: 37 }).await.unwrap();
                beyond = page.last().map(|(floor, _)| *floor);
                if page.is_empty() {
                    break;
                }
                seen.extend(page);
            }
            assert_eq!(seen, expected);
        }
        let by_path = threads.store.list_ranked(&list, Sort::Hot).await.unwrap();
        threads.store.writer().execute("UPDATE comment SET replies = 10 WHERE id = ?1", [root.id().signed()]).unwrap();
        let by_thread = threads.store.list_ranked(&list, Sort::Hot).await.unwrap();
        assert_eq!((by_path.len(), by_path), (limits::MAX_SNAPSHOT_IDS, by_thread));
        // A comment without visible replies reads nothing of what is under it.
        threads
            .store
            .writer()
            .execute("UPDATE comment SET replies = 0 WHERE id = ?1", [comment.id().signed()])
            .unwrap();
        assert_eq!(threads.store.list_floors(&list, FloorRange::newest(20)).await.unwrap(), []);
        assert_eq!(threads.store.list_ranked(&list, Sort::Hot).await.unwrap(), []);
    }

    #[tokio::test]
    async fn siblings_are_found_past_large_subtrees() {
        let mut threads = Threads::new();
        let mut steps_by_size = vec![];
        for replies in [1, 5_000] {
            let root = threads.add(None, 1);
            let oldest = threads.add(Some(&root), 1);
            let between = threads.add(Some(&root), 1);
            threads.add(Some(&between), replies);
            let newest = threads.add(Some(&root), 1);
            assert_eq!(threads.store.list_siblings(&oldest, 5).await.unwrap(), [newest.id(), between.id()]);
            assert_eq!(threads.store.list_siblings(&newest, 1).await.unwrap(), [between.id()]);
            let (plan, steps) = {
                let writer = threads.store.writer();
                let sql = crate::adapters::sqlite::threads::SIBLINGS_SQL;
                let params = params![root.id().signed(), root.as_bytes(), root.subtree_end(), newest.id().signed(), 10];
                let plan: String =
                    writer.query_row(&format!("EXPLAIN QUERY PLAN {sql}"), params, |r| r.get(3)).unwrap();
                let ids = crate::adapters::sqlite::query::first_id;
                (plan, steps_of(|| fetch_all(&writer, sql, params, ids).unwrap()).1)
            };
            assert!(plan.contains("SEARCH comment USING INDEX comment_parent (parent_id=?"), "{plan}");
            steps_by_size.push(steps);
        }
        assert!(steps_by_size[1] <= steps_by_size[0] + 5, "{steps_by_size:?}");
    }
}
