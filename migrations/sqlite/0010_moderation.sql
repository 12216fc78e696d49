-- The entry of the audit log about the last change of a comment; 0 where that was none of a moderator's.
ALTER TABLE comment ADD COLUMN audit_id INTEGER NOT NULL DEFAULT 0;

-- The comments of a member of which readers do not see everything: held, for their author alone, or with an edit that
-- waits (64). Queries repeat the condition word for word.
DROP INDEX comment_pending;
CREATE INDEX comment_pending ON comment (author_id, id)
    WHERE state = 1 OR (state = 0 AND visibility = 1) OR (flags & 64) <> 0;

-- The review queue. `kind` is 0 for held and 1 for reported comments, `rank` the negative priority, `item` JSON. The
-- lease is of the moderator who has the comment until then.
CREATE TABLE review (
    comment_id   INTEGER PRIMARY KEY,
    kind         INTEGER NOT NULL,
    rank         INTEGER NOT NULL,
    since        INTEGER NOT NULL,
    item         TEXT    NOT NULL,
    leased_by    INTEGER,
    leased_name  TEXT,
    leased_until INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX review_order      ON review (rank, since, comment_id);
CREATE INDEX review_kind_order ON review (kind, rank, since, comment_id);

-- How many comments of a slot are in each part of the queue.
CREATE TABLE review_count (
    slot     INTEGER PRIMARY KEY,
    held     INTEGER NOT NULL,
    reported INTEGER NOT NULL
);

INSERT INTO review (comment_id, kind, rank, since, item)
    SELECT id, 0, -(likes + 2 * replies + author_level), created_at,
        json_object('reasons', json_array(), 'since', created_at, 'reports', 0, 'edit', NULL)
    FROM comment WHERE state = 1;
INSERT INTO review_count (slot, held, reported)
    SELECT (id >> 12) & 1023, COUNT(*), 0 FROM comment WHERE state = 1 GROUP BY 1;
UPDATE comment SET flags = flags | 32 WHERE state = 1;

-- Reports by readers, once for each reader. `reason` is 0 spam, 1 abuse, 2 illegal, 3 other.
CREATE TABLE report (
    comment_id  INTEGER NOT NULL,
    member_id   INTEGER NOT NULL,
    member_name TEXT    NOT NULL,
    reason      INTEGER NOT NULL,
    note        TEXT,
    at          INTEGER NOT NULL,
    PRIMARY KEY (comment_id, member_id)
) WITHOUT ROWID;
CREATE INDEX report_member ON report (member_id, comment_id);

-- `id` is made as that of a comment. `kind` of the target is 0 comment, 1 member, 2 subject, 3 words, 4 settings,
-- 5 webhook, 6 import; `target` is its id where it is no comment. `before` and `after` are JSON.
ALTER TABLE audit RENAME TO former_audit;
CREATE TABLE audit (
    id         INTEGER PRIMARY KEY,
    at         INTEGER NOT NULL,
    actor_id   INTEGER NOT NULL,
    actor_name TEXT    NOT NULL,
    action     TEXT    NOT NULL,
    kind       INTEGER NOT NULL,
    comment_id INTEGER,
    target     TEXT    NOT NULL,
    reason     TEXT,
    before     TEXT,
    after      TEXT
);
INSERT OR IGNORE INTO audit (id, at, actor_id, actor_name, action, kind, comment_id, target, reason)
    SELECT ((a.at - 946684800000) << 22) | (((coalesce(a.comment_id, 0) >> 12) & 1023) << 12) | (a.id & 4095), a.at,
        a.actor_id, '', a.action, CASE WHEN a.comment_id IS NULL THEN 2 ELSE 0 END, a.comment_id,
        coalesce(s.type || '/' || s.key, ''), a.reason
    FROM former_audit a LEFT JOIN subject s ON s.id = a.subject;
DROP TABLE former_audit;
CREATE INDEX audit_actor   ON audit (actor_id, id);
CREATE INDEX audit_action  ON audit (action, id);
CREATE INDEX audit_comment ON audit (comment_id) WHERE comment_id IS NOT NULL;

-- What undoing an entry of the audit log needs, for a day. `record` is JSON.
CREATE TABLE undo (
    audit_id   INTEGER PRIMARY KEY,
    comment_id INTEGER NOT NULL,
    record     TEXT    NOT NULL
);
CREATE INDEX undo_comment ON undo (comment_id);
