-- Comments of this database that the search index has to read again: written with each change of a text or a state,
-- removed when the index has it. The entries of a slot that moves stay: a comment is read where it is.
CREATE TABLE IF NOT EXISTS index_queue (
    seq        BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at         BIGINT NOT NULL,
    comment_id BIGINT NOT NULL
) ENGINE = InnoDB;
