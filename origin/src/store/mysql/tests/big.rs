//! scratch
use super::*;
use tokio::time::Instant;

#[tokio::test]
async fn big_fill() {
    let urls: Vec<String> = ["biga", "bigb"].iter().map(|n| format!("mysql://root@127.0.0.1:33961/{n}")).collect();
    Mysql::migrate(&urls, 16).await.unwrap();
    let store = Mysql::open(&urls, 16, WeightsByType::new()).await.unwrap();
    let fill = async |key: &SubjectKey, replies: bool| {
        let (slot, n, subject) = (key.slot(), store.table(key.slot()), Mysql::subject_id(key));
        let mut s = store.session(store.shard(slot)).await.unwrap();
        s.patient().await.unwrap();
        let count = s.raw_all(&format!("SELECT COUNT(*) FROM comment_{n} WHERE subject = {subject}")).await.unwrap();
        if sqlx::Row::get::<i64, _>(&count[0], 0) > 0 {
            return;
        }
        s.raw(&format!("INSERT INTO subject_{n} (id, slot, type, `key`, floors, roots, comments, version) VALUES ({subject}, {}, 'video', '{}', 1000000, 1000000, 1000000, 1)", slot.get(), key.key())).await.unwrap();
        let base = CommentId::from_parts(1_700_000_000_000, slot, 0, 0).signed();
        let root = base;
        if replies {
            s.raw(&format!("INSERT INTO comment_{n} (id, subject, list, root_id, path, depth, floor, listed_floor, state, visibility, author_id, author_name, author_level, replies, created_at) VALUES ({root}, {subject}, {subject}, {root}, UNHEX(LPAD(HEX({root}),16,'0')), 1, 1, 1, 0, 0, 1, 'a', 1, 1000000, 1700000000000)")).await.unwrap();
        }
        // replies: every 1000 below the same parent at depth 2 (depth 3), parents every 1000th
        for chunk in 0..10i64 {
            let from = chunk * 100_000 + 1;
            let to = from + 99_999;
            let id = format!("({base} + (seq << 22))");
            let parent = format!("({base} + ((seq - seq MOD 1000 + 1) << 22))");
            let hex = |x: &str| format!("UNHEX(LPAD(HEX({x}),16,'0'))");
            let (list, rootx, path, depth, par) = if replies {
                (
                    format!("{root}"),
                    format!("{root}"),
                    format!(
                        "IF(seq MOD 1000 = 1 OR seq MOD 1000 = 0, CONCAT({},{}), CONCAT({},{},{}))",
                        hex(&root.to_string()),
                        hex(&id),
                        hex(&root.to_string()),
                        hex(&parent),
                        hex(&id)
                    ),
                    "IF(seq MOD 1000 = 1 OR seq MOD 1000 = 0, 2, 3)".to_string(),
                    format!("IF(seq MOD 1000 = 1 OR seq MOD 1000 = 0, {root}, {parent})"),
                )
            } else {
                (format!("{subject}"), id.clone(), hex(&id), "1".into(), "NULL".into())
            };
            s.raw(&format!("INSERT INTO comment_{n} (id, subject, list, root_id, parent_id, path, depth, floor, listed_floor, state, visibility, author_id, author_name, author_level, likes, replies, created_at) SELECT {id}, {subject}, {list}, {rootx}, {par}, {path}, {depth}, seq, seq, 0, 0, 1 + seq MOD 5000, 'somebody', 1, seq MOD 97, IF({depth} = 2, 998, 0), 1700000000000 + seq FROM seq_{from}_to_{to}")).await.unwrap();
            s.raw(&format!("INSERT INTO content_{n} (id, content, html) SELECT {id}, REPEAT('some text ', 12), REPEAT('<p>some text', 12) FROM seq_{from}_to_{to}")).await.unwrap();
            if replies {
                s.raw(&format!("INSERT INTO reply_rank_{n} SELECT {root}, 1000000 + seq MOD 97 * 1000 + seq, {id} FROM seq_{from}_to_{to}")).await.unwrap();
            } else {
                s.raw(&format!("INSERT INTO root_rank_{n} SELECT {subject}, {id}, seq MOD 97, 0, 0, 1700000000000 + seq FROM seq_{from}_to_{to}")).await.unwrap();
                s.raw(&format!("INSERT INTO reaction_{n} SELECT {id}, 1 + seq MOD 5000, 1 FROM seq_{from}_to_{to}"))
                    .await
                    .unwrap();
            }
        }
    };
    fill(&key(1), false).await;
    fill(&key(2), true).await;
    let author = member(77);
    let ms = Mysql::member_slot(author);
    let mut s = store.session(store.shard(ms)).await.unwrap();
    s.patient().await.unwrap();
    let base = CommentId::from_parts(1_700_000_000_000, key(1).slot(), 0, 0).signed();
    s.raw(&format!(
        "INSERT IGNORE INTO member_comment_{} SELECT 77, {base} + (seq << 22), {}, seq MOD 2 FROM seq_1_to_300000",
        store.table(ms),
        ms.get()
    ))
    .await
    .unwrap();
}

