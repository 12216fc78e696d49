-- Uploaded pictures. `id` is made as that of a comment, `name` is that of the file. `uses` has the ids of the comments
-- that were to use it, each with a space before it. `unused_since` is NULL while one is known to; `check_at` is when
-- that is looked at next, in Unix milliseconds. What is deleted has its file deleted first.
CREATE TABLE media (
    id           INTEGER PRIMARY KEY,
    owner_id     INTEGER NOT NULL,
    name         TEXT    NOT NULL,
    width        INTEGER NOT NULL,
    height       INTEGER NOT NULL,
    alt          TEXT    NOT NULL,
    uses         TEXT    NOT NULL DEFAULT '',
    unused_since INTEGER,
    check_at     INTEGER NOT NULL,
    is_deleted   INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX media_check ON media (check_at);
CREATE INDEX media_owner ON media (owner_id);
-- The pictures of a comment, as JSON.
ALTER TABLE content ADD COLUMN media TEXT;
