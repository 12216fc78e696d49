-- How far this database has applied each partition of the broker: everything before `next` that belongs to its
-- slots is applied. It changes in the transaction of a batch, so it goes back when the database does. `topic` is
-- 0 for comments and 1 for reactions; `moves` counts the slots that came here from another database. `samples` is
-- what the log held at some of the offsets before: pairs of an offset and a hash.
CREATE TABLE IF NOT EXISTS checkpoint (
    topic   TINYINT        NOT NULL,
    part    INT            NOT NULL,
    next    BIGINT         NOT NULL,
    moves   BIGINT         NOT NULL DEFAULT 0,
    samples VARBINARY(1024) NOT NULL DEFAULT '',
    PRIMARY KEY (topic, part)
) ENGINE = InnoDB;