#[tokio::test]
async fn big_read() {
    let urls: Vec<String> = ["biga", "bigb"].iter().map(|n| format!("mysql://root@127.0.0.1:33961/{n}")).collect();
    let store = Mysql::open(&urls, 16, WeightsByType::new()).await.unwrap();
    println!(
        "slots {} {} shards {} {}",
        key(1).slot().get(),
        key(2).slot().get(),
        store.shard(key(1).slot()),
        store.shard(key(2).slot())
    );
    macro_rules! time {
        ($name:expr, $call:expr) => {{
            let mut times = vec![];
            let mut len = 0;
            for _ in 0..7 {
                let t = Instant::now();
                len = $call.await.unwrap().len();
                times.push(t.elapsed().as_micros());
            }
            times.sort_unstable();
            println!(
                "{:<42} {:>6} rows  median {:>8.2} ms  worst {:>8.2} ms",
                $name,
                len,
                times[3] as f64 / 1000.0,
                times[6] as f64 / 1000.0
            );
        }};
    }
    let roots = ListOf::Roots(key(1));
    let base = CommentId::from_parts(1_700_000_000_000, key(1).slot(), 0, 0).get();
    let id = |seq: u64| CommentId::new(base + (seq << 22)).unwrap();
    let base2 = CommentId::from_parts(1_700_000_000_000, key(2).slot(), 0, 0).get();
    let id2 = |seq: u64| CommentId::new(base2 + (seq << 22)).unwrap();
    let top = Path::root(id2(0));
    let mid = top.child(id2(500_001)).unwrap();
    let leaf = mid.child(id2(500_500)).unwrap();
    let under = ListOf::Under(top.clone());
    let deep = ListOf::Under(mid.clone());
    for (name, beyond) in [("1", None), ("50", Some(999_000)), ("5,000", Some(900_000)), ("50,000", Some(1_000))] {
        time!(format!("floors roots desc page {name}"), store.floors(&roots, false, beyond, 21));
        time!(format!("floors roots asc page {name}"), store.floors(&roots, true, beyond.map(|b| 1_000_000 - b), 21));
        time!(format!("floors under root desc page {name}"), store.floors(&under, false, beyond, 21));
        time!(
            format!("floors under root asc page {name}"),
            store.floors(&under, true, beyond.map(|b| 1_000_000 - b), 21)
        );
    }
    time!("floors under deep desc", store.floors(&deep, false, None, 21));
    time!("floors under deep desc tail", store.floors(&deep, false, Some(500_100), 21));
    for sort in [Sort::Hot, Sort::Top] {
        time!("ranked 1M engaged roots", store.ranked(&roots, sort));
        time!("ranked under root", store.ranked(&under, sort));
        time!("ranked under deep", store.ranked(&deep, sort));
    }
    let hundred: Vec<CommentId> = (1..=100).map(|n| id(n * 9_000)).collect();
    let mut many = vec![id2(0)];
    many.extend(hundred.iter().take(99));
    time!("top replies of 100 roots", store.top_replies(&many, 3));
    time!("comments of 100 ids", store.comments(&hundred));
    let four: Vec<CommentId> = (1..=400).map(|n| id(n * 2_000)).collect();
    time!("comments of 400 ids", store.comments(&four));
    time!("reactions of 400 ids", store.reactions(member(1), &four));
    time!("subtree first", store.subtree(&top, None, 128, 201));
    time!("subtree middle", store.subtree(&top, Some(leaf.as_bytes()), 128, 201));
    time!("subtree of deep", store.subtree(&mid, None, 128, 201));
    time!("siblings", store.siblings(&leaf, 21));
    time!("subjects 2", store.subjects(&[key(1), key(2)]));
    time!("subject 1", store.subjects(&[key(1)]));
    let hundredkeys: Vec<SubjectKey> = (1..=100).map(key).collect();
    time!("subjects 100 (32 parts)", store.subjects(&hundredkeys));
    time!("history first", store.history(member(77), None, 21));
    time!("history middle", store.history(member(77), Some(id(150_000)), 21));
    time!("pending", store.pending(member(77), 50));
    let pairs: Vec<_> = (1..=1000).map(|n| (id(n * 900), member(1 + n * 900 % 5000))).collect();
    time!("standing 1,000 pairs", store.standing(&pairs));
    time!("standing 1 pair", store.standing(&pairs[..1]));
    let early: Vec<_> =
        (1..=1000).map(|n| (CommentId::from_parts(1_900_000_000_000 + n, key(1).slot(), 1, 1), member(n))).collect();
    time!("standing 1,000 pairs without a row", store.standing(&early));
    time!("positions 1,024", store.positions(Stream::Comments, &(0..1024).filter_map(Slot::new).collect::<Vec<_>>()));
    time!("export 500 first", store.export(None, None, 500));
    time!(
        "export 500 middle of subject",
        store.export(
            Some(&key(1)),
            Some(&(Mysql::subject_id(&key(1)), Path::root(id(500_000)).as_bytes().to_vec())),
            500
        )
    );
    time!("export last (empty rest)", store.export(None, Some(&(-1, vec![])), 500));
    let t = Instant::now();
    println!("last id {:?} {:?}", store.last_id().await.unwrap(), t.elapsed());
    time!("names", store.names(&[member(77), member(78)]));
    time!("remembered", async {
        Ok::<_, StoreError>(store.remembered(&key(1), member(1), "k", 0).await?.into_iter().collect::<Vec<_>>())
    });
    time!("feed", store.feed(0, 0, 100));
}
