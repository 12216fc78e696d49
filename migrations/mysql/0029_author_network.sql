-- Where comments were posted from: a keyed hash of the client's network, by which a moderator blocks it. Rows of comments that
-- are older than 30 days are deleted.
CREATE TABLE IF NOT EXISTS author_network_{n} (
    slot       SMALLINT   NOT NULL DEFAULT ((comment_id >> 12) & 1023),
    comment_id BIGINT     NOT NULL,
    digest     BINARY(16) NOT NULL,
    PRIMARY KEY (slot, comment_id),
    KEY author_network_age (comment_id)
) ENGINE = InnoDB;
