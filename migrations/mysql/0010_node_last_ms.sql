-- Node numbers are leased in every database: a number in the one that has its row.

-- The last millisecond that ids with this number may carry; those of earlier holders are before this moment.
ALTER TABLE node ADD COLUMN last_ms BIGINT NOT NULL DEFAULT 0;
UPDATE node SET last_ms = UNIX_TIMESTAMP() * 1000 WHERE last_ms = 0;

-- The server that gives the numbers of this database, and since when: 0 means that there was none before.
CREATE TABLE IF NOT EXISTS node_server (
    id     TINYINT      NOT NULL PRIMARY KEY,
    server VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
    since  BIGINT       NOT NULL
) ENGINE = InnoDB;
