-- Times are Unix milliseconds. Ids are 63-bit, so they fit SQLite's signed integers.

CREATE TABLE subject (
    id       INTEGER PRIMARY KEY,
    type     TEXT    NOT NULL,
    obj_id   INTEGER NOT NULL,
    key      TEXT    NOT NULL,
    title    TEXT,
    url      TEXT,
    owner_id INTEGER,
    state    INTEGER NOT NULL DEFAULT 0,
    mode     INTEGER, -- NULL for the mode of its type
    version  INTEGER NOT NULL DEFAULT 0,
    floors   INTEGER NOT NULL DEFAULT 0,
    roots    INTEGER NOT NULL DEFAULT 0,
    comments INTEGER NOT NULL DEFAULT 0,
    UNIQUE (type, obj_id)
);

-- The columns of lists and trees. `listed` is 1 for visible comments and for tombstones with visible
-- descendants. `floors` is the highest floor below a root.
CREATE TABLE comment (
    id            INTEGER PRIMARY KEY,
    subject       INTEGER NOT NULL,
    root_id       INTEGER NOT NULL,
    parent_id     INTEGER,
    path          BLOB    NOT NULL,
    depth         INTEGER NOT NULL,
    floor         INTEGER,
    floors        INTEGER NOT NULL DEFAULT 0,
    state         INTEGER NOT NULL,
    visibility    INTEGER NOT NULL,
    listed        INTEGER NOT NULL,
    flags         INTEGER NOT NULL DEFAULT 0,
    pinned_at     INTEGER,
    author_id     INTEGER NOT NULL,
    author_name   TEXT    NOT NULL,
    author_avatar TEXT,
    author_level  INTEGER NOT NULL,
    reply_to_id   INTEGER,
    reply_to_name TEXT,
    likes         INTEGER NOT NULL DEFAULT 0,
    dislikes      INTEGER NOT NULL DEFAULT 0,
    base_likes    INTEGER NOT NULL DEFAULT 0,
    base_dislikes INTEGER NOT NULL DEFAULT 0,
    replies       INTEGER NOT NULL DEFAULT 0,
    created_at    INTEGER NOT NULL,
    edited_at     INTEGER
);
CREATE INDEX comment_root_floor  ON comment (subject, floor)   WHERE depth = 1 AND listed = 1;
CREATE INDEX comment_reply_floor ON comment (root_id, floor)   WHERE depth > 1 AND listed = 1;
CREATE INDEX comment_path        ON comment (subject, path);
CREATE INDEX comment_pinned      ON comment (subject, pinned_at) WHERE pinned_at IS NOT NULL;
CREATE INDEX comment_author      ON comment (author_id, id);
CREATE INDEX comment_pending     ON comment (author_id, id)    WHERE floor IS NULL;

-- `written` is the author's text if the word filter masked a part of it.
CREATE TABLE content (
    id       INTEGER PRIMARY KEY,
    content  TEXT NOT NULL,
    html     TEXT NOT NULL,
    mentions TEXT,
    written  TEXT
);

-- The earlier texts of edited comments.
CREATE TABLE content_history (
    comment_id INTEGER NOT NULL,
    edited_at  INTEGER NOT NULL,
    content    TEXT    NOT NULL,
    PRIMARY KEY (comment_id, edited_at)
) WITHOUT ROWID;

-- Listed roots with reactions or replies. The other roots of a ranked list follow by floor.
CREATE TABLE root_rank (
    subject    INTEGER NOT NULL,
    id         INTEGER NOT NULL,
    likes      INTEGER NOT NULL,
    dislikes   INTEGER NOT NULL,
    replies    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (subject, id)
) WITHOUT ROWID;

-- All listed replies with their hot score.
CREATE TABLE reply_rank (
    root_id INTEGER NOT NULL,
    hot     INTEGER NOT NULL,
    id      INTEGER NOT NULL,
    PRIMARY KEY (root_id, hot, id)
) WITHOUT ROWID;

-- Snapshots of ranked lists, which cursors refer to. `id` is the hash of `ids`.
CREATE TABLE snapshot (
    id      BLOB    PRIMARY KEY,
    ids     BLOB    NOT NULL,
    used_at INTEGER NOT NULL
) WITHOUT ROWID;

-- `reaction` is 1 for a like and 2 for a dislike. Without a row there is no reaction.
CREATE TABLE reaction (
    comment_id INTEGER NOT NULL,
    member_id  INTEGER NOT NULL,
    reaction   INTEGER NOT NULL,
    PRIMARY KEY (comment_id, member_id)
) WITHOUT ROWID;

CREATE TABLE member (
    id     INTEGER PRIMARY KEY,
    name   TEXT NOT NULL,
    avatar TEXT,
    level  INTEGER NOT NULL
);

CREATE TABLE idempotency (
    member_id  INTEGER NOT NULL,
    key        TEXT    NOT NULL,
    request    BLOB    NOT NULL,
    comment_id INTEGER NOT NULL,
    state      INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (member_id, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_age ON idempotency (created_at);

-- The ids of imported comments in their source, so that a second import changes nothing.
CREATE TABLE import_source (
    subject    INTEGER NOT NULL,
    source     TEXT    NOT NULL,
    comment_id INTEGER NOT NULL,
    PRIMARY KEY (subject, source)
) WITHOUT ROWID;
CREATE INDEX import_source_comment ON import_source (comment_id);

CREATE TABLE word (
    term     TEXT PRIMARY KEY,
    category TEXT NOT NULL,
    action   TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE audit (
    id         INTEGER PRIMARY KEY,
    at         INTEGER NOT NULL,
    actor_id   INTEGER NOT NULL,
    action     TEXT    NOT NULL,
    comment_id INTEGER,
    subject    INTEGER,
    reason     TEXT
);

-- Single values: the secret of cursors, the version of the dictionary.
CREATE TABLE setting (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;
