-- The entry of the audit log about the last change of a comment; 0 where that was none of a moderator's.
ALTER TABLE comment_{n} ADD COLUMN audit_id BIGINT NOT NULL DEFAULT 0;

-- The review queue. `kind` is 0 for held and 1 for reported comments, `rank_key` the negative priority, `item` JSON. The
-- lease is of the moderator who has the comment until then.
CREATE TABLE IF NOT EXISTS review_{n} (
    slot         SMALLINT     NOT NULL DEFAULT ((comment_id >> 12) & 1023),
    comment_id   BIGINT       NOT NULL,
    kind         TINYINT      NOT NULL,
    rank_key     BIGINT       NOT NULL,
    since        BIGINT       NOT NULL,
    item         MEDIUMTEXT   CHARACTER SET utf8mb4 NOT NULL,
    leased_by    BIGINT,
    leased_name  VARCHAR(255) CHARACTER SET utf8mb4,
    leased_until BIGINT       NOT NULL DEFAULT 0,
    PRIMARY KEY (slot, comment_id),
    KEY review_order (rank_key, since, comment_id),
    KEY review_kind_order (kind, rank_key, since, comment_id)
) ENGINE = InnoDB;

-- How many comments of a slot are in each part of the queue.
CREATE TABLE IF NOT EXISTS review_count_{n} (
    slot     SMALLINT NOT NULL PRIMARY KEY,
    held     BIGINT   NOT NULL,
    reported BIGINT   NOT NULL
) ENGINE = InnoDB;

INSERT IGNORE INTO review_{n} (comment_id, kind, rank_key, since, item)
    SELECT id, 0, -(likes + 2 * replies + author_level), created_at,
        CONCAT('{"reasons":[],"since":', created_at, ',"reports":0,"edit":null}')
    FROM comment_{n} WHERE state = 1;
INSERT IGNORE INTO review_count_{n} (slot, held, reported)
    SELECT (id >> 12) & 1023, COUNT(*), 0 FROM comment_{n} WHERE state = 1 GROUP BY 1;
UPDATE comment_{n} SET flags = flags | 32 WHERE state = 1;

-- Reports by readers, once for each reader. `reason` is 0 spam, 1 abuse, 2 illegal, 3 other.
CREATE TABLE IF NOT EXISTS report_{n} (
    slot        SMALLINT     NOT NULL DEFAULT ((comment_id >> 12) & 1023),
    comment_id  BIGINT       NOT NULL,
    member_id   BIGINT       NOT NULL,
    member_name VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
    reason      TINYINT      NOT NULL,
    note        TEXT         CHARACTER SET utf8mb4,
    at          BIGINT       NOT NULL,
    PRIMARY KEY (slot, comment_id, member_id),
    KEY report_member (member_id, comment_id)
) ENGINE = InnoDB;

-- `id` is made as that of a comment. `kind` of the target is 0 comment, 1 member, 2 subject, 3 words, 4 settings,
-- 5 webhook, 6 import; `target` is its id where it is no comment. `before_json` and `after_json` are JSON.
CREATE TABLE IF NOT EXISTS audit_{n} (
    slot        SMALLINT       NOT NULL DEFAULT ((id >> 12) & 1023),
    id          BIGINT         NOT NULL,
    at          BIGINT         NOT NULL,
    actor_id    BIGINT         NOT NULL,
    actor_name  VARCHAR(255)   CHARACTER SET utf8mb4 NOT NULL,
    action      VARCHAR(32)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    kind        TINYINT        NOT NULL,
    comment_id  BIGINT,
    target      VARBINARY(640) NOT NULL,
    reason      TEXT           CHARACTER SET utf8mb4,
    before_json MEDIUMTEXT     CHARACTER SET utf8mb4,
    after_json  MEDIUMTEXT     CHARACTER SET utf8mb4,
    PRIMARY KEY (slot, id),
    KEY audit_id (id),
    KEY audit_actor (actor_id, id),
    KEY audit_action (action, id),
    KEY audit_comment (comment_id)
) ENGINE = InnoDB;

-- What undoing an entry of the audit log needs, for a day. `record` is JSON.
CREATE TABLE IF NOT EXISTS undo_{n} (
    slot       SMALLINT   NOT NULL DEFAULT ((audit_id >> 12) & 1023),
    audit_id   BIGINT     NOT NULL,
    comment_id BIGINT     NOT NULL,
    record     MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
    PRIMARY KEY (slot, audit_id),
    KEY undo_comment (comment_id),
    KEY undo_age (audit_id)
) ENGINE = InnoDB;

-- The log before: the next migration deletes it.
CREATE TABLE IF NOT EXISTS audit (
    id         BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at         BIGINT       NOT NULL,
    actor_id   BIGINT       NOT NULL,
    action     VARCHAR(32)  CHARACTER SET ascii NOT NULL,
    comment_id BIGINT,
    type       VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin,
    `key`      VARBINARY(512),
    reason     TEXT         CHARACTER SET utf8mb4
) ENGINE = InnoDB;
INSERT IGNORE INTO audit_{n} (id, at, actor_id, actor_name, action, kind, comment_id, target, reason)
    SELECT ((a.at - 946684800000) << 22) | (((c.id >> 12) & 1023) << 12) | (a.id & 4095), a.at, a.actor_id, '', a.action, 0,
        c.id, '', a.reason
    FROM audit a JOIN comment_{n} c ON c.id = a.comment_id;
INSERT IGNORE INTO audit_{n} (id, at, actor_id, actor_name, action, kind, target, reason)
    SELECT ((a.at - 946684800000) << 22) | (s.slot << 12) | (a.id & 4095), a.at, a.actor_id, '', a.action, 2,
        CONCAT(s.type, '/', s.`key`), a.reason
    FROM audit a JOIN subject_{n} s ON s.type = a.type AND s.`key` = a.`key`;
