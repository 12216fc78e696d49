-- One database of a cluster. Tables whose names end in {n} are created for each number from 0 to
-- T - 1. The rows of a slot are in the tables with the number slot mod T. Times are Unix milliseconds. Ids are
-- 63-bit and signed. Valid on MySQL 8 and on MariaDB 10.6 and later.

-- One row for each slot: the next positions of its logs, and whether this database has the slot.
-- Every transaction that writes to a slot locks its row first.
CREATE TABLE IF NOT EXISTS slot (
    slot      SMALLINT NOT NULL PRIMARY KEY,
    state     TINYINT  NOT NULL, -- 0 elsewhere, 1 owned, 2 sealed, 3 incoming, 4 owned and being copied
    comments  BIGINT   NOT NULL DEFAULT 0,
    reactions BIGINT   NOT NULL DEFAULT 0
) ENGINE = InnoDB;

-- Dirty rows: rows written to a slot while it is copied to another database, until they are copied again.
CREATE TABLE IF NOT EXISTS mark (
    slot SMALLINT       NOT NULL,
    kind TINYINT        NOT NULL,
    a    BIGINT         NOT NULL,
    b    BIGINT         NOT NULL,
    k    VARBINARY(128) NOT NULL,
    PRIMARY KEY (slot, kind, a, b, k)
) ENGINE = InnoDB;

-- The database of every slot. Only the first database has rows.
CREATE TABLE IF NOT EXISTS slot_map (
    slot    SMALLINT NOT NULL PRIMARY KEY,
    shard   SMALLINT NOT NULL,
    version BIGINT   NOT NULL
) ENGINE = InnoDB;

-- The leases of the node numbers in comment ids. Only the first database has rows.
CREATE TABLE IF NOT EXISTS node (
    node       SMALLINT     NOT NULL PRIMARY KEY,
    holder     VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    expires_at BIGINT       NOT NULL
) ENGINE = InnoDB;

