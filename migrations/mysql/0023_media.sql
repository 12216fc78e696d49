-- Uploaded pictures: in the first database, so that no slot has to move with them. `id` is made as that of a comment,
-- `name` is that of the file. `uses` has the ids of the comments that were to use it, each with a space before it.
-- `unused_since` is NULL while one is known to; `check_at` is when that is looked at next, in Unix milliseconds. What is
-- deleted has its file deleted first.
CREATE TABLE IF NOT EXISTS media (
    id           BIGINT       NOT NULL PRIMARY KEY,
    owner_id     BIGINT       NOT NULL,
    name         VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    width        INT          NOT NULL,
    height       INT          NOT NULL,
    alt          TEXT         CHARACTER SET utf8mb4 NOT NULL,
    uses         VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
    unused_since BIGINT,
    check_at     BIGINT       NOT NULL,
    is_deleted   TINYINT      NOT NULL DEFAULT 0,
    KEY media_check (check_at),
    KEY media_owner (owner_id)
) ENGINE = InnoDB;
-- The pictures of a comment, as JSON.
ALTER TABLE content_{n} ADD COLUMN media TEXT CHARACTER SET utf8mb4;