-- Single values. Only the first database has rows.
CREATE TABLE IF NOT EXISTS setting (
    name  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
    value BLOB        NOT NULL
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS word (
    term     VARBINARY(512) NOT NULL PRIMARY KEY,
    category VARCHAR(64)    CHARACTER SET utf8mb4 NOT NULL,
    action   VARCHAR(16)    CHARACTER SET ascii NOT NULL
) ENGINE = InnoDB;

-- The change feed: comments that readers no longer see, or see differently. Readers read a range of `seq`
-- again, since a smaller number may be committed later.
CREATE TABLE IF NOT EXISTS feed (
    seq        BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at         BIGINT       NOT NULL,
    type       VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    `key`      VARBINARY(512) NOT NULL,
    version    BIGINT       NOT NULL,
    comment_id BIGINT       NOT NULL,
    KEY feed_age (at)
) ENGINE = InnoDB;

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

-- `id` consists of the slot and a hash of type and key. It is negative, so that it never equals the id of a
-- comment. Type and key are compared whenever a row is used, since two keys may have the same hash.
CREATE TABLE IF NOT EXISTS subject_{n} (
    id       BIGINT         NOT NULL PRIMARY KEY,
    slot     SMALLINT       NOT NULL,
    type     VARCHAR(32)    CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    `key`    VARBINARY(512) NOT NULL,
    title    TEXT           CHARACTER SET utf8mb4,
    url      TEXT           CHARACTER SET utf8mb4,
    owner_id BIGINT,
    state    TINYINT        NOT NULL DEFAULT 0,
    mode     TINYINT,
    version  BIGINT         NOT NULL DEFAULT 0,
    floors   BIGINT         NOT NULL DEFAULT 0,
    roots    BIGINT         NOT NULL DEFAULT 0,
    comments BIGINT         NOT NULL DEFAULT 0,
    KEY subject_slot (slot)
) ENGINE = InnoDB;

-- `listed_floor` is the floor of a listed comment, and NULL for other comments. `list` is the subject of a
-- root, and the root of a reply.
CREATE TABLE IF NOT EXISTS comment_{n} (
    id            BIGINT          NOT NULL PRIMARY KEY,
    subject       BIGINT          NOT NULL,
    list          BIGINT          NOT NULL,
    root_id       BIGINT          NOT NULL,
    parent_id     BIGINT,
    path          VARBINARY(1024) NOT NULL,
    depth         SMALLINT        NOT NULL,
    floor         BIGINT,
    listed_floor  BIGINT,
    floors        BIGINT          NOT NULL DEFAULT 0,
    state         TINYINT         NOT NULL,
    visibility    TINYINT         NOT NULL,
    flags         SMALLINT        NOT NULL DEFAULT 0,
    pinned_at     BIGINT,
    author_id     BIGINT          NOT NULL,
    author_name   VARCHAR(255)    CHARACTER SET utf8mb4 NOT NULL,
    author_avatar TEXT            CHARACTER SET utf8mb4,
    author_level  SMALLINT        NOT NULL,
    reply_to_id   BIGINT,
    reply_to_name VARCHAR(255)    CHARACTER SET utf8mb4,
    likes         BIGINT          NOT NULL DEFAULT 0,
    dislikes      BIGINT          NOT NULL DEFAULT 0,
    base_likes    BIGINT          NOT NULL DEFAULT 0,
    base_dislikes BIGINT          NOT NULL DEFAULT 0,
    reacted       BIGINT          NOT NULL DEFAULT 0,
    replies       BIGINT          NOT NULL DEFAULT 0,
    created_at    BIGINT          NOT NULL,
    edited_at     BIGINT,
    KEY comment_list (list, listed_floor, id),
    KEY comment_path (subject, path),
    KEY comment_pinned (subject, pinned_at)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS content_{n} (
    id       BIGINT     NOT NULL PRIMARY KEY,
    content  MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
    html     MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
    mentions TEXT       CHARACTER SET utf8mb4,
    written  MEDIUMTEXT CHARACTER SET utf8mb4
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS content_history_{n} (
    comment_id BIGINT     NOT NULL,
    edited_at  BIGINT     NOT NULL,
    content    MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
    PRIMARY KEY (comment_id, edited_at)
) ENGINE = InnoDB;

-- Second ids of comments: a request was repeated after its idempotency key was lost.
CREATE TABLE IF NOT EXISTS alias_{n} (
    id         BIGINT NOT NULL PRIMARY KEY,
    comment_id BIGINT NOT NULL
) ENGINE = InnoDB;

-- Listed roots with reactions or replies.
CREATE TABLE IF NOT EXISTS root_rank_{n} (
    subject    BIGINT NOT NULL,
    id         BIGINT NOT NULL,
    likes      BIGINT NOT NULL,
    dislikes   BIGINT NOT NULL,
    replies    BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (subject, id)
) ENGINE = InnoDB;

-- All listed replies with their hot score.
CREATE TABLE IF NOT EXISTS reply_rank_{n} (
    root_id BIGINT NOT NULL,
    hot     BIGINT NOT NULL,
    id      BIGINT NOT NULL,
    PRIMARY KEY (root_id, hot, id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS snapshot_{n} (
    slot    SMALLINT   NOT NULL,
    id      BINARY(16) NOT NULL,
    ids     BLOB       NOT NULL,
    used_at BIGINT     NOT NULL,
    PRIMARY KEY (slot, id),
    KEY snapshot_age (used_at)
) ENGINE = InnoDB;

-- `reaction` is 1 for a like and 2 for a dislike. Without a row there is no reaction.
CREATE TABLE IF NOT EXISTS reaction_{n} (
    comment_id BIGINT  NOT NULL,
    member_id  BIGINT  NOT NULL,
    reaction   TINYINT NOT NULL,
    PRIMARY KEY (comment_id, member_id)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS idempotency_{n} (
    member_id  BIGINT         NOT NULL,
    `key`      VARBINARY(128) NOT NULL,
    slot       SMALLINT       NOT NULL,
    request    BINARY(32)     NOT NULL,
    comment_id BIGINT         NOT NULL,
    state      TINYINT        NOT NULL,
    created_at BIGINT         NOT NULL,
    PRIMARY KEY (member_id, `key`, slot),
    KEY idempotency_slot (slot),
    KEY idempotency_age (created_at)
) ENGINE = InnoDB;

CREATE TABLE IF NOT EXISTS import_source_{n} (
    subject    BIGINT         NOT NULL,
    source     VARBINARY(512) NOT NULL,
    comment_id BIGINT         NOT NULL,
    PRIMARY KEY (subject, source),
    KEY import_source_comment (comment_id)
) ENGINE = InnoDB;

-- The comments of a member in all slots, in the database of the member's slot. `held` is 1 if the comment
-- was not visible to others when it was written.
CREATE TABLE IF NOT EXISTS member_comment_{n} (
    member_id  BIGINT   NOT NULL,
    comment_id BIGINT   NOT NULL,
    slot       SMALLINT NOT NULL,
    held       TINYINT  NOT NULL,
    PRIMARY KEY (member_id, comment_id),
    KEY member_comment_held (member_id, held, comment_id),
    KEY member_comment_slot (slot)
) ENGINE = InnoDB;

-- The last known name of a member, in the database of the member's slot.
CREATE TABLE IF NOT EXISTS member_{n} (
    id     BIGINT       NOT NULL PRIMARY KEY,
    slot   SMALLINT     NOT NULL,
    name   VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
    avatar TEXT         CHARACTER SET utf8mb4,
    level  SMALLINT     NOT NULL,
    KEY member_slot (slot)
) ENGINE = InnoDB;
